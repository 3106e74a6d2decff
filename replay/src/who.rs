//! Who did what in a recording: its log, read through the reducers once.

mod started;

use std::collections::BTreeMap;
use std::path::Path;

use ledger::content::Content;
use ledger::event::{Event, EventError, Kind, SessionBasis};
use ledger::frame::KIND_SKIPPABLE_BIT;
use ledger::fs::{Head, LogReader, OpenError, ReadError, Tail};
use ledger::id::{RunId, SessionId, ToolCallId};
use ledger::identity::desk::DeskError;
use ledger::identity::principals::Principals;
use projector::identity::{Conversations, LaneFinding, Lanes, View};

/// A conversation in numbers.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// The conversation that it belongs to.
    pub parent: Option<SessionId>,
    /// Why it is one of its own.
    pub basis: SessionBasis,
    /// The client's own id of it.
    pub client_session: Option<Content>,
    /// Requests that were captured in it.
    pub requests: u64,
    /// Turns that began in it.
    pub turns: u64,
    /// Times that it began anew.
    pub resets: u64,
    /// It was closed.
    pub closed: bool,
}

/// Why a log was read up to a point only.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhoError {
    /// The log cannot be read on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A frame is no event that this version knows.
    #[error("seq {seq}: {source}")]
    Event {
        /// The frame.
        seq: u64,
        /// What is wrong with it.
        source: EventError,
    },
    /// Events contradict each other.
    #[error("seq {seq}: {source}")]
    Desk {
        /// The frame.
        seq: u64,
        /// What does not fit.
        source: DeskError,
    },
}

/// Everything about identities in a recording.
#[derive(Debug)]
pub struct Who {
    /// The run; `None` when not even its beginning can be read.
    pub run: Option<RunId>,
    /// Calls, hooks, questions and turns.
    pub view: View,
    /// Conversations of which the log tells turn by turn.
    pub conversations: Conversations,
    /// Conversations in numbers.
    pub sessions: BTreeMap<SessionId, SessionFacts>,
    /// Calls by the sub-agent's conversation that they started, where no event tells it and the
    /// call's own output names the conversation.
    pub started_by: BTreeMap<SessionId, ToolCallId>,
    /// What is to be said about lanes.
    pub findings: Vec<LaneFinding>,
    /// Who acts.
    pub principals: Principals,
    /// Where the log ends.
    pub head: Head,
    /// How it ends.
    pub tail: Option<Tail>,
    /// Why it was not read to its end. What is above then says what was so before, and no
    /// principal resolves.
    pub error: Option<WhoError>,
}

impl Who {
    /// Reads the log of the recording `dir`.
    ///
    /// # Errors
    /// There is no log. Damage further on is told in [`Who::error`].
    pub fn read(dir: &Path) -> Result<Self, OpenError> {
        let mut reader = LogReader::open(dir)?;
        let mut fold = Fold::default();
        let mut error = None;
        for frame in reader.frames() {
            let taken = frame.map_err(WhoError::from).and_then(|frame| fold.frame(&frame));
            if let Err(found) = taken {
                error = Some(found);
                break;
            }
        }
        let mut principals = fold.desk.principals().clone();
        if error.is_some() {
            principals.set_damaged();
        }
        let mut who = Self {
            run: fold.run,
            view: fold.view,
            conversations: fold.conversations,
            sessions: fold.sessions,
            started_by: BTreeMap::new(),
            findings: fold.findings,
            principals,
            head: reader.head(),
            tail: reader.tail().cloned(),
            error,
        };
        who.started_by = started::started(dir, &who);
        Ok(who)
    }
}

#[derive(Default)]
struct Fold {
    run: Option<RunId>,
    desk: ledger::identity::desk::Desk,
    view: View,
    conversations: Conversations,
    lanes: Lanes,
    findings: Vec<LaneFinding>,
    sessions: BTreeMap<SessionId, SessionFacts>,
}

impl Fold {
    fn frame(&mut self, frame: &ledger::fs::Frame) -> Result<(), WhoError> {
        let seq = frame.seq().0;
        let desk = |source| WhoError::Desk { seq, source };
        let unknown = Kind::from_tag(frame.kind()).is_none();
        if frame.is_seal() || (unknown && frame.kind() & KIND_SKIPPABLE_BIT != 0) {
            return self.desk.skip(seq).map_err(desk);
        }
        let event = Event::decode(frame.kind(), frame.version(), frame.body())
            .map_err(|source| WhoError::Event { seq, source })?;
        self.desk.observe(seq, &event).map_err(desk)?;
        self.view.push(seq, &event);
        self.conversations.push(seq, &event);
        self.lanes.push(&event, &mut self.findings);
        self.count(event);
        Ok(())
    }

    fn count(&mut self, event: Event) {
        use ledger::event::IdentityEvent as E;
        match event {
            Event::RunOpened(event) => self.run = Some(event.run),
            Event::SessionOpened(event) => {
                let facts = SessionFacts {
                    parent: event.parent,
                    basis: event.basis,
                    client_session: event.client_session,
                    requests: 0,
                    turns: 0,
                    resets: 0,
                    closed: false,
                };
                self.sessions.insert(event.session, facts);
            }
            Event::RequestCaptured(event) => self.of(event.session, |facts| facts.requests += 1),
            Event::Identity(E::TurnStarted(event)) => {
                self.of(event.session, |facts| facts.turns += 1);
            }
            Event::Identity(E::SessionReset(event)) => {
                self.of(event.session, |facts| facts.resets += 1);
            }
            Event::Identity(E::SessionClosed(event)) => {
                self.of(event.session, |facts| facts.closed = true);
            }
            _ => {}
        }
    }

    fn of(&mut self, session: SessionId, change: impl FnOnce(&mut SessionFacts)) {
        if let Some(facts) = self.sessions.get_mut(&session) {
            change(facts);
        }
    }
}
