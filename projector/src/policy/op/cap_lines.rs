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
    /// A budget that both ends of a text share, in units. A line that crosses it is cut, and a
    /// line feed counts with its line.
    pub struct Shared: "`shared`" {
        /// What is counted.
        unit: Unit,
        /// So many units at most, with the marker between the ends.
        limit: Amount,
        /// Stands where a line was cut; inside of the budget.
        line_marker: String,
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
        /// With `middle`: a budget that both ends share, instead of `max_bytes`. The head gets
        /// its share, the tail what the head and the marker leave.
        shared: Option<Shared> = None,
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
        /// What is shown where not even a part of a line is left.
        empty: String = String::new(),
        /// Where the whole text was put aside.
        spill: Spill = Spill::None,
    }
}

fn limited(cap: &CapLines, fields: &Fields<'_>) -> Result<(), Wrong> {
    if cap.shared.is_some() {
        if cap.max_bytes.is_some() || !matches!(cap.shape, Shape::Middle(Split::Ratio { .. })) {
            let reason = "`shared` needs shape \"middle\" by share, and no `max_bytes`";
            return Err(Wrong::new(fields.at("shared"), reason));
        }
        return Ok(());
    }
    if cap.max_lines.is_none() && cap.max_bytes.is_none() && cap.max_line.is_none() {
        let reason = "needs one of `max_lines`, `max_bytes`, `shared`, `max_line`";
        return Err(Wrong::new(fields.at, reason));
    }
    if matches!(cap.shape, Shape::Replace | Shape::Middle(Split::Fixed { .. })) {
        let reason = "op \"cap_lines\" keeps `head`, `tail`, or `middle` by share";
        return Err(Wrong::new(fields.at("shape"), reason));
    }
    Ok(())
}
