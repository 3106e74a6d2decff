//! Counts what caused the message parts of a run: how much of it comes from recorded answers and
//! outputs, and how much only the client's own words explain.

use std::collections::BTreeMap;

use ledger::event::{Cause, HoleValue, Unlinked};
use ledger::history::{Change, History};
use ledger::id::PartNo;
use ledger::wire::{Role, SlotKind};

/// How many parts have no cause, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlinkedCount {
    /// Why.
    pub reason: &'static str,
    /// How many parts.
    pub parts: u64,
    /// The request, from 1, that carried the first of them.
    pub first_request: u64,
}

/// What caused the parts. A part counts once, where it is seen for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// All message parts.
    pub first_seen: u64,
    /// Caused by a recorded answer, a tool result or user input.
    pub linked: u64,
    /// Put there by the client.
    pub inserted: u64,
    /// Brought in by a change of what the client had already sent, and explained by it alone.
    pub edited: u64,
    /// Assistant and tool-result parts that were appended.
    pub model_and_tool: u64,
    /// Those of them that are caused by a recorded answer or tool result.
    pub model_and_tool_linked: u64,
    /// Bytes of all message parts.
    pub bytes: u64,
    /// Bytes that come from a recorded answer, tool output or user input.
    pub caused_bytes: u64,
    /// Bytes that only an insertion or edit by the client explains: its framing included.
    pub verbatim_bytes: u64,
    /// Parts without a cause.
    pub unlinked: Vec<UnlinkedCount>,
}

impl Linking {
    /// Counts over a run.
    pub(super) fn of(history: &History) -> Self {
        let mut linking = Self::default();
        let mut seen = vec![false; history.parts().len()];
        let mut unlinked: BTreeMap<&'static str, UnlinkedCount> = BTreeMap::new();
        for request in history.requests() {
            let ordinal = request.captured.request.ordinal();
            for change in &request.changes {
                let (parts, edited) = match change {
                    Change::Appended(parts) => (parts.clone(), false),
                    Change::Edited(splices) => {
                        (splices.iter().flat_map(|splice| splice.insert.clone()).collect(), true)
                    }
                };
                for (part, cause) in parts {
                    let Some(first) = seen.get_mut(part.index()).filter(|seen| !**seen) else {
                        continue;
                    };
                    *first = true;
                    linking.count(history, part, cause, edited);
                    if let (Cause::Unlinked(reason), false) = (cause, edited) {
                        note(&mut unlinked, reason, ordinal);
                    }
                }
            }
        }
        linking.unlinked = unlinked.into_values().collect();
        linking
    }

    fn count(&mut self, history: &History, number: PartNo, cause: Cause, edited: bool) {
        let part = history.part(number);
        let skeleton = history.skeleton(part);
        self.first_seen += 1;
        self.bytes += part.bytes;
        let from_model = skeleton.role == Role::Assistant;
        let from_tool = skeleton.slots.iter().any(|slot| slot.kind == SlotKind::TOOL_OUTPUT);
        let caused = matches!(cause, Cause::Answer(_) | Cause::ToolResult(_));
        if (from_model || from_tool) && cause != Cause::Inserted && (caused || !edited) {
            self.model_and_tool += 1;
            self.model_and_tool_linked += u64::from(caused);
        }
        match cause {
            Cause::Answer(_) | Cause::ToolResult(_) => self.linked += 1,
            _ if edited => self.edited += 1,
            Cause::UserInput => self.linked += 1,
            Cause::Inserted | Cause::Returned => self.inserted += 1,
            Cause::Unlinked(_) => {}
        }
        let own = |value: &HoleValue| matches!(value, HoleValue::Own(_));
        let from_cause: u64 = match cause {
            Cause::UserInput if !edited => part.holes.iter().map(|h| h.escaped_bytes).sum(),
            _ => part.holes.iter().filter(|h| !own(&h.value)).map(|h| h.escaped_bytes).sum(),
        };
        self.caused_bytes += from_cause;
        self.verbatim_bytes += part.bytes - from_cause;
    }
}

fn note(
    unlinked: &mut BTreeMap<&'static str, UnlinkedCount>,
    reason: Unlinked,
    first_request: u64,
) {
    let reason = reason.words();
    let entry = UnlinkedCount { reason, parts: 0, first_request };
    unlinked.entry(reason).or_insert(entry).parts += 1;
}
