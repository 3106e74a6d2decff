//! A line for each request of a row, as files keep it.

use projector::metrics::{Line, Voice};
use serde::Serialize;

/// A request under a policy. Tokens, bytes, picodollars.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RequestEntry {
    pub(super) recording: String,
    pub(super) policy: String,
    pub(super) request: u64,
    pub(super) conversation: u64,
    pub(super) fidelity: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) class: &'static str,
    pub(super) tokens: u64,
    pub(super) tokens_low: u64,
    pub(super) tokens_high: u64,
    pub(super) window: Option<u64>,
    /// Bytes by whose words they are.
    pub(super) voices: Voices,
    pub(super) hidden_bytes: u64,
    pub(super) common_bytes: u64,
    pub(super) before_bytes: u64,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) cache_uncached: Option<u64>,
    pub(super) cost_picodollars: Option<u64>,
    pub(super) broke: Option<&'static str>,
    pub(super) broke_lost_tokens: Option<u64>,
    pub(super) anchors: u64,
    pub(super) missed: u64,
    pub(super) signs_shown: u64,
    pub(super) signs_all: u64,
    pub(super) dead_bytes: u64,
    pub(super) notices: u64,
    pub(super) notices_wrong: u64,
    pub(super) silent_outputs: u64,
    pub(super) broken_pairs: u64,
}

/// Bytes of a prompt by whose words they are.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Voices {
    pub(super) tools: u64,
    pub(super) system: u64,
    pub(super) user: u64,
    pub(super) assistant: u64,
    pub(super) reasoning: u64,
    pub(super) calls: u64,
    pub(super) results: u64,
    pub(super) markers: u64,
    pub(super) framing: u64,
}

impl Voices {
    pub(crate) fn of(bytes: &[u64; Voice::COUNT]) -> Self {
        let [tools, system, user, assistant, reasoning, calls, results, markers, framing] = *bytes;
        Self { tools, system, user, assistant, reasoning, calls, results, markers, framing }
    }
}

pub(crate) fn entry(recording: &str, policy: &str, line: &Line) -> RequestEntry {
    let charge = line.charge.as_ref();
    let broke = charge.and_then(|charge| charge.broke);
    let (low, high) = line.band;
    RequestEntry {
        recording: recording.to_owned(),
        policy: policy.to_owned(),
        request: line.request as u64 + 1,
        conversation: u64::from(line.lane) + 1,
        fidelity: line.fidelity.name(),
        reason: line.fidelity.reason().map(|(_, words)| words),
        class: line.class.name(),
        tokens: line.tokens,
        tokens_low: low,
        tokens_high: high,
        window: line.window,
        voices: Voices::of(&line.voices),
        hidden_bytes: line.account.hidden_bytes,
        common_bytes: line.common_bytes,
        before_bytes: line.before_bytes,
        cache_read: charge.map(|charge| charge.read),
        cache_write: charge.map(|charge| charge.write.iter().sum()),
        cache_uncached: charge.map(|charge| charge.uncached),
        cost_picodollars: line.cost.map(|cost| cost.total().0),
        broke: broke.map(|broke| broke.cause.name()),
        broke_lost_tokens: broke.map(|broke| broke.lost_tokens),
        anchors: line.recall.anchors,
        missed: line.recall.missed,
        signs_shown: line.signs.0,
        signs_all: line.signs.1,
        dead_bytes: line.dead_bytes,
        notices: line.notices.all,
        notices_wrong: line.notices.wrong,
        silent_outputs: line.notices.silent,
        broken_pairs: u64::from(line.account.broken_pairs),
    }
}
