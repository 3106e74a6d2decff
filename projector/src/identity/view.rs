//! Calls, hooks, questions and turns of a log, joined by id.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ledger::content::Content;
use ledger::event::{
    Answered, ApprovalAnswered, Event, IdentityEvent, ItemKind, Receipt, Stamp, ToolCalled,
};
use ledger::id::{AskId, HookId, RequestId, SessionId, ToolCallId, TurnId};

use super::ask::{Ask, AskState};
use super::card::{Asked, Attempt, Card, Ended, Given, Output};
use super::facts::Facts;
use super::hook::{Evidence, Record};
use super::turn::Turn;

/// Evidence that joins nothing and stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loose {
    /// A hook's event without an id, or one whose envelope and content name two records.
    Hook(Evidence),
    /// A receipt that does not say what it is about.
    Receipt(ApprovalAnswered),
}

/// The calls of an answer that its `tool_called` events are about to name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LastAnswer {
    request: RequestId,
    session: Option<SessionId>,
    items: Vec<(u16, Given)>,
}

/// All facts about calls, hooks, questions and turns. See the module above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    calls: BTreeMap<ToolCallId, Card>,
    hooks: BTreeMap<HookId, Record>,
    asks: BTreeMap<AskId, Ask>,
    turns: BTreeMap<TurnId, Turn>,
    /// Resets and ends of conversations.
    resets: BTreeMap<SessionId, Facts<()>>,
    loose: Facts<Loose>,
    /// Requests without an answer, and whose they are.
    sent: BTreeMap<RequestId, SessionId>,
    last_answer: Option<LastAnswer>,
}

impl View {
    /// Takes an event.
    pub fn push(&mut self, seq: u64, event: &Event) {
        match event {
            Event::RequestCaptured(event) => {
                self.sent.insert(event.request, event.session);
            }
            Event::ResponseReceived(event)
            | Event::ResponseFailed(event)
            | Event::ResponseAborted(event) => self.answered(event),
            Event::ToolCalled(event) => self.called(seq, *event),
            Event::ToolReturned(event) => {
                let output = Output { texts: event.output.clone(), dropped: event.dropped };
                self.card(event.call).outputs.add(seq, output);
            }
            Event::OutputFound(event) => self.card(event.call).found.add(seq, ()),
            Event::Identity(event) => self.identity(seq, event),
            _ => {}
        }
    }

    fn card(&mut self, call: ToolCallId) -> &mut Card {
        self.calls.entry(call).or_default()
    }

    fn answered(&mut self, answer: &Answered) {
        let session = self.sent.remove(&answer.request);
        let given = |(index, item): (usize, &ledger::event::AnswerItem)| {
            let index = u16::try_from(index).ok()?;
            let given = Given { name: item.name.clone(), arguments: Some(item.text.clone()) };
            (item.kind == ItemKind::ToolCall).then_some((index, given))
        };
        let items: Vec<_> = answer.items.iter().enumerate().filter_map(given).collect();
        // An answer without calls takes nothing away from the one before.
        if !items.is_empty() {
            self.last_answer = Some(LastAnswer { request: answer.request, session, items });
        }
    }

    fn called(&mut self, seq: u64, event: ToolCalled) {
        let ToolCalled { call, request, item } = event;
        let answer = self.last_answer.as_mut().filter(|answer| answer.request == request);
        let session = answer.as_ref().and_then(|answer| answer.session);
        let given = answer.and_then(|answer| {
            let (_, given) = answer.items.iter_mut().find(|(index, _)| *index == item)?;
            Some(core::mem::take(given))
        });
        let card = self.card(call);
        card.asked.add(seq, Asked::Answer { request, item, session });
        if let Some(given) = given {
            card.given = given;
        }
    }

    fn identity(&mut self, seq: u64, event: &IdentityEvent) {
        use IdentityEvent as E;
        match event {
            E::SessionReset(event) => self.resets.entry(event.session).or_default().add(seq, ()),
            E::SessionClosed(event) => self.resets.entry(event.session).or_default().add(seq, ()),
            E::TurnStarted(event) => {
                self.turns.entry(event.turn).or_default().started.add(seq, *event);
            }
            E::TurnEnded(event) => {
                self.turns.entry(event.turn).or_default().ended.add(seq, *event);
            }
            E::HookPublished(event) => self.evidence(seq, Evidence::Outcome(event.clone())),
            E::ReviewUpdated(event) => self.evidence(seq, Evidence::Review(event.clone())),
            E::ApprovalAsked(event) => {
                self.card(event.call).asks.insert(event.ask);
                self.asks.entry(event.ask).or_default().asked.add(seq, event.clone());
            }
            E::ApprovalAnswered(event) => match event.receipt {
                Receipt::Exact { ask, .. } => {
                    self.asks.entry(ask).or_default().answers.add(seq, event.clone());
                }
                Receipt::Legacy => self.loose.add(seq, Loose::Receipt(event.clone())),
            },
            E::ApprovalRetracted(event) => {
                self.asks.entry(event.ask).or_default().retracted.add(seq, *event);
            }
            _ => self.of_call(seq, event),
        }
    }

    fn of_call(&mut self, seq: u64, event: &IdentityEvent) {
        use IdentityEvent as E;
        match event {
            E::TurnAccepted(event) => {
                let (session, turn) = (event.session, event.turn);
                for (call, position) in event.calls.iter().zip(0..) {
                    let card = self.card(call.call);
                    card.asked.add(seq, Asked::Turn { session, turn, position });
                    card.given = Given {
                        name: Some(call.name.clone()),
                        arguments: Some(call.arguments.clone()),
                    };
                }
            }
            E::ToolObserved(event) => {
                let card = self.card(event.call);
                let (session, turn, lane) = (event.session, event.turn, event.lane);
                card.asked.add(seq, Asked::Observed { session, turn, lane });
                card.given = Given {
                    name: event.names.first().map(|seen| seen.name.clone()),
                    arguments: event.arguments.clone(),
                };
            }
            E::ToolDispatched(event) => {
                let (correlation, arguments) = (event.correlation, event.arguments.clone());
                let attempt = Attempt { correlation, arguments };
                self.card(event.call).attempt(seq, event.attempt, attempt);
            }
            E::ToolEnded(event) => {
                let ended = Ended {
                    attempt: event.attempt,
                    outcome: event.outcome,
                    held: event.held,
                    raw: event.raw.clone(),
                };
                self.card(event.call).ends.add(seq, ended);
            }
            E::ResultSettled(event) => self.card(event.call).settlements.add(seq, *event),
            E::SubagentSpawned(event) => {
                self.card(event.delegation).children.add(seq, event.child);
            }
            E::SubagentEnded(event) => {
                self.card(event.delegation).children_ended.add(seq, event.clone());
            }
            _ => {}
        }
    }

    fn evidence(&mut self, seq: u64, evidence: Evidence) {
        match evidence.record() {
            Some(hook) => {
                // A hook may be published before its call is told of.
                if let Stamp::Full { call, .. } = evidence.stamp() {
                    self.card(*call).hooks.insert(hook);
                }
                self.hooks.entry(hook).or_default().evidence.add(seq, evidence);
            }
            None => self.loose.add(seq, Loose::Hook(evidence)),
        }
    }

    /// Takes all facts of another view: of another part of the same log.
    pub fn join(&mut self, other: Self) {
        for (call, card) in other.calls {
            self.card(call).join(card);
        }
        for (hook, record) in other.hooks {
            self.hooks.entry(hook).or_default().evidence.join(record.evidence);
        }
        for (ask, facts) in other.asks {
            self.asks.entry(ask).or_default().join(facts);
        }
        for (turn, facts) in other.turns {
            self.turns.entry(turn).or_default().join(facts);
        }
        for (session, resets) in other.resets {
            self.resets.entry(session).or_default().join(resets);
        }
        self.loose.join(other.loose);
        self.sent.extend(other.sent);
        self.last_answer = self.last_answer.take().or(other.last_answer);
    }

    /// Hands out what is finished and forgets it: ended calls with their hooks and answered
    /// questions, ended turns, evidence that stands alone. Joined together, all that was handed
    /// out and what is left are the view of the whole log.
    #[must_use = "what is handed out is forgotten here"]
    pub fn take_settled(&mut self) -> Self {
        let mut settled = Self::default();
        let calls = core::mem::take(&mut self.calls);
        for (call, card) in calls {
            // A card without its beginning tells of a call that was handed out before.
            if card.is_settled() || card.asked.is_empty() {
                settled.calls.insert(call, card);
            } else {
                self.calls.insert(call, card);
            }
        }
        let open = &self.calls;
        let is_open = |call: Option<ToolCallId>| call.is_some_and(|call| open.contains_key(&call));
        for (hook, record) in core::mem::take(&mut self.hooks) {
            let of = if is_open(record.call()) { &mut self.hooks } else { &mut settled.hooks };
            of.insert(hook, record);
        }
        for (ask, facts) in core::mem::take(&mut self.asks) {
            let call = facts.asked.first().map(|asked| asked.call);
            let of = if is_open(call) { &mut self.asks } else { &mut settled.asks };
            of.insert(ask, facts);
        }
        for (turn, facts) in core::mem::take(&mut self.turns) {
            let of = if facts.ended.is_empty() { &mut self.turns } else { &mut settled.turns };
            of.insert(turn, facts);
        }
        settled.loose = core::mem::take(&mut self.loose);
        settled.resets = core::mem::take(&mut self.resets);
        settled
    }

    /// What became of a question: as it tells itself, or cleared by its call's end or by a new
    /// beginning of its conversation.
    pub fn ask_state(&self, ask: AskId) -> AskState {
        let Some(facts) = self.asks.get(&ask) else { return AskState::Unknown };
        let state = facts.state();
        let (AskState::Pending, Some(asked)) = (state, facts.asked.first()) else { return state };
        let since = facts.asked.first_seq().unwrap_or_default();
        let reset = self.resets.get(&asked.origin);
        let gone = reset.is_some_and(|resets| resets.iter().any(|(seq, ())| seq > since));
        let ended = self.calls.get(&asked.call).is_some_and(|card| {
            let ends = card.ends.iter().map(|(seq, _)| seq);
            let outputs = card.outputs.iter().map(|(seq, _)| seq);
            ends.chain(outputs).any(|seq| seq > since)
        });
        if gone || ended { AskState::Cleared } else { state }
    }

    /// Questions that wait.
    pub fn pending(&self) -> impl Iterator<Item = AskId> {
        self.asks.keys().copied().filter(|ask| self.ask_state(*ask) == AskState::Pending)
    }

    /// All calls, in the order of their ids.
    pub fn calls(&self) -> &BTreeMap<ToolCallId, Card> {
        &self.calls
    }

    /// All records of hooks.
    pub fn hooks(&self) -> &BTreeMap<HookId, Record> {
        &self.hooks
    }

    /// Records of hooks that join a call: they name it, and come from its conversation or from a
    /// call whose conversation is not known.
    pub fn hooks_of(&self, call: ToolCallId) -> impl Iterator<Item = (HookId, &Record)> {
        let card = self.calls.get(&call);
        let session = card.and_then(Card::session);
        let named = card.into_iter().flat_map(|card| &card.hooks);
        named.filter_map(|id| Some((*id, self.hooks.get(id)?))).filter(move |(_, record)| {
            let same = session.is_none() || record.resolve().origin == session;
            record.call() == Some(call) && same
        })
    }

    /// Records of hooks that join no call.
    pub fn standalone(&self) -> impl Iterator<Item = (HookId, &Record)> {
        self.hooks.iter().map(|(id, record)| (*id, record)).filter(|(id, record)| {
            let call = record.call();
            !call.is_some_and(|call| self.hooks_of(call).any(|(other, _)| other == *id))
        })
    }

    /// All questions.
    pub fn asks(&self) -> &BTreeMap<AskId, Ask> {
        &self.asks
    }

    /// All turns.
    pub fn turns(&self) -> &BTreeMap<TurnId, Turn> {
        &self.turns
    }

    /// Evidence that joins nothing, in the order of the log.
    pub fn loose(&self) -> &Facts<Loose> {
        &self.loose
    }

    /// Items that are held: what the memory grows with.
    pub fn items(&self) -> usize {
        self.calls.len()
            + self.hooks.len()
            + self.asks.len()
            + self.turns.len()
            + self.loose.len()
            + self.sent.len()
    }

    /// The name of a call's tool.
    pub fn name(&self, call: ToolCallId) -> Option<&Content> {
        self.calls.get(&call)?.given.name.as_ref()
    }
}
