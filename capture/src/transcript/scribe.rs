//! Writes what adapters read: conversations whose requests are put together, answers, outputs,
//! and every row that became none of these.
//!
//! A conversation has one live message list. An adapter appends to it, cuts it back, or begins it
//! anew, and says when the model was asked; the scribe hands the recorder what is new. Messages
//! that were handed over are kept in memory up to a bound, since only an edit needs them again.

use std::cell::RefCell;
use std::rc::Rc;

use ledger::event::{Child, Rung, SessionBasis};
use ledger::id::{RequestId, SessionId, ToolCallId};
use ledger::recorder::{
    Capture, Found, FoundText, Grown, RecordError, Recorder, Reply, Sent, SessionSpec,
};
use ledger::wire::Dialect;
use ledger::wire::answer as wire_answer;

use super::adapter::Stop;
use super::json;
use super::report::Tally;
use super::rows::Row;
use crate::intake::{self, Arrived, Fields};
use crate::lane::Lanes;

/// What the messages of a conversation may hold in memory, in bytes.
const LIVE_BYTES_MAX: usize = 16 << 20;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is on record as what it says.
    Used,
    /// It is understood, there is no event for it, and its bytes are kept: a fixed phrase.
    Aside(&'static str),
    /// It is not understood, and its bytes are kept: a fixed phrase.
    Unknown(&'static str),
}

/// An exchange whose body is on record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) rung: Rung,
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) headers: &'a Fields,
    /// 0 where there was no answer.
    pub(crate) status: u64,
    pub(crate) answer_headers: &'a Fields,
    pub(crate) answer: Option<&'a [u8]>,
    pub(crate) mime: &'a str,
}

/// A conversation of the run, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Talk(usize);

/// What a message of a live list is, for those who cut it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// What a person, or the program that drives the client, said.
    Prompt,
    /// What the client put there.
    Injected,
    /// Results of calls.
    Result,
    /// What the model said.
    Answer,
}

/// A message of a live list.
#[derive(Debug)]
pub(crate) struct Entry {
    serial: u64,
    tag: Tag,
    bytes: RefCell<Held>,
}

#[derive(Debug)]
enum Held {
    /// Its place is taken, its text comes later.
    Pending,
    Bytes(Box<[u8]>),
    /// It was recorded, and is not held any more.
    Dropped,
}

impl Held {
    fn bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

impl Entry {
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) fn tag(&self) -> Tag {
        self.tag
    }

    /// Bytes of it that are in memory.
    pub(crate) fn held(&self) -> usize {
        self.bytes.borrow().bytes().map_or(0, <[u8]>::len)
    }
}

#[derive(Debug)]
struct Conversation {
    session: SessionId,
    dialect: Dialect,
    list: Vec<Rc<Entry>>,
    /// How many messages at the head of the list are those that the last request begins with.
    same: usize,
    /// Bytes in memory of the messages that were recorded.
    held: usize,
    /// Messages at the head of the list whose bytes were let go.
    let_go: usize,
    /// Messages before these are known to be missing.
    lossy: bool,
}

impl Conversation {
    /// The list changed at `place`: what stands there and behind is not what was asked with.
    fn changed_at(&mut self, place: usize) {
        self.same = self.same.min(place);
        self.let_go = self.let_go.min(place);
        self.held = self.list.iter().take(self.same).map(|entry| entry.held()).sum();
    }

    /// Lets go of the oldest messages beyond what may be held; all of them are on record.
    fn let_go_of_oldest(&mut self) {
        for entry in self.list.iter().skip(self.let_go) {
            if self.held <= LIVE_BYTES_MAX {
                break;
            }
            self.held = self.held.saturating_sub(entry.held());
            self.let_go += 1;
            let mut bytes = entry.bytes.borrow_mut();
            if matches!(*bytes, Held::Bytes(_)) {
                *bytes = Held::Dropped;
            }
        }
    }
}

/// What is said of a request beside its messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    pub(crate) model: Option<String>,
    /// Members of the body behind the list, as JSON: name, value.
    pub(crate) members: Vec<(&'static str, Vec<u8>)>,
}

impl Setting {
    pub(crate) fn of_model(model: Option<&str>) -> Self {
        Self { model: model.map(str::to_owned), members: Vec::new() }
    }

    /// Sets a member of the bodies to come.
    pub(crate) fn set(&mut self, name: &'static str, value: Vec<u8>) {
        match self.members.iter_mut().find(|(own, _)| *own == name) {
            Some((_, own)) => *own = value,
            None => self.members.push((name, value)),
        }
    }

    fn tail(&self) -> Vec<u8> {
        let mut tail = Vec::new();
        if let Some(model) = &self.model {
            tail.extend_from_slice(b",\"model\":");
            json::write_text(model, &mut tail);
        }
        for (name, value) in &self.members {
            tail.extend_from_slice(b",\"");
            tail.extend_from_slice(name.as_bytes());
            tail.extend_from_slice(b"\":");
            tail.extend_from_slice(value);
        }
        tail
    }
}

/// Writes one run.
#[derive(Debug)]
pub(crate) struct Scribe {
    recorder: Recorder,
    talks: Vec<Conversation>,
    lanes: Lanes,
    serials: u64,
    /// Outputs to be recorded once the run has their calls.
    found: Vec<Waiting>,
    pub(crate) tally: Tally,
}

#[derive(Debug)]
struct Waiting {
    /// The conversation; none where the calls of all are meant.
    talk: Option<Talk>,
    call_id: String,
    record: u64,
    text: String,
}

impl Scribe {
    pub(crate) fn new(recorder: Recorder) -> Self {
        let tally = Tally::default();
        let (talks, found) = (Vec::new(), Vec::new());
        Self { recorder, talks, lanes: Lanes::default(), serials: 0, found, tally }
    }

    pub(crate) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    pub(crate) fn finish(mut self) -> Result<(Recorder, Tally), RecordError> {
        self.settle(true)?;
        Ok((self.recorder, self.tally))
    }

    /// Opens a conversation.
    pub(crate) fn open(
        &mut self,
        dialect: Dialect,
        parent: Option<Talk>,
        client_session: Option<&str>,
    ) -> Result<Talk, RecordError> {
        let parent = parent.and_then(|talk| self.talks.get(talk.0)).map(|talk| talk.session);
        let basis = match client_session {
            Some(_) => SessionBasis::Header,
            None => SessionBasis::Content,
        };
        let client_session = client_session.map(str::as_bytes);
        let session = self.recorder.open_session(&SessionSpec { parent, basis, client_session })?;
        let list = Vec::new();
        let (same, held, let_go, lossy) = (0, 0, 0, false);
        let talk = Conversation { session, dialect, list, same, held, let_go, lossy };
        self.talks.push(talk);
        self.tally.conversations += 1;
        Ok(Talk(self.talks.len() - 1))
    }

    pub(crate) fn session(&self, talk: Talk) -> Option<SessionId> {
        self.talks.get(talk.0).map(|talk| talk.session)
    }

    /// How many messages the live list has.
    pub(crate) fn length(&self, talk: Talk) -> usize {
        self.talks.get(talk.0).map_or(0, |talk| talk.list.len())
    }

    /// The messages of the live list from `from` on.
    pub(crate) fn list(&self, talk: Talk) -> &[Rc<Entry>] {
        self.talks.get(talk.0).map(|talk| talk.list.as_slice()).unwrap_or_default()
    }

    /// Appends a message: the JSON of one item of the dialect.
    pub(crate) fn say(&mut self, talk: Talk, tag: Tag, item: Vec<u8>) -> Option<Rc<Entry>> {
        self.put(talk, tag, Held::Bytes(item.into()))
    }

    /// Appends a message that stood in a list before.
    pub(crate) fn say_again(&mut self, talk: Talk, entry: Rc<Entry>) {
        if let Some(talk) = self.talks.get_mut(talk.0) {
            talk.list.push(entry);
        }
    }

    /// Keeps a place for a message whose text is not known yet.
    pub(crate) fn reserve(&mut self, talk: Talk) -> Option<Rc<Entry>> {
        self.put(talk, Tag::Answer, Held::Pending)
    }

    /// Puts the text where a place was kept.
    pub(crate) fn fill(entry: &Entry, item: Vec<u8>) {
        let mut held = entry.bytes.borrow_mut();
        if matches!(*held, Held::Pending) {
            *held = Held::Bytes(item.into());
        }
    }

    fn put(&mut self, talk: Talk, tag: Tag, held: Held) -> Option<Rc<Entry>> {
        self.serials += 1;
        let entry = Rc::new(Entry { serial: self.serials, tag, bytes: RefCell::new(held) });
        self.talks.get_mut(talk.0)?.list.push(Rc::clone(&entry));
        Some(entry)
    }

    /// Cuts the live list back to its first `length` messages.
    pub(crate) fn cut(&mut self, talk: Talk, length: usize) {
        if let Some(talk) = self.talks.get_mut(talk.0).filter(|talk| length < talk.list.len()) {
            talk.list.truncate(length);
            talk.changed_at(length);
        }
    }

    /// Replaces the live list; `lossy` when messages before it are known to be missing.
    pub(crate) fn restart(&mut self, talk: Talk, list: Vec<Rc<Entry>>, lossy: bool) {
        if let Some(talk) = self.talks.get_mut(talk.0) {
            let same = talk.list.iter().zip(&list).take_while(|(a, b)| a.serial == b.serial);
            let same = same.count();
            talk.list = list;
            talk.lossy = lossy;
            talk.changed_at(same);
        }
    }

    /// Says whether messages are known to be missing from the list as it is.
    pub(crate) fn missing(&mut self, talk: Talk, lossy: bool) {
        if let Some(talk) = self.talks.get_mut(talk.0) {
            talk.lossy = lossy;
        }
    }

    /// Puts another text into the place of a message, as a new message.
    pub(crate) fn replace(&mut self, talk: Talk, index: usize, item: Vec<u8>) {
        self.serials += 1;
        let (serial, bytes) = (self.serials, RefCell::new(Held::Bytes(item.into())));
        let Some(talk) = self.talks.get_mut(talk.0) else { return };
        if let Some(place) = talk.list.get_mut(index) {
            *place = Rc::new(Entry { serial, tag: place.tag, bytes });
            talk.changed_at(index);
        }
    }

    /// The text of a message, where it is held.
    pub(crate) fn text_of(&self, talk: Talk, index: usize) -> Option<Vec<u8>> {
        let entry = self.list(talk).get(index)?;
        let held = entry.bytes.borrow();
        held.bytes().map(<[u8]>::to_vec)
    }

    /// Records that the model was asked with the live list.
    pub(crate) fn ask(
        &mut self,
        talk: Talk,
        setting: &Setting,
    ) -> Result<Option<RequestId>, RecordError> {
        let Some(conversation) = self.talks.get_mut(talk.0) else { return Ok(None) };
        let keep = conversation.same;
        let mut lossy = conversation.lossy;
        let mut items = Vec::new();
        let mut same = keep;
        for (index, entry) in (keep..).zip(conversation.list.iter().skip(keep)) {
            let held = entry.bytes.borrow();
            match &*held {
                Held::Bytes(_) => {
                    // Behind a message that is left out, places are not those of the list.
                    same += usize::from(same == index);
                    items.push(held);
                }
                // A place that was never filled holds nothing; one that is not held any more
                // is missing here.
                Held::Pending => {}
                Held::Dropped => lossy = true,
            }
        }
        let rung = if lossy { Rung::Lossy } else { Rung::Reconstructed };
        let texts = items.iter().filter_map(|held| held.bytes());
        let texts: Vec<&[u8]> = texts.collect();
        let tail = setting.tail();
        let grown = Grown { dialect: conversation.dialect, keep, items: &texts, tail: &tail };
        let capture = Capture {
            session: conversation.session,
            rung,
            content_coding: None,
            sent_bytes: 0,
            policy: None,
            propensity: None,
        };
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let captured = self.recorder.request_grown(&grown, &capture);
        drop(items);
        let captured = match captured {
            Ok(captured) => captured,
            Err(RecordError::Misshapen) => {
                conversation.same = 0;
                self.tally.unasked += 1;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        conversation.same = same;
        conversation.held += bytes;
        conversation.let_go_of_oldest();
        self.tally.request(rung, captured.body_bytes);
        self.settle(false)?;
        Ok(Some(captured.request))
    }

    /// Records the answer to a request: a JSON document of the dialect, put together.
    pub(crate) fn answer(
        &mut self,
        talk: Talk,
        request: RequestId,
        body: &[u8],
    ) -> Result<(), RecordError> {
        let Some(conversation) = self.talks.get(talk.0) else { return Ok(()) };
        let dialect = conversation.dialect;
        let reply = Reply {
            status: 200,
            headers: &[],
            mime: "application/json",
            body: Some(body),
            time_us: None,
            cut: false,
        };
        self.recorder.answered(request, dialect, &reply)?;
        self.tally.answer(&wire_answer::reduce(dialect, "application/json", body));
        Ok(())
    }

    /// Records an exchange whose body is on record, in the conversation that it belongs to.
    pub(crate) fn captured(&mut self, exchange: &Exchange<'_>) -> Result<(), RecordError> {
        let arrived = Arrived {
            dialect: exchange.dialect,
            body: exchange.body,
            headers: exchange.headers,
            rung: exchange.rung,
            content_coding: None,
            sent_bytes: exchange.body.len() as u64,
        };
        let taken = intake::take(&mut self.recorder, &mut self.lanes, &arrived)?;
        self.tally.conversations += u64::from(taken.opened);
        self.tally.request(exchange.rung, taken.captured.body_bytes);
        let request = taken.captured.request;
        let sent = Sent {
            at_unix_ns: None,
            method: exchange.method,
            url: exchange.url,
            headers: exchange.headers,
        };
        self.recorder.request_dispatched(request, &sent)?;
        let reply = Reply {
            status: u16::try_from(exchange.status).unwrap_or(0),
            headers: exchange.answer_headers,
            mime: exchange.mime,
            body: exchange.answer,
            time_us: None,
            cut: false,
        };
        self.recorder.answered(request, exchange.dialect, &reply)?;
        let body = exchange.answer.unwrap_or_default();
        self.tally.answer(&wire_answer::reduce(exchange.dialect, exchange.mime, body));
        self.settle(false)
    }

    /// Remembers a whole output; it is recorded once its call has returned.
    pub(crate) fn found(&mut self, talk: Talk, call_id: &str, record: u64, text: String) {
        let talk = Some(talk);
        self.found.push(Waiting { talk, call_id: call_id.to_owned(), record, text });
    }

    /// Remembers a whole output of a call of any conversation.
    pub(crate) fn found_anywhere(&mut self, call_id: &str, record: u64, text: String) {
        self.found.push(Waiting { talk: None, call_id: call_id.to_owned(), record, text });
    }

    /// Records the outputs whose calls are known by now.
    fn settle(&mut self, all: bool) -> Result<(), RecordError> {
        for waiting in core::mem::take(&mut self.found) {
            let session = waiting.talk.map_or(Some(SessionId::new(0)), |talk| self.session(talk));
            let id = waiting.call_id.as_bytes();
            let call = session.and_then(|session| self.recorder.call_named(session, id));
            let Some(call) = call else {
                if all {
                    self.tally.outputs_without_call += 1;
                } else {
                    self.found.push(waiting);
                }
                continue;
            };
            let found = Found {
                call,
                index: 0,
                source: "transcript",
                record: waiting.record,
                text: FoundText::Whole(&waiting.text),
            };
            self.recorder.output_found(&found)?;
            self.tally.whole_outputs += 1;
        }
        Ok(())
    }

    /// Says that a call of one conversation started another.
    pub(crate) fn spawned(
        &mut self,
        parent: Talk,
        call_id: &str,
        child: Talk,
    ) -> Result<(), RecordError> {
        let (Some(call), Some(parent), Some(child)) =
            (self.call(parent, call_id), self.session(parent), self.session(child))
        else {
            return Ok(());
        };
        let told = self.recorder.journal().spawned(parent, call, Child::Session(child));
        match told.map_err(RecordError::from) {
            Err(RecordError::Misfit(_)) => Ok(()),
            told => told,
        }
    }

    /// The call that a conversation knows by this id.
    pub(crate) fn call(&self, talk: Talk, id: &str) -> Option<ToolCallId> {
        self.recorder.call_named(self.session(talk)?, id.as_bytes())
    }

    /// Says that the conversation's first messages were replaced by a summary.
    pub(crate) fn compacted(
        &mut self,
        talk: Talk,
        messages: usize,
        summary: Option<&str>,
    ) -> Result<(), Stop> {
        let Some(session) = self.session(talk) else { return Ok(()) };
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        let summary = summary.map(str::as_bytes);
        self.recorder.journal().compacted(session, messages, summary).map_err(RecordError::from)?;
        self.tally.compactions += 1;
        Ok(())
    }

    /// Sets the wall time of what follows, where a row tells it.
    pub(crate) fn time(&mut self, unix_ns: Option<u64>) {
        if let Some(unix_ns) = unix_ns {
            self.recorder.set_time(unix_ns);
        }
    }

    /// Accounts for a row, and keeps its bytes where they are not on record otherwise.
    pub(crate) fn account(&mut self, row: &Row<'_>, fate: Fate) -> Result<(), RecordError> {
        self.tally.row(fate);
        let (Fate::Aside(reason) | Fate::Unknown(reason)) = fate else { return Ok(()) };
        let clean = self.recorder.redact_json(row.raw);
        self.recorder.imported_record(row.index, row.offset, reason, &clean)
    }

    /// Keeps a part of a row that is on record otherwise: more than it became events.
    pub(crate) fn beside(
        &mut self,
        row: &Row<'_>,
        reason: &'static str,
        part: &[u8],
    ) -> Result<(), RecordError> {
        self.tally.beside(reason);
        let clean = self.recorder.redact_json(part);
        self.recorder.imported_record(row.index, row.offset, reason, &clean)
    }
}
