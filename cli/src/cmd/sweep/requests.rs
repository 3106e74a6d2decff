//! A line for each request of a row, as files keep it.

use projector::metrics::{Line, Voice};
use serde::Serialize;

/// A request under a policy. Tokens, bytes, picodollars.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RequestEntry<'l> {
    recording: &'l str,
    policy: &'l str,
    request: usize,
    conversation: u32,
    fidelity: &'static str,
    reason: Option<&'static str>,
    class: &'static str,
    tokens: u64,
    tokens_low: u64,
    tokens_high: u64,
    window: Option<u64>,
    /// Bytes by whose words they are.
    voices: Voices,
    hidden_bytes: u64,
    common_bytes: u64,
    before_bytes: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_uncached: Option<u64>,
    cost_picodollars: Option<u64>,
    broke: Option<&'static str>,
    broke_lost_tokens: Option<u64>,
    anchors: u64,
    missed: u64,
    signs_shown: u64,
    signs_all: u64,
    dead_bytes: u64,
    broken_pairs: u32,
}

/// Bytes of a prompt by whose words they are.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Voices {
    tools: u64,
    system: u64,
    user: u64,
    assistant: u64,
    reasoning: u64,
    calls: u64,
    results: u64,
    markers: u64,
    framing: u64,
}

impl Voices {
    pub(crate) fn of(bytes: &[u64; Voice::COUNT]) -> Self {
        let [tools, system, user, assistant, reasoning, calls, results, markers, framing] = *bytes;
        Self { tools, system, user, assistant, reasoning, calls, results, markers, framing }
    }
}

pub(crate) fn entry<'l>(recording: &'l str, policy: &'l str, line: &Line) -> RequestEntry<'l> {
    let charge = line.charge.as_ref();
    let broke = charge.and_then(|charge| charge.broke);
    let (low, high) = line.band;
    RequestEntry {
        recording,
        policy,
        request: line.request + 1,
        conversation: line.lane + 1,
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
        broken_pairs: line.account.broken_pairs,
    }
}
