//! Permissions: who was asked, what was offered, what was taken. Facts only; nothing is decided.

use ledger::event::{AskOrigin, OptionKind, Verdict};
use ledger::id::{AskId, SessionId, ToolCallId};
use ledger::identity::journal::{Asked, Journal, JournalError};

use super::{Noted, Protocol, Taken, Waiting};
use crate::acp::message::{Direction, Members, Message};

/// An answer that was offered.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    id: String,
    kind: OptionKind,
}

impl Protocol {
    pub(super) fn permission(
        &mut self,
        message: &Message<'_>,
        params: Option<Members<'_>>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let call = params.and_then(|params| params.object("toolCall"));
        let agent_id = call.and_then(|call| call.name("toolCallId"));
        let (Some((id, session)), Some(call), Some(agent_id)) =
            (self.session_of(params, journal)?, call, agent_id)
        else {
            return Ok(Taken::Other("permission for no call"));
        };
        self.flush(&id, journal)?;
        let known = self.live.get(&id).and_then(|live| live.calls.get(&agent_id).copied());
        let open = known.filter(|call| journal.desk().open_calls().contains_key(call));
        // Some agents ask before they show the call; the question then shows it.
        let call = match open {
            Some(call) => call,
            None => self.show(&id, session, &agent_id, call, journal)?,
        };
        let offered = offers(params);
        let options: Vec<_> =
            offered.iter().map(|offer| (offer.id.as_bytes(), offer.kind)).collect();
        let ask = journal.ask(&Asked {
            call,
            origin: session,
            delegation: None,
            review: None,
            asker: AskOrigin::Permission,
            options: &options,
            foreign_ask: message.id.map(|id| id.get().as_bytes()),
        })?;
        self.counts.questions += 1;
        let waiting = Waiting::Permission { ask, call, session, offered };
        self.wait(Direction::ToClient, message, waiting);
        Ok(Taken::Facts)
    }
}

fn offers(params: Option<Members<'_>>) -> Vec<Offer> {
    let options = params.map(|params| params.list("options")).unwrap_or_default();
    let offer = |option| {
        let option = Members::of(Some(option))?;
        let kind = match option.text("kind").as_deref() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") => OptionKind::AllowAlways,
            Some("reject_once") => OptionKind::RejectOnce,
            Some("reject_always") => OptionKind::RejectAlways,
            _ => OptionKind::Other,
        };
        Some(Offer { id: option.name("optionId")?, kind })
    };
    options.into_iter().filter_map(offer).collect()
}

/// Records what was taken. An answer that was not offered allows nothing, and a question that
/// does not wait any more stays as it is.
pub(super) fn answered(
    (ask, call, session): (AskId, ToolCallId, SessionId),
    offered: &[Offer],
    result: Option<Members<'_>>,
    journal: &mut Journal<'_>,
) -> Noted<()> {
    let outcome = result.and_then(|result| result.object("outcome"));
    let taken = outcome.and_then(|outcome| outcome.name("optionId"));
    let offer = taken.as_deref().and_then(|id| offered.iter().find(|offer| offer.id == id));
    let verdict = match (outcome.and_then(|outcome| outcome.text("outcome")).as_deref(), offer) {
        (Some("cancelled"), _) => Verdict::Cancelled,
        (Some("selected"), Some(offer)) => match offer.kind {
            OptionKind::AllowOnce => Verdict::AllowOnce,
            OptionKind::AllowAlways => Verdict::AllowAlways,
            OptionKind::RejectOnce => Verdict::Deny,
            OptionKind::RejectAlways => Verdict::DenyAlways,
            OptionKind::Other => Verdict::Unknown,
        },
        _ => Verdict::Unknown,
    };
    let option = taken.as_deref().map(str::as_bytes);
    match journal.answer((ask, call, session, None), verdict, option) {
        Err(JournalError::NotAsked { .. }) => Ok(()),
        other => other,
    }
}
