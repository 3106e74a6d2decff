//! A step: a primitive, when it acts, and what it is for.

use alloc::format;
use alloc::vec::Vec;

use super::applies::Applies;
use super::node::{Entry, Fields, Node, Param as _, Value, Wrong};
use super::op::{At, Op, OpWord};
use super::trigger::Trigger;

/// One step of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it is applied.
    pub at: At,
    /// Which texts it is for.
    pub applies: Applies,
    /// When it acts; without a trigger, always.
    pub trigger: Option<Trigger>,
    /// What it does.
    pub op: Op,
}

impl Step {
    /// A step for every tool, without a trigger, at the time that the op is meant for.
    pub fn new(op: impl Into<Op>) -> Self {
        let op = op.into();
        let at = op.word().at().first().copied().unwrap_or(At::Request);
        Self { at, applies: Applies::all(), trigger: None, op }
    }

    /// The same at another time.
    #[must_use]
    pub fn at(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// The same for some texts only.
    #[must_use]
    pub fn for_only(self, applies: Applies) -> Self {
        Self { applies, ..self }
    }

    /// The same with a trigger.
    #[must_use]
    pub fn when(self, trigger: Trigger) -> Self {
        Self { trigger: Some(trigger), ..self }
    }

    /// Reads a step; `None` where it is switched off.
    pub(super) fn read(node: &Node, explicit: bool) -> Result<Option<Self>, Wrong> {
        let fields = Fields::new(node, explicit)?;
        let Some(op_node) = fields.get("op") else { return Err(fields.missing("op")) };
        let word = OpWord::read(op_node, explicit)?;
        let described = word.describe().1;
        let mut known = Vec::from(["op", "at", "enabled"]);
        known.extend(word.has_applies().then_some("applies"));
        known.extend(word.at().iter().any(|at| *at != At::Result).then_some("trigger"));
        known.extend(described.iter().map(|field| field.key));
        fields.only(&format!("op \"{}\"", word.word()), &known)?;
        let usual = word.at().first().copied();
        let at_node = fields.get("at").map(|node| node.at);
        let at = At::read_field(&fields, "at", usual)?;
        if !word.at().contains(&at) {
            let known: Vec<&str> = word.at().iter().map(|at| at.word()).collect();
            let wrong = Wrong::unknown_word(at_node.unwrap_or(fields.at), at.word(), &known);
            let reason = format!("op \"{}\": {}", word.word(), wrong.reason);
            return Err(Wrong { reason, ..wrong });
        }
        // Canonical bytes have no step that is switched off.
        let on = explicit || bool::read_field(&fields, "enabled", Some(true))?;
        let applies = if word.has_applies() {
            Applies::read_field(&fields, "applies", Some(Applies::all()))?
        } else {
            Applies::all()
        };
        let trigger = match (at, fields.get("trigger")) {
            // A result is cut when it comes in, whatever stands around it.
            (At::Result, None) => None,
            (At::Result, Some(node)) => {
                let reason = "a step at \"result\" has no trigger";
                return Err(Wrong::new(node.at, reason));
            }
            _ => Option::<Trigger>::read_field(&fields, "trigger", Some(None))?,
        };
        let op = word.read_op(&fields)?;
        Ok(on.then_some(Self { at, applies, trigger, op }))
    }

    pub(super) fn write(&self) -> Value {
        let word = self.op.word();
        let mut out = Vec::new();
        out.push(Entry::new("op", word.write()));
        self.at.write_field("at", &mut out);
        if word.has_applies() {
            self.applies.write_field("applies", &mut out);
        }
        if self.at != At::Result {
            self.trigger.write_field("trigger", &mut out);
        }
        self.op.write_fields(&mut out);
        Value::Table(out)
    }
}

impl OpWord {
    /// True where a step of it can be for some texts only.
    pub fn has_applies(self) -> bool {
        match self {
            Self::CapText
            | Self::CapLines
            | Self::CapParts
            | Self::CapArgs
            | Self::ClearResults
            | Self::DedupeReads
            | Self::Media => true,
            Self::DropReasoning
            | Self::Window
            | Self::Summary
            | Self::Repair
            | Self::Inject
            | Self::Tools
            | Self::TotalCap
            | Self::Stack
            | Self::OnOverflow => false,
        }
    }
}
