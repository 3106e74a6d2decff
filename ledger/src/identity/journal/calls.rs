//! Calls beside the wire: shown, dispatched, returned, ended, held back, delegated.

use super::{Journal, JournalError, Noted};
use crate::event::{
    AliasesAdvertised, Child, Correlation, Dropped, Event, Lane, NameSeen, NameSource, Outcome,
    ResultSettled, Returned, SubagentEnded, SubagentSpawned, TextMeasure, ToolDispatched,
    ToolEnded, ToolObserved, ToolReturned,
};
use crate::id::{HookId, SessionId, ToolCallId};
use crate::identity::lanes::Queue;
use crate::recorder::RecordError;

/// A name of a call and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct SeenName<'a> {
    /// Where.
    pub source: NameSource,
    /// The name.
    pub name: &'a [u8],
}

/// A call as an agent protocol shows it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Its names.
    pub names: &'a [SeenName<'a>],
    /// What kind of tool it is.
    pub tool_kind: Option<&'a [u8]>,
    /// Its arguments, a JSON text.
    pub arguments: Option<&'a [u8]>,
    /// The agent's id of the call.
    pub provider_call: Option<&'a [u8]>,
}

/// An output that came back.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Its texts.
    pub texts: &'a [&'a [u8]],
    /// How much of it never reached the recorder.
    pub dropped: Dropped,
}

impl Journal<'_> {
    /// Notes what a session advertised. Once per session; after a reset, once more.
    ///
    /// # Errors
    /// It was noted before, or the fact cannot be written.
    pub fn advertise(
        &mut self,
        session: SessionId,
        servers: &[&[u8]],
        tools: &[&[u8]],
    ) -> Noted<()> {
        if self.desk.aliases(session).is_some() {
            return Err(JournalError::Advertised { session: session.number() });
        }
        let mut names = Vec::with_capacity(servers.len());
        for server in servers {
            names.push(self.content(server)?);
        }
        let mut tool_names = Vec::with_capacity(tools.len());
        for tool in tools {
            tool_names.push(self.content(tool)?);
        }
        self.append(&AliasesAdvertised { session, servers: names, tools: tool_names }.into())
    }

    /// Mints the id of a call that an agent protocol shows, and decides its lane by what the
    /// session advertised.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn observe_call(
        &mut self,
        session: SessionId,
        seen: &Observed<'_>,
    ) -> Noted<(ToolCallId, Lane)> {
        let names = seen.names.iter().map(|seen| seen.name);
        let lane = self.desk.aliases(session).map_or(Lane::Native, |aliases| aliases.lane(names));
        let call = self.shown(session, seen, lane)?;
        Ok((call, lane))
    }

    fn shown(&mut self, session: SessionId, seen: &Observed<'_>, lane: Lane) -> Noted<ToolCallId> {
        let call = self.desk.next_call();
        let mut names = Vec::with_capacity(seen.names.len());
        for SeenName { source, name } in seen.names {
            names.push(NameSeen { source: *source, name: self.content(name)? });
        }
        let event = ToolObserved {
            call,
            session,
            turn: self.desk.open_turn(session),
            lane,
            names,
            tool_kind: self.optional(seen.tool_kind)?,
            arguments: self.optional_json(seen.arguments)?,
            provider_call: self.optional(seen.provider_call)?,
        };
        self.append(&event.into())?;
        Ok(call)
    }

    /// Hands a call to whoever carries it out; `arguments` where others than the model's are in
    /// force. Returns the attempt.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn dispatch(&mut self, call: ToolCallId, arguments: Option<&[u8]>) -> Noted<u16> {
        self.dispatched(call, arguments, Correlation::Own)
    }

    /// A tool server was called and does not know for which call: the oldest bridged one that
    /// waits, else a new one that is marked as joined to nothing.
    ///
    /// # Errors
    /// The conversation is not known, or the fact cannot be written.
    pub fn dispatch_next(
        &mut self,
        session: SessionId,
        name: &[u8],
        arguments: Option<&[u8]>,
    ) -> Noted<(ToolCallId, Correlation)> {
        if let Some(call) = self.desk.queue(session).and_then(Queue::oldest) {
            self.dispatched(call, arguments, Correlation::Queue)?;
            return Ok((call, Correlation::Queue));
        }
        let names = [SeenName { source: NameSource::Title, name }];
        let seen = Observed { names: &names, tool_kind: None, arguments, provider_call: None };
        let call = self.shown(session, &seen, Lane::Native)?;
        self.dispatched(call, None, Correlation::None)?;
        Ok((call, Correlation::None))
    }

    fn dispatched(
        &mut self,
        call: ToolCallId,
        arguments: Option<&[u8]>,
        correlation: Correlation,
    ) -> Noted<u16> {
        let attempts = self.desk.open_calls().get(&call).map_or(0, |open| open.attempts);
        let attempt = attempts.saturating_add(1);
        let arguments = self.optional_json(arguments)?;
        self.append(&ToolDispatched { call, attempt, arguments, correlation }.into())?;
        Ok(attempt)
    }

    /// A call's output came back: stored whole, then told.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn returned(&mut self, call: ToolCallId, output: &Output<'_>) -> Noted<()> {
        let mut texts = Vec::with_capacity(output.texts.len());
        let mut redactions = 0_u32;
        for raw in output.texts {
            let redacted = self.redactor.redact(raw);
            let spans = u32::try_from(redacted.redactions().len()).unwrap_or(u32::MAX);
            redactions = redactions.saturating_add(spans);
            let measure = TextMeasure::of(&String::from_utf8_lossy(redacted.as_bytes()));
            let artifact = self.writer.put(&redacted).map_err(RecordError::Put)?;
            let text = crate::content::Content::stored(artifact);
            texts.push(Returned { text, measure });
        }
        let dropped = output.dropped;
        self.append(&Event::ToolReturned(ToolReturned { call, output: texts, dropped, redactions }))
    }

    /// An attempt of a call ended; `held` names the review that holds its result back.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn ended(
        &mut self,
        call: ToolCallId,
        outcome: Outcome,
        held: Option<HookId>,
        raw: Option<&[u8]>,
    ) -> Noted<()> {
        let attempt = self.desk.open_calls().get(&call).map_or(0, |open| open.attempts);
        let raw = self.optional_json(raw)?;
        self.append(&ToolEnded { call, attempt, outcome, held, raw }.into())
    }

    /// A result that was held back is released, or refused for good.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn settle(&mut self, call: ToolCallId, review: HookId, released: bool) -> Noted<()> {
        self.append(&ResultSettled { call, review, released }.into())
    }

    /// A call of the parent started a sub-agent.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn spawned(
        &mut self,
        parent: SessionId,
        delegation: ToolCallId,
        child: Child,
    ) -> Noted<()> {
        self.append(&SubagentSpawned { parent, delegation, child }.into())
    }

    /// A sub-agent ended; `output` is all that it said at the end.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn subagent_ended(
        &mut self,
        delegation: ToolCallId,
        child: Child,
        outcome: Outcome,
        output: Option<&[u8]>,
    ) -> Noted<()> {
        let output = self.optional(output)?;
        self.append(&SubagentEnded { delegation, child, outcome, output }.into())
    }
}
