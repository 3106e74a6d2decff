//! Builds a history event by event and refuses the first one that does not fit.

use super::error::HistoryError;
use super::{BodySplices, Call, Change, End, History, Part, Request, Session, SkeletonInfo};
use crate::event::{
    Added, Answered, Cause, ContextEdited, Dispatched, Dropped, Event, HoleValue, IdentityEvent,
    OutputFound, PartDef, PartUse, RequestCaptured, SessionOpened, Skeleton, SkeletonUse, Splice,
    ToolCalled, ToolReturned,
};
use crate::id::{PartNo, RequestId, SessionId, SkeletonNo};
use crate::identity::desk::Desk;
use crate::wire::outline::ITEMS_MAX;
use crate::wire::{Dialect, PartKind, Role};

/// Takes events in order.
#[derive(Debug, Default)]
pub struct Builder {
    history: Option<History>,
    /// Changes of each conversation since its last request.
    pending: Vec<Vec<Change>>,
    /// Lengths of each conversation's message list, to check changes against.
    lengths: Vec<u64>,
    /// Lengths of each request's lists (head, messages, tail), to check splices against.
    body_lengths: Vec<[u64; 3]>,
    /// What is open, to check facts about identities against.
    desk: Desk,
}

type Checked<T> = Result<T, HistoryError>;

impl Builder {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// The event does not fit what came before.
    pub fn push(&mut self, seq: u64, event: Event) -> Checked<()> {
        if let Event::RunOpened(opened) = event {
            if self.history.is_some() {
                return Err(HistoryError::NoRun { seq });
            }
            self.history = Some(History {
                opened,
                closed: None,
                skeletons: Vec::new(),
                parts: Vec::new(),
                sessions: Vec::new(),
                requests: Vec::new(),
                calls: Vec::new(),
                call_of: std::collections::BTreeMap::new(),
                records: Vec::new(),
                withheld: Vec::new(),
                redaction: Vec::new(),
                replaced: std::collections::BTreeMap::new(),
                events: 1,
            });
            return Ok(());
        }
        let history = self.history.as_mut().ok_or(HistoryError::NoRun { seq })?;
        if history.closed.is_some() {
            return Err(HistoryError::Misfit { seq, what: "event after run_closed" });
        }
        history.events += 1;
        if matches!(event, Event::Identity(_)) {
            return self.identity(seq, &event);
        }
        self.desk.apply(&event);
        match event {
            // Was taken above.
            Event::Identity(_) => Ok(()),
            Event::RunOpened(_) => Err(HistoryError::NoRun { seq }),
            Event::RunClosed(closed) => {
                history.closed = Some(closed);
                Ok(())
            }
            Event::RedactionFailed(_) | Event::RedactionConfigured(_) | Event::SpansReplaced(_) => {
                self.redaction(seq, event)
            }
            Event::ImportedRecord(record) => {
                history.records.push(record);
                Ok(())
            }
            Event::SessionOpened(opened) => self.session_opened(seq, opened),
            Event::MessageAdded(added) => {
                let parts = self.added(seq, added.added)?;
                self.change(seq, added.session, Change::Appended(parts))
            }
            Event::ContextEdited(edited) => self.context_edited(seq, edited),
            Event::RequestCaptured(captured) => self.request_captured(seq, captured),
            Event::RequestDispatched(dispatched) => self.dispatched(seq, dispatched),
            Event::ResponseReceived(answer) => self.answered(seq, End::Received, answer),
            Event::ResponseFailed(answer) => self.answered(seq, End::Failed, answer),
            Event::ResponseAborted(answer) => self.answered(seq, End::Aborted, answer),
            Event::ToolCalled(called) => self.tool_called(seq, called),
            Event::ToolReturned(returned) => self.tool_returned(seq, returned),
            Event::OutputFound(found) => self.output_found(seq, found),
        }
    }

    /// The history of all events taken.
    ///
    /// # Errors
    /// There was no `run_opened`.
    pub fn finish(self) -> Checked<History> {
        self.history.ok_or(HistoryError::NoRun { seq: 0 })
    }

    fn history(&mut self, seq: u64) -> Checked<&mut History> {
        self.history.as_mut().ok_or(HistoryError::NoRun { seq })
    }

    /// What redaction did.
    fn redaction(&mut self, seq: u64, event: Event) -> Checked<()> {
        let history = self.history(seq)?;
        match event {
            Event::RedactionFailed(failed) => history.withheld.push(failed),
            Event::RedactionConfigured(configured) => history.redaction.push((seq, configured)),
            Event::SpansReplaced(replaced) if replaced.is_consistent() => {
                history.replaced.entry(replaced.text).or_insert(replaced);
            }
            _ => return Err(HistoryError::Misfit { seq, what: "replaced spans" }),
        }
        Ok(())
    }

    fn session_opened(&mut self, seq: u64, opened: SessionOpened) -> Checked<()> {
        let history = self.history(seq)?;
        next(seq, "conversation", opened.session.index(), history.sessions.len())?;
        if let Some(parent) = opened.parent {
            known(seq, "conversation", parent.index(), history.sessions.len())?;
        }
        history.sessions.push(Session { opened, requests: Vec::new() });
        self.pending.push(Vec::new());
        self.lengths.push(0);
        Ok(())
    }

    fn added(&mut self, seq: u64, added: Vec<Added>) -> Checked<Vec<(PartNo, Cause)>> {
        let mut parts = Vec::with_capacity(added.len());
        for Added { part, cause } in added {
            self.cause(seq, cause)?;
            parts.push((self.part_use(seq, part)?, cause));
        }
        Ok(parts)
    }

    fn cause(&mut self, seq: u64, cause: Cause) -> Checked<()> {
        let history = self.history(seq)?;
        match cause {
            Cause::Answer(request) => {
                known(seq, "request", request.index(), history.requests.len())
            }
            Cause::ToolResult(call) => known(seq, "call", call.index(), history.calls.len()),
            Cause::UserInput | Cause::Inserted | Cause::Returned | Cause::Unlinked(_) => Ok(()),
        }
    }

    fn part_use(&mut self, seq: u64, part: PartUse) -> Checked<PartNo> {
        match part {
            PartUse::Known(part) => {
                known(seq, "part", part.index(), self.history(seq)?.parts.len())?;
                Ok(part)
            }
            PartUse::New(def) => self.part_def(seq, def),
        }
    }

    fn part_def(&mut self, seq: u64, def: PartDef) -> Checked<PartNo> {
        let skeleton = match def.skeleton {
            SkeletonUse::New(skeleton) => self.skeleton(seq, skeleton)?,
            SkeletonUse::Known(number) => {
                known(seq, "skeleton", number.index(), self.history(seq)?.skeletons.len())?;
                number
            }
        };
        let history = self.history(seq)?;
        let info = history
            .skeletons
            .get(skeleton.index())
            .ok_or(HistoryError::Misfit { seq, what: "skeleton" })?;
        if info.slots.len() != def.holes.len() {
            return Err(HistoryError::Misfit { seq, what: "number of slots" });
        }
        let mut bytes = info.literal.len();
        for hole in &def.holes {
            if history.resolve(&hole.value).is_none() {
                return Err(dangling(seq, &hole.value));
            }
            bytes = bytes
                .checked_add(hole.escaped_bytes)
                .ok_or(HistoryError::Misfit { seq, what: "length of a slot" })?;
        }
        let number = number(seq, "parts", history.parts.len())?;
        let digest = def.digest;
        history.parts.push(Part { digest, skeleton, holes: def.holes, bytes, seq });
        Ok(PartNo::new(number))
    }

    fn skeleton(&mut self, seq: u64, skeleton: Skeleton) -> Checked<SkeletonNo> {
        let misfit = |what| HistoryError::Misfit { seq, what };
        let kind = PartKind::from_tag(skeleton.part_kind).ok_or(misfit("part kind"))?;
        let role = Role::from_tag(skeleton.role).ok_or(misfit("role"))?;
        let mut last = 0;
        for slot in &skeleton.slots {
            if slot.offset < last || u64::from(slot.offset) > skeleton.literal.len() {
                return Err(misfit("offset of a slot"));
            }
            last = slot.offset;
        }
        let Skeleton { literal, slots, .. } = skeleton;
        let history = self.history(seq)?;
        let number = number(seq, "skeletons", history.skeletons.len())?;
        history.skeletons.push(SkeletonInfo { kind, role, literal, slots });
        Ok(SkeletonNo::new(number))
    }

    fn context_edited(&mut self, seq: u64, edited: ContextEdited) -> Checked<()> {
        let mut splices = Vec::with_capacity(edited.splices.len());
        for Splice { at, remove, insert } in edited.splices {
            splices.push(Splice { at, remove, insert: self.added(seq, insert)? });
        }
        self.change(seq, edited.session, Change::Edited(splices))
    }

    /// Notes a change of a message list after checking that it fits.
    fn change(&mut self, seq: u64, session: SessionId, change: Change) -> Checked<()> {
        let unknown = || HistoryError::Dangling {
            seq,
            what: "conversation",
            number: u64::from(session.number()),
        };
        let length = self.lengths.get_mut(session.index()).ok_or_else(unknown)?;
        match &change {
            Change::Appended(parts) => *length += parts.len() as u64,
            Change::Edited(splices) => *length = spliced(seq, *length, splices)?,
        }
        if *length > ITEMS_MAX as u64 {
            return Err(HistoryError::TooMany { seq, what: "messages", max: ITEMS_MAX as u64 });
        }
        self.pending.get_mut(session.index()).ok_or_else(unknown)?.push(change);
        Ok(())
    }

    fn request_captured(&mut self, seq: u64, captured: RequestCaptured) -> Checked<()> {
        let dialect = Dialect::from_tag(captured.dialect)
            .ok_or(HistoryError::Misfit { seq, what: "dialect" })?;
        let history = self.history(seq)?;
        next(seq, "request", captured.request.index(), history.requests.len())?;
        known(seq, "conversation", captured.session.index(), history.sessions.len())?;
        for other in captured.base.iter().chain(&captured.attempt_of) {
            known(seq, "request", other.index(), history.requests.len())?;
        }
        let mut captured = captured;
        let head = self.uses(seq, std::mem::take(&mut captured.splices.head))?;
        let tail = self.uses(seq, std::mem::take(&mut captured.splices.tail))?;
        let items = std::mem::take(&mut captured.splices.items);
        let history = self.history(seq)?;
        for part in items.iter().flat_map(|splice| &splice.insert) {
            known(seq, "part", part.index(), history.parts.len())?;
        }
        let splices = BodySplices { head, items, tail };
        self.body_lengths(seq, &captured, &splices)?;
        let session = captured.session;
        let id = captured.request;
        let changes = self
            .pending
            .get_mut(session.index())
            .map(std::mem::take)
            .ok_or(HistoryError::Misfit { seq, what: "conversation" })?;
        let history = self.history(seq)?;
        let requests = history
            .sessions
            .get_mut(session.index())
            .map(|session| &mut session.requests)
            .ok_or(HistoryError::Misfit { seq, what: "conversation" })?;
        let previous = requests.last().copied();
        requests.push(id);
        history.requests.push(Request {
            captured,
            dialect,
            splices,
            changes,
            previous,
            dispatched: None,
            answer: None,
            seq,
        });
        Ok(())
    }

    /// Notes the lengths of a request's lists after checking that its changes and marks fit.
    fn body_lengths(
        &mut self,
        seq: u64,
        captured: &RequestCaptured,
        splices: &BodySplices,
    ) -> Checked<()> {
        let base = captured.base.and_then(|base| self.body_lengths.get(base.index()));
        let [head, items, tail] = base.copied().unwrap_or_default();
        let head = spliced(seq, head, &splices.head)?;
        let items = spliced(seq, items, &splices.items)?;
        let tail = spliced(seq, tail, &splices.tail)?;
        if head.max(items).max(tail) > ITEMS_MAX as u64 {
            return Err(HistoryError::TooMany { seq, what: "parts", max: ITEMS_MAX as u64 });
        }
        let marks = &captured.overlays;
        let inside = marks.last().is_none_or(|mark| u64::from(mark.item) < items);
        if !inside || !marks.is_sorted_by_key(|mark| (mark.item, mark.offset)) {
            return Err(HistoryError::Misfit { seq, what: "mark on a message" });
        }
        self.body_lengths.push([head, items, tail]);
        Ok(())
    }

    fn uses(&mut self, seq: u64, splices: Vec<Splice<PartUse>>) -> Checked<Vec<Splice<PartNo>>> {
        let mut out = Vec::with_capacity(splices.len());
        for Splice { at, remove, insert } in splices {
            let mut parts = Vec::with_capacity(insert.len());
            for part in insert {
                parts.push(self.part_use(seq, part)?);
            }
            out.push(Splice { at, remove, insert: parts });
        }
        Ok(out)
    }

    fn request(&mut self, seq: u64, id: RequestId) -> Checked<&mut Request> {
        self.history(seq)?.requests.get_mut(id.index()).ok_or(HistoryError::Dangling {
            seq,
            what: "request",
            number: u64::from(id.number()),
        })
    }

    fn dispatched(&mut self, seq: u64, dispatched: Dispatched) -> Checked<()> {
        let request = self.request(seq, dispatched.request)?;
        if request.dispatched.is_some() {
            return Err(HistoryError::Misfit { seq, what: "second dispatch" });
        }
        request.dispatched = Some(dispatched);
        Ok(())
    }

    fn answered(&mut self, seq: u64, end: End, answer: Answered) -> Checked<()> {
        let request = self.request(seq, answer.request)?;
        if request.answer.is_some() {
            return Err(HistoryError::Misfit { seq, what: "second answer" });
        }
        request.answer = Some((end, answer));
        Ok(())
    }

    fn tool_called(&mut self, seq: u64, called: ToolCalled) -> Checked<()> {
        let ToolCalled { call, request, item } = called;
        let history = self.history(seq)?;
        next(seq, "call", call.index(), history.calls.len())?;
        if history.item(request, item).is_none() {
            let number = u64::from(request.number());
            return Err(HistoryError::Dangling { seq, what: "answer of request", number });
        }
        if history.call_of.insert((request, item), call).is_some() {
            return Err(HistoryError::Misfit { seq, what: "second call of an item" });
        }
        history.calls.push(Call {
            asked: Some((request, item)),
            output: None,
            dropped: Dropped::Unknown,
            found: Vec::new(),
        });
        Ok(())
    }

    fn output_found(&mut self, seq: u64, found: OutputFound) -> Checked<()> {
        if !found.is_consistent() {
            return Err(HistoryError::Misfit { seq, what: "pieces of a found output" });
        }
        let history = self.history(seq)?;
        let number = u64::from(found.call.number());
        let call = history.calls.get_mut(found.call.index()).ok_or(HistoryError::Dangling {
            seq,
            what: "call",
            number,
        })?;
        call.found.push(found);
        Ok(())
    }

    /// A fact about identities: checked against what is open; its calls take their numbers.
    fn identity(&mut self, seq: u64, event: &Event) -> Checked<()> {
        self.desk.check(event).map_err(|source| HistoryError::Identity { seq, source })?;
        let calls = match event {
            Event::Identity(IdentityEvent::TurnAccepted(accepted)) => accepted.calls.len(),
            Event::Identity(IdentityEvent::ToolObserved(_)) => 1,
            _ => 0,
        };
        let history = self.history(seq)?;
        let call =
            || Call { asked: None, output: None, dropped: Dropped::Unknown, found: Vec::new() };
        history.calls.extend(std::iter::repeat_with(call).take(calls));
        self.desk.apply(event);
        Ok(())
    }

    fn tool_returned(&mut self, seq: u64, returned: ToolReturned) -> Checked<()> {
        let history = self.history(seq)?;
        let number = u64::from(returned.call.number());
        let call = history.calls.get_mut(returned.call.index()).ok_or(HistoryError::Dangling {
            seq,
            what: "call",
            number,
        })?;
        if call.output.is_some() {
            return Err(HistoryError::Misfit { seq, what: "second return of a call" });
        }
        call.output = Some(returned.output);
        call.dropped = returned.dropped;
        Ok(())
    }
}

/// Length of a list after changes, which must fit it.
fn spliced<T>(seq: u64, length: u64, splices: &[Splice<T>]) -> Checked<u64> {
    let mut at = 0;
    let mut new_length = length;
    for (index, splice) in splices.iter().enumerate() {
        let start = u64::from(splice.at);
        let end = start + u64::from(splice.remove);
        if start < at || end > length {
            return Err(HistoryError::Splice { seq, index });
        }
        at = end;
        new_length = new_length - u64::from(splice.remove) + splice.insert.len() as u64;
    }
    Ok(new_length)
}

fn next(seq: u64, what: &'static str, found: usize, expected: usize) -> Checked<()> {
    if found == expected {
        return Ok(());
    }
    Err(HistoryError::NotNext { seq, what, found: found as u64, expected: expected as u64 })
}

fn known(seq: u64, what: &'static str, number: usize, count: usize) -> Checked<()> {
    if number < count {
        return Ok(());
    }
    Err(HistoryError::Dangling { seq, what, number: number as u64 })
}

fn number(seq: u64, what: &'static str, count: usize) -> Checked<u32> {
    let max = u64::from(u32::MAX);
    u32::try_from(count).map_err(|_wide| HistoryError::TooMany { seq, what, max })
}

fn dangling(seq: u64, value: &HoleValue) -> HistoryError {
    let (what, number) = match value {
        HoleValue::Own(_) => ("text", 0),
        HoleValue::AnswerText { request, .. }
        | HoleValue::AnswerCallId { request, .. }
        | HoleValue::AnswerItemId { request, .. }
        | HoleValue::AnswerToolName { request, .. } => ("answer of request", request.number()),
        HoleValue::Output { call, .. } => ("output of call", call.number()),
    };
    HistoryError::Dangling { seq, what, number: u64::from(number) }
}
