//! The fold from events to conversations. Events are taken in the order of the log.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use ledger::event::{
    AcceptedCall, Event, IdentityEvent, Outcome, Receipt, ToolEnded, ToolObserved, TurnAccepted,
    TurnEnded, Usage,
};
use ledger::id::{AskId, SessionId, ToolCallId};

use super::{BySession, CallEntry, CallResult, Conversation, Counters, Message};
use crate::identity::ask::Ask;
use crate::identity::card::Output;

/// Conversations, and whose each open call and question is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversations {
    sessions: BySession,
    owner: BTreeMap<ToolCallId, SessionId>,
    asks: BTreeMap<AskId, Ask>,
}

impl Conversations {
    /// All conversations.
    pub fn sessions(&self) -> &BySession {
        &self.sessions
    }

    /// One conversation.
    pub fn get(&self, session: SessionId) -> Option<&Conversation> {
        self.sessions.get(&session)
    }

    /// One conversation, to take its archive.
    pub fn get_mut(&mut self, session: SessionId) -> Option<&mut Conversation> {
        self.sessions.get_mut(&session)
    }

    /// Takes the next event.
    pub fn push(&mut self, seq: u64, event: &Event) {
        match event {
            Event::ToolReturned(event) => {
                let output = Output { texts: event.output.clone(), dropped: event.dropped };
                if let Some(result) = self.result(event.call) {
                    result.output.get_or_insert(output);
                }
            }
            Event::Identity(event) => self.identity(seq, event),
            _ => {}
        }
    }

    fn identity(&mut self, seq: u64, event: &IdentityEvent) {
        use IdentityEvent as E;
        match event {
            E::TurnStarted(event) => {
                let conversation = self.sessions.entry(event.session).or_default();
                conversation.turn = Some(event.turn);
                conversation.stop = None;
                conversation.counters = Counters::default();
            }
            E::UserPrompted(event) => {
                let conversation = self.sessions.entry(event.session).or_default();
                conversation.messages.push(Message::User(event.text.clone()));
            }
            E::TurnAccepted(event) => self.accepted(event),
            E::ToolObserved(event) => self.observed(event),
            E::TurnEnded(event) => self.turn_ended(event),
            E::ToolEnded(event) => self.ended(event),
            E::ResultSettled(event) => {
                if let Some(result) = self.result(event.call)
                    && result.held == Some(event.review)
                {
                    // The first decision stands.
                    result.settled.get_or_insert(event.released);
                    self.owner.remove(&event.call);
                }
            }
            E::Compacted(event) => {
                let conversation = self.sessions.entry(event.session).or_default();
                conversation.compact(event.messages, event.summary.clone().map(Message::Summary));
            }
            E::SessionReset(event) => self.gone(event.session),
            E::SessionClosed(event) => self.gone(event.session),
            E::ApprovalAsked(event) => {
                let conversation = self.sessions.entry(event.origin).or_default();
                conversation.pending.insert(event.ask);
                self.asks.entry(event.ask).or_default().asked.add(seq, event.clone());
            }
            E::ApprovalAnswered(event) => {
                if let Receipt::Exact { ask, .. } = event.receipt
                    && self.asks.get(&ask).is_some_and(|facts| facts.fits(event))
                {
                    self.settle_ask(ask);
                }
            }
            E::ApprovalRetracted(event) => self.settle_ask(event.ask),
            _ => {}
        }
    }

    fn result(&mut self, call: ToolCallId) -> Option<&mut CallResult> {
        let session = self.owner.get(&call)?;
        Some(self.sessions.get_mut(session)?.results.entry(call).or_default())
    }

    fn accepted(&mut self, event: &TurnAccepted) {
        for call in &event.calls {
            self.owner.insert(call.call, event.session);
        }
        let conversation = self.sessions.entry(event.session).or_default();
        conversation.counters.answers += 1;
        conversation.messages.push(Message::Assistant {
            text: event.text.clone(),
            reasoning: event.reasoning.clone(),
            calls: event.calls.iter().map(entry).collect(),
        });
    }

    /// A call that a protocol shows stands in the place where it was shown.
    fn observed(&mut self, event: &ToolObserved) {
        self.owner.insert(event.call, event.session);
        let call = CallEntry {
            call: event.call,
            name: event.names.first().map(|seen| seen.name.clone()),
            arguments: event.arguments.clone(),
            provider_call: event.provider_call.clone(),
            provider_item: None,
        };
        let conversation = self.sessions.entry(event.session).or_default();
        let results = &conversation.results;
        let is_open = |entry: &CallEntry| {
            results.get(&entry.call).is_none_or(|result| result.outcome.is_none())
        };
        // Calls that are shown before the one before has returned run side by side.
        match conversation.messages.last_mut() {
            Some(Message::Assistant { text: None, calls, .. }) if calls.iter().all(is_open) => {
                calls.push(call);
            }
            _ => conversation.messages.push(Message::Assistant {
                text: None,
                reasoning: Vec::new(),
                calls: vec![call],
            }),
        }
    }

    fn ended(&mut self, event: &ToolEnded) {
        if let Some(result) = self.result(event.call)
            && result.outcome.is_none()
        {
            result.outcome = Some(event.outcome);
            result.held = event.held;
            let failed = matches!(event.outcome, Outcome::Failed | Outcome::Aborted);
            if let Some(session) = self.owner.get(&event.call)
                && let Some(conversation) = self.sessions.get_mut(session)
            {
                let failures = &mut conversation.counters.failures_in_a_row;
                *failures = if failed { failures.saturating_add(1) } else { 0 };
            }
            if event.held.is_none() {
                self.owner.remove(&event.call);
            }
        }
        // The call's end clears what was asked about it.
        let about = |facts: &Ask| facts.asked.first().is_some_and(|ask| ask.call == event.call);
        let cleared: Vec<_> =
            self.asks.iter().filter(|(_, facts)| about(facts)).map(|(ask, _)| *ask).collect();
        for ask in cleared {
            self.settle_ask(ask);
        }
    }

    fn settle_ask(&mut self, ask: AskId) {
        let Some(facts) = self.asks.remove(&ask) else { return };
        let origin = facts.asked.first().map(|asked| asked.origin);
        if let Some(conversation) = origin.and_then(|origin| self.sessions.get_mut(&origin)) {
            conversation.pending.remove(&ask);
        }
    }

    fn turn_ended(&mut self, event: &TurnEnded) {
        let conversation = self.sessions.entry(event.session).or_default();
        conversation.stop = Some(event.stop);
        conversation.turn = None;
        if let Some(usage) = &event.usage {
            conversation.usage = sum(conversation.usage, *usage);
        }
        self.clear_asks(event.session);
    }

    fn gone(&mut self, session: SessionId) {
        self.owner.retain(|_, of| *of != session);
        self.clear_asks(session);
        if let Some(conversation) = self.sessions.get_mut(&session) {
            conversation.turn = None;
            // What was open will not return.
            conversation.stop.get_or_insert(ledger::event::Stop::Cancelled);
        }
    }

    fn clear_asks(&mut self, session: SessionId) {
        if let Some(conversation) = self.sessions.get_mut(&session) {
            for ask in core::mem::take(&mut conversation.pending) {
                self.asks.remove(&ask);
            }
        }
    }
}

fn entry(call: &AcceptedCall) -> CallEntry {
    CallEntry {
        call: call.call,
        name: Some(call.name.clone()),
        arguments: Some(call.arguments.clone()),
        provider_call: call.provider_call.clone(),
        provider_item: call.provider_item.clone(),
    }
}

impl Conversation {
    fn compact(&mut self, messages: u32, summary: Option<Message>) {
        let count = usize::try_from(messages).unwrap_or(usize::MAX).min(self.messages.len());
        let rest = self.messages.split_off(count);
        self.archived.append(&mut self.messages);
        self.messages.extend(summary);
        self.messages.extend(rest);
    }
}

/// Sums what is known; unknown and known is known.
fn sum(total: Usage, turn: Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    Usage {
        input_tokens: add(total.input_tokens, turn.input_tokens),
        output_tokens: add(total.output_tokens, turn.output_tokens),
        cache_read_tokens: add(total.cache_read_tokens, turn.cache_read_tokens),
        cache_write_tokens: add(total.cache_write_tokens, turn.cache_write_tokens),
        reasoning_tokens: add(total.reasoning_tokens, turn.reasoning_tokens),
        total_tokens: add(total.total_tokens, turn.total_tokens),
    }
}
