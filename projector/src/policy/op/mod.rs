//! The primitives: fourteen ops, a guard, and a system's whole stack, each with its parameters.

mod cap_args;
mod cap_lines;
mod cap_parts;
mod cap_text;
mod clear_results;
mod dedupe_reads;
mod drop_reasoning;
mod inject;
mod media;
mod on_overflow;
mod repair;
mod stack;
mod summary;
mod tools;
mod total_cap;
mod window;

use alloc::vec::Vec;

pub use cap_args::CapArgs;
pub use cap_lines::{CapLines, HugeLine, Shared};
pub use cap_parts::CapParts;
pub use cap_text::{CapText, Ceiling, EmptyTail, Template, TextEscape};
pub use clear_results::{ClearResults, Crossing, EmptyMessages, Orphan, Replace};
pub use dedupe_reads::DedupeReads;
pub use drop_reasoning::{DropReasoning, KeepReasoning};
pub use inject::{DropOrder, Inject, InjectItem, InjectKind, InjectOn};
pub use media::{Media, MediaAction};
pub use on_overflow::{OnOverflow, OverflowAction};
pub use repair::{IdRule, Repair};
pub use stack::{OverHistory, Stack, StackActive, StackStale, StackSystem};
pub use summary::{
    Appended, Deterministic, Place, Retain, RetainBoundary, RetainOrder, Role, Summary, SummaryPre,
    SummarySource,
};
pub use tools::Tools;
pub use total_cap::{Floor, TotalCap, TotalOrder};
pub use window::{Boundary, Parity, Tag, Window};

use super::Entry;
use super::node::{Fields, Wrong, words};
use super::schema::Field;

words! {
    /// When a step is applied.
    pub enum At {
        /// Once, when the result is recorded; fixed for ever after.
        Result = "result",
        /// Anew at each request.
        Request = "request",
        /// At a recorded rewrite, and from then on.
        Event = "event",
        /// When a request would not fit the window.
        Overflow = "overflow",
        /// By the provider, after the client has sent its request.
        Server = "server",
    }
}

macro_rules! ops {
    ($( $(#[doc = $doc:literal])* $name:ident = $word:literal at [$($at:ident),*], )*) => {
        words! {
            /// The name of a primitive.
            pub enum OpWord {
                $( $(#[doc = $doc])* $name = $word, )*
            }
        }

        /// What a step does.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Op {
            $( $(#[doc = $doc])* $name($name), )*
        }

        impl OpWord {
            /// When it can be applied; the first is meant where a policy says nothing.
            pub fn at(self) -> &'static [At] {
                match self {
                    $( Self::$name => &[$(At::$at),*], )*
                }
            }

            pub(crate) fn read_op(self, fields: &Fields<'_>) -> Result<Op, Wrong> {
                match self {
                    $( Self::$name => $name::read_fields(fields).map(Op::$name), )*
                }
            }

            /// What it does, and its parameters.
            pub fn describe(self) -> (&'static str, Vec<Field>) {
                match self {
                    $( Self::$name => ($name::DOC, $name::schema_fields()), )*
                }
            }
        }

        impl Op {
            /// Its name.
            pub fn word(&self) -> OpWord {
                match self {
                    $( Self::$name(_) => OpWord::$name, )*
                }
            }

            pub(crate) fn write_fields(&self, out: &mut Vec<Entry>) {
                match self {
                    $( Self::$name(op) => op.write_fields(out), )*
                }
            }
        }

        $(
            impl From<$name> for Op {
                fn from(op: $name) -> Self {
                    Self::$name(op)
                }
            }
        )*
    };
}

ops! {
    /// Cuts a text that is longer than a limit.
    CapText = "cap_text" at [Result, Request, Event],
    /// Cuts a text that has too many lines or bytes.
    CapLines = "cap_lines" at [Result, Request, Event],
    /// Cuts the texts of one result to a budget that they share.
    CapParts = "cap_parts" at [Result, Request, Event],
    /// Cuts arguments of old tool calls.
    CapArgs = "cap_args" at [Request, Event],
    /// Replaces the texts of old tool results.
    ClearResults = "clear_results" at [Request, Event, Server],
    /// Replaces what an older read of the same file has returned.
    DedupeReads = "dedupe_reads" at [Request, Event],
    /// Leaves reasoning out.
    DropReasoning = "drop_reasoning" at [Request, Event, Server],
    /// Keeps the first and the newest messages.
    Window = "window" at [Request, Event, Overflow],
    /// Puts a summary in the place of old messages.
    Summary = "summary" at [Event, Server, Overflow],
    /// Mends calls without results and results without calls.
    Repair = "repair" at [Request, Event],
    /// Handles images and other media.
    Media = "media" at [Request, Result, Event],
    /// Adds rules, memory or other texts.
    Inject = "inject" at [Event, Request],
    /// Chooses the tools that are offered.
    Tools = "tools" at [Request],
    /// Cuts the largest texts until a request fits.
    TotalCap = "total_cap" at [Request, Event],
    /// Runs the budget stack of one system, by its own rules.
    Stack = "stack" at [Request],
    /// What is done when a request would not fit.
    OnOverflow = "on_overflow" at [Overflow, Request],
}
