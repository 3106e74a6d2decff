//! A conversation as its events tell it: messages in order, what waits, what was held back.
//!
//! Messages are kept by reference to their content. What a compaction replaced moves to the
//! archive and can be had back. Results stand in the order of the calls; a call that will not
//! return has an error in the place of its result, so that calls and results are pairs.

mod fold;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ledger::content::Content;
use ledger::event::{Outcome, Stop, Usage};
use ledger::id::{AskId, HookId, SessionId, ToolCallId, TurnId};

use super::card::Output;

pub use fold::Conversations;

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing goes on.
    Idle,
    /// A turn goes on.
    Running,
    /// Somebody was asked and has not answered.
    Awaiting,
    /// The last turn ended by itself or at a limit.
    Completed,
    /// The last turn failed.
    Failed,
    /// The last turn was stopped.
    Cancelled,
}

/// A call of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEntry {
    /// Its id.
    pub call: ToolCallId,
    /// The tool.
    pub name: Option<Content>,
    /// The arguments as the model gave them.
    pub arguments: Option<Content>,
    /// The provider's id of the call: to send it back, never a key.
    pub provider_call: Option<Content>,
    /// The provider's id of the item.
    pub provider_item: Option<Content>,
}

/// What an answer's call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallResult {
    output: Option<Output>,
    outcome: Option<Outcome>,
    held: Option<HookId>,
    settled: Option<bool>,
}

/// A message on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What somebody told the agent.
    User(Content),
    /// What the model said, with its calls.
    Assistant {
        /// What it said.
        text: Option<Content>,
        /// What it thought, or the provider's sealed form of it.
        reasoning: Vec<Content>,
        /// What it asked for.
        calls: Vec<CallEntry>,
    },
    /// What stands in the place of older messages.
    Summary(Content),
}

/// A message as it is shown, with results as messages of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A message.
    Message(&'a Message),
    /// The result of a call.
    Result {
        /// The call.
        call: &'a CallEntry,
        /// What is shown of it.
        result: ResultView<'a>,
    },
}

/// What is shown of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultView<'a> {
    /// The output.
    Output(&'a Output),
    /// An error, since the call has no output that may be shown.
    Error(Outcome),
}

/// What the latest turn counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Answers of the model.
    pub answers: u32,
    /// Calls that failed one after the other.
    pub failures_in_a_row: u32,
}

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    messages: Vec<Message>,
    archived: Vec<Message>,
    results: BTreeMap<ToolCallId, CallResult>,
    turn: Option<TurnId>,
    stop: Option<Stop>,
    pending: BTreeSet<AskId>,
    usage: Usage,
    counters: Counters,
}

impl Conversation {
    /// Messages that stand in the conversation now.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Messages that compactions replaced, oldest first.
    pub fn archived(&self) -> &[Message] {
        &self.archived
    }

    /// Hands out the archive and forgets it, with the results of its calls. The conversation stands
    /// as it stood.
    pub fn take_archived(&mut self) -> Vec<Message> {
        let archived = core::mem::take(&mut self.archived);
        for message in &archived {
            if let Message::Assistant { calls, .. } = message {
                for call in calls {
                    self.results.remove(&call.call);
                }
            }
        }
        archived
    }

    /// All messages there ever were, without summaries.
    pub fn whole(&self) -> impl Iterator<Item = &Message> {
        let all = self.archived.iter().chain(&self.messages);
        all.filter(|message| !matches!(message, Message::Summary(_)))
    }

    /// The conversation as it is shown: each answer is followed by the results of its calls, in
    /// the order of the calls. A call that may still return has none.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            entries.push(Entry::Message(message));
            let Message::Assistant { calls, .. } = message else { continue };
            let is_last = index + 1 == self.messages.len();
            for call in calls {
                let may_return = is_last && self.stop.is_none();
                if let Some(result) = self.result(call.call, may_return) {
                    entries.push(Entry::Result { call, result });
                }
            }
        }
        entries
    }

    fn result(&self, call: ToolCallId, may_return: bool) -> Option<ResultView<'_>> {
        let Some(result) = self.results.get(&call) else {
            return (!may_return).then_some(ResultView::Error(Outcome::Cancelled));
        };
        let Some(outcome) = result.outcome else {
            return (!may_return).then_some(ResultView::Error(Outcome::Cancelled));
        };
        match (result.held, result.settled) {
            (Some(_), None) if may_return => None,
            (Some(_), None) => Some(ResultView::Error(Outcome::Cancelled)),
            (Some(_), Some(false)) => Some(ResultView::Error(Outcome::Denied)),
            (None, _) | (Some(_), Some(true)) => Some(match &result.output {
                Some(output) => ResultView::Output(output),
                None => ResultView::Error(outcome),
            }),
        }
    }

    /// Calls of the last answer that have not ended, in order.
    pub fn unanswered(&self) -> Vec<&CallEntry> {
        let Some(Message::Assistant { calls, .. }) = self.messages.last() else {
            return Vec::new();
        };
        let open = |call: &&CallEntry| {
            self.results.get(&call.call).is_none_or(|result| result.outcome.is_none())
        };
        calls.iter().filter(open).collect()
    }

    /// Questions that wait, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = AskId> {
        self.pending.iter().copied()
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        match self.stop {
            _ if !self.pending.is_empty() => State::Awaiting,
            Some(Stop::Error) => State::Failed,
            Some(Stop::Cancelled) => State::Cancelled,
            Some(_) => State::Completed,
            None if self.turn.is_some() => State::Running,
            None => State::Idle,
        }
    }

    /// Why the last turn ended.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Tokens of all turns.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Counts of the latest turn.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The first thing that was told to the agent: what a title may be made of.
    pub fn first_prompt(&self) -> Option<&Content> {
        self.whole().find_map(|message| match message {
            Message::User(text) => Some(text),
            _ => None,
        })
    }
}

/// The conversation of each id.
pub type BySession = BTreeMap<SessionId, Conversation>;
