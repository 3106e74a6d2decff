//! `cap_text`.

use alloc::string::String;

use crate::measure::Estimator;
use crate::policy::amount::Amount;
use crate::policy::node::{Fields, Wrong, record, words};
use crate::policy::text::{Atoms, Count, Edge, LineRule, Preview, Shape, Spill, Split, Unit};
use crate::policy::trigger::Cmp;

words! {
    /// How a template writes the texts that it holds.
    pub enum TextEscape {
        /// As they are.
        None = "none",
        /// As `json_ascii`, and `<`, `>`, `&`, `'` escaped: Jinja's `tojson`.
        JinjaJson = "jinja_json",
        /// As the inside of a JSON string, ASCII only, as Python's `json.dumps` writes it.
        JsonAscii = "json_ascii",
        /// As the inside of a JSON string, other characters as they are.
        Json = "json",
    }
}

words! {
    /// What a tail of 0 units is.
    pub enum EmptyTail {
        /// Nothing.
        Nothing = "nothing",
        /// The whole text, as where a program slices from minus zero.
        Whole = "whole",
    }
}

record! {
    /// The text around an output. `{text}` is what is left of the output, with header and marker;
    /// `{head}` and `{tail}` are its ends alone; other names in braces are those of values that
    /// come with the output.
    pub struct Template: "`template`" {
        /// Around an output that stays whole.
        whole: String,
        /// Around an output that was cut.
        cut: String,
        /// How texts are written in it.
        escape: TextEscape = TextEscape::None,
    }
}

record! {
    /// A second limit of a cap, with a marker of its own.
    pub struct Ceiling: "`ceiling`" {
        /// What is counted.
        unit: Unit,
        /// What is left of a text, in units.
        limit: Amount,
        /// Stands where text was cut.
        marker: String,
        /// What `{n}` of the marker counts.
        marker_count: Count = Count::RemovedUnits,
    }
}

record! {
    /// Cuts a text that is longer than a limit. Each text of an output is looked at by itself.
    pub struct CapText: "op \"cap_text\"", check whole {
        /// What is counted.
        unit: Unit,
        /// What is left of a text, in units. Needed, but with shape `replace` or with `head`.
        limit: Option<Amount> = None,
        /// A text is cut when its size compares so to the threshold.
        threshold_cmp: Cmp = Cmp::Above,
        /// What the size is compared with; without it, the limit.
        threshold: Option<Amount> = None,
        /// A second limit: where it leaves less, in bytes, than the first one, it is the one that
        /// is in force, with its own marker.
        ceiling: Option<Ceiling> = None,
        /// Limit and threshold are multiplied with this, in thousandths, rounded up.
        limit_scale_per_mille: u32 = 1000,
        /// With unit `tok`: how tokens are estimated.
        estimator: Estimator = Estimator::B4Ceil,
        /// What is kept, with its parameters.
        shape: Shape,
        /// What a cut counts as one.
        atoms: Atoms = Atoms::Unit,
        /// What happens where a cut falls inside a character.
        boundary: Edge = Edge::Shrink,
        /// Stands where text was cut. `{n}` is a number of hidden units.
        marker: String,
        /// What `{n}` counts.
        marker_count: Count = Count::RemovedUnits,
        /// The marker counts against the limit.
        marker_in_limit: bool,
        /// Stands before a text that was cut; outside the limit.
        header: String = String::new(),
        /// What a line is.
        line_rule: LineRule = LineRule::RustLines,
        /// A text that would not become shorter stays whole.
        only_if_smaller: bool = false,
        /// What a tail of 0 units is, where there is no head either.
        empty_tail: EmptyTail = EmptyTail::Nothing,
        /// A limit of 0 is no limit.
        zero_is_unlimited: bool = false,
        /// Where the whole text was put aside.
        spill: Spill = Spill::None,
        /// What `{preview}` of the marker shows.
        preview: Option<Preview> = None,
        /// The text around the output.
        template: Option<Template> = None,
        /// Several streams of one output are cut each by itself.
        per_stream: bool = false,
        /// Runs of equal lines are written once before anything is cut, followed by this text;
        /// `{n}` is the number of further lines. Empty: they stay.
        run_length: String = String::new(),
    }
}

fn whole(cap: &CapText, fields: &Fields<'_>) -> Result<(), Wrong> {
    let fixed = matches!(cap.shape, Shape::Middle(Split::Fixed { .. }));
    if cap.shape == Shape::Replace {
        if cap.limit.is_none() && cap.threshold.is_none() {
            let reason = "shape \"replace\" needs `threshold` or `limit`";
            return Err(Wrong::new(fields.at, reason));
        }
    } else if cap.limit.is_none() && !fixed {
        return Err(fields.missing("limit"));
    } else if fixed && cap.limit.is_none() && cap.threshold.is_none() {
        let reason = "`head` and `tail` need `threshold` or `limit`";
        return Err(Wrong::new(fields.at, reason));
    }
    Ok(())
}

impl CapText {
    /// A cap with a limit and a marker outside of it, and nothing else.
    pub fn plain(unit: Unit, limit: u64, shape: Shape, marker: &str) -> Self {
        Self {
            unit,
            limit: Some(Amount::Fixed(limit)),
            threshold_cmp: Cmp::Above,
            threshold: None,
            ceiling: None,
            limit_scale_per_mille: 1000,
            estimator: Estimator::B4Ceil,
            shape,
            atoms: Atoms::Unit,
            boundary: Edge::Shrink,
            marker: marker.into(),
            marker_count: Count::RemovedUnits,
            marker_in_limit: false,
            header: String::new(),
            line_rule: LineRule::RustLines,
            only_if_smaller: false,
            empty_tail: EmptyTail::Nothing,
            zero_is_unlimited: false,
            spill: Spill::None,
            preview: None,
            template: None,
            per_stream: false,
            run_length: String::new(),
        }
    }
}
