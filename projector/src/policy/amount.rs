//! Amounts that are a number, a share of the context window, or a named rule over the state of a
//! run. Policies have no expressions: a rule is one of a closed list.

use alloc::vec::Vec;

use super::node::{Fields, Node, Param, Value, Wrong, record, short, words};
use super::schema::Schema;

words! {
    /// A rule that gives an amount from the state of the run. All divisions round down.
    pub enum Rule {
        /// `min(40000, 4 * remaining)`, in UTF-16 units. Gemini CLI.
        GeminiRemaining = "gemini_remaining",
        /// `max(5000, 4 * (window / 5))`, in characters. Letta.
        LettaReturn = "letta_return",
        /// The input limit less what is reserved, or the window less the largest output where
        /// the model declares no input limit. opencode.
        OpencodeUsable = "opencode_usable",
        /// `min(20000, max_output)`. opencode.
        OpencodeReserved = "opencode_reserved",
        /// `min(15000, max(2000, usable / 4))`. opencode.
        OpencodeRecent = "opencode_recent",
        /// `min(max(max_input / 16, 1024), 8192)`. Aider.
        AiderHistory = "aider_history",
        /// Half of `aider_history`. Aider.
        AiderHalf = "aider_half",
        /// `window - 27000` at 64000, `- 30000` at 128000, `- 40000` at 200000; else the larger
        /// of `window - 40000` and `window * 4 / 5`. Cline before 3.86.
        ClineMaxAllowed = "cline_max_allowed",
        /// `0.9 * window - max_output`, where the largest output counts 8192 if it is not known.
        /// Roo.
        RooAllowed = "roo_allowed",
        /// 20000 above a window of 200000, else a fifth of the window. Crush.
        CrushRemaining = "crush_remaining",
    }
}

/// What is known of a run at a request, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Budget {
    /// The context window of the model.
    pub window: Option<u64>,
    /// The largest input that the model takes, where it declares one.
    pub max_input: Option<u64>,
    /// The largest output that was asked for.
    pub max_output: Option<u64>,
    /// Tokens in use, as the provider reported last.
    pub used: Option<u64>,
}

impl Budget {
    /// Tokens that are left of the window.
    pub fn remaining(&self) -> Option<u64> {
        Some(self.window?.saturating_sub(self.used?))
    }

    /// The same, and what is not known taken to be as large as can be.
    pub(crate) fn generous(self) -> Self {
        /// More than any model takes, and far from where sums overflow.
        const ENOUGH: u64 = 1 << 40;
        let window = Some(self.window.unwrap_or(ENOUGH));
        let max_output = Some(self.max_output.unwrap_or(0));
        Self { window, max_output, used: Some(self.used.unwrap_or(0)), ..self }
    }

    /// The largest input: declared, or else the window.
    fn input(&self) -> Option<u64> {
        self.max_input.or(self.window)
    }
}

impl Rule {
    /// The amount; `None`: something that the rule needs is not known.
    pub fn value(self, run: &Budget) -> Option<u64> {
        Some(match self {
            Self::GeminiRemaining => run.remaining()?.saturating_mul(4).min(40_000),
            Self::LettaReturn => (run.window? / 5).saturating_mul(4).max(5_000),
            Self::OpencodeReserved => run.max_output?.min(20_000),
            Self::OpencodeUsable => match run.max_input {
                Some(input) => input.saturating_sub(run.max_output?.min(20_000)),
                None => run.window?.saturating_sub(run.max_output?.min(32_000)),
            },
            Self::OpencodeRecent => (Self::OpencodeUsable.value(run)? / 4).clamp(2_000, 15_000),
            Self::AiderHistory => (run.input()? / 16).clamp(1_024, 8_192),
            Self::AiderHalf => Self::AiderHistory.value(run)? / 2,
            Self::ClineMaxAllowed => match run.window? {
                64_000 => 37_000,
                128_000 => 98_000,
                200_000 => 160_000,
                window => window.saturating_sub(40_000).max(share(window, 800)),
            },
            Self::RooAllowed => {
                share(run.window?, 900).saturating_sub(run.max_output.unwrap_or(8_192))
            }
            Self::CrushRemaining => match run.window? {
                window if window > 200_000 => 20_000,
                window => window / 5,
            },
        })
    }
}

/// `amount * per_mille / 1000`, rounded down.
pub fn share(amount: u64, per_mille: u16) -> u64 {
    let share = u128::from(amount) * u128::from(per_mille) / 1000;
    u64::try_from(share).unwrap_or(amount)
}

/// An amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Fixed(u64),
    /// This share of the context window, rounded down.
    WindowPerMille(u16),
    /// The context window less so many.
    WindowMinus(u64),
    /// What a rule gives.
    Rule(Rule),
}

impl Amount {
    /// The amount; `None`: something that it rests on is not known.
    pub fn value(self, run: &Budget) -> Option<u64> {
        match self {
            Self::Fixed(value) => Some(value),
            Self::WindowPerMille(per_mille) => Some(share(run.window?, per_mille)),
            Self::WindowMinus(value) => Some(run.window?.saturating_sub(value)),
            Self::Rule(rule) => rule.value(run),
        }
    }

    /// The number, where it is one.
    pub fn fixed(self) -> Option<u64> {
        match self {
            Self::Fixed(value) => Some(value),
            _ => None,
        }
    }
}

impl From<u64> for Amount {
    fn from(value: u64) -> Self {
        Self::Fixed(value)
    }
}

record! {
    /// An amount that depends on the run; exactly one of the fields is there.
    pub(crate) struct AmountTable: "an amount", check one_of {
        /// This share of the context window, rounded down.
        window_per_mille: Option<u16> = None,
        /// The context window less so many.
        window_minus: Option<u64> = None,
        /// A named rule.
        rule: Option<Rule> = None,
    }
}

fn one_of(table: &AmountTable, fields: &Fields<'_>) -> Result<(), Wrong> {
    if let Some(per_mille) = table.window_per_mille {
        short(per_mille, fields, "window_per_mille")?;
    }
    match (table.window_per_mille, table.window_minus, table.rule) {
        (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => Ok(()),
        _ => {
            let reason = "an amount has one of `window_per_mille`, `window_minus`, `rule`";
            Err(Wrong::new(fields.at, reason))
        }
    }
}

impl Param for Amount {
    fn read(node: &Node, explicit: bool) -> Result<Self, Wrong> {
        if let Value::Int(value) = node.value {
            return Ok(Self::Fixed(value));
        }
        if !matches!(node.value, Value::Table(_)) {
            return Err(node.expected("a number or a table"));
        }
        let table = AmountTable::read(node, explicit)?;
        let AmountTable { window_per_mille, window_minus, rule } = table;
        Ok(match (window_per_mille, window_minus, rule) {
            (Some(per_mille), ..) => Self::WindowPerMille(per_mille),
            (_, Some(value), _) => Self::WindowMinus(value),
            (_, _, Some(rule)) => Self::Rule(rule),
            (None, None, None) => return Err(node.expected("an amount")),
        })
    }

    fn write(&self) -> Value {
        let mut table = AmountTable { window_per_mille: None, window_minus: None, rule: None };
        match *self {
            Self::Fixed(value) => return Value::Int(value),
            Self::WindowPerMille(per_mille) => table.window_per_mille = Some(per_mille),
            Self::WindowMinus(value) => table.window_minus = Some(value),
            Self::Rule(rule) => table.rule = Some(rule),
        }
        table.write()
    }

    fn schema() -> Schema {
        Schema::Either(Vec::from([Schema::Int { max: u64::MAX }, AmountTable::schema()]))
    }
}
