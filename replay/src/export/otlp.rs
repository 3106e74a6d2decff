//! Spans of OpenTelemetry's conventions for generative AI, as one export in OTLP's JSON: a span
//! per conversation (`invoke_agent`), per request (`chat`) and per call (`execute_tool`).
//!
//! Ids follow from the run's id, so that the same recording gives the same spans. Content is left
//! out unless it is asked for; then it is whole, since half of a JSON text is none.

#![expect(clippy::struct_field_names, reason = "members have the names of the format")]

use std::collections::BTreeSet;
use std::io::Write;

use ledger::event::Dropped;
use ledger::history::{End, Request};
use ledger::id::{RunId, SessionId, ToolCallId};
use ledger::wire::{Dialect, Role};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::talk::{self, Message, Piece, Talk};
use super::{ExportError, Exported, hex, write_json};
use crate::recording::Recording;

/// Whether prompts, answers, arguments and outputs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Only sizes, digests and counts.
    Without,
    /// All of it.
    With,
}

/// OTLP's `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// OTLP's `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;
/// The conventions that the names are taken from.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.37.0";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    status: Status,
}

#[derive(Serialize, Default)]
struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Default)]
struct Attributes(Vec<Attribute>);

impl Attributes {
    fn text(&mut self, key: &'static str, text: impl Into<String>) {
        self.0.push(Attribute { key, value: json!({ "stringValue": text.into() }) });
    }

    fn some(&mut self, key: &'static str, text: Option<String>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// OTLP's JSON writes whole numbers as texts.
    fn number(&mut self, key: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.0.push(Attribute { key, value: json!({ "intValue": number.to_string() }) });
        }
    }

    fn flag(&mut self, key: &'static str) {
        self.0.push(Attribute { key, value: json!({ "boolValue": true }) });
    }

    fn texts(&mut self, key: &'static str, texts: &[String]) {
        let values: Vec<Value> = texts.iter().map(|it| json!({ "stringValue": it })).collect();
        self.0.push(Attribute { key, value: json!({ "arrayValue": { "values": values } }) });
    }
}

/// Writes one export. `version` is that of the program.
///
/// # Errors
/// See [`ExportError`].
pub fn otlp(
    recording: &Recording,
    version: &str,
    content: Content,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let history = recording.history();
    let client = talk::client(recording.client().as_deref());
    let mut resource = Attributes::default();
    resource.text("service.name", client.0.clone());
    resource.text("service.version", client.1.clone());
    let mut spans = Spans {
        recording,
        talk: Talk::new(history, recording.as_source()),
        content,
        client,
        ids: Ids::of(history.opened().run),
        now: history.opened().opened_unix_ns,
        names: Vec::new(),
        written: 0,
        exported: Exported::default(),
    };
    spans.names = spans.conversations()?;
    out.write_all(b"{\"resourceSpans\":[{\"resource\":")?;
    write_json(out, &json!({ "attributes": resource.0 }))?;
    out.write_all(b",\"scopeSpans\":[{\"scope\":")?;
    write_json(out, &json!({ "name": "counterfold", "version": version }))?;
    write!(out, ",\"schemaUrl\":\"{SCHEMA}\",\"spans\":[")?;
    spans.all(out)?;
    out.write_all(b"\n]}]}]}\n")?;
    Ok(spans.exported)
}

/// Ids of a run's spans.
struct Ids {
    run: RunId,
    trace: String,
}

impl Ids {
    fn of(run: RunId) -> Self {
        let trace = hex(Self::digest(run, "trace", 0).get(..16).unwrap_or_default());
        Self { run, trace }
    }

    fn digest(run: RunId, what: &str, number: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(run.to_string());
        hash.update(what);
        hash.update(number.to_le_bytes());
        hash.finalize().into()
    }

    fn span(&self, what: &str, number: u64) -> String {
        hex(Self::digest(self.run, what, number).get(..8).unwrap_or_default())
    }
}

struct Spans<'r> {
    recording: &'r Recording,
    talk: Talk<'r>,
    content: Content,
    client: (String, String),
    ids: Ids,
    /// The time that the last request began at.
    now: u64,
    /// Names of conversations, each one once.
    names: Vec<String>,
    written: u64,
    exported: Exported,
}

impl Spans<'_> {
    /// The client's own names of its conversations, where no two have one, else names of ours.
    fn conversations(&self) -> Result<Vec<String>, ExportError> {
        let history = self.recording.history();
        let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
        for (number, session) in (1_u32..).zip(history.sessions()) {
            let own = session.opened.client_session.as_ref();
            let own = own.map(|name| self.talk.text(name)).transpose()?;
            let own = own.filter(|name| !name.is_empty() && seen.insert(name.clone()));
            names.push(own.unwrap_or_else(|| format!("{}-{number}", history.opened().run)));
        }
        Ok(names)
    }

    fn all(&mut self, out: &mut dyn Write) -> Result<(), ExportError> {
        let history = self.recording.history();
        let begin = self.now;
        for request in history.requests() {
            let span = self.chat(request)?;
            self.write(out, &span)?;
            self.exported.requests += 1;
            for call in self.calls(request)? {
                self.write(out, &call)?;
                self.exported.calls += 1;
            }
        }
        for (number, session) in (0_u32..).zip(history.sessions()) {
            let id = SessionId::new(number);
            let mut attributes = self.about(id, "invoke_agent");
            attributes.text("gen_ai.agent.name", self.client.0.clone());
            let parent = session.opened.parent.map(|parent| self.agent(parent));
            let name = format!("invoke_agent {}", self.client.0);
            let span = Span {
                parent_span_id: parent,
                ..self.span(self.agent(id), name, INTERNAL, [begin, self.now], attributes)
            };
            self.write(out, &span)?;
        }
        let bodies = if self.content == Content::With {
            "body of a request, byte for byte"
        } else {
            "content of a request and its answer, which was not asked for"
        };
        self.exported.leave(bodies, history.requests().len() as u64);
        self.exported.leave("record that is no exchange", history.records().len() as u64);
        Ok(())
    }

    fn write(&mut self, out: &mut dyn Write, span: &Span) -> Result<(), ExportError> {
        out.write_all(if self.written == 0 { b"\n" } else { b",\n" })?;
        self.written += 1;
        write_json(out, span)
    }

    fn agent(&self, session: SessionId) -> String {
        self.ids.span("conversation", u64::from(session.number()))
    }

    fn about(&self, session: SessionId, operation: &str) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", operation);
        let name = self.names.get(session.index()).cloned().unwrap_or_default();
        attributes.text("gen_ai.conversation.id", name);
        attributes
    }

    fn span(
        &self,
        span_id: String,
        name: String,
        kind: u8,
        [from, to]: [u64; 2],
        attributes: Attributes,
    ) -> Span {
        Span {
            trace_id: self.ids.trace.clone(),
            span_id,
            parent_span_id: None,
            name,
            kind,
            start_time_unix_nano: from.to_string(),
            end_time_unix_nano: to.to_string(),
            attributes: attributes.0,
            status: Status::default(),
        }
    }

    /// The span of a request.
    fn chat(&mut self, request: &Request) -> Result<Span, ExportError> {
        let captured = &request.captured;
        let known = request.dispatched.as_ref().and_then(|sent| sent.at_unix_ns);
        // Requests are in order, whatever the clocks of the source say.
        self.now = known.unwrap_or(0).max(self.now + 1);
        self.exported.leave("time of a request that is not known", u64::from(known.is_none()));
        let took = request.answer.as_ref().and_then(|(_, answer)| answer.time_us).unwrap_or(0);
        let mut attributes = self.about(request.session(), "chat");
        attributes.text("gen_ai.provider.name", provider(request.dialect));
        let model = captured.model.as_ref().map(|model| self.talk.text(model)).transpose()?;
        attributes.some("gen_ai.request.model", model.clone());
        attributes.number("counterfold.request.number", Some(captured.request.ordinal()));
        attributes.number("counterfold.request.attempt", Some(u64::from(captured.attempt)));
        attributes.text("counterfold.request.sha256", hex(&captured.body_digest));
        attributes.number("counterfold.request.bytes", Some(captured.body_bytes));
        attributes.text("counterfold.request.rung", captured.rung.name());
        if request.changes.iter().any(|it| matches!(it, ledger::history::Change::Edited(_))) {
            attributes.flag("counterfold.request.edited");
            self.exported.leave("edit of the message list", 1);
        }
        self.answered(request, &mut attributes)?;
        if self.content == Content::With {
            self.content(request, &mut attributes)?;
        }
        let failed = request.answer.as_ref().is_none_or(|(end, _)| *end == End::Failed);
        let name = model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
        let times = [self.now, self.now.saturating_add(took.saturating_mul(1000))];
        let id = self.ids.span("request", captured.request.ordinal());
        Ok(Span {
            parent_span_id: Some(self.agent(request.session())),
            status: Status { code: failed.then_some(ERROR) },
            ..self.span(id, name, CLIENT, times, attributes)
        })
    }

    fn answered(
        &mut self,
        request: &Request,
        attributes: &mut Attributes,
    ) -> Result<(), ExportError> {
        let Some((end, answer)) = &request.answer else { return Ok(()) };
        self.exported.leave("answer that broke off", u64::from(*end == End::Aborted));
        if *end == End::Failed {
            attributes.text("error.type", answer.status.to_string());
        }
        let own = |content: &Option<ledger::content::Content>| {
            content.as_ref().map(|content| self.talk.text(content)).transpose()
        };
        attributes.some("gen_ai.response.id", own(&answer.answer_id)?);
        if let Some(stop) = own(&answer.stop)? {
            attributes.texts("gen_ai.response.finish_reasons", &[stop]);
        }
        if let Some(counts) = talk::counts(request) {
            attributes.number("gen_ai.usage.input_tokens", counts.input);
            attributes.number("gen_ai.usage.output_tokens", counts.output);
            attributes.number("gen_ai.usage.cache_read.input_tokens", counts.cache_read);
            attributes.number("gen_ai.usage.cache_creation.input_tokens", counts.cache_write);
            attributes.number("gen_ai.usage.reasoning.output_tokens", counts.reasoning);
        }
        Ok(())
    }

    fn content(
        &mut self,
        request: &Request,
        attributes: &mut Attributes,
    ) -> Result<(), ExportError> {
        let frame = self.talk.frame(request)?;
        if let Some(system) = frame.system {
            let parts = json!([{ "type": "text", "content": system }]);
            attributes.text("gen_ai.system_instructions", parts.to_string());
        }
        if !frame.tools.is_empty() {
            attributes.text("gen_ai.tool.definitions", text_of(&frame.tools)?);
        }
        let messages = self.talk.messages(request.captured.request)?;
        let input: Vec<Told<'_>> = messages.iter().map(|message| told(message)).collect();
        let unsplit = request.captured.unsplit.is_some();
        self.exported.leave("message list of a body that could not be split", u64::from(unsplit));
        attributes.text("gen_ai.input.messages", text_of(&input)?);
        let pieces = self.talk.answer(request)?;
        if !pieces.is_empty() {
            let other = pieces.iter().filter(|piece| **piece == Piece::Other).count();
            self.exported.leave("piece of an answer that is no text", other as u64);
            let answer = request.answer.as_ref().and_then(|(_, answer)| answer.stop.as_ref());
            let stop = answer.map(|stop| self.talk.text(stop)).transpose()?.unwrap_or_default();
            let parts = pieces.iter().filter_map(part).collect();
            let output = [Told { role: "assistant", parts, finish_reason: Some(finish(&stop)) }];
            attributes.text("gen_ai.output.messages", text_of(&output)?);
        }
        Ok(())
    }

    /// The spans of the calls that an answer asks for.
    fn calls(&mut self, request: &Request) -> Result<Vec<Span>, ExportError> {
        let mut spans = Vec::new();
        for piece in self.talk.answer(request)? {
            let Piece::Call(called) = piece else { continue };
            let mut attributes = self.about(request.session(), "execute_tool");
            attributes.text("gen_ai.tool.name", called.name.clone());
            attributes.text("gen_ai.tool.type", "function");
            attributes.some("gen_ai.tool.call.id", Some(called.id).filter(|id| !id.is_empty()));
            if self.content == Content::With {
                attributes.text("gen_ai.tool.call.arguments", called.arguments);
                let result = called.call.map(|call| self.whole(call)).transpose()?.flatten();
                attributes.some("gen_ai.tool.call.result", result);
            }
            let number = called.call.map_or(u64::MAX, |call| u64::from(call.number()));
            let id = self.ids.span("call", number);
            let name = format!("execute_tool {}", called.name);
            spans.push(Span {
                parent_span_id: Some(self.agent(request.session())),
                ..self.span(id, name, INTERNAL, [self.now, self.now], attributes)
            });
        }
        Ok(spans)
    }

    /// The output of a call where it is known to be whole. What only the model's view shows
    /// stands in the messages and is no result of the tool.
    fn whole(&self, call: ToolCallId) -> Result<Option<String>, ExportError> {
        let Some(call) = self.recording.history().call(call) else { return Ok(None) };
        if let Some(found) = call.found(0).filter(|it| it.dropped == Dropped::Bytes(0)) {
            let piece = found.pieces.first().map(|piece| self.talk.text(&piece.text));
            return Ok(piece.transpose()?);
        }
        let known = call.dropped == Dropped::Bytes(0);
        let only = call.output.as_deref().filter(|_| known).and_then(|texts| match texts {
            [only] => Some(&only.text),
            _ => None,
        });
        Ok(only.map(|text| self.talk.text(text)).transpose()?)
    }
}

fn text_of(value: &impl Serialize) -> Result<String, ExportError> {
    Ok(serde_json::to_string(value).map_err(std::io::Error::from)?)
}

/// The conventions' name of a provider's format.
fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::AnthropicMessages => "anthropic",
        Dialect::OpenAiChat | Dialect::OpenAiResponses => "openai",
        Dialect::GeminiGenerate => "gcp.gemini",
    }
}

/// The conventions' word for why a model stopped.
fn finish(stop: &str) -> String {
    let word = stop.to_ascii_lowercase();
    match word.as_str() {
        "" | "end_turn" | "stop" | "stop_sequence" | "completed" => "stop".to_owned(),
        "max_tokens" | "length" | "incomplete" => "length".to_owned(),
        "tool_use" | "tool_calls" | "function_call" => "tool_call".to_owned(),
        "content_filter" | "refusal" | "safety" => "content_filter".to_owned(),
        _ => word,
    }
}

#[derive(Serialize)]
struct Told<'m> {
    role: &'static str,
    parts: Vec<Part<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<String>,
}

#[derive(Serialize, Default)]
struct Part<'m> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'m str>,
    /// As the model gave them: a value keeps its digits and the order of its members.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Value>,
}

fn told(message: &Message) -> Told<'_> {
    let role = match message.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::User | Role::Unknown => "user",
    };
    Told { role, parts: message.pieces.iter().filter_map(part).collect(), finish_reason: None }
}

/// A piece as a part; what is no text has none.
fn part(piece: &Piece) -> Option<Part<'_>> {
    Some(match piece {
        Piece::Text(text) => Part { r#type: "text", content: Some(text), ..Part::default() },
        Piece::Thinking(text) => {
            Part { r#type: "reasoning", content: Some(text), ..Part::default() }
        }
        Piece::Call(call) => {
            let own = serde_json::from_str::<Box<RawValue>>(&call.arguments);
            let quoted = || serde_json::value::to_raw_value(&call.arguments);
            Part {
                r#type: "tool_call",
                id: Some(&call.id),
                name: Some(&call.name),
                arguments: own.or_else(|_no_json| quoted()).ok(),
                ..Part::default()
            }
        }
        Piece::Result(result) => {
            let response = match result.texts.as_slice() {
                [only] => Value::from(only.as_str()),
                several => Value::from(several),
            };
            Part {
                r#type: "tool_call_response",
                id: Some(&result.id),
                response: Some(response),
                ..Part::default()
            }
        }
        Piece::Other => return None,
    })
}
