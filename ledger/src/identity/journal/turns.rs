//! Turns: accepted as a whole or not at all.

use super::{Journal, Noted};
use crate::event::{
    AcceptedCall, Compacted, ResetReason, SessionClosed, SessionReset, Stop, TurnAccepted,
    TurnEnded, TurnStarted, Usage, UserPrompted,
};
use crate::id::{SessionId, ToolCallId, TurnId};

/// A call that the model asks for.
#[derive(Clone, Copy, Debug)]
pub struct NewCall<'a> {
    /// The tool.
    pub name: &'a [u8],
    /// The arguments, a JSON text.
    pub arguments: &'a [u8],
    /// The provider's id of the call.
    pub provider_call: Option<&'a [u8]>,
    /// The provider's id of the item.
    pub provider_item: Option<&'a [u8]>,
}

/// An answer of the model.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What it said.
    pub text: Option<&'a [u8]>,
    /// What it thought.
    pub reasoning: &'a [&'a [u8]],
    /// What it asks for.
    pub calls: &'a [NewCall<'a>],
}

impl Journal<'_> {
    /// Begins a turn.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn start_turn(&mut self, session: SessionId) -> Noted<TurnId> {
        let turn = self.desk.next_turn();
        self.append(&TurnStarted { turn, session }.into())?;
        Ok(turn)
    }

    /// Somebody told the agent something.
    ///
    /// # Errors
    /// As [`Journal::start_turn`].
    pub fn prompted(&mut self, session: SessionId, text: &[u8]) -> Noted<()> {
        let turn = self.desk.open_turn(session);
        let text = self.content(text)?;
        self.append(&UserPrompted { session, turn, text }.into())
    }

    /// Checks an answer as a whole, mints an id for each of its calls and records all of it in
    /// one event. This comes before anything else that is about the calls.
    ///
    /// # Errors
    /// A provider id stands in it twice or belongs to an open call: then nothing at all was
    /// written. Or the fact cannot be written.
    pub fn accept_turn(
        &mut self,
        session: SessionId,
        answer: &Answer<'_>,
    ) -> Noted<Vec<ToolCallId>> {
        let keys: Vec<_> =
            answer.calls.iter().map(|call| call.provider_call.map(|id| self.key(id))).collect();
        self.desk.check_turn(session, &keys)?;
        let turn = self.desk.open_turn(session);
        let text = self.optional(answer.text)?;
        let mut reasoning = Vec::with_capacity(answer.reasoning.len());
        for text in answer.reasoning {
            reasoning.push(self.content(text)?);
        }
        let first = self.desk.next_call().number();
        let mut calls = Vec::with_capacity(answer.calls.len());
        for (call, number) in answer.calls.iter().zip(first..) {
            calls.push(AcceptedCall {
                call: ToolCallId::new(number),
                name: self.content(call.name)?,
                arguments: self.json(call.arguments)?,
                provider_call: self.optional(call.provider_call)?,
                provider_item: self.optional(call.provider_item)?,
            });
        }
        let minted = calls.iter().map(|call| call.call).collect();
        self.append(&TurnAccepted { session, turn, text, reasoning, calls }.into())?;
        Ok(minted)
    }

    /// Ends a turn.
    ///
    /// # Errors
    /// The turn is not known, or the fact cannot be written.
    pub fn end_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        stop: Stop,
        usage: Option<Usage>,
    ) -> Noted<()> {
        self.append(&TurnEnded { turn, session, stop, usage }.into())
    }

    /// The client replaced the first `messages` messages by a summary. They stay on record.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn compacted(
        &mut self,
        session: SessionId,
        messages: u32,
        summary: Option<&[u8]>,
    ) -> Noted<()> {
        let summary = self.optional(summary)?;
        self.append(&Compacted { session, messages, summary }.into())
    }

    /// A conversation begins anew: its aliases, inputs and unfinished calls are forgotten.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn reset_session(&mut self, session: SessionId, reason: ResetReason) -> Noted<()> {
        self.append(&SessionReset { session, reason }.into())
    }

    /// A conversation ends.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn close_session(&mut self, session: SessionId) -> Noted<()> {
        self.append(&SessionClosed { session }.into())
    }
}
