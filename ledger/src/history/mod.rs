//! A run as its events tell it, checked once: every reference leads somewhere, every list change
//! fits, every id is what it must be. Whoever holds a `History` need not check again.

mod build;
mod error;
mod lists;

pub use build::Builder;
pub use error::HistoryError;
pub use lists::{Base, BodyLists, ListWalker, Walked};

use std::collections::BTreeMap;

use crate::content::Content;
use crate::event::{
    Answered, Cause, Dispatched, Dropped, Hole, HoleValue, ImportedRecord, OutputFound, Overlay,
    RedactionConfigured, RedactionFailed, RequestCaptured, Returned, RunClosed, RunOpened,
    SessionOpened, SlotDef, SpansReplaced, Splice,
};
use crate::id::{PartNo, RequestId, SessionId, SkeletonNo, ToolCallId};
use crate::wire::{Dialect, Escape, PartKind, Role};

/// A literal with slots.
#[derive(Clone, Debug)]
pub struct SkeletonInfo {
    /// What parts with it are.
    pub kind: PartKind,
    /// Who speaks in them.
    pub role: Role,
    /// The bytes around the slots.
    pub literal: Content,
    /// The slots, offsets ascending and inside the literal.
    pub slots: Vec<SlotDef>,
}

/// A part.
#[derive(Clone, Debug)]
pub struct Part {
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Its skeleton.
    pub skeleton: SkeletonNo,
    /// One per slot of the skeleton.
    pub holes: Vec<Hole>,
    /// Length of its bytes.
    pub bytes: u64,
    /// Sequence number of the event that defined it.
    pub seq: u64,
}

/// What happened to a conversation's message list before a request.
#[derive(Clone, Debug)]
pub enum Change {
    /// Messages were appended, with what brought each.
    Appended(Vec<(PartNo, Cause)>),
    /// The client changed what it had sent.
    Edited(Vec<Splice<(PartNo, Cause)>>),
}

/// A captured request and everything that belongs to it.
#[derive(Clone, Debug)]
pub struct Request {
    /// As it was captured; part definitions in its splices are in [`History::part`].
    pub captured: RequestCaptured,
    /// Its dialect.
    pub dialect: Dialect,
    /// Changes of the lists, by number.
    pub splices: BodySplices,
    /// What happened to the message list since the conversation's request before.
    pub changes: Vec<Change>,
    /// The conversation's request before.
    pub previous: Option<RequestId>,
    /// How it was sent.
    pub dispatched: Option<Dispatched>,
    /// How it was answered.
    pub answer: Option<(End, Answered)>,
    /// Sequence number of its event.
    pub seq: u64,
}

/// Changes of the three lists by number.
#[derive(Clone, Debug, Default)]
pub struct BodySplices {
    /// Parts before the messages.
    pub head: Vec<Splice<PartNo>>,
    /// Messages.
    pub items: Vec<Splice<PartNo>>,
    /// Parts after the messages.
    pub tail: Vec<Splice<PartNo>>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It arrived up to its end.
    Received,
    /// An error status or nothing.
    Failed,
    /// It broke off.
    Aborted,
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The request whose answer asks for it, and the item of that answer; `None` for a call that
    /// was told of beside the wire.
    pub asked: Option<(RequestId, u16)>,
    /// What it returned, once it has.
    pub output: Option<Vec<Returned>>,
    /// How much of the output never reached the recorder.
    pub dropped: Dropped,
    /// The output as other records of the run have it.
    pub found: Vec<OutputFound>,
}

impl Call {
    /// The best copy that was found of one text of the output: the first whole one, else the
    /// first with a gap.
    pub fn found(&self, index: u16) -> Option<&OutputFound> {
        let of_text = || self.found.iter().filter(move |found| found.index == index);
        let whole = of_text().find(|found| found.dropped == Dropped::Bytes(0));
        whole.or_else(|| of_text().next())
    }
}

/// A conversation.
#[derive(Clone, Debug)]
pub struct Session {
    /// How it began.
    pub opened: SessionOpened,
    /// Its requests, in order.
    pub requests: Vec<RequestId>,
}

/// A run, decoded and checked.
#[derive(Clone, Debug)]
pub struct History {
    opened: RunOpened,
    closed: Option<RunClosed>,
    skeletons: Vec<SkeletonInfo>,
    parts: Vec<Part>,
    sessions: Vec<Session>,
    requests: Vec<Request>,
    calls: Vec<Call>,
    call_of: BTreeMap<(RequestId, u16), ToolCallId>,
    records: Vec<ImportedRecord>,
    withheld: Vec<RedactionFailed>,
    redaction: Vec<(u64, RedactionConfigured)>,
    replaced: BTreeMap<[u8; 32], SpansReplaced>,
    events: u64,
}

impl History {
    /// How the run began.
    pub fn opened(&self) -> &RunOpened {
        &self.opened
    }

    /// How the run ended; `None` while it is recorded, or when its recorder died.
    pub fn closed(&self) -> Option<&RunClosed> {
        self.closed.as_ref()
    }

    /// Conversations, by id.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// Requests, in order of capture.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// One request.
    pub fn request(&self, id: RequestId) -> Option<&Request> {
        self.requests.get(id.index())
    }

    /// Parts, by number.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Tool calls, by id.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// One call.
    pub fn call(&self, id: ToolCallId) -> Option<&Call> {
        self.calls.get(id.index())
    }

    /// Foreign records that were kept.
    pub fn records(&self) -> &[ImportedRecord] {
        &self.records
    }

    /// Texts that were kept back, since they could not be redacted.
    pub fn withheld(&self) -> &[RedactionFailed] {
        &self.withheld
    }

    /// Changes of how texts are redacted, each with the sequence number of its event.
    pub fn redaction(&self) -> &[(u64, RedactionConfigured)] {
        &self.redaction
    }

    /// The rule set that was in force when the event of that sequence number was written.
    pub fn ruleset_at(&self, seq: u64) -> &(String, u32, [u8; 32]) {
        let before = self.redaction.partition_point(|(at, _)| *at <= seq);
        let last = before.checked_sub(1).and_then(|last| self.redaction.get(last));
        last.map_or(&self.opened.ruleset, |(_, configured)| &configured.ruleset)
    }

    /// What redaction replaced in the text with that SHA-256; `None` where it replaced nothing.
    pub fn replaced(&self, text: &[u8; 32]) -> Option<&SpansReplaced> {
        self.replaced.get(text)
    }

    /// True where something was replaced in some stored text.
    pub fn has_replaced(&self) -> bool {
        !self.replaced.is_empty()
    }

    /// Number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A part that a list of this history names.
    ///
    /// # Panics
    /// The number comes from another history.
    pub fn part(&self, part: PartNo) -> &Part {
        self.parts.get(part.index()).expect("part numbers are checked when the history is built")
    }

    /// A part's skeleton.
    ///
    /// # Panics
    /// The part comes from another history.
    pub fn skeleton(&self, part: &Part) -> &SkeletonInfo {
        self.skeletons
            .get(part.skeleton.index())
            .expect("skeleton numbers are checked when the history is built")
    }

    /// The text that fills a slot.
    ///
    /// # Panics
    /// The hole comes from another history.
    pub fn text<'h>(&'h self, hole: &'h Hole) -> &'h Content {
        self.resolve(&hole.value).expect("references are checked when the history is built")
    }

    fn item(&self, request: RequestId, item: u16) -> Option<&crate::event::AnswerItem> {
        let (_, answer) = self.requests.get(request.index())?.answer.as_ref()?;
        answer.items.get(usize::from(item))
    }

    /// The item of an answer that asks for a call.
    pub fn call_item(&self, call: ToolCallId) -> Option<&crate::event::AnswerItem> {
        let call = self.calls.get(call.index())?;
        let (request, item) = call.asked?;
        self.item(request, item)
    }

    /// The call that an item of an answer asks for.
    pub fn call_of(&self, request: RequestId, item: u16) -> Option<ToolCallId> {
        self.call_of.get(&(request, item)).copied()
    }

    /// The output text that fills a slot, where an output does.
    pub fn returned(&self, hole: &Hole) -> Option<&Returned> {
        let HoleValue::Output { call, index } = hole.value else { return None };
        self.calls.get(call.index())?.output.as_ref()?.get(usize::from(index))
    }

    fn resolve<'h>(&'h self, value: &'h HoleValue) -> Option<&'h Content> {
        match value {
            HoleValue::Own(content) => Some(content),
            HoleValue::AnswerText { request, item } => Some(&self.item(*request, *item)?.text),
            HoleValue::AnswerCallId { request, item } => {
                self.item(*request, *item)?.call_id.as_ref()
            }
            HoleValue::AnswerItemId { request, item } => {
                self.item(*request, *item)?.item_id.as_ref()
            }
            HoleValue::AnswerToolName { request, item } => {
                self.item(*request, *item)?.name.as_ref()
            }
            HoleValue::Output { call, index } => {
                let output = self.calls.get(call.index())?.output.as_ref()?;
                output.get(usize::from(*index)).map(|returned| &returned.text)
            }
        }
    }
}

impl Request {
    /// Escape switches for a text of ours in this body.
    pub fn escape(&self) -> Escape {
        self.captured.escape
    }

    /// The conversation.
    pub fn session(&self) -> SessionId {
        self.captured.session
    }

    /// Marks on messages, items ascending.
    pub fn overlays(&self) -> &[Overlay] {
        &self.captured.overlays
    }
}

/// A part in a list with what brought it.
pub type Caused = (PartNo, Cause);

#[cfg(test)]
mod tests;
