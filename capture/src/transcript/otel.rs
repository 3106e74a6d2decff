//! Traces of OpenTelemetry in OTLP's JSON: spans of model calls and of tools, by the conventions
//! for generative AI, by those of `OpenLLMetry` (`gen_ai.prompt.N`) and of `OpenInference`
//! (`llm.input_messages.N`).

use std::collections::BTreeMap;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, with_document};
use super::chat::{self, Call, Counts, Listed, Said, said};
use super::json::{self, Json, Value};
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Tag};

pub(super) struct OtelTrace;

fn is_export(json: &Json<'_>) -> bool {
    json.get("resourceSpans").or_else(|| json.get("resource_spans")).is_some_and(Json::is_list)
}

impl Adapter for OtelTrace {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        #[cfg(feature = "protobuf")]
        if super::protobuf::begins(look.bytes) && !look.bytes.starts_with(b"\n{") {
            return look.records.is_empty() && super::protobuf::to_json(look.bytes).is_some();
        }
        look.any(is_export) || look.document.is_some_and(is_export)
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut traces = Traces::default();
        #[cfg(feature = "protobuf")]
        if super::protobuf::begins(source.reader.fill_buf()?) {
            let bytes = super::adapter::document(source.reader)?;
            let Some(json) = super::protobuf::to_json(&bytes) else {
                return super::adapter::unread_document(&bytes, scribe);
            };
            if let Some(document) = json::whole(&json) {
                spans(&document, &mut traces, scribe)?;
            }
            return traces.end(scribe);
        }
        if source.is_lines {
            fold_lines(source.reader, &mut At::default(), scribe, &mut traces)?;
        } else {
            with_document(source, scribe, &mut |document, scribe| {
                spans(document, &mut traces, scribe)
            })?;
        }
        traces.end(scribe)
    }
}

/// Every span of an export as a row of its own.
fn spans(document: &Json<'_>, traces: &mut Traces, scribe: &mut Scribe) -> Result<(), Stop> {
    let mut index = 0;
    let resources = ["resourceSpans", "resource_spans"];
    for resource in resources.iter().flat_map(|name| document.items(name)) {
        for scope in ["scopeSpans", "scope_spans"].iter().flat_map(|name| resource.items(name)) {
            for span in scope.items("spans") {
                let row = Row { index, offset: 0, raw: span.raw, read: Ok(span) };
                let fate = traces.span(&row, span);
                scribe.account(&row, fate)?;
                index += 1;
            }
        }
    }
    Ok(())
}

/// A span of a model call, waiting for its place in time.
#[derive(Debug)]
struct Asked {
    conversation: String,
    start: u64,
    model: Option<String>,
    id: Option<String>,
    finish: Option<String>,
    system: Option<String>,
    tools: Option<Vec<u8>>,
    input: Vec<Said>,
    output: Vec<Said>,
    counts: Counts,
    /// Content that a limit has cut was left out of it.
    is_cut: bool,
}

#[derive(Debug, Default)]
struct Traces {
    asked: Vec<Asked>,
    /// What tools returned: the id of the call and the text.
    returned: Vec<(String, String)>,
}

impl Fold for Traces {
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if !is_export(json) {
            return Ok(Fate::Unknown("record that is no export"));
        }
        let mut unknown = Fate::Used;
        for name in ["resourceSpans", "resource_spans"] {
            for resource in json.items(name) {
                for scope in ["scopeSpans", "scope_spans"].iter().flat_map(|it| resource.items(it))
                {
                    for span in scope.items("spans") {
                        if !matches!(self.span(row, span), Fate::Used) {
                            unknown = Fate::Aside("export with spans that are no model call");
                        }
                    }
                }
            }
        }
        let _ = scribe;
        Ok(unknown)
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut asked = core::mem::take(&mut self.asked);
        asked.sort_by_key(|asked| asked.start);
        let mut talks: BTreeMap<String, Listed> = BTreeMap::new();
        for asked in asked {
            if !talks.contains_key(&asked.conversation) {
                let listed = Listed::open(scribe, None, Some(&asked.conversation))?;
                talks.insert(asked.conversation.clone(), listed);
            }
            let Some(listed) = talks.get_mut(&asked.conversation) else { continue };
            listed.setting.model.clone_from(&asked.model);
            if let Some(tools) = &asked.tools {
                listed.setting.set("tools", tools.clone());
            }
            let system =
                asked.system.map(|text| Said { role: "system".into(), text, ..Said::default() });
            let messages: Vec<(Tag, Vec<u8>)> =
                system.iter().chain(&asked.input).map(|it| (it.tag(), it.item())).collect();
            let said = asked.output.into_iter().next();
            let answer = said.map(|said| {
                let said = Said { role: "assistant".into(), ..said };
                chat::answer(
                    asked.id.as_deref(),
                    asked.model.as_deref(),
                    &said.item(),
                    asked.finish.as_deref(),
                    asked.counts,
                )
            });
            let talk = listed.talk();
            scribe.missing(talk, asked.is_cut);
            listed.exchange(scribe, &messages, answer.as_deref())?;
            self.returned.retain(|(call, text)| {
                let known = scribe.call(talk, call).is_some();
                if known {
                    scribe.found(talk, call, 0, text.clone());
                }
                !known
            });
        }
        scribe.tally.outputs_without_call += core::mem::take(&mut self.returned).len() as u64;
        Ok(())
    }
}

impl Traces {
    fn span(&mut self, row: &Row<'_>, span: &Json<'_>) -> Fate {
        let attributes = Attributes::of(span);
        let operation = attributes.text(&[
            "gen_ai.operation.name",
            "openinference.span.kind",
            "traceloop.span.kind",
            "llm.request.type",
        ]);
        let operation = operation.unwrap_or_default().to_ascii_lowercase();
        if operation == "execute_tool" || operation == "tool" {
            return self.tool(&attributes);
        }
        let asks = matches!(
            operation.as_str(),
            "chat" | "text_completion" | "generate_content" | "llm" | "completion" | "responses"
        );
        let input = attributes
            .messages(&["gen_ai.input.messages"], &["gen_ai.prompt.", "llm.input_messages."]);
        let events = event_messages(span);
        let told = matches!(&input, Some(input) if input.is_empty());
        if !asks && told && events.0.is_empty() {
            return Fate::Aside("span that is no model call");
        }
        let output = attributes
            .messages(&["gen_ai.output.messages"], &["gen_ai.completion.", "llm.output_messages."]);
        let is_cut = input.is_none() || output.is_none();
        let or_events = |own: Option<Vec<Said>>, events: Vec<Said>| {
            own.filter(|own| !own.is_empty()).unwrap_or(events)
        };
        let (input, output) = (or_events(input, events.0), or_events(output, events.1));
        let system =
            attributes.text(&["gen_ai.system_instructions"]).map(|text| instructions(&text));
        if input.is_empty() && system.is_none() && output.is_empty() && !is_cut {
            return Fate::Aside("model call whose content was not recorded");
        }
        self.asked.push(asked(row, span, &attributes, [input, output], system, is_cut));
        if is_cut { Fate::Aside("model call whose content a limit has cut") } else { Fate::Used }
    }

    fn tool(&mut self, attributes: &Attributes) -> Fate {
        let call = attributes.text(&["gen_ai.tool.call.id", "tool_call.id", "tool.call.id"]);
        let text = attributes.text(&[
            "gen_ai.tool.call.result",
            "gen_ai.tool.output",
            "output.value",
            "traceloop.entity.output",
        ]);
        match (call, text) {
            (Some(call), Some(text)) => {
                // Whether its call is in the export is known at the end.
                self.returned.push((call, text));
                Fate::Aside("what a tool returned, by its own account")
            }
            _ => Fate::Aside("span of a tool without a call or a result"),
        }
    }
}

/// The model call of a span.
fn asked(
    row: &Row<'_>,
    span: &Json<'_>,
    attributes: &Attributes,
    [input, output]: [Vec<Said>; 2],
    system: Option<String>,
    is_cut: bool,
) -> Asked {
    let count = |names: &[&str]| attributes.number(names);
    let trace = span.str("traceId").unwrap_or_default();
    let conversation = attributes
        .text(&["gen_ai.conversation.id", "session.id", "thread_id"])
        .unwrap_or_else(|| format!("{trace}/{}", span.str("parentSpanId").unwrap_or_default()));
    let tools = attributes.text(&["gen_ai.tool.definitions", "llm.tools"]);
    Asked {
        conversation,
        start: start(span).unwrap_or(row.index),
        model: attributes.text(&[
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
        ]),
        id: attributes.text(&["gen_ai.response.id"]),
        finish: attributes
            .text(&["gen_ai.response.finish_reasons"])
            .map(|text| text.trim_matches(['[', ']', '"']).to_owned()),
        system,
        tools: tools
            .filter(|text| json::whole(text.as_bytes()).is_some_and(|it| it.is_list()))
            .map(String::into_bytes),
        input,
        output,
        is_cut,
        counts: Counts {
            input: count(&[
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.prompt_tokens",
                "llm.token_count.prompt",
            ]),
            output: count(&[
                "gen_ai.usage.output_tokens",
                "gen_ai.usage.completion_tokens",
                "llm.token_count.completion",
            ]),
            cached: count(&[
                "gen_ai.usage.cache_read.input_tokens",
                "gen_ai.usage.cache_read_input_tokens",
            ]),
        },
    }
}

fn start(span: &Json<'_>) -> Option<u64> {
    let start = span.get("startTimeUnixNano").or_else(|| span.get("start_time_unix_nano"))?;
    start.count().or_else(|| start.text()?.parse().ok())
}

/// System instructions: a text, or parts with texts.
fn instructions(text: &str) -> String {
    match json::whole(text.as_bytes()) {
        Some(parts) if parts.is_list() => {
            let texts = parts
                .list()
                .iter()
                .filter_map(|part| part.str("content").or_else(|| part.str("text")));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => text.to_owned(),
    }
}

/// Messages in events of the older conventions: what went in, and what came out.
fn event_messages(span: &Json<'_>) -> (Vec<Said>, Vec<Said>) {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    for event in span.items("events") {
        let name = event.str("name").unwrap_or_default();
        let attributes = Attributes::of(event);
        let Some(role) = name.strip_prefix("gen_ai.").and_then(|it| it.strip_suffix(".message"))
        else {
            if name == "gen_ai.choice" {
                output.extend(attributes.said("assistant"));
            }
            if name == "gen_ai.client.inference.operation.details" {
                let messages = |name| attributes.messages(&[name], &[]).unwrap_or_default();
                input.extend(messages("gen_ai.input.messages"));
                output.extend(messages("gen_ai.output.messages"));
            }
            continue;
        };
        input.extend(attributes.said(role));
    }
    (input, output)
}

/// Attributes by name; values that are no text are kept as JSON.
#[derive(Debug, Default)]
struct Attributes(BTreeMap<String, String>);

impl Attributes {
    fn of(span: &Json<'_>) -> Self {
        let mut own = BTreeMap::new();
        for attribute in span.items("attributes") {
            if let (Some(key), Some(value)) = (attribute.str("key"), attribute.get("value")) {
                own.insert(key.to_owned(), plain(value));
            }
        }
        // Some exporters write a map.
        if let Some(Value::Object(members)) = span.get("attributes").map(|it| &it.value) {
            for (key, value) in members {
                own.insert(key.to_string(), chat::text_or_json(value));
            }
        }
        Self(own)
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.0.get(*name)).filter(|text| !text.is_empty()).cloned()
    }

    fn number(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.0.get(*name)?.parse().ok())
    }

    /// Messages: a JSON list under one name, or attributes with numbers in their names. `None`
    /// where a limit has cut the list, so that it is no JSON and there is none to speak of.
    fn messages(&self, whole: &[&str], numbered: &[&str]) -> Option<Vec<Said>> {
        if let Some(text) = self.text(whole) {
            let list = json::whole(text.as_bytes())?;
            return Some(list.list().iter().flat_map(said).collect());
        }
        let found = numbered.iter().map(|prefix| self.numbered(prefix));
        Some(found.into_iter().find(|it| !it.is_empty()).unwrap_or_default())
    }

    fn numbered(&self, prefix: &str) -> Vec<Said> {
        let mut found: BTreeMap<u64, BTreeMap<String, &str>> = BTreeMap::new();
        for (key, value) in self.0.range(prefix.to_owned()..) {
            let Some(rest) = key.strip_prefix(prefix) else { break };
            let Some((number, name)) = rest.split_once('.') else { continue };
            let Ok(number) = number.parse() else { continue };
            let name = name.strip_prefix("message.").unwrap_or(name);
            found.entry(number).or_default().insert(name.to_owned(), value);
        }
        found.into_values().map(|members| of_members(&members)).collect()
    }

    /// The message of an event.
    fn said(&self, role: &str) -> Vec<Said> {
        let content =
            self.text(&["content", "message", "gen_ai.event.content"]).unwrap_or_default();
        if let Some(message) = json::whole(content.as_bytes()).filter(Json::is_object) {
            return said(&message);
        }
        let result_of = self.text(&["id"]).filter(|_| role == "tool");
        vec![Said { role: role.to_owned(), text: content, result_of, ..Said::default() }]
    }
}

fn of_members(members: &BTreeMap<String, &str>) -> Said {
    let own = |name: &str| members.get(name).map(|text| (*text).to_owned());
    let mut calls: BTreeMap<u64, Call> = BTreeMap::new();
    for (name, value) in members {
        let Some(rest) = name.strip_prefix("tool_calls.") else { continue };
        let Some((number, name)) = rest.split_once('.') else { continue };
        let Ok(number) = number.parse() else { continue };
        let blank = Call { id: String::new(), name: String::new(), arguments: "{}".into() };
        let call = calls.entry(number).or_insert(blank);
        match name.rsplit('.').next() {
            Some("id") => (*value).clone_into(&mut call.id),
            Some("name") => (*value).clone_into(&mut call.name),
            Some("arguments") => (*value).clone_into(&mut call.arguments),
            _ => {}
        }
    }
    let role = own("role").unwrap_or_else(|| "user".to_owned());
    Said {
        text: own("content").unwrap_or_default(),
        reasoning: String::new(),
        calls: calls.into_values().collect(),
        result_of: own("tool_call_id").or_else(|| (role == "tool").then(String::new)),
        role,
    }
}

/// An attribute's value: a text as it is, a list or map as JSON.
fn plain(value: &Json<'_>) -> String {
    for name in ["stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"] {
        if let Some(value) = value.get(name) {
            return chat::text_or_json(value);
        }
    }
    let mut out = Vec::new();
    write(value, 0, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes an `AnyValue` as the JSON that it stands for.
fn write(value: &Json<'_>, depth: usize, out: &mut Vec<u8>) {
    const DEPTH_MAX: usize = 64;
    if let Some(text) = value.str("stringValue") {
        return json::write_text(text, out);
    }
    if let Some(number) = value.get("intValue") {
        return out.extend_from_slice(chat::text_or_json(number).as_bytes());
    }
    let plain = ["doubleValue", "boolValue"].iter().find_map(|name| value.get(name));
    if let Some(plain) = plain {
        return out.extend_from_slice(plain.raw);
    }
    let list = value.at(&["arrayValue", "values"]);
    if let Some(list) = list.filter(|_| depth < DEPTH_MAX) {
        out.push(b'[');
        for (index, value) in list.list().iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(value, depth + 1, out);
        }
        return out.push(b']');
    }
    let map = value.at(&["kvlistValue", "values"]);
    if let Some(map) = map.filter(|_| depth < DEPTH_MAX) {
        out.push(b'{');
        for (index, pair) in map.list().iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            json::write_text(pair.str("key").unwrap_or_default(), out);
            out.push(b':');
            match pair.get("value") {
                Some(value) => write(value, depth + 1, out),
                None => out.extend_from_slice(b"null"),
            }
        }
        return out.push(b'}');
    }
    out.extend_from_slice(b"null");
}
