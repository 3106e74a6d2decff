//! `cap_lines`.

use alloc::string::String;

use crate::policy::amount::Amount;
use crate::policy::node::{Fields, Wrong, record, words};
use crate::policy::text::{Edge, LineRule, Shape, Spill, Split, Unit};

words! {
    /// What is left where not even one whole line fits.
    pub enum HugeLine {
        /// Nothing.
        Empty = "empty",
        /// As much of it as fits.
        Part = "part",
    }
}

record! {
    /// Cuts a text that has more lines or more bytes than it may: whole lines stay, as long as
    /// both limits hold. A line counts with its line feed where another line follows.
    pub struct CapLines: "op \"cap_lines\"", check limited {
        /// So many lines at most.
        max_lines: Option<Amount> = None,
        /// So many bytes at most.
        max_bytes: Option<Amount> = None,
        /// A line is cut to so many units.
        max_line: Option<u64> = None,
        /// What `max_line` counts.
        max_line_unit: Unit = Unit::Chars,
        /// Stands at the end of a line that was cut; outside its limit.
        line_marker: String = String::new(),
        /// What is kept, with its parameters.
        shape: Shape,
        /// What is left where not even one whole line fits.
        huge_line: HugeLine = HugeLine::Empty,
        /// What happens where a cut falls inside a character.
        boundary: Edge = Edge::Shrink,
        /// What a line is.
        line_rule: LineRule = LineRule::SplitLf,
        /// Stands where text was cut. `{n}` is what is hidden, `{unit}` is `lines` or `bytes`,
        /// whichever limit was reached.
        marker: String,
        /// Stands before a text that was cut.
        header: String = String::new(),
        /// Where the whole text was put aside.
        spill: Spill = Spill::None,
    }
}

fn limited(cap: &CapLines, fields: &Fields<'_>) -> Result<(), Wrong> {
    if cap.max_lines.is_none() && cap.max_bytes.is_none() && cap.max_line.is_none() {
        let reason = "needs one of `max_lines`, `max_bytes`, `max_line`";
        return Err(Wrong::new(fields.at, reason));
    }
    if matches!(cap.shape, Shape::Replace | Shape::Middle(Split::Fixed { .. })) {
        let reason = "op \"cap_lines\" keeps `head`, `tail`, or `middle` by share";
        return Err(Wrong::new(fields.at("shape"), reason));
    }
    Ok(())
}
