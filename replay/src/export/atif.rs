//! Trajectories in the Agent Trajectory Interchange Format, one document per conversation that no
//! other one started.
//!
//! A trajectory is what was said and done, in order: a step per prompt and per answer, results in
//! the step of their call. It has no requests, so what a client did to its list between two of
//! them is counted and not carried.

#![expect(clippy::struct_field_names, reason = "members have the names of the format")]

use std::collections::{BTreeMap, BTreeSet};

use ledger::event::{Cause, Child, SessionBasis};
use ledger::history::{Change, End, Request};
use ledger::id::{PartNo, SessionId, ToolCallId};
use ledger::wire::Role;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use super::talk::{self, Called, Counts, Message, Piece, Returned, Talk};
use super::{ExportError, Exported, hex, rfc3339};
use crate::recording::Recording;
use crate::who::Who;

/// The version that is written.
pub const VERSION: &str = "ATIF-v1.8";

/// Conversations that started conversations deeper than this are documents of their own.
const DEPTH_MAX: usize = 16;

#[derive(Serialize)]
struct Trajectory {
    schema_version: &'static str,
    session_id: String,
    trajectory_id: String,
    agent: Agent,
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    final_metrics: FinalMetrics,
    extra: RunFacts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectories: Vec<Self>,
}

#[derive(Serialize)]
struct RunFacts {
    run: String,
    session: u32,
    basis: &'static str,
}

#[derive(Serialize)]
struct Agent {
    name: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_definitions: Vec<Tool>,
}

/// A definition in the form that the format asks for, or as the provider has it.
enum Tool {
    Function(Function),
    Own(Box<RawValue>),
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Function(function) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "function")?;
                map.serialize_entry("function", function)?;
                map.end()
            }
            Self::Own(own) => own.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct Function {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Box<RawValue>>,
}

#[derive(Serialize, Default)]
struct Step {
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    message: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm_call_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_copied_context: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<RequestFacts>,
}

#[derive(Serialize)]
struct RequestFacts {
    request: u64,
    request_sha256: String,
    request_bytes: u64,
    rung: &'static str,
}

/// A text, or several as parts.
enum Text {
    One(String),
    Parts(Vec<TextPart>),
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(text) => text.serialize(serializer),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct TextPart {
    r#type: &'static str,
    text: String,
}

impl Default for Text {
    fn default() -> Self {
        Self::One(String::new())
    }
}

impl Text {
    fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut texts: Vec<&str> = texts.into_iter().collect();
        match texts.len() {
            0 | 1 => Self::One(texts.pop().unwrap_or_default().to_owned()),
            _ => {
                let part = |text: &str| TextPart { r#type: "text", text: text.to_owned() };
                Self::Parts(texts.into_iter().map(part).collect())
            }
        }
    }
}

#[derive(Serialize)]
struct ToolCall {
    tool_call_id: String,
    function_name: String,
    arguments: Box<RawValue>,
}

#[derive(Serialize)]
struct Observation {
    results: Vec<ObservedResult>,
}

#[derive(Serialize)]
struct ObservedResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    source_call_id: Option<String>,
    content: Text,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectory_ref: Vec<Reference>,
}

#[derive(Serialize)]
struct Reference {
    trajectory_id: String,
}

#[derive(Serialize)]
struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<MoreMetrics>,
}

#[derive(Serialize)]
struct MoreMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
}

#[derive(Serialize, Default)]
struct FinalMetrics {
    total_prompt_tokens: u64,
    total_completion_tokens: u64,
    total_cached_tokens: u64,
    total_steps: usize,
}

/// The documents of a recording, and what they do not hold.
///
/// # Errors
/// See [`ExportError`].
pub fn atif(recording: &Recording) -> Result<(Vec<Vec<u8>>, Exported), ExportError> {
    let who = Who::read(recording.path())?;
    if let Some(error) = who.error {
        return Err(error.into());
    }
    let mut started: BTreeMap<ToolCallId, Vec<SessionId>> = BTreeMap::new();
    for (child, call) in &who.started_by {
        started.entry(*call).or_default().push(*child);
    }
    for (call, card) in who.view.calls() {
        let children = card.children.iter().filter_map(|(_, child)| match child {
            Child::Session(session) => Some(*session),
            _ => None,
        });
        started.entry(*call).or_default().extend(children);
    }
    let history = recording.history();
    let mut writer = Writer {
        recording,
        talk: Talk::new(history, recording.as_source()),
        started,
        client: talk::client(recording.client().as_deref()),
        exported: Exported::default(),
    };
    let mut documents = Vec::new();
    for (number, session) in (0_u32..).zip(history.sessions()) {
        let is_root = session.opened.parent.is_none_or(|parent| parent.number() >= number);
        if is_root && let Some(trajectory) = writer.trajectory(SessionId::new(number), 0)? {
            let mut document =
                serde_json::to_vec_pretty(&trajectory).map_err(std::io::Error::from)?;
            document.push(b'\n');
            documents.push(document);
        }
    }
    writer.leave_the_rest();
    Ok((documents, writer.exported))
}

struct Writer<'r> {
    recording: &'r Recording,
    talk: Talk<'r>,
    started: BTreeMap<ToolCallId, Vec<SessionId>>,
    client: (String, String),
    exported: Exported,
}

impl Writer<'_> {
    fn leave_the_rest(&mut self) {
        let history = self.recording.history();
        let found = history.calls().iter().filter(|call| !call.found.is_empty()).count();
        self.exported.leave("whole output from beside what the model saw", found as u64);
        self.exported.leave("body of a request", self.exported.requests);
        self.exported.leave("record that is no exchange", history.records().len() as u64);
    }

    /// The trajectory of a conversation with those of the ones below it; `None` where there is
    /// nothing to tell.
    fn trajectory(
        &mut self,
        id: SessionId,
        depth: usize,
    ) -> Result<Option<Trajectory>, ExportError> {
        let history = self.recording.history();
        let Some(session) = history.sessions().get(id.index()) else { return Ok(None) };
        let mut steps = Steps::default();
        let mut agent = Agent {
            name: self.client.0.clone(),
            version: self.client.1.clone(),
            model_name: None,
            tool_definitions: Vec::new(),
        };
        let requests = session.requests.iter().filter_map(|id| history.request(*id));
        for (position, request) in requests.enumerate() {
            let frame = self.talk.frame(request)?;
            if position == 0 {
                agent.tool_definitions = frame.tools.into_iter().flat_map(tools).collect();
                agent.model_name = self.model(request)?;
                if let Some(system) = &frame.system {
                    steps.say("system", Text::One(system.clone()));
                }
                steps.system = frame.system;
            } else if frame.system != steps.system {
                self.exported.leave("change of the system prompt", 1);
                steps.system = frame.system;
            }
            self.request(request, &mut steps)?;
        }
        let children = self.children(id, depth)?;
        if steps.list.is_empty() {
            return Ok(None);
        }
        Ok(Some(Trajectory {
            schema_version: VERSION,
            session_id: match &session.opened.client_session {
                Some(name) => self.talk.text(name)?,
                None => history.opened().run.to_string(),
            },
            trajectory_id: self.name(id),
            agent,
            notes: None,
            final_metrics: FinalMetrics { total_steps: steps.list.len(), ..steps.sums },
            steps: steps.list,
            extra: RunFacts {
                run: history.opened().run.to_string(),
                session: id.number() + 1,
                basis: match session.opened.basis {
                    SessionBasis::Header => "header",
                    SessionBasis::Content => "content",
                    SessionBasis::Side => "side",
                },
            },
            subagent_trajectories: children,
        }))
    }

    fn children(&mut self, of: SessionId, depth: usize) -> Result<Vec<Trajectory>, ExportError> {
        let sessions = self.recording.history().sessions();
        let mut children = Vec::new();
        for (number, session) in (0_u32..).zip(sessions) {
            // A child is opened after its parent, so that this comes to an end.
            if session.opened.parent != Some(of) || number <= of.number() {
                continue;
            }
            if depth >= DEPTH_MAX {
                self.exported.leave("conversation that is nested too deeply", 1);
            } else if let Some(child) = self.trajectory(SessionId::new(number), depth + 1)? {
                children.push(child);
            }
        }
        Ok(children)
    }

    fn name(&self, session: SessionId) -> String {
        format!("{}-{}", self.recording.history().opened().run, session.number() + 1)
    }

    fn model(&self, request: &Request) -> Result<Option<String>, ExportError> {
        Ok(request.captured.model.as_ref().map(|model| self.talk.text(model)).transpose()?)
    }

    /// What a request brings: messages that are new in it, and its answer.
    fn request(&mut self, request: &Request, steps: &mut Steps) -> Result<(), ExportError> {
        self.exported.requests += 1;
        steps.time = request.dispatched.as_ref().and_then(|sent| sent.at_unix_ns).and_then(rfc3339);
        let unsplit = request.captured.unsplit.is_some();
        self.exported.leave("message list of a body that could not be split", u64::from(unsplit));
        for change in &request.changes {
            match change {
                Change::Appended(added) => {
                    for (part, cause) in added {
                        self.message(*part, *cause, steps)?;
                    }
                }
                Change::Edited(splices) => {
                    self.exported.leave("edit of the message list", splices.len() as u64);
                    for (part, cause) in splices.iter().flat_map(|splice| &splice.insert) {
                        self.message(*part, *cause, steps)?;
                    }
                }
            }
        }
        self.answer(request, steps)
    }

    fn message(
        &mut self,
        part: PartNo,
        cause: Cause,
        steps: &mut Steps,
    ) -> Result<(), ExportError> {
        // Answers are told with their requests, and what is back was told when it came.
        if matches!(cause, Cause::Answer(_) | Cause::Returned) {
            return Ok(());
        }
        let message = self.talk.message(part)?;
        let other = message.pieces.iter().filter(|piece| **piece == Piece::Other).count();
        self.exported.leave("piece that is no text", other as u64);
        if message.role == Role::Assistant {
            steps.copied(&message);
            return Ok(());
        }
        let results = message.pieces.iter().filter_map(|piece| match piece {
            Piece::Result(result) if result.call.is_none() => Some(result),
            _ => None,
        });
        let results: Vec<&Returned> = results.collect();
        let texts = message.texts();
        if !texts.is_empty() {
            let source = if message.role == Role::System { "system" } else { "user" };
            steps.say(source, Text::of(texts));
        }
        if !results.is_empty() {
            self.exported.leave("id of the call of a result without one", results.len() as u64);
            steps.observe(&results);
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request, steps: &mut Steps) -> Result<(), ExportError> {
        let Some((end, answer)) = &request.answer else { return Ok(()) };
        if *end == End::Failed || answer.items.is_empty() {
            self.exported.leave("attempt without an answer", 1);
            return Ok(());
        }
        self.exported.leave("answer that broke off", u64::from(*end == End::Aborted));
        let pieces = self.talk.answer(request)?;
        let mut step = Step { source: "agent", timestamp: steps.time.clone(), ..Step::default() };
        step.model_name = self.model(request)?;
        step.llm_call_count = Some(1);
        let (mut texts, mut thoughts, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &pieces {
            match piece {
                Piece::Text(text) => texts.push(text.as_str()),
                Piece::Thinking(text) if text.is_empty() => {}
                Piece::Thinking(text) => thoughts.push(text.as_str()),
                Piece::Call(called) => {
                    step.tool_calls.push(self.call(called, step.tool_calls.len()));
                    let id = step.tool_calls.last().map(|call| call.tool_call_id.clone());
                    results.extend(self.result(called, id)?);
                }
                Piece::Result(_) | Piece::Other => self.exported.leave("piece that is no text", 1),
            }
        }
        step.message = Text::of(texts);
        step.reasoning_content = (!thoughts.is_empty()).then(|| thoughts.join("\n"));
        step.observation = (!results.is_empty()).then_some(Observation { results });
        step.metrics = talk::counts(request).map(|counts| steps.count(counts));
        step.extra = Some(RequestFacts {
            request: request.captured.request.ordinal(),
            request_sha256: hex(&request.captured.body_digest),
            request_bytes: request.captured.body_bytes,
            rung: request.captured.rung.name(),
        });
        steps.push(step);
        Ok(())
    }

    fn call(&mut self, called: &Called, position: usize) -> ToolCall {
        self.exported.calls += 1;
        let (arguments, whole) = arguments(&called.arguments);
        self.exported.leave("arguments that are no JSON object, kept as a text", u64::from(!whole));
        // Gemini's calls have no ids; within a step a number tells them apart.
        let id = if called.id.is_empty() {
            self.exported.leave("id of a call, which the provider did not give", 1);
            format!("call-{}", called.call.map_or(position, ToolCallId::index) + 1)
        } else {
            called.id.clone()
        };
        ToolCall { tool_call_id: id, function_name: called.name.clone(), arguments }
    }

    fn result(
        &mut self,
        called: &Called,
        source_call_id: Option<String>,
    ) -> Result<Option<ObservedResult>, ExportError> {
        let history = self.recording.history();
        let output = called.call.and_then(|call| history.call(call)?.output.as_ref());
        let children = called.call.and_then(|call| self.started.get(&call));
        let mut names: BTreeSet<SessionId> = children.into_iter().flatten().copied().collect();
        names.retain(|child| history.sessions().get(child.index()).is_some());
        if output.is_none() && names.is_empty() {
            self.exported.leave("call without a result", 1);
            return Ok(None);
        }
        let mut texts = Vec::new();
        for returned in output.into_iter().flatten() {
            texts.push(self.talk.text(&returned.text)?);
        }
        let reference = |child: SessionId| Reference { trajectory_id: self.name(child) };
        Ok(Some(ObservedResult {
            source_call_id,
            content: Text::of(texts.iter().map(String::as_str)),
            subagent_trajectory_ref: names.into_iter().map(reference).collect(),
        }))
    }
}

/// The steps of one conversation as they come.
#[derive(Default)]
struct Steps {
    list: Vec<Step>,
    sums: FinalMetrics,
    system: Option<String>,
    time: Option<String>,
}

impl Steps {
    fn push(&mut self, mut step: Step) {
        step.step_id = self.list.len() + 1;
        self.list.push(step);
    }

    fn say(&mut self, source: &'static str, message: Text) {
        let timestamp = self.time.clone();
        self.push(Step { timestamp, source, message, ..Step::default() });
    }

    /// What the model said in a part of the run that is not on record.
    fn copied(&mut self, message: &Message) {
        let mut step = Step { source: "agent", is_copied_context: Some(true), ..Step::default() };
        step.message = Text::of(message.texts());
        for piece in &message.pieces {
            if let Piece::Call(called) = piece {
                step.tool_calls.push(ToolCall {
                    tool_call_id: called.id.clone(),
                    function_name: called.name.clone(),
                    arguments: arguments(&called.arguments).0,
                });
            }
        }
        self.push(step);
    }

    /// Results whose calls are not on record.
    fn observe(&mut self, results: &[&Returned]) {
        let results = results.iter().map(|result| ObservedResult {
            source_call_id: None,
            content: Text::of(result.texts.iter().map(String::as_str)),
            subagent_trajectory_ref: Vec::new(),
        });
        let observation = Some(Observation { results: results.collect() });
        self.push(Step { source: "system", observation, ..Step::default() });
    }

    fn count(&mut self, counts: Counts) -> Metrics {
        let add = |sum: &mut u64, count: Option<u64>| *sum = sum.saturating_add(count.unwrap_or(0));
        add(&mut self.sums.total_prompt_tokens, counts.input);
        add(&mut self.sums.total_completion_tokens, counts.output);
        add(&mut self.sums.total_cached_tokens, counts.cache_read);
        let more = counts.cache_write.is_some() || counts.reasoning.is_some();
        Metrics {
            prompt_tokens: counts.input,
            completion_tokens: counts.output,
            cached_tokens: counts.cache_read,
            extra: more.then_some(MoreMetrics {
                cache_creation_input_tokens: counts.cache_write,
                reasoning_tokens: counts.reasoning,
            }),
        }
    }
}

/// Arguments as an object: as they stand where they are one, else as a text in one; and which.
fn arguments(text: &str) -> (Box<RawValue>, bool) {
    let own = if text.trim().is_empty() { "{}" } else { text };
    match serde_json::from_str::<Box<RawValue>>(own) {
        Ok(value) if value.get().starts_with('{') => (value, true),
        _ => {
            let around = serde_json::json!({ "raw": text }).to_string();
            (RawValue::from_string(around).unwrap_or_default(), false)
        }
    }
}

/// Definitions in the form of Chat Completions, where they are functions.
fn tools(tool: Box<RawValue>) -> Vec<Tool> {
    #[derive(serde::Deserialize)]
    struct Known {
        r#type: Option<String>,
        name: Option<String>,
        description: Option<String>,
        #[serde(alias = "input_schema", alias = "parametersJsonSchema")]
        parameters: Option<Box<RawValue>>,
        #[serde(rename = "functionDeclarations", alias = "function_declarations")]
        declarations: Option<Vec<Box<RawValue>>>,
    }
    let Ok(known) = serde_json::from_str::<Known>(tool.get()) else { return vec![Tool::Own(tool)] };
    if let Some(declarations) = known.declarations {
        return declarations.into_iter().flat_map(tools).collect();
    }
    let is_function = known.r#type.as_deref().is_none_or(|it| it == "function" || it == "custom");
    match known.name {
        Some(name) if is_function => {
            let (description, parameters) = (known.description, known.parameters);
            vec![Tool::Function(Function { name, description, parameters })]
        }
        _ => vec![Tool::Own(tool)],
    }
}
