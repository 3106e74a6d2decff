//! Tokens: an anchor and a run of bytes of one class.

use super::text::{Short, Text};
use super::{Flags, Found, Judgement, LEAD_BYTES, Place};
use crate::redact::look::{self, entropy, fake};
use crate::redact::rules::{Class, Test, Token};
use crate::redact::{boundary, placeholder, view};

/// A cut-off token with so many bytes behind its anchor is still one.
const CUT_BYTES_MIN: usize = 8;
/// The least entropy of what is behind an anchor.
const ENTROPY_MIN: u64 = 2 * entropy::BIT;
/// Bytes of a piece that has to look random.
const RANDOM_BYTES_MIN: usize = 10;

pub(crate) fn judge(token: &Token, place: &Place<'_>) -> Result<Judgement, Short> {
    let nothing = |until| Ok(Judgement::Nothing { until });
    let Some(lead) = lead(token, place) else { return nothing(place.end) };
    let text = place.text();
    let (least, most) = token.bytes;
    // Far enough beyond the longest to answer for the anchors in the same run, too.
    let run_end = text.run(place.end, 2 * most + 1, |byte| token.class.has(byte))?;
    let next = text.byte(run_end)?;
    let end = trimmed(text.bytes, place.end, run_end, token.class);
    let body = text.bytes.get(place.end..end).unwrap_or_default();
    let start = place.start - lead;
    // A run that a placeholder ends went on in the text that was redacted before, where it was
    // judged whole: judging its beginning now would give another answer.
    if next == Some(b'[') && text.has_text(run_end, placeholder::START)? {
        return nothing(run_end);
    }
    if body.len() > most || (end == run_end && next.is_some_and(|byte| continues(token, byte))) {
        return nothing(if body.len() > most { end - most } else { run_end });
    }
    if body.len() >= least {
        let good = shows(token.test, body) && !is_example(token.test, body);
        return if good { Ok(Judgement::secret(start, end)) } else { nothing(run_end) };
    }
    if matches!(next, Some(b'\\' | 0x1b))
        && let Some(found) = escaped(token, place, start)?
    {
        return Ok(Judgement::Secret(found));
    }
    let cut = body.len() >= CUT_BYTES_MIN
        && body.len() * 4 >= least
        && place.end - place.start >= 3
        && look::is_random(body)
        && !fake::is_example(body);
    if cut && cut_off(&text, end)? {
        return Ok(Judgement::Secret(Found { start, end, flags: Flags::TRUNCATED }));
    }
    nothing(run_end.max(place.end))
}

/// How many bytes before the anchor belong to the token; `None` if it cannot start there.
fn lead(token: &Token, place: &Place<'_>) -> Option<usize> {
    let behind = place.behind();
    let Some((class, least, most)) = token.behind else {
        let starts = place.last_end == Some(place.start) || boundary::lets_start(behind);
        return starts.then_some(0);
    };
    let run = behind.iter().rev().take(most).take_while(|byte| class.has(**byte)).count();
    let (before, token) = behind.split_at_checked(behind.len().checked_sub(run)?)?;
    // The letter behind a backslash belongs to an escape.
    let escaped = matches!((before.last(), token.first()), (Some(b'\\'), Some(b'n' | b'r' | b't')));
    let length = run - usize::from(escaped);
    let fits = (least..=most.min(LEAD_BYTES)).contains(&length);
    let before = behind.get(..behind.len().checked_sub(length)?)?;
    (fits && boundary::lets_start(before)).then_some(length)
}

/// A full stop behind a token ends the sentence.
fn trimmed(text: &[u8], start: usize, end: usize, class: Class) -> usize {
    if !class.has(b'.') {
        return end;
    }
    let run = text.get(start..end).unwrap_or_default();
    end - run.iter().rev().take_while(|byte| **byte == b'.').count()
}

/// Returns true if a byte of another class shows that the run is a part of something longer.
fn continues(token: &Token, next: u8) -> bool {
    let narrow = matches!(token.class, Class::Hex | Class::UpperAlnum | Class::Digits);
    narrow && (next.is_ascii_alphanumeric() || next == b'_')
}

fn shows(test: Test, body: &[u8]) -> bool {
    match test {
        Test::Any => true,
        Test::Uuid => look::is_uuid(body),
        Test::Real => entropy::per_byte(body) >= ENTROPY_MIN,
        Test::Digit => body.iter().any(u8::is_ascii_digit) && look::random_bytes(body) > 0,
        Test::Random => look::random_bytes(body) >= RANDOM_BYTES_MIN,
        Test::Dots(least) => {
            let dots = memchr::memchr_iter(b'.', body).count();
            dots >= usize::from(least) && look::random_bytes(body) >= RANDOM_BYTES_MIN
        }
    }
}

fn is_example(test: Test, body: &[u8]) -> bool {
    test != Test::Any && fake::is_example(body)
}

/// A token in which escapes stand, judged without them.
fn escaped(token: &Token, place: &Place<'_>, start: usize) -> Result<Option<Found>, Short> {
    let text = place.text();
    let (least, most) = token.bytes;
    let plain = view::without_escapes(&text, place.end, most + 1, |byte| token.class.has(byte))?;
    let (body, length) = (plain.bytes.as_slice(), plain.bytes.len());
    let good = (least..=most).contains(&length)
        && shows(token.test, body)
        && !is_example(token.test, body);
    let end = plain.ends.get(length.saturating_sub(1)).copied();
    let found = |end| Found { start, end, flags: Flags::ESCAPED };
    Ok(end.filter(|_| good).map(found))
}

/// Returns true if what follows says that the text was cut here.
pub(crate) fn cut_off(text: &Text<'_>, at: usize) -> Result<bool, Short> {
    const MARKS: [&[u8]; 5] = [b"...", b"\xe2\x80\xa6", b"[...", b"[trunc", b"<trunc"];
    if text.byte(at)?.is_none() {
        return Ok(true);
    }
    for mark in MARKS {
        if text.has_text(at, mark)? {
            return Ok(true);
        }
    }
    Ok(false)
}
