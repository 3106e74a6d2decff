//! The state of everything that is open: next ids, unfinished calls, revisions, questions.
//!
//! A fold over events with two uses: it refuses what does not fit, and it knows the next id. Its
//! memory grows with what is open, not with what happened, but for one number per conversation.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::lanes::{AliasSet, Queue};
use super::principals::Principals;
use super::turn::{self, TurnError};
use crate::content::Content;
use crate::event::{
    AliasesAdvertised, ApprovalAnswered, ApprovalAsked, Correlation, Event, IdentityEvent, Receipt,
    Stamp, ToolDispatched, ToolEnded, ToolObserved, TurnAccepted,
};
use crate::id::{AskId, HookId, Revision, SessionId, ToolCallId, TurnId};

/// A name by its SHA-256, so that it can be compared wherever its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentKey([u8; 32]);

impl ContentKey {
    /// The key of recorded content.
    pub fn of(content: &Content) -> Self {
        match (content.as_inline(), content.artifact()) {
            (Some(bytes), _) => Self::of_bytes(bytes),
            (None, Some(artifact)) => Self(*artifact.id().as_bytes()),
            (None, None) => Self::of_bytes(&[]),
        }
    }

    /// The key of bytes, redacted as they would be recorded.
    pub fn of_bytes(redacted: &[u8]) -> Self {
        Self(Sha256::digest(redacted).into())
    }
}

/// Why an event does not fit what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// An id that is not the next one of its kind.
    #[error("{what} {found}, expected {expected}")]
    NotNext {
        /// What kind of id.
        what: &'static str,
        /// The id found.
        found: u64,
        /// The id that had to come.
        expected: u64,
    },
    /// A reference to something that no earlier event told of.
    #[error("unknown {what} {number}")]
    Dangling {
        /// What is referred to.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Something that contradicts what came before.
    #[error("{what} does not fit")]
    Misfit {
        /// What.
        what: &'static str,
    },
    /// Events between what is known and this one are missing.
    #[error("event {found} follows {known}: events between them are missing")]
    Gap {
        /// The last event that is known.
        known: u64,
        /// The event found.
        found: u64,
    },
    /// Numbers of this kind are used up.
    #[error("more {what} than a recording can hold")]
    TooMany {
        /// What.
        what: &'static str,
    },
}

type Checked = Result<(), DeskError>;

/// A call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Its conversation, where the event says so.
    pub session: Option<SessionId>,
    /// Attempts so far.
    pub attempts: u16,
    /// An answer on the wire asks for it: it ends with its return.
    pub on_wire: bool,
    key: Option<ContentKey>,
}

/// A question that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAsk {
    /// The call.
    pub call: ToolCallId,
    /// The conversation that it comes from.
    pub origin: SessionId,
    /// The review that asks.
    pub review: Option<HookId>,
}

/// What is open. See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desk {
    sessions: u32,
    calls: u32,
    turns: u32,
    outcomes: u32,
    asks: u32,
    revisions: BTreeMap<SessionId, Revision>,
    open_calls: BTreeMap<ToolCallId, OpenCall>,
    outstanding: BTreeMap<(SessionId, ContentKey), ToolCallId>,
    open_asks: BTreeMap<AskId, OpenAsk>,
    open_turns: BTreeMap<SessionId, TurnId>,
    queues: BTreeMap<SessionId, Queue>,
    aliases: BTreeMap<SessionId, AliasSet>,
    principals: Principals,
    seq: u64,
}

impl Desk {
    /// Takes the event with sequence number `seq` of a log. What the desk already knows is left
    /// alone, so that an old state and the log's end make the new state.
    ///
    /// # Errors
    /// The event does not fit, or events before it are missing.
    pub fn observe(&mut self, seq: u64, event: &Event) -> Checked {
        if !self.is_next(seq)? {
            return Ok(());
        }
        self.check(event)?;
        self.apply(event);
        self.seq = seq;
        Ok(())
    }

    /// Passes over a frame that is no event of interest, such as a seal.
    ///
    /// # Errors
    /// Events before it are missing.
    pub fn skip(&mut self, seq: u64) -> Checked {
        if self.is_next(seq)? {
            self.seq = seq;
        }
        Ok(())
    }

    fn is_next(&self, seq: u64) -> Result<bool, DeskError> {
        if seq > self.seq + 1 {
            return Err(DeskError::Gap { known: self.seq, found: seq });
        }
        Ok(seq == self.seq + 1)
    }

    /// Checks an event against what is open and changes nothing.
    ///
    /// # Errors
    /// The event does not fit.
    pub fn check(&self, event: &Event) -> Checked {
        match event {
            Event::SessionOpened(event) => {
                next("conversation", event.session.number(), self.sessions)
            }
            Event::ToolCalled(event) => next("call", event.call.number(), self.calls),
            Event::ToolReturned(event) => self.call(event.call),
            Event::Identity(event) => self.check_identity(event),
            _ => Ok(()),
        }
    }

    fn check_identity(&self, event: &IdentityEvent) -> Checked {
        use IdentityEvent as E;
        match event {
            E::SessionReset(event) => self.session(event.session),
            E::SessionClosed(event) => self.session(event.session),
            E::AliasesAdvertised(event) => {
                self.session(event.session)?;
                fits(!self.aliases.contains_key(&event.session), "second set of aliases")
            }
            E::Compacted(event) => self.session(event.session),
            E::TurnStarted(event) => {
                self.session(event.session)?;
                next("turn", event.turn.number(), self.turns)
            }
            E::UserPrompted(event) => {
                self.session(event.session)?;
                self.turn(event.turn)
            }
            E::TurnAccepted(event) => self.check_accepted(event),
            E::TurnEnded(event) => {
                self.session(event.session)?;
                self.turn(Some(event.turn))
            }
            E::ToolObserved(event) => self.check_observed(event),
            E::ToolDispatched(event) => self.check_dispatched(event),
            E::ToolEnded(event) => self.check_ended(event),
            E::ResultSettled(event) => self.call(event.call),
            E::HookPublished(event) => self.check_stamp(&event.stamp),
            E::ReviewUpdated(event) => self.check_stamp(&event.stamp),
            E::ApprovalAsked(event) => self.check_asked(event),
            E::ApprovalAnswered(event) => self.check_answered(event),
            E::ApprovalRetracted(event) => known("question", event.ask.number(), self.asks),
            E::SubagentSpawned(event) => {
                self.session(event.parent)?;
                self.call(event.delegation)
            }
            E::SubagentEnded(event) => self.call(event.delegation),
            E::PrincipalMinted(_)
            | E::PrincipalBound(_)
            | E::PrincipalObserved(_)
            | E::PrincipalStopped(_)
            | E::PrincipalForked(_) => Ok(()),
        }
    }

    fn check_accepted(&self, event: &TurnAccepted) -> Checked {
        self.session(event.session)?;
        self.turn(event.turn)?;
        for (call, expected) in event.calls.iter().zip(self.calls..) {
            next("call", call.call.number(), expected)?;
        }
        let keys: Vec<_> = event
            .calls
            .iter()
            .map(|call| call.provider_call.as_ref().map(ContentKey::of))
            .collect();
        self.check_turn(event.session, &keys)
            .map_err(|_repeated| DeskError::Misfit { what: "provider id of a call" })
    }

    fn check_observed(&self, event: &ToolObserved) -> Checked {
        self.session(event.session)?;
        self.turn(event.turn)?;
        next("call", event.call.number(), self.calls)
    }

    fn check_dispatched(&self, event: &ToolDispatched) -> Checked {
        self.call(event.call)?;
        let open = self.open_calls.get(&event.call);
        let attempt = open.map_or(0, |open| open.attempts).checked_add(1);
        fits(open.is_none() || attempt == Some(event.attempt), "attempt of a call")?;
        if event.correlation == Correlation::Queue {
            let session = open.and_then(|open| open.session);
            let oldest = session.and_then(|session| self.queues.get(&session)?.oldest());
            fits(oldest == Some(event.call), "dispatch that is not for the oldest call")?;
        }
        Ok(())
    }

    fn check_ended(&self, event: &ToolEnded) -> Checked {
        self.call(event.call)?;
        let attempts = self.open_calls.get(&event.call).map(|open| open.attempts);
        fits(attempts.is_none_or(|attempts| event.attempt <= attempts), "attempt of a call")?;
        fits(event.held.is_none_or(HookId::is_review), "review that holds a result")
    }

    fn check_stamp(&self, stamp: &Stamp) -> Checked {
        if let Some(call) = stamp.call() {
            self.call(call)?;
        }
        if let Some(origin) = stamp.origin() {
            self.session(origin)?;
        }
        match stamp.hook() {
            Some(HookId::Outcome(number)) if number > self.outcomes => {
                known("hook", number, self.outcomes)?;
            }
            Some(HookId::Review { call, .. }) => self.call(call)?,
            _ => {}
        }
        if let Stamp::Full { call, delegation, .. } = stamp {
            return self.check_delegation(*call, *delegation);
        }
        Ok(())
    }

    fn check_delegation(&self, call: ToolCallId, delegation: Option<ToolCallId>) -> Checked {
        let Some(delegation) = delegation else { return Ok(()) };
        self.call(delegation)?;
        fits(delegation != call, "call that delegates to itself")
    }

    fn check_asked(&self, event: &ApprovalAsked) -> Checked {
        next("question", event.ask.number(), self.asks)?;
        self.call(event.call)?;
        self.session(event.origin)?;
        self.check_delegation(event.call, event.delegation)
    }

    fn check_answered(&self, event: &ApprovalAnswered) -> Checked {
        match event.receipt {
            Receipt::Legacy => Ok(()),
            Receipt::Exact { ask, call, origin, .. } => {
                known("question", ask.number(), self.asks)?;
                self.call(call)?;
                self.session(origin)
            }
        }
    }

    /// Checks the calls of an answer as a whole, by the keys of their provider ids.
    ///
    /// # Errors
    /// See [`TurnError`].
    pub fn check_turn(
        &self,
        session: SessionId,
        keys: &[Option<ContentKey>],
    ) -> Result<(), TurnError> {
        if session.number() >= self.sessions {
            return Err(TurnError::NoSession { session });
        }
        turn::check(keys, |key| self.outstanding.get(&(session, key)).copied())
    }

    /// Takes an event that was checked.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionOpened(_) => self.sessions += 1,
            Event::ToolCalled(event) => {
                self.calls += 1;
                let open = OpenCall { session: None, attempts: 0, on_wire: true, key: None };
                self.open_calls.insert(event.call, open);
            }
            Event::ToolReturned(event)
                if self.open_calls.get(&event.call).is_some_and(|open| open.on_wire) =>
            {
                self.close_call(event.call);
            }
            Event::Identity(event) => self.apply_identity(event),
            _ => {}
        }
    }

    fn apply_identity(&mut self, event: &IdentityEvent) {
        use IdentityEvent as E;
        match event {
            E::SessionReset(event) => self.clear(event.session),
            E::SessionClosed(event) => self.clear(event.session),
            E::AliasesAdvertised(event) => self.advertised(event),
            E::TurnStarted(event) => {
                self.turns += 1;
                self.open_turns.insert(event.session, event.turn);
                if let Some(queue) = self.queues.get_mut(&event.session) {
                    queue.clear();
                }
            }
            E::TurnAccepted(event) => {
                for call in &event.calls {
                    let key = call.provider_call.as_ref().map(ContentKey::of);
                    self.open_call(call.call, event.session, key);
                }
            }
            E::TurnEnded(event) => {
                if self.open_turns.get(&event.session) == Some(&event.turn) {
                    self.open_turns.remove(&event.session);
                }
            }
            E::ToolObserved(event) => {
                let key = event.provider_call.as_ref().map(ContentKey::of);
                self.open_call(event.call, event.session, key);
                self.queues.entry(event.session).or_default().shown(event.call, event.lane);
            }
            E::ToolDispatched(event) => {
                if let Some(open) = self.open_calls.get_mut(&event.call) {
                    open.attempts = event.attempt;
                }
                self.unqueue(event.call);
            }
            E::ToolEnded(event) => self.close_call(event.call),
            E::HookPublished(event) => self.stamped(&event.stamp),
            E::ReviewUpdated(event) => self.stamped(&event.stamp),
            E::ApprovalAsked(event) => {
                self.asks += 1;
                let ApprovalAsked { call, origin, review, .. } = *event;
                self.open_asks.insert(event.ask, OpenAsk { call, origin, review });
            }
            E::ApprovalAnswered(event) => {
                if let Receipt::Exact { ask, call, origin, review } = event.receipt
                    && self.open_asks.get(&ask) == Some(&OpenAsk { call, origin, review })
                {
                    self.open_asks.remove(&ask);
                }
            }
            E::ApprovalRetracted(event) => {
                self.open_asks.remove(&event.ask);
            }
            other => self.principals.observe(other),
        }
    }

    fn open_call(&mut self, call: ToolCallId, session: SessionId, key: Option<ContentKey>) {
        self.calls += 1;
        if let Some(key) = key {
            self.outstanding.insert((session, key), call);
        }
        let open = OpenCall { session: Some(session), attempts: 0, on_wire: false, key };
        self.open_calls.insert(call, open);
    }

    fn close_call(&mut self, call: ToolCallId) {
        self.unqueue(call);
        let Some(open) = self.open_calls.remove(&call) else { return };
        if let (Some(session), Some(key)) = (open.session, open.key)
            && self.outstanding.get(&(session, key)) == Some(&call)
        {
            self.outstanding.remove(&(session, key));
        }
        // The call's end clears what was asked about it.
        self.open_asks.retain(|_, ask| ask.call != call);
    }

    fn unqueue(&mut self, call: ToolCallId) {
        let session = self.open_calls.get(&call).and_then(|open| open.session);
        if let Some(queue) = session.and_then(|session| self.queues.get_mut(&session)) {
            queue.remove(call);
        }
    }

    fn advertised(&mut self, event: &AliasesAdvertised) {
        let set = AliasSet::new(
            event.servers.iter().filter_map(Content::as_inline),
            event.tools.iter().filter_map(Content::as_inline),
        );
        self.aliases.insert(event.session, set);
    }

    fn stamped(&mut self, stamp: &Stamp) {
        if let Some(HookId::Outcome(number)) = stamp.hook() {
            self.outcomes = self.outcomes.max(number.saturating_add(1));
        }
        if let (Some(origin), Some(revision)) = (stamp.origin(), stamp.revision()) {
            let high = self.revisions.entry(origin).or_insert(revision);
            *high = revision.max(*high);
        }
    }

    /// Forgets names, inputs, aliases and unfinished calls of a conversation.
    fn clear(&mut self, session: SessionId) {
        self.aliases.remove(&session);
        self.queues.remove(&session);
        self.open_turns.remove(&session);
        self.outstanding.retain(|(of, _), _| *of != session);
        self.open_calls.retain(|_, open| open.session != Some(session));
        self.open_asks.retain(|_, ask| ask.origin != session);
    }

    fn session(&self, session: SessionId) -> Checked {
        known("conversation", session.number(), self.sessions)
    }

    fn call(&self, call: ToolCallId) -> Checked {
        known("call", call.number(), self.calls)
    }

    fn turn(&self, turn: Option<TurnId>) -> Checked {
        turn.map_or(Ok(()), |turn| known("turn", turn.number(), self.turns))
    }
}

/// What the next ids are, and what is open.
impl Desk {
    /// The next conversation's id.
    pub fn next_session(&self) -> SessionId {
        SessionId::new(self.sessions)
    }

    /// The next call's id.
    pub fn next_call(&self) -> ToolCallId {
        ToolCallId::new(self.calls)
    }

    /// The next turn's id.
    pub fn next_turn(&self) -> TurnId {
        TurnId::new(self.turns)
    }

    /// The next question's id. Ids of settled questions do not come again.
    pub fn next_ask(&self) -> AskId {
        AskId::new(self.asks)
    }

    /// The next hook outcome's id.
    pub fn next_outcome(&self) -> HookId {
        HookId::Outcome(self.outcomes)
    }

    /// The next revision of a conversation: above everything that was told of it.
    ///
    /// # Errors
    /// Revisions are used up.
    pub fn next_revision(&self, session: SessionId) -> Result<Revision, DeskError> {
        let high = self.revisions.get(&session);
        let next = high.map_or(Some(Revision::FIRST), |high| high.next());
        next.ok_or(DeskError::TooMany { what: "revisions" })
    }

    /// Calls that have not ended.
    pub fn open_calls(&self) -> &BTreeMap<ToolCallId, OpenCall> {
        &self.open_calls
    }

    /// The open call of a conversation that has this provider id.
    pub fn outstanding(&self, session: SessionId, key: ContentKey) -> Option<ToolCallId> {
        self.outstanding.get(&(session, key)).copied()
    }

    /// Questions that wait for an answer.
    pub fn open_asks(&self) -> &BTreeMap<AskId, OpenAsk> {
        &self.open_asks
    }

    /// The turn that a conversation is in.
    pub fn open_turn(&self, session: SessionId) -> Option<TurnId> {
        self.open_turns.get(&session).copied()
    }

    /// The names that a conversation's bridged tools have; empty when it advertised none.
    pub fn aliases(&self, session: SessionId) -> Option<&AliasSet> {
        self.aliases.get(&session)
    }

    /// Bridged calls of a conversation that wait for their dispatch.
    pub fn queue(&self, session: SessionId) -> Option<&Queue> {
        self.queues.get(&session)
    }

    /// Who acts.
    pub fn principals(&self) -> &Principals {
        &self.principals
    }

    /// The last event that was taken by [`Desk::observe`].
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Items that are open: what the desk's memory grows with.
    pub fn open_items(&self) -> usize {
        let waiting: usize = self.queues.values().map(Queue::len).sum();
        self.open_calls.len() + self.open_asks.len() + self.open_turns.len() + waiting
    }
}

fn next(what: &'static str, found: u32, expected: u32) -> Checked {
    let (found, expected) = (u64::from(found), u64::from(expected));
    if found == expected { Ok(()) } else { Err(DeskError::NotNext { what, found, expected }) }
}

fn known(what: &'static str, number: u32, count: u32) -> Checked {
    let number_of = u64::from(number);
    if number < count { Ok(()) } else { Err(DeskError::Dangling { what, number: number_of }) }
}

fn fits(fits: bool, what: &'static str) -> Checked {
    if fits { Ok(()) } else { Err(DeskError::Misfit { what }) }
}
