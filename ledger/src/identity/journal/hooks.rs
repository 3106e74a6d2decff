//! Hooks, reviews and questions: one point of publication, where revisions are given out.

use super::{Journal, JournalError, Noted};
use crate::event::{
    ApprovalAnswered, ApprovalAsked, ApprovalRetracted, AskOrigin, Assessment, Disposition,
    HookDecision, HookPhase, HookPublished, Inspection, Offered, OptionKind, Receipt,
    RetractReason, ReviewUpdated, Stamp, Verdict,
};
use crate::id::{AskId, HookId, Job, Revision, SessionId, ToolCallId};
use crate::identity::desk::OpenAsk;

/// What a hook has to say. A hook that has nothing to say is not published.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// When it ran.
    pub phase: HookPhase,
    /// What it decided.
    pub decision: HookDecision,
    /// What it said.
    pub message: Option<&'a [u8]>,
    /// The arguments that it put in the place of the model's, a JSON text.
    pub arguments: Option<&'a [u8]>,
}

/// What a review found, and what follows.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// What it found.
    pub assessment: Assessment,
    /// Whether it could look.
    pub inspection: Inspection,
    /// What follows, once that is decided.
    pub disposition: Option<Disposition>,
    /// The rule that it applied.
    pub rule: Option<&'a [u8]>,
    /// Why, for people.
    pub reason: Option<&'a [u8]>,
    /// What it looked at.
    pub sources: &'a [&'a [u8]],
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The call that it is about.
    pub call: ToolCallId,
    /// The conversation that it comes from.
    pub origin: SessionId,
    /// The parent's call that delegated to that conversation.
    pub delegation: Option<ToolCallId>,
    /// The review that asks.
    pub review: Option<HookId>,
    /// Who wants to know.
    pub asker: AskOrigin,
    /// What may be answered: id and kind, in order.
    pub options: &'a [(&'a [u8], OptionKind)],
    /// The foreign id of the question.
    pub foreign_ask: Option<&'a [u8]>,
}

impl Journal<'_> {
    /// Publishes an outcome of a hook: a new record each time.
    ///
    /// # Errors
    /// The call or conversation is not known, or the fact cannot be written.
    pub fn publish(
        &mut self,
        call: ToolCallId,
        origin: SessionId,
        delegation: Option<ToolCallId>,
        outcome: &Outcome<'_>,
    ) -> Noted<(HookId, Revision)> {
        let hook = self.desk.next_outcome();
        let revision = self.desk.next_revision(origin)?;
        let stamp = Stamp::Full { hook, call, origin, delegation, revision };
        let event = HookPublished {
            stamp,
            phase: outcome.phase,
            decision: outcome.decision,
            message: self.optional(outcome.message)?,
            arguments: self.optional_json(outcome.arguments)?,
        };
        self.append(&event.into())?;
        Ok((hook, revision))
    }

    /// Publishes the state of a review. Its id follows from the call and the job, so that a
    /// second look at the same thing is a later state of the same record.
    ///
    /// # Errors
    /// The call or conversation is not known, or the fact cannot be written.
    pub fn review(
        &mut self,
        (call, job): (ToolCallId, Job),
        origin: SessionId,
        delegation: Option<ToolCallId>,
        found: &Review<'_>,
    ) -> Noted<(HookId, Revision)> {
        let hook = HookId::review(call, job);
        let revision = self.desk.next_revision(origin)?;
        let mut sources = Vec::with_capacity(found.sources.len());
        for source in found.sources {
            sources.push(self.content(source)?);
        }
        let event = ReviewUpdated {
            stamp: Stamp::Full { hook, call, origin, delegation, revision },
            review: hook,
            assessment: found.assessment,
            inspection: found.inspection,
            disposition: found.disposition,
            rule: self.optional(found.rule)?,
            reason: self.optional(found.reason)?,
            sources,
        };
        self.append(&event.into())?;
        Ok((hook, revision))
    }

    /// Asks for permission.
    ///
    /// # Errors
    /// The call or conversation is not known, or the fact cannot be written.
    pub fn ask(&mut self, asked: &Asked<'_>) -> Noted<AskId> {
        let ask = self.desk.next_ask();
        let mut options = Vec::with_capacity(asked.options.len());
        for (id, kind) in asked.options {
            options.push(Offered { id: self.content(id)?, kind: *kind });
        }
        let event = ApprovalAsked {
            ask,
            call: asked.call,
            origin: asked.origin,
            delegation: asked.delegation,
            review: asked.review,
            asker: asked.asker,
            options,
            foreign_ask: self.optional(asked.foreign_ask)?,
        };
        self.append(&event.into())?;
        Ok(ask)
    }

    /// Records a verdict. Question, call, conversation and review must all be the ones that were
    /// asked, and the question must wait.
    ///
    /// # Errors
    /// They are not: a late or foreign verdict settles nothing, and nothing is written.
    pub fn answer(
        &mut self,
        receipt: (AskId, ToolCallId, SessionId, Option<HookId>),
        verdict: Verdict,
        option: Option<&[u8]>,
    ) -> Noted<()> {
        let (ask, call, origin, review) = receipt;
        if self.desk.open_asks().get(&ask) != Some(&OpenAsk { call, origin, review }) {
            return Err(JournalError::NotAsked { ask: ask.number() });
        }
        let receipt = Receipt::Exact { ask, call, origin, review };
        let option = self.optional(option)?;
        self.append(&ApprovalAnswered { receipt, verdict, option }.into())
    }

    /// Takes a question back.
    ///
    /// # Errors
    /// It does not wait, or the fact cannot be written.
    pub fn retract(&mut self, ask: AskId, reason: RetractReason) -> Noted<()> {
        if !self.desk.open_asks().contains_key(&ask) {
            return Err(JournalError::NotAsked { ask: ask.number() });
        }
        self.append(&ApprovalRetracted { ask, reason }.into())
    }
}
