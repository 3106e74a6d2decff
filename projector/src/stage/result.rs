//! What the `result` steps of a policy make of one output of a tool, in its wrapping.
//!
//! A client writes an output into a text of its own: a header with an exit code before it, JSON
//! around it, the name of a file that has the rest. The forms of a step say how. The recorded text
//! is read by them, which gives the values that came with the output; the output itself is the one
//! that was found beside the wire, or, where there is none, what the recorded text shows of it.
//! Then the steps are applied as [`crate::text`] applies them.

mod shown;
mod spread;

use alloc::borrow::{Cow, ToOwned as _};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::shown::{Body, ShownText};
use super::template::Form;
use crate::policy::Op;
use crate::policy::op::{CapText, TextEscape};
use crate::text::{self, Context, Piece, Unknown};

/// Stands for text that is not on record, so that nobody can show it unnoticed.
const GAP: char = '\u{1}';
/// The same inside of a JSON string.
const GAP_ESCAPED: &str = "\\u0001";
/// Bytes that headers count as one token, rounded up.
const TOKEN_BYTES: u64 = 4;
/// So much of an end is looked for in a whole output, in bytes.
const STRETCH_BYTES: usize = 48;

/// An output as another record of the run has it.
#[derive(Clone, Copy, Debug)]
pub enum Known<'t> {
    /// All of it.
    Whole(&'t str),
    /// Beginning and end.
    Ends(&'t str, &'t str),
}

/// What the shown text rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The whole output is on record, or all of it that is shown.
    Known,
    /// What the client sent is taken for all there is.
    Sent,
}

/// What the steps make of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// This text.
    Text(String, Basis),
    /// A text with stretches that are not on record.
    Gap,
    /// The recorded text is not of the form that the policy describes.
    Unread,
    /// A step, from 0, rests on something that nobody said.
    Unknown(usize, Unknown),
}

/// True when a step describes more of a text than the cut: then it is for this module.
pub fn is_wrapped(op: &Op) -> bool {
    let names = |form: &str| form.contains("{spill}") || form.contains("{hint}");
    match op {
        Op::CapText(cap) => cap.template.is_some() || !cap.header.is_empty() || names(&cap.marker),
        Op::CapLines(cap) => !cap.header.is_empty() || names(&cap.marker),
        _ => false,
    }
}

/// The path of the file that a recorded text names, where a step says that there is one.
pub fn spill(steps: &[&Op], sent: &str) -> Option<String> {
    let mut read = shown::read(steps, sent)?;
    read.values.remove("spill")
}

/// Applies the steps, in order, to the output that `sent` shows. Values that the recorded text
/// has go before those of the context.
pub fn make(steps: &[&Op], sent: &str, known: Option<Known<'_>>, context: &Context<'_>) -> Made {
    let Some(ShownText { values, body }) = shown::read(steps, sent) else { return Made::Unread };
    let counts = || steps.iter().any(|op| shown::counts(op));
    let (output, basis) = match (known, &body) {
        (Some(Known::Whole(whole)), body) if may_be_of(body, whole) => {
            (Cow::Borrowed(whole), Basis::Known)
        }
        (Some(Known::Whole(_)), _) | (_, Body::Gone) => return Made::Unread,
        (_, Body::Whole(text)) => {
            let same = matches!(known, Some(Known::Ends(head, tail))
                if text.starts_with(head) || text.ends_with(tail));
            if known.is_some() && !same {
                return Made::Unread;
            }
            (Cow::Borrowed(text.as_str()), Basis::Sent)
        }
        (Some(Known::Ends(head, tail)), Body::Cut(cut)) => {
            let head = longer(head, &cut.head, str::starts_with);
            let tail = longer(tail, &cut.tail, str::ends_with);
            match head.zip(tail).and_then(|(head, tail)| cut.spread(head, tail, counts())) {
                Some(text) => (Cow::Owned(text), Basis::Known),
                None => return Made::Unread,
            }
        }
        (None, Body::Cut(cut)) => match cut.spread(&cut.head, &cut.tail, counts()) {
            Some(text) => (Cow::Owned(text), Basis::Sent),
            None => return Made::Unread,
        },
    };
    let mut all: Vec<(&str, &str)> =
        values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    all.extend_from_slice(context.values);
    let context = Context { values: &all, ..*context };
    match apply(steps, &output, &context) {
        Err((step, unknown)) => Made::Unknown(step, unknown),
        Ok(made) if has_gap(&made) && !has_gap(sent) => Made::Gap,
        Ok(made) => Made::Text(made, basis),
    }
}

/// True when a text shows what is not on record, as it is or as JSON writes it.
fn has_gap(text: &str) -> bool {
    text.contains(GAP) || text.contains(GAP_ESCAPED)
}

/// False when `whole` cannot be what is shown in part.
fn may_be_of(body: &Body, whole: &str) -> bool {
    match body {
        Body::Whole(text) => text == whole,
        Body::Gone => true,
        Body::Cut(ends) => {
            // A line feed at the end may be gone.
            let first = ends.head.get(..ends.head.floor_char_boundary(STRETCH_BYTES));
            let from = ends.tail.ceil_char_boundary(ends.tail.len().saturating_sub(STRETCH_BYTES));
            let (first, last) = (first.unwrap_or_default(), ends.tail.get(from..));
            let last = last.unwrap_or_default().trim_end_matches('\n');
            whole.starts_with(first) && whole.contains(last)
        }
    }
}

/// The known text, where it agrees with the shown one and says more.
fn longer<'t>(
    known: &'t str,
    shown: &'t str,
    holds: impl Fn(&'t str, &'t str) -> bool,
) -> Option<&'t str> {
    if holds(known, shown) {
        return Some(known);
    }
    holds(shown, known).then_some(shown)
}

/// Applies the steps.
fn apply(steps: &[&Op], output: &str, context: &Context<'_>) -> Result<String, (usize, Unknown)> {
    let mut text = Cow::Borrowed(output);
    let mut before: Option<String> = None;
    for (index, op) in steps.iter().enumerate() {
        let after = before.as_deref().and_then(|marker| after_cut(op, output, marker));
        let op = after.as_ref().unwrap_or(op);
        let cut = text::apply(op, &text, context).map_err(|unknown| (index, unknown))?;
        let Some(cut) = cut else { continue };
        before = cut.pieces.iter().rev().find_map(|piece| match piece {
            Piece::Inserted(text) => Some(text.trim_matches('\n').to_owned()),
            Piece::Kept(_) | Piece::Half(_) => None,
        });
        text = Cow::Owned(cut.lossy(&text));
    }
    Ok(text.into_owned())
}

/// The step behind an earlier cut. A line of its header that counts lines gives way to the marker
/// of that cut: behind a gap nobody can count them. Tokens are those of the whole output.
fn after_cut(op: &Op, output: &str, marker: &str) -> Option<Op> {
    let Op::CapText(cap) = op else { return None };
    if !Form::new(&cap.header, TextEscape::None).has("total_lines") {
        return None;
    }
    let tokens = (output.len() as u64).div_ceil(TOKEN_BYTES).to_string();
    let mut header = String::new();
    for line in cap.header.split_inclusive('\n') {
        if line.contains("{total_lines}") {
            header.extend([marker, "\n"]);
        } else {
            header.push_str(&line.replace("{total_tokens}", &tokens));
        }
    }
    Some(Op::CapText(CapText { header, ..cap.clone() }))
}

#[cfg(test)]
mod tests;
