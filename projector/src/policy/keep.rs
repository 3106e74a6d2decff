//! How much of the newest part of a conversation a step leaves alone, and what acting must gain.

use alloc::vec::Vec;

use super::node::{Fields, Node, Param, Value, Wrong, record, words};
use super::schema::Schema;
use super::trigger::Cmp;

words! {
    /// What is counted from the newest to the oldest.
    pub enum KeepUnit {
        /// Tool results.
        Results = "results",
        /// Messages.
        Messages = "messages",
        /// Turns that begin with a message of the user.
        UserTurns = "user_turns",
        /// Estimated tokens.
        Tokens = "tokens",
    }
}

words! {
    /// What ends a walk to older results.
    pub enum StopAt {
        /// A summary.
        Summary = "summary",
        /// A result that was cleared before.
        Cleared = "cleared",
    }
}

record! {
    /// What stays of tool results.
    pub struct KeepResults: "`keep`" {
        /// What is counted.
        unit: KeepUnit,
        /// So many of the newest stay.
        n: u64,
        /// So many of the oldest stay as well.
        protect_first: u32 = 0,
        /// So many of the newest messages are not looked at: they stay and do not count.
        skip_last_messages: u32 = 0,
        /// So many of the newest user turns are not looked at.
        skip_user_turns: u32 = 0,
        /// The walk ends there: what is older stays as it is.
        stop_at: Vec<StopAt> = Vec::new(),
        /// Calls and results whose id is in the kept part stay wherever they are.
        ids_in_tail: bool = false,
    }
}

impl KeepResults {
    /// So many of the newest results.
    pub fn results(n: u64) -> Self {
        Self {
            unit: KeepUnit::Results,
            n,
            protect_first: 0,
            skip_last_messages: 0,
            skip_user_turns: 0,
            stop_at: Vec::new(),
            ids_in_tail: false,
        }
    }
}

words! {
    /// What is done where acting gains too little.
    pub enum GainMode {
        /// Nothing is changed.
        Refuse = "refuse",
        /// Changing stops as soon as so much is gained.
        Stop = "stop",
    }
}

record! {
    /// What acting must gain.
    pub struct MinGain: "`min_gain`" {
        /// So many.
        n: u64,
        /// Of these.
        unit: KeepUnit = KeepUnit::Tokens,
        /// How the gain is compared.
        cmp: Cmp = Cmp::AtLeast,
        /// What is done with it.
        mode: GainMode,
    }
}

/// A number for the unit of the step, or a table that says the unit.
macro_rules! or_number {
    ($name:ident, $table:ident, $of:expr) => {
        impl Param for $name {
            fn read(node: &Node, explicit: bool) -> Result<Self, Wrong> {
                match node.value {
                    Value::Int(n) => Ok($of(n)),
                    Value::Table(_) => $table::read(node, explicit).map(Self),
                    _ => Err(node.expected("a number or a table")),
                }
            }
            fn write(&self) -> Value {
                self.0.write()
            }
            fn schema() -> Schema {
                Schema::Either(Vec::from([Schema::Int { max: u64::MAX }, $table::schema()]))
            }
        }

        impl core::ops::Deref for $name {
            type Target = $table;
            fn deref(&self) -> &$table {
                &self.0
            }
        }
    };
}

/// [`KeepResults`]; as a number: so many of the newest results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep(pub KeepResults);

or_number!(Keep, KeepResults, |n| Self(KeepResults::results(n)));

record! {
    /// What a window keeps of the messages.
    pub struct KeepMessages: "`keep`", check some {
        /// What is counted.
        unit: KeepUnit,
        /// So many of the newest stay.
        n: u64,
        /// The oldest go, one after the other, until the rest fits the number.
        fit: bool = false,
        /// So many stay though they do not fit.
        min: u32 = 0,
        /// The oldest stay, and not the newest.
        oldest: bool = false,
    }
}

fn some(keep: &KeepMessages, fields: &Fields<'_>) -> Result<(), Wrong> {
    if keep.n == 0 {
        return Err(Wrong::new(fields.at("n"), "a window keeps at least one"));
    }
    Ok(())
}

impl KeepMessages {
    /// So many of the newest messages.
    pub fn messages(n: u64) -> Self {
        Self { unit: KeepUnit::Messages, n, fit: false, min: 0, oldest: false }
    }
}

/// [`KeepMessages`]; as a number: so many of the newest messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowKeep(pub KeepMessages);

or_number!(WindowKeep, KeepMessages, |n| Self(KeepMessages::messages(n)));
