//! Sizes of texts in the units of a policy, and the longest ends of a text within a size.

use ledger::event::TextMeasure;

use super::{Context, Unknown, columns, lines};
use crate::measure::Estimator;
use crate::policy::{CapText, LineRule, Preview, Unit};

/// Bytes that are taken for one token when a text is cut.
pub(super) const TOKEN_BYTES: u64 = 4;

/// How a text is measured.
#[derive(Clone, Copy)]
pub(super) struct Measure<'c> {
    pub(super) unit: Unit,
    pub(super) line_rule: LineRule,
    estimator: Estimator,
    context: &'c Context<'c>,
}

/// Size of `text` in a unit; lines end with line feeds, tokens are a quarter of the bytes.
pub fn size(unit: Unit, text: &str) -> u64 {
    Measure::plain(unit, &Context::default()).size(text).unwrap_or_default()
}

impl<'c> Measure<'c> {
    pub(super) fn plain(unit: Unit, context: &'c Context<'c>) -> Self {
        let (line_rule, estimator) = (LineRule::RustLines, Estimator::B4Ceil);
        Self { unit, line_rule, estimator, context }
    }

    pub(super) fn of(cap: &CapText, context: &'c Context<'c>) -> Self {
        let (unit, line_rule, estimator) = (cap.unit, cap.line_rule, cap.estimator);
        Self { unit, line_rule, estimator, context }
    }

    pub(super) fn of_preview(preview: &Preview, context: &'c Context<'c>) -> Self {
        Self { line_rule: preview.line_rule, ..Self::plain(preview.unit, context) }
    }

    pub(super) fn with(self, estimator: Estimator) -> Self {
        Self { estimator, ..self }
    }

    /// Size of `text`.
    pub(super) fn size(&self, text: &str) -> Result<u64, Unknown> {
        Ok(match self.unit {
            Unit::Bytes => text.len() as u64,
            Unit::Chars => TextMeasure::of(text).chars,
            Unit::Utf16 => TextMeasure::of(text).utf16,
            Unit::Lines => lines::count(self.line_rule, text),
            Unit::Columns => columns::width(text),
            Unit::Tokens => {
                self.estimator.text(text, self.context.counter).ok_or(Unknown::Tokens)?
            }
        })
    }

    /// Estimated tokens of `text`, by the estimator, whatever the unit.
    pub(super) fn tokens(&self, text: &str) -> Option<u64> {
        self.estimator.text(text, self.context.counter)
    }

    /// Byte offset behind the longest prefix of at most `budget` units.
    pub(super) fn prefix(&self, text: &str, budget: u64) -> usize {
        match self.unit {
            Unit::Bytes => text.floor_char_boundary(bytes(budget)),
            Unit::Tokens => text.floor_char_boundary(bytes(budget.saturating_mul(TOKEN_BYTES))),
            Unit::Chars => nth_char(text, budget, |_| 1),
            Unit::Utf16 => nth_char(text, budget, |c| c.len_utf16() as u64),
            Unit::Columns => columns::prefix(text, budget),
            Unit::Lines => {
                let starts = lines::starts(self.line_rule, text);
                starts.get(bytes(budget)).copied().unwrap_or(text.len())
            }
        }
    }

    /// Byte offset of the longest suffix of at most `budget` units; `total` is the size of the
    /// text.
    pub(super) fn suffix(&self, text: &str, total: u64, budget: u64) -> usize {
        match self.unit {
            Unit::Bytes => text.ceil_char_boundary(text.len().saturating_sub(bytes(budget))),
            Unit::Tokens => {
                let keep = bytes(budget.saturating_mul(TOKEN_BYTES));
                text.ceil_char_boundary(text.len().saturating_sub(keep))
            }
            Unit::Chars | Unit::Lines => self.prefix(text, total.saturating_sub(budget)),
            Unit::Columns => {
                // From the first cell on that leaves no more than the budget.
                let skipped = total.saturating_sub(budget);
                let end = columns::prefix(text, skipped);
                let seen = columns::width(text.get(..end).unwrap_or_default());
                if seen < skipped { columns::prefix(text, skipped + 1) } else { end }
            }
            Unit::Utf16 => {
                // Counted from the end, so that a pair that straddles the budget is left out.
                let mut left = budget;
                let mut at = text.len();
                for c in text.chars().rev() {
                    let units = c.len_utf16() as u64;
                    if units > left {
                        break;
                    }
                    left -= units;
                    at -= c.len_utf8();
                }
                at
            }
        }
    }
}

fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn nth_char(text: &str, budget: u64, units: impl Fn(char) -> u64) -> usize {
    let mut left = budget;
    for (at, c) in text.char_indices() {
        let cost = units(c);
        if cost > left {
            return at;
        }
        left -= cost;
    }
    text.len()
}
