//! `cap_text`: what a limit leaves of a text.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::render::{Facts, around};
use super::size::{Measure, TOKEN_BYTES};
use super::{Context, Piece, Shown, Unknown, lines, runs};
use crate::policy::op::{CapText, EmptyTail, Template, TextEscape};
use crate::policy::{Amount, Atoms, Count, Edge, Round, Shape, Split, Unit};

/// Both ends of a text. A half of a surrogate pair stands where a cut went through a character.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// Where the head ends and the tail begins, in bytes.
    head: usize,
    tail: usize,
    halves: (Option<u16>, Option<u16>),
    /// What `{n}` is, where it was settled before.
    n: Option<u64>,
}

/// Cuts `text`; `None` when it stays whole.
///
/// A text is cut when its size exceeds the threshold. The budget is the limit, less the marker's
/// size when the marker counts. A marker that alone exceeds the limit is itself cut to it.
///
/// # Errors
/// Limit, tokens, or a value that a marker names, are not known.
pub fn cap_text(
    cap: &CapText,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, Unknown> {
    let squeezed = if cap.run_length.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(runs::squeeze(text, &cap.run_length))
    };
    let cap = in_force(cap, context)?;
    let cut = Cap::new(&cap, context)?.cut(&squeezed)?;
    if squeezed == text {
        return Ok(cut);
    }
    // What was squeezed is a text of its own: none of it is a range of the recorded one.
    let pieces = match &cut {
        Some(cut) => cut.pieces.clone(),
        None => Vec::from([Piece::Kept(0..squeezed.len())]),
    };
    let kept: usize = pieces.iter().map(Piece::kept_bytes).sum();
    let own = |piece| match piece {
        Piece::Kept(range) => Piece::Inserted(squeezed.get(range).unwrap_or_default().into()),
        other => other,
    };
    let pieces = pieces.into_iter().map(own).collect();
    Ok(Some(Shown { pieces, hidden_bytes: text.len().saturating_sub(kept) as u64 }))
}

/// The cap with the limit that leaves less, where it has two.
fn in_force<'c>(cap: &'c CapText, context: &Context<'_>) -> Result<Cow<'c, CapText>, Unknown> {
    let (Some(ceiling), Some(limit)) = (&cap.ceiling, cap.limit) else {
        return Ok(Cow::Borrowed(cap));
    };
    let bytes = |unit: Unit, limit: Amount| {
        let limit = limit.value(&context.budget).ok_or(Unknown::Amount)?;
        Ok(if unit == Unit::Tokens { limit.saturating_mul(TOKEN_BYTES) } else { limit })
    };
    if bytes(ceiling.unit, ceiling.limit)? >= bytes(cap.unit, limit)? {
        return Ok(Cow::Borrowed(cap));
    }
    Ok(Cow::Owned(CapText {
        unit: ceiling.unit,
        limit: Some(ceiling.limit),
        marker: ceiling.marker.clone(),
        marker_count: ceiling.marker_count,
        ceiling: None,
        ..cap.clone()
    }))
}

/// A cap with its amounts.
struct Cap<'c> {
    of: &'c CapText,
    context: &'c Context<'c>,
    measure: Measure<'c>,
    limit: Option<u64>,
    threshold: u64,
}

impl<'c> Cap<'c> {
    fn new(cap: &'c CapText, context: &'c Context<'c>) -> Result<Self, Unknown> {
        let scaled = |amount: Amount| {
            let value = u128::from(amount.value(&context.budget).ok_or(Unknown::Amount)?);
            let scaled = (value * u128::from(cap.limit_scale_per_mille)).div_ceil(1000);
            Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
        };
        let limit = cap.limit.map(scaled).transpose()?;
        let threshold = cap.threshold.map(scaled).transpose()?.or(limit).unwrap_or(u64::MAX);
        let measure = Measure::of(cap, context);
        Ok(Self { of: cap, context, measure, limit, threshold })
    }

    fn cut(&self, text: &str) -> Result<Option<Shown>, Unknown> {
        let cap = self.of;
        let total = self.measure.size(text)?;
        let unlimited = cap.zero_is_unlimited && self.threshold == 0;
        if !cap.threshold_cmp.holds(total, self.threshold) || text.is_empty() || unlimited {
            return Ok(match &cap.template {
                Some(template) => Some(self.whole(template, text, total)?),
                None => None,
            });
        }
        let shown = match cap.shape {
            Shape::Replace => {
                self.show(text, total, Ends { tail: text.len(), ..Ends::default() })?
            }
            _ => self.ends(text, total)?,
        };
        if cap.only_if_smaller && self.measure.size(&shown.lossy(text))? >= total {
            return Ok(None);
        }
        Ok(Some(shown))
    }

    /// Keeps the ends within the budget.
    fn ends(&self, text: &str, total: u64) -> Result<Shown, Unknown> {
        let limit = self.limit.unwrap_or(u64::MAX);
        if !self.of.marker_in_limit {
            return self.show(text, total, self.split(text, total, limit));
        }
        if self.of.marker_count == Count::FirstLayout {
            return self.laid_out_twice(text, total, limit);
        }
        // The marker names the hidden count, whose digits change its own size; the count that the
        // final cut hides is what it says, so it is laid out for the largest count it can name.
        let none = Ends { tail: text.len(), ..Ends::default() };
        let facts = Facts { n: total, ..self.facts(text, total, none) };
        let widest = facts.render(&self.of.marker)?;
        let marker_size = self.measure.size(&widest)?;
        if marker_size >= limit {
            let end = self.measure.prefix(&widest, limit);
            let marker = widest.get(..end).unwrap_or_default().into();
            return Ok(Shown::of(text, Vec::from([Piece::Inserted(marker)])));
        }
        self.show(text, total, self.split(text, total, limit - marker_size))
    }

    /// Lays the ends out with the marker of what is beyond the limit, and again with the marker of
    /// what that hides.
    fn laid_out_twice(&self, text: &str, total: u64, limit: u64) -> Result<Shown, Unknown> {
        let none = Ends { tail: text.len(), ..Ends::default() };
        let budget = |n: u64| {
            let facts = Facts { n, ..self.facts(text, total, none) };
            let marker = self.measure.size(&facts.render(&self.of.marker)?)?;
            Ok(limit.saturating_sub(marker))
        };
        let each = budget(total.saturating_sub(limit))? / 2;
        let n = total.saturating_sub(each.saturating_mul(2));
        let ends = self.split(text, total, budget(n)?);
        self.show(text, total, Ends { n: Some(n), ..ends })
    }

    /// The two ends for a budget.
    fn split(&self, text: &str, total: u64, budget: u64) -> Ends {
        let of = |per_mille: u16, up: bool| {
            let exact = u128::from(self.in_bytes(budget)) * u128::from(per_mille);
            let share = if up { exact.div_ceil(1000) } else { exact / 1000 };
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let whole = self.in_bytes(budget);
        let (head, tail) = match self.of.shape {
            Shape::Head => (whole, 0),
            Shape::Tail => (0, whole),
            Shape::Replace => (0, 0),
            Shape::Middle(Split::Fixed { head, tail }) => {
                (self.in_bytes(head), self.in_bytes(tail))
            }
            Shape::Middle(Split::Ratio { head_per_mille, round }) => {
                let rest = 1000_u16.saturating_sub(head_per_mille);
                match round {
                    Round::FloorHead => {
                        let head = of(head_per_mille, false);
                        (head, whole - head)
                    }
                    Round::CeilHead => {
                        let head = of(head_per_mille, true);
                        (head, whole - head)
                    }
                    Round::CeilTail => (of(head_per_mille, false), of(rest, true)),
                    Round::FloorBoth => (of(head_per_mille, false), of(rest, false)),
                }
            }
        };
        self.at(text, total, head, tail)
    }

    /// Tokens are cut as bytes.
    fn in_bytes(&self, amount: u64) -> u64 {
        match self.measure.unit {
            Unit::Tokens => amount.saturating_mul(TOKEN_BYTES),
            _ => amount,
        }
    }

    /// The places of two ends of so many units; they never overlap.
    fn at(&self, text: &str, total: u64, head: u64, tail: u64) -> Ends {
        let measure = match self.measure.unit {
            Unit::Tokens => Measure::plain(Unit::Bytes, self.context),
            _ => self.measure,
        };
        let total = if measure.unit == Unit::Bytes { text.len() as u64 } else { total };
        let head = head.min(total);
        let tail = tail.min(total - head);
        if self.of.empty_tail == EmptyTail::Whole && (head, tail) == (0, 0) {
            return Ends::default();
        }
        let mut ends = Ends {
            head: measure.prefix(text, head),
            tail: measure.suffix(text, total, tail),
            halves: (None, None),
            n: None,
        };
        if self.of.boundary == Edge::Raw && measure.unit == Unit::Utf16 {
            ends.halves = halves(text, ends.head, head, ends.tail, tail);
        }
        if self.of.atoms == Atoms::Line {
            let starts = lines::starts(self.of.line_rule, text);
            let whole = |at: usize| starts.iter().rev().find(|start| **start <= at).copied();
            if ends.head < text.len() {
                ends.head = whole(ends.head).unwrap_or(0);
            }
            let next = starts.iter().find(|start| **start >= ends.tail).copied();
            ends.tail = next.unwrap_or(text.len());
        }
        ends.tail = ends.tail.max(ends.head);
        ends
    }

    fn facts<'f>(&'f self, text: &'f str, total: u64, ends: Ends) -> Facts<'f> {
        Facts {
            unit: self.of.unit,
            line_rule: self.of.line_rule,
            hidden: ends.head..ends.tail,
            total,
            limit: self.limit.unwrap_or(self.threshold),
            tokens: self.measure.tokens(text),
            ..Facts::of(text, self.context)
        }
    }

    /// What `{n}` is, for these ends.
    fn count(&self, text: &str, total: u64, ends: Ends, shown: (u64, u64)) -> u64 {
        let hidden = text.get(ends.head..ends.tail).unwrap_or_default();
        let limit = self.limit.unwrap_or(self.threshold);
        let halves = u64::from(ends.halves.0.is_some()) + u64::from(ends.halves.1.is_some());
        if let Some(n) = ends.n {
            return n;
        }
        match self.of.marker_count {
            Count::RemovedUnits | Count::FirstLayout => {
                total.saturating_sub(shown.0).saturating_sub(shown.1)
            }
            Count::RemovedBytes => hidden.len() as u64,
            Count::RemovedChars => hidden.chars().count() as u64,
            Count::RemovedUtf16 => (hidden.encode_utf16().count() as u64).saturating_sub(halves),
            Count::RemovedLines if hidden.is_empty() => 0,
            Count::RemovedLines => lines::count(self.of.line_rule, hidden),
            Count::NominalUnits => total.saturating_sub(limit),
            Count::NominalTokens => {
                let budget = match self.of.unit {
                    Unit::Tokens => limit.saturating_mul(TOKEN_BYTES),
                    _ => limit,
                };
                (text.len() as u64).saturating_sub(budget).div_ceil(TOKEN_BYTES)
            }
        }
    }

    fn show(&self, text: &str, total: u64, ends: Ends) -> Result<Shown, Unknown> {
        let cap = self.of;
        let get = |range: core::ops::Range<usize>| text.get(range).unwrap_or_default();
        let size = |text: &str, half: Option<u16>| {
            Ok(self.measure.size(text)? + u64::from(half.is_some()))
        };
        let shown = match cap.unit {
            // Lines of both ends say nothing where one line is cut in two.
            Unit::Tokens => (0, 0),
            _ => (
                size(get(0..ends.head), ends.halves.0)?,
                if ends.tail < text.len() || ends.halves.1.is_some() {
                    size(get(ends.tail..text.len()), ends.halves.1)?
                } else {
                    0
                },
            ),
        };
        let mut facts = self.facts(text, total, ends);
        facts.n = self.count(text, total, ends, shown);
        // A tail of 0 units that shows the whole text has 0 units nonetheless.
        let none = self.of.empty_tail == EmptyTail::Whole && (ends.head, ends.tail) == (0, 0);
        facts.ends = if none { (0, 0) } else { shown };
        let preview = match &cap.preview {
            Some(preview) => super::preview(preview, text, self.context)?,
            None => String::new(),
        };
        let facts = Facts { preview: &preview, ..facts };
        let mut pieces =
            Vec::from([Piece::Inserted(facts.render(&cap.header)?), Piece::Kept(0..ends.head)]);
        pieces.extend(ends.halves.0.map(Piece::Half));
        pieces.push(Piece::Inserted(facts.render(&cap.marker)?));
        pieces.extend(ends.halves.1.map(Piece::Half));
        pieces.push(Piece::Kept(ends.tail..text.len()));
        let shown = Shown::of(text, pieces);
        match &cap.template {
            Some(template) => Self::around(template, &template.cut, text, &facts, &shown, ends),
            None => Ok(shown),
        }
    }

    /// The template around an output that stays whole.
    fn whole(&self, template: &Template, text: &str, total: u64) -> Result<Shown, Unknown> {
        let all = Ends { head: text.len(), tail: text.len(), ..Ends::default() };
        let facts = self.facts(text, total, all);
        let shown = Shown::of(text, Vec::from([Piece::Kept(0..text.len())]));
        Self::around(template, &template.whole, text, &facts, &shown, all)
    }

    /// Puts words around what is `shown` of a text.
    fn around(
        template: &Template,
        words: &str,
        text: &str,
        facts: &Facts<'_>,
        shown: &Shown,
        ends: Ends,
    ) -> Result<Shown, Unknown> {
        let piece = |name: &str| {
            let range = match name {
                "text" => {
                    return Some(match template.escape {
                        TextEscape::None => shown.pieces.clone(),
                        escape => Vec::from([Piece::Inserted(escaped(escape, &shown.lossy(text)))]),
                    });
                }
                "head" => 0..ends.head,
                "tail" => ends.tail..text.len(),
                _ => return None,
            };
            Some(Vec::from([match template.escape {
                TextEscape::None => Piece::Kept(range),
                escape => Piece::Inserted(escaped(escape, text.get(range).unwrap_or_default())),
            }]))
        };
        let mut pieces = Vec::new();
        around(words, facts, &piece, &mut pieces)?;
        let shown = Shown::of(text, pieces);
        let hidden_bytes = (ends.tail - ends.head) as u64;
        Ok(Shown { hidden_bytes, ..shown })
    }
}

/// The halves that a cut through characters leaves at the two ends.
fn halves(
    text: &str,
    head_end: usize,
    head: u64,
    tail_start: usize,
    tail: u64,
) -> (Option<u16>, Option<u16>) {
    let units = |text: &str| text.encode_utf16().count() as u64;
    let pair = |c: char| {
        let mut pair = [0; 2];
        c.encode_utf16(&mut pair);
        pair
    };
    let before = text.get(..head_end).unwrap_or_default();
    let after = text.get(tail_start..).unwrap_or_default();
    let next = text.get(head_end..).and_then(|rest| rest.chars().next());
    let last = text.get(..tail_start).and_then(|rest| rest.chars().next_back());
    let high = next.filter(|_| units(before) < head).map(|c| pair(c)[0]);
    let low = last.filter(|_| units(after) < tail).map(|c| pair(c)[1]);
    (high, low)
}

/// A text as the inside of a JSON string.
fn escaped(escape: TextEscape, text: &str) -> String {
    use core::fmt::Write as _;
    let ascii = matches!(escape, TextEscape::JsonAscii | TextEscape::JinjaJson);
    let html = escape == TextEscape::JinjaJson;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && c > '~') || (html && matches!(c, '<' | '>' | '&' | '\'')) => {
                let mut pair = [0; 2];
                for unit in c.encode_utf16(&mut pair) {
                    write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
