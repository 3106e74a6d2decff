//! The terms of steps that work on texts: units, shapes, edges, markers, lines.

use alloc::string::String;
use alloc::vec::Vec;

use super::node::{Entry, Fields, Node, Param, Value, Wrong, record, short, words};
use super::schema::{Field, Schema};

words! {
    /// What a cap counts.
    pub enum Unit {
        /// UTF-8 bytes.
        Bytes = "b",
        /// Unicode code points.
        Chars = "cp",
        /// UTF-16 code units, as JavaScript counts.
        Utf16 = "u16",
        /// Columns of a terminal: wide characters take two, escape sequences none.
        Columns = "col",
        /// Lines, by the step's line rule.
        Lines = "line",
        /// Tokens, by the step's estimator; four bytes are taken for one token when cutting.
        Tokens = "tok",
    }
}

words! {
    /// Which side of a middle cut gets what is left over when a share is rounded.
    pub enum Round {
        /// The head is rounded down, the tail gets the rest.
        FloorHead = "floor_head",
        /// The head is rounded up, the tail gets the rest.
        CeilHead = "ceil_head",
        /// The head is rounded down, the tail is its own share rounded up.
        CeilTail = "ceil_tail",
        /// Both are rounded down; what is left over is not used.
        FloorBoth = "floor_both",
    }
}

/// How a budget is divided over the two ends of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// By share.
    Ratio {
        /// Share of the head, in thousandths.
        head_per_mille: u16,
        /// How it is rounded.
        round: Round,
    },
    /// Fixed sizes, whatever the limit.
    Fixed {
        /// Units at the beginning.
        head: u64,
        /// Units at the end.
        tail: u64,
    },
}

/// What a cap keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// Both ends, cut in the middle.
    Middle(Split),
    /// Nothing: the marker stands for the text.
    Replace,
}

impl Shape {
    /// Both ends; the head gets this share, rounded down.
    pub fn middle(head_per_mille: u16) -> Self {
        Self::Middle(Split::Ratio { head_per_mille, round: Round::FloorHead })
    }
}

words! {
    /// The name of a shape.
    pub(crate) enum ShapeWord {
        /// The beginning is kept.
        Head = "head",
        /// The end is kept.
        Tail = "tail",
        /// Both ends are kept.
        Middle = "middle",
        /// Nothing is kept: the marker stands for the text.
        Replace = "replace",
    }
}

record! {
    /// A shape with its parameters.
    pub(crate) struct ShapeFields: "a shape" {
        /// What is kept.
        shape: ShapeWord,
        /// With `middle`: the share of the head, in thousandths.
        head_per_mille: Option<u16> = None,
        /// With `head_per_mille`: how the share is rounded; `floor_head` where nothing is said.
        round: Option<Round> = None,
        /// With `middle`: units at the beginning, instead of a share.
        head: Option<u64> = None,
        /// With `head`: units at the end.
        tail: Option<u64> = None,
    }
}

impl Shape {
    fn of(fields: &ShapeFields, at: &Fields<'_>) -> Result<Self, Wrong> {
        let wrong = |key: &str, reason: &'static str| Err(Wrong::new(at.at(key), reason));
        let shape = match fields.shape {
            ShapeWord::Middle => match (fields.head_per_mille, fields.head, fields.tail) {
                (Some(head_per_mille), None, None) => {
                    short(head_per_mille, at, "head_per_mille")?;
                    let round = fields.round.unwrap_or(Round::FloorHead);
                    return Ok(Self::Middle(Split::Ratio { head_per_mille, round }));
                }
                (None, Some(head), Some(tail)) if fields.round.is_none() => {
                    return Ok(Self::Middle(Split::Fixed { head, tail }));
                }
                _ => {
                    let reason = "shape \"middle\" needs head_per_mille, or else head and tail";
                    return wrong("shape", reason);
                }
            },
            ShapeWord::Head => Self::Head,
            ShapeWord::Tail => Self::Tail,
            ShapeWord::Replace => Self::Replace,
        };
        if fields.head_per_mille.is_some() {
            return wrong("head_per_mille", "head_per_mille goes with shape \"middle\" only");
        }
        if fields.round.is_some() {
            return wrong("round", "round goes with shape \"middle\" only");
        }
        if fields.head.is_some() {
            return wrong("head", "head goes with shape \"middle\" only");
        }
        if fields.tail.is_some() {
            return wrong("tail", "tail goes with shape \"middle\" only");
        }
        Ok(shape)
    }

    fn fields(self) -> ShapeFields {
        let of = |shape| ShapeFields {
            shape,
            head_per_mille: None,
            round: None,
            head: None,
            tail: None,
        };
        match self {
            Self::Head => of(ShapeWord::Head),
            Self::Tail => of(ShapeWord::Tail),
            Self::Replace => of(ShapeWord::Replace),
            Self::Middle(Split::Ratio { head_per_mille, round }) => ShapeFields {
                head_per_mille: Some(head_per_mille),
                round: Some(round),
                ..of(ShapeWord::Middle)
            },
            Self::Middle(Split::Fixed { head, tail }) => {
                ShapeFields { head: Some(head), tail: Some(tail), ..of(ShapeWord::Middle) }
            }
        }
    }
}

/// A shape takes several fields of the table that it stands in.
impl Param for Shape {
    fn read(node: &Node, explicit: bool) -> Result<Self, Wrong> {
        let fields = Fields::new(node, explicit)?;
        let read = ShapeFields::read_fields(&fields)?;
        Self::of(&read, &fields)
    }

    fn write(&self) -> Value {
        self.fields().write()
    }

    fn schema() -> Schema {
        ShapeFields::schema()
    }

    fn read_field(
        fields: &Fields<'_>,
        _key: &'static str,
        _default: Option<Self>,
    ) -> Result<Self, Wrong> {
        let read = ShapeFields::read_fields(fields)?;
        Self::of(&read, fields)
    }

    fn write_field(&self, _key: &'static str, out: &mut Vec<Entry>) {
        self.fields().write_fields(out);
    }

    fn schema_field(_key: &'static str, _doc: &'static str, _default: Option<Self>) -> Vec<Field> {
        ShapeFields::schema_fields()
    }
}

words! {
    /// What a cut counts as one.
    pub enum Atoms {
        /// The unit of the cap.
        Unit = "unit",
        /// Whole lines, as many as the limit has room for.
        Line = "line",
    }
}

words! {
    /// What happens where a cut falls inside a character.
    pub enum Edge {
        /// Both kept sides shrink to a boundary.
        Shrink = "shrink",
        /// The cut stays where it falls: half a surrogate pair may be left.
        Raw = "raw",
        /// What is left of the character is dropped when it is decoded.
        DropPartial = "drop_partial",
        /// The tail starts at the next boundary; the head shrinks.
        TailForward = "tail_forward",
    }
}

words! {
    /// What `{n}` of a marker counts.
    pub enum Count {
        /// What is really hidden, in the unit of the cap.
        RemovedUnits = "removed_units",
        /// Hidden bytes.
        RemovedBytes = "removed_bytes",
        /// Hidden code points.
        RemovedChars = "removed_cp",
        /// Hidden UTF-16 units.
        RemovedUtf16 = "removed_u16",
        /// Hidden lines.
        RemovedLines = "removed_lines",
        /// Units beyond the limit, whatever is really hidden.
        NominalUnits = "nominal_units",
        /// A quarter of the bytes beyond the byte budget, rounded up.
        NominalTokens = "nominal_tokens",
        /// With a marker inside of the limit: what a first layout hides, in the unit of the cap.
        /// It is made with the marker of what is beyond the limit, the final one with its own.
        FirstLayout = "first_layout",
    }
}

words! {
    /// What a line is.
    pub enum LineRule {
        /// Ended by LF; a final LF ends the last line. `str::lines` of Rust.
        RustLines = "rust_lines",
        /// What stands between LFs; an empty text is one line. `split("\n")`.
        SplitLf = "split_lf",
        /// Ended by LF, CR, CRLF, VT, FF, FS, GS, RS, NEL, LS or PS. `str.splitlines` of Python.
        PySplitlines = "py_splitlines",
    }
}

words! {
    /// Where the whole text was put aside.
    pub enum Spill {
        /// Nowhere.
        None = "none",
        /// To a place named after the call.
        CallId = "call_id",
        /// To a place that is on record.
        Recorded = "recorded",
    }
}

record! {
    /// What a marker shows of a text that it stands for.
    pub struct Preview: "`preview`" {
        /// What is counted.
        unit: Unit,
        /// Texts up to this size are shown whole.
        over: u64 = 0,
        /// Units at the beginning.
        head: u64,
        /// Units at the end.
        tail: u64 = 0,
        /// A line is cut to so many code points.
        line_chars: Option<u64> = None,
        /// Lines are numbered.
        numbered: bool = false,
        /// Stands between head and tail.
        gap: String = String::new(),
        /// What a line is.
        line_rule: LineRule = LineRule::SplitLf,
    }
}
