//! Outputs in their wrapping: what the steps of a policy make of the text that was sent, from the
//! whole output where that was found beside the wire.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;

use artifacts::Source;
use ledger::event::{Hole, HoleValue, OutputFound};
use ledger::history::History;
use ledger::id::{PartNo, ToolCallId};

use super::ProjectError;
use crate::measure::TokenCounter;
use crate::memo::{Capped, Piece};
use crate::policy::{Budget, Op};
use crate::stage::result::{self, Basis, Known, Made};
use crate::text::{Context, Unknown};

/// Where saved outputs are said to be when no text of the run names such a file.
const FOLDER: &str = "/saved/";
/// Names the file of a text that was not saved in the run.
pub(super) const UNSAVED: &str = "/saved/none";
/// Shortest run of letters and digits that is the random part of a file's name.
const RANDOM_CHARS_MIN: usize = 6;

/// What is left of a text that does not stay as it was sent, and what it rests on; nothing where
/// the policy cannot read the text.
type Wrapped = (Option<Arc<Capped>>, Option<Basis>);

/// Reads sent texts and found outputs.
pub(super) struct Wrapping<'h> {
    pub(super) history: &'h History,
    pub(super) source: &'h dyn Source,
    pub(super) counter: Option<&'h dyn TokenCounter>,
}

impl Wrapping<'_> {
    /// Applies steps to an output in its wrapping, and tells what the result rests on. A text that
    /// the policy cannot read stays as it was sent, and rests on nothing.
    pub(super) fn made(
        &self,
        (number, slot): (PartNo, usize),
        hole: &Hole,
        steps: &[&Op],
        (tool, budget): (&str, Budget),
    ) -> Result<Result<Wrapped, (usize, Unknown)>, ProjectError> {
        let not_text = |_invalid| ProjectError::NotText { part: number.number(), slot };
        let bytes = self.history.text(hole).read(self.source)?;
        let sent = core::str::from_utf8(&bytes).map_err(not_text)?;
        let mut pieces = Vec::new();
        for piece in self.found(hole).map(|found| found.pieces.as_slice()).unwrap_or_default() {
            pieces.push(piece.text.read(self.source)?);
        }
        let mut texts = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            texts.push(core::str::from_utf8(piece).map_err(not_text)?);
        }
        let known = match texts.as_slice() {
            [whole] => Some(Known::Whole(whole)),
            [head, tail] => Some(Known::Ends(head, tail)),
            _ => None,
        };
        let make = |values: &[(&str, &str)]| {
            result::make(steps, sent, known, &Context { values, budget, counter: self.counter })
        };
        let made = match make(&[("tool", tool)]) {
            Made::Unknown(_, Unknown::Value) => {
                let spill = self.spill(hole, steps)?;
                make(&[("tool", tool), ("spill", &spill)])
            }
            made => made,
        };
        Ok(match made {
            Made::Unknown(step, unknown) => Err((step, unknown)),
            Made::Text(text, basis) if text == sent => Ok((None, Some(basis))),
            Made::Text(text, basis) => {
                Ok((Some(Arc::new(replaced(hole, sent, &text, steps.len()))), Some(basis)))
            }
            Made::Gap | Made::Unread => Ok((None, None)),
        })
    }

    /// The output that fills a slot as another record has it.
    fn found(&self, hole: &Hole) -> Option<&OutputFound> {
        let HoleValue::Output { call, index } = hole.value else { return None };
        self.history.call(call)?.found(index)
    }

    /// A name for the file that the client would have written the output of a slot to, since the
    /// run has none: like that of another output of the run, with the id of this call, or digits
    /// of the output's own name, in the place of the other's.
    fn spill(&self, hole: &Hole, steps: &[&Op]) -> Result<String, ProjectError> {
        let own = match hole.value {
            HoleValue::Output { call, .. } => Some(call),
            _ => None,
        };
        let digits = self.digits(hole);
        for (call, output) in (0..).map(ToolCallId::new).zip(self.history.calls()) {
            let Some([sent]) = output.output.as_deref() else { continue };
            let bytes = sent.text.read(self.source)?;
            let named = core::str::from_utf8(&bytes).ok().and_then(|it| result::spill(steps, it));
            let Some(path) = named else { continue };
            let (theirs, ours) = (self.id(call)?, own.map(|own| self.id(own)).transpose()?);
            if let Some(ours) = ours.filter(|_| !theirs.is_empty() && path.contains(&theirs)) {
                return Ok(path.replace(&theirs, &ours));
            }
            return Ok(renamed(&path, &digits));
        }
        Ok([FOLDER, &digits].concat())
    }

    /// The provider's id of a call.
    fn id(&self, call: ToolCallId) -> Result<String, ProjectError> {
        let item = self.history.call_item(call);
        let Some(id) = item.and_then(|item| item.call_id.as_ref()) else {
            return Ok(String::new());
        };
        Ok(String::from_utf8_lossy(&id.read(self.source)?).into_owned())
    }

    fn digits(&self, hole: &Hole) -> String {
        let content = match self.found(hole).and_then(|found| found.pieces.first()) {
            Some(piece) => &piece.text,
            None => self.history.text(hole),
        };
        match content.artifact() {
            Some(artifact) => artifact.id().to_string(),
            // A text that is short enough to stand in the log is named by its size.
            None => alloc::format!("{:032x}", content.len()),
        }
    }
}

/// A path with other digits in the place of the last random part of its name.
fn renamed(path: &str, digits: &str) -> String {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let part = |c: char| c.is_ascii_alphanumeric();
    let mut found = None;
    let mut at = name;
    for word in path.get(name..).unwrap_or_default().split_inclusive(|c| !part(c)) {
        let length = word.trim_end_matches(|c| !part(c)).len();
        let looks = length >= RANDOM_CHARS_MIN && word.bytes().any(|b| b.is_ascii_digit());
        if looks {
            found = Some(at..at + length);
        }
        at += word.len();
    }
    let Some(range) = found else { return path.to_owned() };
    let own: String = digits.chars().filter(|c| part(*c)).take(range.len()).collect();
    let (before, behind) = (path.get(..range.start), path.get(range.end..));
    [before.unwrap_or_default(), &own, behind.unwrap_or_default()].concat()
}

/// A text that stands for the sent one: what both begin and end with is the sent one's.
fn replaced(hole: &Hole, sent: &str, text: &str, steps: usize) -> Capped {
    let same = |pairs: usize| pairs.min(sent.len()).min(text.len());
    let start = sent.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let start = sent.floor_char_boundary(same(start));
    let ends = sent.bytes().rev().zip(text.bytes().rev()).take_while(|(a, b)| a == b).count();
    let room = (sent.len() - start).min(text.len() - start);
    let end = sent.ceil_char_boundary(sent.len() - ends.min(room));
    let kept = sent.len() - end;
    let middle = text.get(start..text.len() - kept).unwrap_or_default();
    let pieces = [
        Piece::Kept(0..start),
        Piece::Inserted(steps.saturating_sub(1), middle.into()),
        Piece::Kept(end..sent.len()),
    ];
    let shown = |piece: &Piece| match piece {
        Piece::Kept(range) => !range.is_empty(),
        Piece::Inserted(_, text) => !text.is_empty(),
    };
    Capped {
        escaped_bytes: hole.escape.escaped_bytes(text),
        shown_bytes: text.len() as u64,
        kept_bytes: (start + kept) as u64,
        differs: true,
        pieces: pieces.into_iter().filter(shown).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_part_of_a_name_is_given_other_digits() {
        let digits = "0123456789abcdef0123";
        for (path, expected) in [
            ("/t/pi-bash-e7af21d876580458.log", "/t/pi-bash-0123456789abcdef.log"),
            ("/o/tool_22d3af9cc0013LKIp2X", "/o/tool_0123456789abcdef012"),
            (
                "/q/1234567890/run_shell_command_e8b552181519.output",
                "/q/1234567890/run_shell_command_0123456789ab.output",
            ),
            ("/plain/name.txt", "/plain/name.txt"),
        ] {
            assert_eq!(renamed(path, digits), expected);
        }
    }
}
