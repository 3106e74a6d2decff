//! What a chain of caps leaves of the texts of one result.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use ledger::content::Content;
use ledger::event::TextMeasure;

use crate::fold::program::Chain;
use crate::measure::TokenCounter;
use crate::memo::Piece;
use crate::policy::{Amount, Budget, CapText, Op, Unit as Counted};
use crate::text::{self, Context, PartShown, TextPart, Unknown};

/// A text as shown so far, and where its bytes come from.
#[derive(Clone)]
pub(crate) struct Shown<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) pieces: Vec<Piece>,
}

impl<'t> Shown<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), pieces: alloc::vec![Piece::Kept(0..text.len())] }
    }

    /// True when the pieces are not the whole of a text of `whole_bytes` bytes.
    pub(crate) fn is_cut(&self, whole_bytes: usize) -> bool {
        !matches!(self.pieces.as_slice(), [Piece::Kept(range)] if *range == (0..whole_bytes))
    }

    /// What the cap with this place among the caps leaves.
    pub(crate) fn then(self, nth: usize, left: &text::Shown) -> Self {
        let mut pieces = Vec::new();
        for piece in &left.pieces {
            match piece {
                text::Piece::Kept(range) => pieces.extend(self.slice(range)),
                text::Piece::Inserted(text) => pieces.push(Piece::Inserted(nth, text.clone())),
                // No JSON string of Unicode text can hold it.
                text::Piece::Half(_) => pieces.push(Piece::Inserted(nth, "\u{fffd}".into())),
            }
        }
        let text = Cow::Owned(left.lossy(&self.text));
        Self { text, pieces }
    }

    /// Nothing is left.
    fn emptied() -> Self {
        Self { text: Cow::Borrowed(""), pieces: Vec::new() }
    }

    /// A text behind what is left.
    fn and(mut self, nth: usize, text: &str) -> Self {
        self.pieces.push(Piece::Inserted(nth, text.into()));
        self.text.to_mut().push_str(text);
        self
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        let kept = self.pieces.iter().map(|piece| match piece {
            Piece::Kept(range) => range.len() as u64,
            Piece::Inserted(..) => 0,
        });
        kept.sum()
    }

    /// The pieces of a range of the shown text.
    fn slice(&self, range: &Range<usize>) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut at = 0;
        for piece in &self.pieces {
            let length = match piece {
                Piece::Kept(kept) => kept.len(),
                Piece::Inserted(_, text) => text.len(),
            };
            let start = range.start.clamp(at, at + length) - at;
            let end = range.end.clamp(at, at + length) - at;
            at += length;
            if start == end {
                continue;
            }
            out.push(match piece {
                Piece::Kept(kept) => Piece::Kept(kept.start + start..kept.start + end),
                Piece::Inserted(nth, text) => {
                    Piece::Inserted(*nth, text.get(start..end).unwrap_or_default().into())
                }
            });
        }
        out
    }
}

/// The text that a slot's caps start from.
pub(super) struct Base<'h> {
    pub(super) content: &'h Content,
    pub(super) measure: Option<TextMeasure>,
    pub(super) found: bool,
}

/// Longest stretch of a cut text that is not the text's own: a marker.
const MARKER_BYTES_MAX: usize = 256;

/// True where a text that was sent is another one, or both ends of it around a marker.
pub(super) fn may_be_cut_from(sent: &[u8], whole: &[u8]) -> bool {
    if sent == whole {
        return true;
    }
    if whole.is_empty() || memchr::memmem::find(sent, whole).is_some() {
        return false;
    }
    let pairs = sent.iter().zip(whole);
    let head = pairs.take_while(|(a, b)| a == b).count();
    let rest = (sent.len() - head).min(whole.len() - head);
    let pairs = sent.iter().rev().zip(whole.iter().rev()).take(rest);
    let tail = pairs.take_while(|(a, b)| a == b).count();
    sent.len() - head - tail <= MARKER_BYTES_MAX
}

/// Applies a chain of caps to the texts of one result.
pub(super) fn chained<'t>(
    texts: &[&'t str],
    chain: &Chain<'_>,
    (tool, budget): (&str, Budget),
    counter: Option<&dyn TokenCounter>,
) -> Result<Vec<Shown<'t>>, (usize, Unknown)> {
    let context = Context { budget, counter, values: &[("tool", tool)] };
    let mut shown: Vec<_> = texts.iter().map(|text| Shown::of(text)).collect();
    for (nth, (index, step)) in chain.caps.iter().enumerate() {
        if step.applies.single_part && texts.len() != 1 {
            continue;
        }
        let unknown = |unknown| (*index, unknown);
        if let Op::CapParts(cap) = &step.op {
            let parts: Vec<String> = shown.iter().map(|shown| shown.text.as_ref().into()).collect();
            let parts: Vec<_> = parts.iter().map(|text| TextPart::Text(text)).collect();
            let left = text::cap_parts(cap, &parts, &context).map_err(unknown)?;
            shown = in_parts(shown, nth, &left);
            continue;
        }
        for shown in &mut shown {
            if let Some(left) = text::apply(&step.op, &shown.text, &context).map_err(unknown)? {
                *shown = shown.clone().then(nth, &left);
            }
        }
    }
    Ok(shown)
}

/// What `cap_parts` leaves: a text that it adds stands behind the last one, since no message can
/// have more texts than were recorded.
fn in_parts<'t>(shown: Vec<Shown<'t>>, nth: usize, left: &[PartShown]) -> Vec<Shown<'t>> {
    let mut out: Vec<Shown<'t>> = Vec::with_capacity(shown.len());
    let mut left = left.iter();
    for (shown, left) in shown.into_iter().zip(&mut left) {
        out.push(match left {
            PartShown::Whole | PartShown::Added(_) => shown,
            PartShown::Cut(cut) => shown.then(nth, cut),
            PartShown::Omitted => Shown::emptied(),
        });
    }
    if let (Some(PartShown::Added(text)), Some(last)) = (left.next(), out.pop()) {
        out.push(last.and(nth, text));
    }
    out
}

/// True when recorded sizes alone show that a cap leaves the text whole.
pub(super) fn fits(op: &Op, base: &Base<'_>) -> bool {
    let bytes = base.content.len();
    match op {
        Op::CapText(cap) => {
            let plain = cap.template.is_none() && cap.run_length.is_empty() && !cap.per_stream;
            let threshold = cap.threshold.or(cap.limit).and_then(Amount::fixed);
            let scale = u64::from(cap.limit_scale_per_mille >= 1000);
            let Some(threshold) = threshold.filter(|_| plain && scale == 1) else { return false };
            let within = |size: u64| match cap.threshold_cmp {
                crate::policy::Cmp::Above => size <= threshold,
                _ => size < threshold,
            };
            within_unit(cap, bytes, base.measure, &within)
        }
        Op::CapLines(cap) => {
            let lines = base.measure.map(|measure| measure.line_feeds + 1);
            let bytes_fit = cap.max_bytes.is_none_or(|max| max.fixed() >= Some(bytes));
            let lines_fit = cap.max_lines.is_none_or(|max| lines.is_some() && max.fixed() >= lines);
            bytes_fit && lines_fit && cap.max_line.is_none()
        }
        _ => false,
    }
}

fn within_unit(
    cap: &CapText,
    bytes: u64,
    measure: Option<TextMeasure>,
    within: &dyn Fn(u64) -> bool,
) -> bool {
    match cap.unit {
        Counted::Bytes => within(bytes),
        // No character is smaller than a byte.
        Counted::Chars | Counted::Utf16 if within(bytes) => true,
        Counted::Chars => measure.is_some_and(|measure| within(measure.chars)),
        Counted::Utf16 => measure.is_some_and(|measure| within(measure.utf16)),
        Counted::Lines => measure.is_some_and(|measure| within(measure.line_feeds + 1)),
        Counted::Columns | Counted::Tokens => false,
    }
}
