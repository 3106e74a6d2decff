//! Outputs from beside the wire: what hooks tell, and files that a client saved them to.

use std::io;

use ledger::event::notes;
use ledger::recorder::{CallSeen, Found, FoundText, RecordError};

use super::Desk;
use crate::live::hook::{self, Heard};
use crate::live::spill::{Spilled, Spills};
use crate::side::join::Joiner;
use crate::side::{SideError, SideFile, Sink as _};

/// Texts of hooks that are held until the run ends, in bytes; beyond it only the messages are kept.
const HEARD_BYTES_MAX: usize = 256 << 20;

/// What is known from beside the wire and not joined yet.
pub(super) struct Beside {
    spills: Spills,
    /// Calls that have returned and been looked at.
    returned: usize,
    /// What hooks said, with the number of the message.
    heard: Vec<(u64, Heard)>,
    heard_bytes: usize,
}

impl Beside {
    pub(super) fn new(spills: Spills) -> Self {
        Self { spills, returned: 0, heard: Vec::new(), heard_bytes: 0 }
    }
}

impl Desk {
    /// Keeps a message as it is, and what it says of a call until the calls are known.
    pub(super) fn hook(&mut self, message: &[u8]) {
        self.report.hooks += 1;
        self.record(notes::HOOK, &String::from_utf8_lossy(message));
        let Some(heard) = hook::heard(message) else { return };
        self.beside.heard_bytes += heard.bytes();
        if self.beside.heard_bytes <= HEARD_BYTES_MAX {
            self.beside.heard.push((self.report.hooks - 1, heard));
        }
    }

    /// Takes the files that the outputs name which have come since the last time.
    pub(super) fn spilled(&mut self) {
        let known = self.beside.returned;
        let new = self.intake.as_ref().map(|intake| intake.recorder().calls_returned(known));
        for call in new.unwrap_or_default() {
            self.beside.returned += 1;
            let [text] = call.texts.as_slice() else { continue };
            let whole = self.attempt(|intake| {
                let sent = intake.recorder().read(text)?;
                Ok(std::str::from_utf8(&sent).map(str::to_owned).unwrap_or_default())
            });
            match whole.and_then(|sent| self.beside.spills.whole(&sent)) {
                Some(Spilled::Whole(text)) => self.spill(&call, &text),
                Some(Spilled::Not(why)) => {
                    self.report.unspilled += 1;
                    let told = serde_json::json!({ "call": call.call.number(), "reason": why });
                    self.record(notes::SPILL, &told.to_string());
                }
                None => {}
            }
        }
    }

    fn spill(&mut self, call: &CallSeen, text: &str) {
        let text = FoundText::Whole(text);
        let found = Found { call: call.call, index: 0, source: "spill", record: 0, text };
        if self.attempt(|intake| intake.recorder_mut().output_found(&found)).is_some() {
            self.report.spilled += 1;
        }
    }

    /// Joins what hooks said to the calls, where it is more than the client sent.
    pub(super) fn join(&mut self) {
        let heard = std::mem::take(&mut self.beside.heard);
        if heard.is_empty() {
            return;
        }
        let joined = self.attempt(|intake| {
            let mut joiner = match Joiner::new(intake.recorder_mut()) {
                Ok(joiner) => joiner.only_more(),
                Err(error) => return unless_unread(error),
            };
            for (record, heard) in &heard {
                joiner.begin(heard.source());
                let file = SideFile { path: "", reader: &mut io::empty() };
                if let Err(error) = joiner.claim(&file, &heard.claim(*record)) {
                    return unless_unread(error);
                }
            }
            let report = joiner.finish();
            Ok(report.whole + report.ends)
        });
        self.report.joined += joined.unwrap_or_default();
    }
}

/// What is claimed here stands in memory, so that only the recorder can fail.
fn unless_unread(error: SideError) -> Result<u64, RecordError> {
    if let SideError::Record(error) = error { Err(error) } else { Ok(0) }
}
