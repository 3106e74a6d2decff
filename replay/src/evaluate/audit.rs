//! What a recording says by itself, without any policy: what changed in prompts that should not
//! have, whether the client's own rewrites paid, and which outputs were carried longest.

use std::collections::BTreeMap;

use ledger::history::{Change, Request};
use projector::metrics::outline::TextNo;
use projector::metrics::{Line, prompt_bytes};
use projector::view::Segment;
use projector::{Policy, Projector};

use super::dynamics::{Rewrite, rewrites};
use super::{EvaluateError, Prepared, RECORDED};

/// What a stretch is that differs from request to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatile {
    /// A date or a time.
    Clock,
    /// A UUID or a long hexadecimal number.
    Uuid,
    /// A path of temporary files.
    TemporaryPath,
    /// A number.
    Counter,
    /// The same words in another order.
    Order,
    /// Other text.
    Text,
    /// The client changed its own history: messages are gone or others.
    Rewrite,
}

impl Volatile {
    /// The word used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Uuid => "uuid",
            Self::TemporaryPath => "temporary-path",
            Self::Counter => "counter",
            Self::Order => "order",
            Self::Text => "text",
            Self::Rewrite => "rewrite",
        }
    }
}

/// A place at which a request differs from the one before in what both have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// The request, from 1.
    pub request: u64,
    /// What differs.
    pub kind: Volatile,
    /// Bytes before the place.
    pub offset: u64,
    /// Bytes of the request before behind it.
    pub lost_bytes: u64,
    /// Tokens of them.
    pub lost_tokens: u64,
}

/// An output, and how long it was carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The tool.
    pub tool: String,
    /// Request that first shows it, from 1.
    pub first: u64,
    /// Its length.
    pub bytes: u64,
    /// Requests that show it.
    pub requests: u64,
    /// Tokens over all of them.
    pub tokens: u64,
    /// The last request whose answer uses it, from 1, as far as can be told.
    pub last_use: Option<u64>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Places at which requests differ.
    pub census: Vec<Census>,
    /// Rewrites.
    pub compactions: Vec<Rewrite>,
    /// Outputs, those with the most tokens first.
    pub carriers: Vec<Carrier>,
}

/// Carriers that are listed.
const CARRIERS_MAX: usize = 10;

impl Audit {
    /// Looks through a recording.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub fn of(prepared: &Prepared<'_>) -> Result<Self, EvaluateError> {
        let recorded = Policy::from_toml(RECORDED)?;
        let history = prepared.recording().history();
        let source = prepared.recording().as_source();
        let mut projector = Projector::new(history, source, &recorded);
        let mut walk = Walk { prepared, before: BTreeMap::new(), carried: BTreeMap::new() };
        let mut audit = Self::default();
        for (number, request) in history.requests().iter().enumerate() {
            let projection = projector.projection(request.captured.request)?;
            walk.carry(number, &projection.view.segments);
            let Some(line) = prepared.base().get(number) else { continue };
            let prompt = prompt_bytes(history, source, &projection.view)?;
            let edited = is_edited(request);
            if line.common_bytes < line.before_bytes {
                audit.census.push(walk.census(line, &prompt, edited));
            }
            walk.before.insert(line.lane, prompt);
        }
        audit.carriers = walk.carriers();
        // What the request itself brings is not known where the client has changed the list.
        let own =
            |line: &Line| history.requests().get(line.request).is_some_and(is_edited).then_some(0);
        let (base, terms) = (prepared.base(), prepared.terms());
        audit.compactions = rewrites(base, terms, prepared.scale(), own);
        Ok(audit)
    }
}

/// True when the client changed its list before a request.
fn is_edited(request: &Request) -> bool {
    request.changes.iter().any(|change| matches!(change, Change::Edited(_)))
}

/// What is known of the requests so far.
struct Walk<'w, 'r> {
    prepared: &'w Prepared<'r>,
    /// The prompt before, by conversation.
    before: BTreeMap<u32, Vec<u8>>,
    /// By output: the first request, requests, bytes over all of them.
    carried: BTreeMap<TextNo, (usize, u64, u64)>,
}

impl Walk<'_, '_> {
    fn carry(&mut self, number: usize, segments: &[Segment]) {
        let mut seen = BTreeMap::new();
        for segment in segments {
            let Segment::Text { part, slot, range, .. } = segment else { continue };
            let output = self.prepared.ground().outline.output_of(*part, *slot);
            if let Some((text, _tool)) = output {
                *seen.entry(text).or_insert(0) += range.len() as u64;
            }
        }
        for (text, bytes) in seen {
            let (_, requests, sum) = self.carried.entry(text).or_insert((number, 0, 0));
            *requests += 1;
            *sum += bytes;
        }
    }

    fn census(&self, line: &Line, prompt: &[u8], edited: bool) -> Census {
        let before = self.before.get(&line.lane).map_or(&[][..], Vec::as_slice);
        let at = usize::try_from(line.common_bytes).unwrap_or(usize::MAX);
        let kind = if edited { Volatile::Rewrite } else { classify(before, prompt, at) };
        let lost_bytes = line.before_bytes - line.common_bytes;
        let scale = self.prepared.scale();
        Census {
            request: line.request as u64 + 1,
            kind,
            offset: line.common_bytes,
            lost_bytes,
            lost_tokens: scale.tokens(lost_bytes),
        }
    }

    fn carriers(self) -> Vec<Carrier> {
        let (prepared, scale) = (self.prepared, self.prepared.scale());
        let uses = &prepared.ground().evidence.last_use;
        let mut carriers: Vec<Carrier> = self
            .carried
            .into_iter()
            .map(|(text, (first, requests, bytes))| Carrier {
                tool: prepared.tool_of(text),
                first: first as u64 + 1,
                bytes: bytes / requests.max(1),
                requests,
                tokens: scale.tokens(bytes),
                last_use: uses.get(text as usize).copied().flatten().map(|at| at as u64 + 1),
            })
            .collect();
        carriers.sort_by_key(|carrier| (u64::MAX - carrier.tokens, carrier.first));
        carriers.truncate(CARRIERS_MAX);
        carriers
    }
}

/// The stretch around a place, up to white space, quotes and brackets.
fn stretch(text: &[u8], at: usize) -> &[u8] {
    const EDGES: &[u8] = b" \t\r\n\"'<>()[]{},;\\";
    const BYTES_MAX: usize = 80;
    let at = at.min(text.len());
    let before = text.get(at.saturating_sub(BYTES_MAX)..at).unwrap_or_default();
    let left = before.iter().rev().take_while(|byte| !EDGES.contains(byte)).count();
    let after = text.get(at..(at + BYTES_MAX).min(text.len())).unwrap_or_default();
    let right = after.iter().take_while(|byte| !EDGES.contains(byte)).count();
    text.get(at - left..at + right).unwrap_or_default()
}

/// What differs at a place.
fn classify(before: &[u8], now: &[u8], at: usize) -> Volatile {
    let (old, new) = (stretch(before, at), stretch(now, at));
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let both = |is: &dyn Fn(&[u8]) -> bool| is(old) && is(new);
    let temporary = |text: &[u8]| {
        [&b"/tmp/"[..], b"/var/folders/", b"\\Temp\\", b"/temp/"]
            .iter()
            .any(|root| text.windows(root.len()).any(|found| found == *root))
    };
    let hexadecimal = |text: &[u8]| {
        let count = text.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
        count >= 16 && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
    };
    let clock = |text: &[u8]| {
        let marks = text.iter().filter(|byte| b":-/.TZ+".contains(byte)).count();
        let numbers = text.iter().filter(|byte| byte.is_ascii_digit()).count();
        marks >= 1 && numbers >= 3 && marks + numbers == text.len()
    };
    if both(&temporary) {
        Volatile::TemporaryPath
    } else if both(&hexadecimal) && !both(&digits) {
        Volatile::Uuid
    } else if both(&clock) {
        Volatile::Clock
    } else if both(&digits) {
        Volatile::Counter
    } else if is_reordered(before, now, at) {
        Volatile::Order
    } else {
        Volatile::Text
    }
}

/// True when what follows has the same bytes in another order.
fn is_reordered(before: &[u8], now: &[u8], at: usize) -> bool {
    const BYTES: usize = 2048;
    let histogram = |text: &[u8]| {
        let mut counts = [0_u32; 256];
        let from = at.min(text.len());
        for byte in text.get(from..(from + BYTES).min(text.len())).unwrap_or_default() {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count += 1;
            }
        }
        counts
    };
    before.len() == now.len() && histogram(before) == histogram(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let check = |old: &str, new: &str, wanted: Volatile| {
            let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
            assert_eq!(classify(old.as_bytes(), new.as_bytes(), same), wanted, "{old} {new}");
        };
        check("at 2026-11-30 on", "at 2026-12-01 on", Volatile::Clock);
        check("now 16:08:54", "now 16:09:01", Volatile::Clock);
        check("turn 12 of", "turn 13 of", Volatile::Counter);
        check(
            "id 123e4567-e89b-12d3-a456-426614174000",
            "id 123e4567-e89b-12d3-a456-426614174999",
            Volatile::Uuid,
        );
        check("in /tmp/a1b2/x", "in /tmp/c3d4/x", Volatile::TemporaryPath);
        check("[{a},{b}]", "[{b},{a}]", Volatile::Order);
        check("the cat", "the dog sat", Volatile::Text);
    }
}
