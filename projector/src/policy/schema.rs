//! What the policy language looks like, as data: for the JSON Schema and the reference.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::node::Param as _;
use super::{About, Applies, At, Calibrate, OpWord, Trigger, Value, ViewKind};
use crate::measure::Estimator;

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// A number from 0.
    Int {
        /// The largest.
        max: u64,
    },
    /// `true` or `false`.
    Bool,
    /// Any text up to the limit for texts.
    Text,
    /// One of these words, each with what it means.
    Words(Vec<(&'static str, &'static str)>),
    /// Several values of one form.
    List(Box<Self>),
    /// Named values.
    Table {
        /// What it is.
        doc: &'static str,
        /// Its fields.
        fields: Vec<Field>,
    },
    /// One of several forms.
    Either(Vec<Self>),
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub key: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// What holds where it is left out; `None`: it has to be there.
    pub default: Option<Value>,
    /// Its form.
    pub schema: Schema,
}

/// A primitive: what it does, and the fields of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpForm {
    /// Its name.
    pub op: OpWord,
    /// What it does.
    pub doc: &'static str,
    /// The fields that every step has, then its own.
    pub fields: Vec<Field>,
}

/// The fields of a policy, without `step` and `override`.
pub fn policy() -> Vec<Field> {
    let text = || Schema::Text;
    let fields = [
        ("name", "A name for reports; not part of the policy id.", None, text()),
        ("base", "A built-in policy that this one builds on.", Some(Value::Nothing), text()),
        ("about", About::DOC, Some(Value::Nothing), About::schema()),
        ("estimator", "How tokens are estimated.", None, Estimator::schema()),
        (
            "calibrate",
            "What estimates are calibrated on.",
            Some(Calibrate::None.write()),
            Calibrate::schema(),
        ),
        (
            "safety_per_mille",
            "Estimates are multiplied with this, in thousandths, rounded up.",
            Some(Value::Int(1000)),
            u32::schema(),
        ),
        ("view", "Which view it describes.", Some(ViewKind::Wire.write()), ViewKind::schema()),
        (
            "window",
            "The context window in tokens; without it, that of the recorded model.",
            Some(Value::Nothing),
            u64::schema(),
        ),
        (
            "effective_per_mille",
            "The share of the window that is used, in thousandths.",
            Some(Value::Int(1000)),
            u16::schema(),
        ),
        (
            "unknown",
            "Constants that nobody has documented, as `op.field`; they have to be set, and what \
             rests on them is assumed.",
            Some(Value::List(Vec::new())),
            Schema::List(Box::new(text())),
        ),
    ];
    let field = |(key, doc, default, schema)| Field { key, doc, default, schema };
    fields.into_iter().map(field).collect()
}

/// All primitives.
pub fn ops() -> Vec<OpForm> {
    let form = |op: &OpWord| {
        let (doc, own) = op.describe();
        let times = op.at().iter().copied().map(At::word);
        let documented = At::schema();
        let words = match documented {
            Schema::Words(words) => words,
            _ => Vec::new(),
        };
        let times: Vec<_> = times
            .filter_map(|time| words.iter().copied().find(|(word, _)| *word == time))
            .collect();
        let usual = op.at().first().map(At::write);
        let mut fields = Vec::from([
            Field {
                key: "at",
                doc: "When it is applied.",
                default: usual,
                schema: Schema::Words(times),
            },
            Field {
                key: "enabled",
                doc: "A step that is switched off is as if it were not there.",
                default: Some(Value::Bool(true)),
                schema: Schema::Bool,
            },
        ]);
        if op.has_applies() {
            fields.push(Field {
                key: "applies",
                doc: Applies::DOC,
                default: Some(Value::Nothing),
                schema: Applies::schema(),
            });
        }
        fields.push(Field {
            key: "trigger",
            doc: Trigger::DOC,
            default: Some(Value::Nothing),
            schema: Trigger::schema(),
        });
        fields.extend(own);
        OpForm { op: *op, doc, fields }
    };
    OpWord::ALL.iter().map(form).collect()
}
