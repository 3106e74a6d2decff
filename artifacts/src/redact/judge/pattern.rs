//! Keywords and patterns: the pattern is matched in a stretch of text around the keyword.

use regex_automata::{Anchored, Input};

use super::text::Short;
use super::{BEHIND_BYTES, Edge, Judgement, LEAD_BYTES, Place};
use crate::redact::look::{self, entropy, fake};
use crate::redact::rules::pattern::Pattern;

/// How far behind the keyword a pattern may reach.
const AHEAD_BYTES: usize = 768;
/// Random bytes that a value needs, where it has letters.
const RANDOM_BYTES_MIN: usize = 8;

pub(crate) fn judge(pattern: &Pattern, place: &Place<'_>) -> Result<Judgement, Short> {
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let end = place.start + AHEAD_BYTES;
    if end > place.window.len() && place.edge == Edge::More {
        return Err(Short);
    }
    let from = place.start.saturating_sub(BEHIND_BYTES);
    let stretch = place.window.get(from..end.min(place.window.len())).unwrap_or_default();
    let Some(regex) = pattern.regex() else { return nothing };
    let at = place.start - from;
    let (start, anchored) = if pattern.anchored {
        (at, Anchored::Yes)
    } else {
        (at.saturating_sub(LEAD_BYTES), Anchored::No)
    };
    let input = Input::new(stretch).range(start..).anchored(anchored);
    let mut captures = regex.create_captures();
    regex.search_captures(&input, &mut captures);
    let groups = (1..captures.group_len()).find_map(|group| captures.get_group(group));
    let Some(found) = groups.or_else(|| captures.get_match().map(|found| found.span())) else {
        return nothing;
    };
    let value = stretch.get(found.start..found.end).unwrap_or_default();
    let good = entropy::per_byte(value) * 1000 >= pattern.entropy_milli * entropy::BIT
        && value.len() >= RANDOM_BYTES_MIN
        && !value.contains(&b'"')
        && !value.contains(&b'\\')
        && !value.contains(&b'\n')
        && !fake::is_fake(value)
        && has_evidence(value);
    if good { Ok(Judgement::secret(from + found.start, from + found.end)) } else { nothing }
}

/// Digits, or letters that no word has.
fn has_evidence(value: &[u8]) -> bool {
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    !letters || look::random_bytes(value) >= RANDOM_BYTES_MIN
}
