//! The primitives that work on one text, each a pure function of text, parameters and context.
//!
//! What a step leaves of a text is told as pieces: ranges of the text, inserted texts, and halves
//! of surrogate pairs where a harness cuts between them. Nothing is copied that is kept.

mod cap_lines;
mod cap_parts;
mod cap_text;
mod chain;
mod columns;
mod lines;
mod preview;
mod render;
mod runs;
mod shared;
mod size;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

pub use cap_lines::cap_lines;
pub use cap_parts::{PartShown, TextPart, cap_parts};
pub use cap_text::cap_text;
pub use chain::Chain;
pub use lines::{count as count_lines, starts as line_starts};
pub use preview::preview;
pub use size::size;

use crate::measure::TokenCounter;
use crate::policy::op::{CapArgs, ClearResults};
use crate::policy::{At, Budget, Op, Step, TextKind, Unit};

/// A piece of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A range of the text, in bytes, on character boundaries.
    Kept(Range<usize>),
    /// A text of the policy: a marker, a header, a preview.
    Inserted(String),
    /// Half of a surrogate pair, where the other half was cut away.
    Half(u16),
}

/// What a step leaves of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The pieces, in order; none is empty.
    pub pieces: Vec<Piece>,
    /// Bytes of the text that are not shown.
    pub hidden_bytes: u64,
}

/// Why a step cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unknown {
    /// An amount rests on the state of a run, which is not known.
    #[error("an amount rests on what is not known of the run")]
    Amount,
    /// The estimator needs a counter that was not given, or more than a text.
    #[error("tokens of a text cannot be counted")]
    Tokens,
    /// A block cannot be told from the rest of its message.
    #[error("a block cannot be told from the rest of its message")]
    Place,
    /// A marker names a value that was not given.
    #[error("a marker names a value that is not known")]
    Value,
}

/// What a step may know beside the text.
#[derive(Clone, Copy, Default)]
pub struct Context<'c> {
    /// The state of the run.
    pub budget: Budget,
    /// Counts tokens exactly, for the estimators that need it.
    pub counter: Option<&'c dyn TokenCounter>,
    /// Values that markers name: `tool`, `spill`, `hint` and those of a template.
    pub values: &'c [(&'c str, &'c str)],
}

impl core::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Context of {} values", self.values.len())
    }
}

impl Context<'_> {
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

impl Shown {
    pub(crate) fn of(text: &str, pieces: Vec<Piece>) -> Self {
        let kept: usize = pieces.iter().map(Piece::kept_bytes).sum();
        let mut shown = Vec::with_capacity(pieces.len());
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            // Halves of which the text between is gone make a character, as they do in a string
            // of UTF-16.
            match (shown.last(), &piece) {
                (Some(&Piece::Half(high)), &Piece::Half(low)) => match pair(high, low) {
                    Some(whole) => {
                        shown.pop();
                        shown.push(Piece::Inserted(whole.into()));
                    }
                    None => shown.push(piece),
                },
                _ => shown.push(piece),
            }
        }
        Self { pieces: shown, hidden_bytes: text.len().saturating_sub(kept) as u64 }
    }

    /// True when what is shown is Unicode text.
    pub fn is_well_formed(&self, text: &str) -> bool {
        let units = self.utf16(text);
        char::decode_utf16(units).all(|unit| unit.is_ok())
    }

    /// What is shown, with U+FFFD for halves that stand alone.
    pub fn lossy(&self, text: &str) -> String {
        if !self.pieces.iter().any(|piece| matches!(piece, Piece::Half(_))) {
            let mut out = String::new();
            for piece in &self.pieces {
                match piece {
                    Piece::Kept(range) => {
                        out.push_str(text.get(range.clone()).unwrap_or_default());
                    }
                    Piece::Inserted(text) => out.push_str(text),
                    Piece::Half(_) => {}
                }
            }
            return out;
        }
        String::from_utf16_lossy(&self.utf16(text))
    }

    /// What is shown, as UTF-16; halves stand as they are.
    pub fn utf16(&self, text: &str) -> Vec<u16> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Kept(range) => {
                    out.extend(text.get(range.clone()).unwrap_or_default().encode_utf16());
                }
                Piece::Inserted(text) => out.extend(text.encode_utf16()),
                Piece::Half(unit) => out.push(*unit),
            }
        }
        out
    }
}

/// The character of two halves.
fn pair(high: u16, low: u16) -> Option<char> {
    char::decode_utf16([high, low]).next().and_then(Result::ok)
}

impl Piece {
    fn kept_bytes(&self) -> usize {
        match self {
            Self::Kept(range) => range.len(),
            Self::Inserted(_) | Self::Half(_) => 0,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Kept(range) => range.is_empty(),
            Self::Inserted(text) => text.is_empty(),
            Self::Half(_) => false,
        }
    }
}

/// Applies a step that works on single texts; `None`: the text stays whole.
///
/// Other steps leave every text whole.
///
/// # Errors
/// Something that the step rests on is not known.
pub fn apply(op: &Op, text: &str, context: &Context<'_>) -> Result<Option<Shown>, Unknown> {
    match op {
        Op::CapText(cap) => cap_text(cap, text, context),
        Op::CapLines(cap) => cap_lines(cap, text, context),
        Op::CapParts(cap) => {
            let shown = cap_parts(cap, &[TextPart::Text(text)], context)?;
            Ok(match shown.first() {
                Some(PartShown::Cut(cut)) => Some(cut.clone()),
                _ => None,
            })
        }
        Op::CapArgs(cap) => cap_argument(cap, text, context),
        _ => Ok(None),
    }
}

/// Applies the steps of a policy that work on results, one after the other, to the one text of a
/// result of `tool`; `None`: it stays whole.
///
/// # Errors
/// The first step, from 0, that rests on something unknown.
pub fn results(
    steps: &[Step],
    tool: Option<&[u8]>,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, (usize, Unknown)> {
    let mut chain = Chain::of(text);
    for (index, step) in steps.iter().enumerate() {
        let is_for = step.applies.to(tool) && step.applies.to_kind(TextKind::ToolResult);
        if step.at != At::Result || !is_for {
            continue;
        }
        let cut = apply(&step.op, chain.text(), context).map_err(|unknown| (index, unknown))?;
        if let Some(cut) = cut {
            chain = chain.then(&cut);
        }
    }
    Ok(chain.is_cut().then(|| chain.into_shown()))
}

/// Cuts one string argument of a call.
///
/// # Errors
/// Tokens are asked for and cannot be counted.
pub fn cap_argument(
    cap: &CapArgs,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, Unknown> {
    let measure = size::Measure::plain(cap.unit, context);
    if measure.size(text)? <= cap.threshold {
        return Ok(None);
    }
    let end = measure.prefix(text, cap.head);
    let pieces = Vec::from([Piece::Kept(0..end), Piece::Inserted(cap.marker.clone())]);
    Ok(Some(Shown::of(text, pieces)))
}

/// What stands in the place of a cleared result; `None`: the text stays whole, since it is short
/// or would not become shorter.
///
/// # Errors
/// Something that the replacement rests on is not known.
pub fn replacement(
    clear: &ClearResults,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, Unknown> {
    let facts = render::Facts {
        line_rule: clear.line_rule,
        unit: clear.preview.as_ref().map_or(Unit::Chars, |preview| preview.unit),
        hidden: 0..text.len(),
        ends: clear.preview.as_ref().map_or((0, 0), |preview| (preview.head, preview.tail)),
        ..render::Facts::of(text, context)
    };
    let mut preview_text = String::new();
    if let Some(preview) = &clear.preview {
        if size::Measure::of_preview(preview, context).size(text)? <= preview.over {
            return Ok(None);
        }
        preview_text = self::preview(preview, text, context)?;
    }
    let facts = render::Facts { preview: &preview_text, ..facts };
    let rendered = facts.render(clear.text())?;
    let unit = size::Measure::plain(facts.unit, context);
    if clear.only_if_smaller && unit.size(&rendered)? >= unit.size(text)? {
        return Ok(None);
    }
    Ok(Some(Shown::of(text, Vec::from([Piece::Inserted(rendered)]))))
}
