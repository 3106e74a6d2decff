//! What messages say of sessions, turns, calls and permissions, as facts in a journal.
//!
//! A fold over messages in order. It asks the journal's desk what is open and keeps for itself
//! only what the protocol needs: requests without an answer, and names of sessions and calls.

mod calls;
mod permission;

use std::collections::BTreeMap;

use ledger::event::{ResetReason, SessionBasis, Stop, Usage};
use ledger::id::{AskId, SessionId, ToolCallId, TurnId};
use ledger::identity::journal::{Answer, Journal, JournalError};
use ledger::recorder::SessionSpec;
use serde_json::value::RawValue;

use super::message::{Direction, Framed, Members, Message, direction_of, text};

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages.
    pub messages: u64,
    /// Messages that said nothing about sessions, turns, calls or permissions.
    pub other: u64,
    /// Sessions that were opened.
    pub sessions: u64,
    /// Prompts.
    pub prompts: u64,
    /// Calls.
    pub calls: u64,
    /// Permissions that were asked for.
    pub questions: u64,
    /// Ends of calls that had ended, or that a dispatch told of.
    pub suppressed: u64,
    /// Ends of calls that are not on record, or without an id.
    pub unattached: u64,
    /// Answers to requests that are not on record.
    pub stray_answers: u64,
}

/// Whether a message became facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It did.
    Facts,
    /// It did not: a fixed phrase says why.
    Other(&'static str),
}

#[derive(Debug)]
enum Waiting {
    NewSession {
        servers: Vec<String>,
    },
    Prompt {
        session: SessionId,
        turn: TurnId,
    },
    Permission {
        ask: AskId,
        call: ToolCallId,
        session: SessionId,
        offered: Vec<permission::Offer>,
    },
    /// Whatever else was asked; only a failure matters.
    Else {
        session: Option<SessionId>,
    },
}

#[derive(Debug)]
struct Live {
    session: SessionId,
    /// Calls by the agent's ids, from when they are shown until a reset.
    calls: BTreeMap<String, ToolCallId>,
    /// What the agent said and thought since the last call or turn.
    said: String,
    thought: String,
}

/// The fold.
#[derive(Debug, Default)]
pub struct Protocol {
    /// Names of the tools that the client's servers offer, where the caller knows them: the
    /// protocol does not say.
    tools: Vec<String>,
    live: BTreeMap<String, Live>,
    waiting: BTreeMap<(Direction, String), Waiting>,
    counts: Counts,
}

pub(super) type Noted<T> = Result<T, JournalError>;

impl Protocol {
    /// Starts with nothing; `tools` are the names that the client's tool servers offer.
    pub fn new(tools: Vec<String>) -> Self {
        Self { tools, ..Self::default() }
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes the next message.
    pub(super) fn message(
        &mut self,
        framed: &Framed<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        self.counts.messages += 1;
        let message = &framed.message;
        let method = message.method();
        let direction = framed.direction.or_else(|| method.as_deref().and_then(direction_of));
        let taken = if message.is_response() {
            self.response(direction, message, journal)?
        } else {
            let params = Members::of(message.params);
            match method.as_deref() {
                Some("session/new") => self.new_session(message, params),
                Some("session/load" | "session/resume") => {
                    self.load_session(message, params, journal)?
                }
                Some("session/prompt") => self.prompt(message, params, journal)?,
                Some("session/update") => self.update(params, journal)?,
                Some("session/request_permission") => self.permission(message, params, journal)?,
                _ => self.unknown(direction, message, params),
            }
        };
        if matches!(taken, Taken::Other(_)) {
            self.counts.other += 1;
        }
        Ok(taken)
    }

    fn wait(&mut self, from: Direction, message: &Message<'_>, what: Waiting) {
        if let Some(id) = message.id {
            self.waiting.insert((from, id.get().to_owned()), what);
        }
    }

    fn unknown(
        &mut self,
        direction: Option<Direction>,
        message: &Message<'_>,
        params: Option<Members<'_>>,
    ) -> Taken {
        let session = params.and_then(|params| params.name("sessionId"));
        let session = session.and_then(|id| Some(self.live.get(&id)?.session));
        if let Some(direction) = direction {
            self.wait(direction, message, Waiting::Else { session });
        }
        Taken::Other("protocol message that is not about calls")
    }

    fn new_session(&mut self, message: &Message<'_>, params: Option<Members<'_>>) -> Taken {
        let servers = servers(params);
        self.wait(Direction::ToAgent, message, Waiting::NewSession { servers });
        // The agent gives the name; with it the session is opened.
        Taken::Other("request for a session")
    }

    fn load_session(
        &mut self,
        message: &Message<'_>,
        params: Option<Members<'_>>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let Some(id) = params.and_then(|params| params.name("sessionId")) else {
            return Ok(Taken::Other("session without an id"));
        };
        if let Some(live) = self.live.remove(&id) {
            journal.reset_session(live.session, ResetReason::Asked)?;
            self.reopen(&id, live.session, &servers(params), journal)?;
        } else {
            self.open(&id, Some(&servers(params)), journal)?;
        }
        let session = self.live.get(&id).map(|live| live.session);
        self.wait(Direction::ToAgent, message, Waiting::Else { session });
        Ok(Taken::Facts)
    }

    fn open(
        &mut self,
        id: &str,
        servers: Option<&[String]>,
        journal: &mut Journal<'_>,
    ) -> Noted<SessionId> {
        let spec = SessionSpec {
            parent: None,
            basis: SessionBasis::Header,
            client_session: Some(id.as_bytes()),
        };
        let session = journal.open_session(&spec)?;
        self.counts.sessions += 1;
        self.reopen(id, session, servers.unwrap_or_default(), journal)?;
        Ok(session)
    }

    /// Takes the snapshot of what a session advertises, at its beginning or after a reset.
    fn reopen(
        &mut self,
        id: &str,
        session: SessionId,
        servers: &[String],
        journal: &mut Journal<'_>,
    ) -> Noted<()> {
        let bytes = |names: &'_ [String]| -> Vec<Vec<u8>> {
            names.iter().map(|name| name.as_bytes().to_vec()).collect()
        };
        let (servers, tools) = (bytes(servers), bytes(&self.tools));
        let servers: Vec<_> = servers.iter().map(Vec::as_slice).collect();
        let tools: Vec<_> = tools.iter().map(Vec::as_slice).collect();
        journal.advertise(session, &servers, &tools)?;
        let live =
            Live { session, calls: BTreeMap::new(), said: String::new(), thought: String::new() };
        self.live.insert(id.to_owned(), live);
        Ok(())
    }

    /// The session of a message; one that was opened before the log began is opened here, with
    /// nothing advertised.
    fn session_of(
        &mut self,
        params: Option<Members<'_>>,
        journal: &mut Journal<'_>,
    ) -> Noted<Option<(String, SessionId)>> {
        let Some(id) = params.and_then(|params| params.name("sessionId")) else {
            return Ok(None);
        };
        let session = match self.live.get(&id) {
            Some(live) => live.session,
            None => self.open(&id, None, journal)?,
        };
        Ok(Some((id, session)))
    }

    fn prompt(
        &mut self,
        message: &Message<'_>,
        params: Option<Members<'_>>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let Some((id, session)) = self.session_of(params, journal)? else {
            return Ok(Taken::Other("prompt without a session"));
        };
        self.flush(&id, journal)?;
        let turn = journal.start_turn(session)?;
        self.counts.prompts += 1;
        for block in params.map(|params| params.list("prompt")).unwrap_or_default() {
            let words = Members::of(Some(block)).and_then(|block| block.text("text"));
            match words {
                Some(words) => journal.prompted(session, words.as_bytes())?,
                // A picture or a reference, as it stands.
                None => journal.prompted(session, block.get().as_bytes())?,
            }
        }
        self.wait(Direction::ToAgent, message, Waiting::Prompt { session, turn });
        Ok(Taken::Facts)
    }

    fn update(&mut self, params: Option<Members<'_>>, journal: &mut Journal<'_>) -> Noted<Taken> {
        let update = params.and_then(|params| params.object("update"));
        let (Some((id, session)), Some(update)) = (self.session_of(params, journal)?, update)
        else {
            return Ok(Taken::Other("update without a session"));
        };
        match update.text("sessionUpdate").as_deref() {
            Some("agent_message_chunk") => Ok(self.chunk(&id, update, |live| &mut live.said)),
            Some("agent_thought_chunk") => Ok(self.chunk(&id, update, |live| &mut live.thought)),
            Some("tool_call") => {
                self.flush(&id, journal)?;
                self.tool_call(&id, session, update, journal)
            }
            Some("tool_call_update") => self.tool_call_update(&id, session, update, journal),
            _ => Ok(Taken::Other("update that is not about calls")),
        }
    }

    fn chunk(
        &mut self,
        id: &str,
        update: Members<'_>,
        of: impl Fn(&mut Live) -> &mut String,
    ) -> Taken {
        let words = update.object("content").and_then(|content| content.text("text"));
        match (self.live.get_mut(id), words) {
            (Some(live), Some(words)) => {
                of(live).push_str(&words);
                Taken::Facts
            }
            _ => Taken::Other("chunk that is no text"),
        }
    }

    /// What the agent said since the last call becomes an answer without calls of its own: the
    /// protocol shows those one by one.
    fn flush(&mut self, id: &str, journal: &mut Journal<'_>) -> Noted<()> {
        let Some(live) = self.live.get_mut(id) else { return Ok(()) };
        if live.said.is_empty() && live.thought.is_empty() {
            return Ok(());
        }
        let (said, thought) = (std::mem::take(&mut live.said), std::mem::take(&mut live.thought));
        let reasoning = [thought.as_bytes()];
        let answer = Answer {
            text: (!said.is_empty()).then_some(said.as_bytes()),
            reasoning: if thought.is_empty() { &[] } else { &reasoning },
            calls: &[],
        };
        journal.accept_turn(live.session, &answer)?;
        Ok(())
    }

    fn response(
        &mut self,
        direction: Option<Direction>,
        message: &Message<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<Taken> {
        let id = message.id.map(|id| id.get().to_owned()).unwrap_or_default();
        let key = match direction {
            Some(direction) => (direction.back(), id),
            None => match self.only_waiting(&id) {
                Some(key) => key,
                None => (Direction::ToAgent, id),
            },
        };
        let Some(waiting) = self.waiting.remove(&key) else {
            self.counts.stray_answers += 1;
            return Ok(Taken::Other("answer to a request that is not on record"));
        };
        let result = Members::of(message.result);
        let not_found = message.error.is_some_and(says_not_found);
        let session = match waiting {
            Waiting::NewSession { servers } => {
                let Some(id) = result.and_then(|result| result.name("sessionId")) else {
                    return Ok(Taken::Other("answer without a session"));
                };
                self.open(&id, Some(&servers), journal)?;
                return Ok(Taken::Facts);
            }
            Waiting::Permission { ask, call, session, offered } => {
                permission::answered((ask, call, session), &offered, result, journal)?;
                return Ok(Taken::Facts);
            }
            Waiting::Prompt { session, turn } => {
                self.prompt_ended((session, turn), message, journal)?;
                Some(session)
            }
            Waiting::Else { session } => session,
        };
        let (true, Some(session)) = (not_found, session) else {
            return Ok(Taken::Other("answer that is not about calls"));
        };
        self.reset(session, ResetReason::NotFound, journal)?;
        Ok(Taken::Facts)
    }

    /// The one request with this id that waits, where only one side has one.
    fn only_waiting(&self, id: &str) -> Option<(Direction, String)> {
        let both = [Direction::ToAgent, Direction::ToClient];
        let mut found = both.into_iter().map(|from| (from, id.to_owned()));
        let first = found.find(|key| self.waiting.contains_key(key))?;
        (!found.any(|key| self.waiting.contains_key(&key))).then_some(first)
    }

    fn prompt_ended(
        &mut self,
        (session, turn): (SessionId, TurnId),
        message: &Message<'_>,
        journal: &mut Journal<'_>,
    ) -> Noted<()> {
        if let Some(id) = self.name_of(session) {
            self.flush(&id, journal)?;
        }
        let result = Members::of(message.result);
        let word = result.and_then(|result| result.text("stopReason"));
        let stop = match word.as_deref() {
            _ if message.error.is_some() => Stop::Error,
            Some("end_turn") => Stop::EndTurn,
            Some("cancelled") => Stop::Cancelled,
            Some("max_tokens") => Stop::Budget,
            Some("max_turn_requests") => Stop::MaxTurns,
            Some("refusal") => Stop::Refusal,
            _ => Stop::Other,
        };
        let usage = result.and_then(|result| result.object("usage")).map(usage);
        journal.end_turn(session, turn, stop, usage)
    }

    fn name_of(&self, session: SessionId) -> Option<String> {
        self.live.iter().find(|(_, live)| live.session == session).map(|(id, _)| id.clone())
    }

    /// Forgets names, inputs, aliases and unfinished calls of a session.
    fn reset(
        &mut self,
        session: SessionId,
        reason: ResetReason,
        journal: &mut Journal<'_>,
    ) -> Noted<()> {
        let Some(id) = self.name_of(session) else { return Ok(()) };
        self.flush(&id, journal)?;
        journal.reset_session(session, reason)?;
        self.waiting.retain(|_, waiting| match waiting {
            Waiting::Prompt { session: of, .. } | Waiting::Permission { session: of, .. } => {
                *of != session
            }
            Waiting::Else { session: of } => *of != Some(session),
            Waiting::NewSession { .. } => true,
        });
        // The session may be used again: it then has no aliases, and nothing is open in it.
        if let Some(live) = self.live.get_mut(&id) {
            live.calls.clear();
        }
        Ok(())
    }

    /// The connection ended: by itself, or since the agent's process failed.
    ///
    /// # Errors
    /// A fact cannot be written.
    pub fn ended(&mut self, failed: bool, journal: &mut Journal<'_>) -> Noted<()> {
        let ids: Vec<_> = self.live.keys().cloned().collect();
        for id in ids {
            self.flush(&id, journal)?;
            let Some(live) = self.live.remove(&id) else { continue };
            if failed {
                journal.reset_session(live.session, ResetReason::Process)?;
            } else {
                journal.close_session(live.session)?;
            }
        }
        self.waiting.clear();
        Ok(())
    }
}

/// Names of the tool servers that a request for a session lists; a missing list is an empty one.
fn servers(params: Option<Members<'_>>) -> Vec<String> {
    let servers = params.map(|params| params.list("mcpServers")).unwrap_or_default();
    servers.into_iter().filter_map(|server| Members::of(Some(server))?.name("name")).collect()
}

fn says_not_found(error: &RawValue) -> bool {
    let members = Members::of(Some(error));
    let words = members.and_then(|error| error.text("message")).or_else(|| text(error));
    words.is_some_and(|words| words.contains("Session not found"))
}

fn usage(usage: Members<'_>) -> Usage {
    let number = |names: [&str; 2]| names.iter().find_map(|name| usage.number(name));
    Usage {
        input_tokens: number(["inputTokens", "input_tokens"]),
        output_tokens: number(["outputTokens", "output_tokens"]),
        cache_read_tokens: number(["cachedReadTokens", "cached_read_tokens"]),
        cache_write_tokens: number(["cachedWriteTokens", "cached_write_tokens"]),
        reasoning_tokens: number(["thoughtTokens", "thought_tokens"]),
        total_tokens: number(["totalTokens", "total_tokens"]),
    }
}
