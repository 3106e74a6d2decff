//! Decides, from an anchor on, whether a secret follows and where it ends.
//!
//! Hand-written and bounded: a judgement looks at most [`MAXSPAN_BYTES`] ahead and
//! [`BEHIND_BYTES`] back, and it says how far its answer holds, so that many anchors in one run
//! cost one look at the run. What is replaced never holds a quote that ends a string, so that a
//! placeholder can take its place inside a JSON string.

pub(crate) mod accept;
pub(crate) mod assign;
pub(crate) mod command;
pub(crate) mod cookie;
pub(crate) mod header;
pub(crate) mod jwt;
pub(crate) mod member;
pub(crate) mod name;
pub(crate) mod nested;
pub(crate) mod pattern;
pub(crate) mod pem;
pub(crate) mod place;
pub(crate) mod text;
pub(crate) mod token;
pub(crate) mod url;

use super::rules::context::Context;
use super::rules::{Rule, Shape};
use super::stream::MAXSPAN_BYTES;
use text::{Short, Text};

/// How much of the text before an anchor is looked at.
pub(crate) const BEHIND_BYTES: usize = 256;
/// A secret starts at most so far before its anchor.
pub(crate) const LEAD_BYTES: usize = 96;

/// What comes behind the bytes at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Perhaps more text.
    More,
    /// Nothing that counts.
    End,
}

/// Stretch of a text that is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) flags: Flags,
}

/// What is special about a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    bits: u8,
}

impl Flags {
    /// The secret is cut off: only a piece of it was there.
    pub const TRUNCATED: Self = Self { bits: 1 };
    /// Terminal escapes or escapes of a string stand inside.
    pub const ESCAPED: Self = Self { bits: 2 };
    /// The text is UTF-16.
    pub const WIDE: Self = Self { bits: 4 };
    /// The secret stands in another encoding than that of the text.
    pub const ENCODED: Self = Self { bits: 8 };

    /// The flags as a number: 1 truncated, 2 escaped, 4 UTF-16, 8 encoded.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// What the flags say, in words.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (Self::TRUNCATED, "truncated"),
            (Self::ESCAPED, "escaped"),
            (Self::WIDE, "utf-16"),
            (Self::ENCODED, "encoded"),
        ];
        all.iter().filter(|(flag, _)| self.bits & flag.bits != 0).map(|(_, name)| *name).collect()
    }

    /// Returns true if `flag` is one of them.
    pub(crate) const fn has(self, flag: Self) -> bool {
        self.bits & flag.bits != 0
    }

    /// Flags of one of the two.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
    }
}

/// The answer about one anchor. Positions count from the start of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// These bytes are a secret.
    Secret(Found),
    /// Several secrets, in order, and none that an anchor of this rule before `until` starts.
    Several { found: Vec<Found>, until: usize },
    /// This is none, and no anchor of this rule before `until` starts one either.
    Nothing { until: usize },
}

impl Judgement {
    fn secret(start: usize, end: usize) -> Self {
        Self::Secret(Found { start, end, flags: Flags::default() })
    }

    fn several(found: Vec<Found>, until: usize) -> Self {
        if found.is_empty() { Self::Nothing { until } } else { Self::Several { found, until } }
    }
}

/// An anchor in a window of text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The window.
    pub(crate) window: &'a [u8],
    pub(crate) edge: Edge,
    /// Where the anchor starts and ends.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Where the last secret ended: another may start right there.
    pub(crate) last_end: Option<usize>,
}

impl<'a> Place<'a> {
    /// The text from the start of the anchor on, as far as a judgement may look.
    fn text(&self) -> Text<'a> {
        let most = self.start.saturating_add(MAXSPAN_BYTES);
        match self.window.get(..most) {
            Some(bytes) => Text { bytes, edge: Edge::End },
            None => Text { bytes: self.window, edge: self.edge },
        }
    }

    /// The text before the anchor, as far as a judgement may look.
    fn behind(&self) -> &'a [u8] {
        self.window.get(self.start.saturating_sub(BEHIND_BYTES)..self.start).unwrap_or_default()
    }
}

/// Judges an anchor of a rule.
///
/// # Errors
/// More text could change the answer.
pub(crate) fn judge(rule: &Rule, place: &Place<'_>) -> Result<Judgement, Short> {
    match &rule.shape {
        Shape::Token(token) => token::judge(token, place),
        Shape::Pattern(pattern) => pattern::judge(pattern, place),
        Shape::Jwt => jwt::judge(place),
        Shape::Pem => pem::judge(place),
        Shape::Context(context) => match context {
            Context::Assigned(_) => assign::judge(place),
            Context::Authorization => header::judge(place),
            Context::Cookie => cookie::judge(place),
            Context::UrlPassword => url::password(place),
            Context::Parameter => url::parameter(place),
            Context::Command => command::judge(place),
            Context::Place => place::judge(place),
            Context::Base64Pem => pem::in_base64(place),
        },
        Shape::Named => Ok(Judgement::Nothing { until: place.end }),
    }
}
