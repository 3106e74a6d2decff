//! Calls: shown once, ended once, by the agent's own ids.

use ledger::event::{Dropped, NameSource, Outcome};
use ledger::id::{SessionId, ToolCallId};
use ledger::identity::journal::{Journal, Observed, Output, SeenName};
use serde_json::value::RawValue;

use super::{Noted, Protocol, Taken};
use crate::acp::message::Members;

impl Protocol {
    /// A call is shown. A second message about a call that is open is about the same call; one
    /// about a call that ended is a new call.
    pub(super) fn tool_call(
        &mut self,
        id: &str,
        session: SessionId,
        update: Members<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let Some(agent_id) = update.name("toolCallId") else {
            return Ok(Taken::Other("call without an id"));
        };
        if !self.is_open(id, &agent_id, journal) {
            self.show(id, session, &agent_id, update, journal)?;
        }
        let ended = self.status(id, &agent_id, update, journal)? && ends(update).is_some();
        // What it shows before its end is no result; it is kept as it came.
        if ended || update.list("content").is_empty() {
            Ok(Taken::Facts)
        } else {
            Ok(Taken::Other("call that is shown with content"))
        }
    }

    pub(super) fn tool_call_update(
        &mut self,
        id: &str,
        _session: SessionId,
        update: Members<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let known = update
            .name("toolCallId")
            .filter(|agent_id| self.live.get(id).is_some_and(|l| l.calls.contains_key(agent_id)));
        let Some(agent_id) = known else {
            self.counts.unattached += u64::from(ends(update).is_some());
            return Ok(Taken::Other("update of a call that is not on record"));
        };
        if !self.is_open(id, &agent_id, journal) {
            self.counts.suppressed += u64::from(ends(update).is_some());
            return Ok(Taken::Other("update of a call that had ended"));
        }
        let told = self.status(id, &agent_id, update, journal)?;
        let shows_more = ends(update).is_none() && !update.list("content").is_empty();
        if told && !shows_more {
            Ok(Taken::Facts)
        } else {
            Ok(Taken::Other("update of a call that goes on"))
        }
    }

    fn is_open(&self, id: &str, agent_id: &str, journal: &Journal<'_>) -> bool {
        let call = self.live.get(id).and_then(|live| live.calls.get(agent_id));
        call.is_some_and(|call| journal.desk().open_calls().contains_key(call))
    }

    /// Mints the call, with the names that decide its lane.
    pub(super) fn show(
        &mut self,
        id: &str,
        session: SessionId,
        agent_id: &str,
        call: Members<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<ToolCallId> {
        let names = names(call);
        let seen: Vec<_> = names
            .iter()
            .map(|(source, name)| SeenName { source: *source, name: name.as_bytes() })
            .collect();
        let kind = call.name("kind");
        let observed = Observed {
            names: &seen,
            tool_kind: kind.as_deref().map(str::as_bytes),
            arguments: call.get("rawInput").map(|raw| raw.get().as_bytes()),
            provider_call: Some(agent_id.as_bytes()),
        };
        let (minted, _lane) = journal.observe_call(session, &observed)?;
        self.counts.calls += 1;
        if let Some(live) = self.live.get_mut(id) {
            live.calls.insert(agent_id.to_owned(), minted);
        }
        Ok(minted)
    }

    /// What the status says: a native call that runs was dispatched by the agent itself; a
    /// finished one has its output and its end. True when something was recorded.
    fn status(
        &mut self,
        id: &str,
        agent_id: &str,
        update: Members<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<bool> {
        let Some(&call) = self.live.get(id).and_then(|live| live.calls.get(agent_id)) else {
            return Ok(false);
        };
        let Some(outcome) = ends(update) else {
            let runs = update.text("status").as_deref() == Some("in_progress");
            let waits = self.is_queued(id, call, journal);
            let attempts = journal.desk().open_calls().get(&call).map_or(0, |open| open.attempts);
            // Who carries a bridged call out is the client; its dispatch is not in the protocol.
            if runs && !waits && attempts == 0 {
                journal.dispatch(call, None)?;
                return Ok(true);
            }
            return Ok(false);
        };
        let texts = output(update);
        if !texts.is_empty() {
            let texts: Vec<_> = texts.iter().map(String::as_bytes).collect();
            journal.returned(call, &Output { texts: &texts, dropped: Dropped::Unknown })?;
        }
        journal.ended(call, outcome, None, Some(update.0.get().as_bytes()))?;
        Ok(true)
    }

    fn is_queued(&self, id: &str, call: ToolCallId, journal: &Journal<'_>) -> bool {
        let session = self.live.get(id).map(|live| live.session);
        let queue = session.and_then(|session| journal.desk().queue(session));
        queue.is_some_and(|queue| queue.holds(call))
    }
}

/// How a call ended, when the status says so; any other status says nothing.
fn ends(update: Members<'_>) -> Option<Outcome> {
    match update.text("status")?.as_str() {
        "completed" => Some(Outcome::Completed),
        "failed" => Some(Outcome::Failed),
        _ => None,
    }
}

/// The names of a call, in the order in which they stand for it.
fn names(call: Members<'_>) -> Vec<(NameSource, String)> {
    let title = call.name("title").or_else(|| call.name("kind"));
    let mut names = vec![(NameSource::Title, title.unwrap_or_else(|| "tool".to_owned()))];
    if let Some(tool) = call.object("rawInput").and_then(|input| input.name("tool")) {
        names.push((NameSource::RawTool, tool));
    }
    let goose = call.object("_meta").and_then(|meta| meta.object("goose"));
    let nested = goose.and_then(|goose| goose.object("toolCall")?.name("toolName"));
    names.extend(nested.map(|name| (NameSource::Meta, name)));
    let flat = goose.and_then(|goose| goose.name("toolName"));
    names.extend(flat.map(|name| (NameSource::MetaFlat, name)));
    names
}

/// The result: the blocks of the content, those without a text (a diff, a link) as they stand;
/// else the raw output as a text or as it stands.
fn output(update: Members<'_>) -> Vec<String> {
    let block = |block: &RawValue| block_text(block).unwrap_or_else(|| block.get().to_owned());
    let texts: Vec<_> = update.list("content").into_iter().map(block).collect();
    if !texts.is_empty() {
        return texts;
    }
    let raw = update.get("rawOutput").filter(|raw| raw.get() != "null");
    raw.map(|raw| super::text(raw).unwrap_or_else(|| raw.get().to_owned())).into_iter().collect()
}

/// The text of a block, which stands in it or in the content that it holds.
fn block_text(block: &RawValue) -> Option<String> {
    let block = Members::of(Some(block))?;
    let nested = block.object("content").and_then(|content| content.text("text"));
    nested.or_else(|| block.text("text"))
}
