//! `window`.

use alloc::string::String;

use crate::policy::amount::Amount;
use crate::policy::keep::{KeepMessages, WindowKeep};
use crate::policy::node::{Fields, Wrong, record, words};

words! {
    /// Where a window may begin.
    pub enum Boundary {
        /// At any message.
        Any = "any",
        /// At a message of the user.
        User = "user",
        /// At a message of the model.
        Assistant = "assistant",
        /// Not at a tool result.
        NoTool = "no_tool",
        /// Where no call and its result part: window and head grow until that holds.
        SafeGroup = "safe_group",
    }
}

words! {
    /// How many messages may be left out.
    pub enum Parity {
        /// Any number.
        Any = "any",
        /// An even number; one more stays where it would be odd.
        Even = "even",
    }
}

words! {
    /// What happens with messages that are left out.
    pub enum Tag {
        /// They are gone.
        Drop = "drop",
        /// They stay in the harness's own state and are hidden from the model.
        Hide = "hide",
    }
}

record! {
    /// Keeps the first and the newest messages.
    pub struct Window: "op \"window\"", check some {
        /// So many of the first messages stay.
        protect_head: u32,
        /// System messages stay.
        protect_system: bool = false,
        /// What of the newest stays. A number: so many messages.
        keep: Option<WindowKeep> = None,
        /// Instead of `keep`: this share of the messages behind the head is left out, in
        /// thousandths, rounded down.
        drop_per_mille: Option<u16> = None,
        /// Instead of `keep`: pairs are taken from the end until so many tokens are free.
        unwind_until_free: Option<Amount> = None,
        /// The number of messages that are left out.
        parity: Parity = Parity::Any,
        /// Where it may begin.
        boundary: Boundary,
        /// Stands in the place of what was left out, as a message; `{n}` is the number of
        /// messages. Empty: nothing does.
        gap_marker: String = String::new(),
        /// What happens with messages that are left out.
        tag: Tag = Tag::Drop,
    }
}

fn some(window: &Window, fields: &Fields<'_>) -> Result<(), Wrong> {
    if window.keep.as_ref().is_some_and(|keep| keep.n == 0) {
        return Err(Wrong::new(fields.at("keep"), "a window keeps at least one message"));
    }
    let ways = [
        window.keep.is_some(),
        window.drop_per_mille.is_some(),
        window.unwind_until_free.is_some(),
    ];
    match ways.into_iter().filter(|way| *way).count() {
        1 => Ok(()),
        0 => Err(fields.missing("keep")),
        _ => {
            let reason = "a window has one of `keep`, `drop_per_mille`, `unwind_until_free`";
            Err(Wrong::new(fields.at, reason))
        }
    }
}

impl Window {
    /// Keeps so many of the first and of the newest messages.
    pub fn plain(protect_head: u32, keep: u64, boundary: Boundary) -> Self {
        Self {
            protect_head,
            protect_system: false,
            keep: Some(WindowKeep(KeepMessages::messages(keep))),
            drop_per_mille: None,
            unwind_until_free: None,
            parity: Parity::Any,
            boundary,
            gap_marker: String::new(),
            tag: Tag::Drop,
        }
    }
}
