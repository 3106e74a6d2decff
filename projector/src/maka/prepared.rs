//! The source's capture of a prepared request: the text that it keeps, its hash, its segments,
//! and a second hash that does not depend on the provider's protocol.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::json::{Json, Object};
use super::number::Number;
use super::ruler::wide;
use super::stable;
use super::text::Text;

/// What goes to the provider.
#[derive(Clone, Copy, Debug)]
pub struct Prepared<'a> {
    /// The provider.
    pub provider: &'a Text,
    /// The model.
    pub model: &'a Text,
    /// Instructions: one, an array of them, or no value.
    pub instructions: &'a Json,
    /// The messages.
    pub messages: &'a [Json],
    /// The tools.
    pub tools: &'a [Json],
    /// Options of the provider; no value if there are none.
    pub provider_options: &'a Json,
}

/// A part of the request that a provider may keep in its cache, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// `tool_schema`, `system_prompt`, `message` or `provider_options`.
    pub kind: &'static str,
    /// Its place among those of its kind.
    pub index: u64,
    /// A cache may hold it.
    pub cacheable: bool,
    /// The hash of its canonical text.
    pub hash: String,
    /// UTF-8 bytes of its canonical text.
    pub bytes: u64,
    /// The role of a message.
    pub role: Option<Text>,
    /// The name of a tool.
    pub label: Option<Text>,
}

/// The capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The hash of provider, model and payload.
    pub request_hash: String,
    /// The hash of the payload without what only one protocol has.
    pub protocol_free_hash: String,
    /// The payload as it is kept: members in their order.
    pub serialized: Text,
    /// UTF-8 bytes of the kept text.
    pub bytes: u64,
    /// Its segments.
    pub segments: Vec<Segment>,
}

/// Captures a request.
pub fn capture(request: Prepared<'_>) -> Capture {
    let or_empty = |value: &Json| match value {
        Json::Undefined => Json::Object(Object::default()),
        other => other.clone(),
    };
    let payload = Json::object([
        ("instructions", request.instructions.clone()),
        ("messages", Json::Array(request.messages.to_vec())),
        ("tools", Json::Array(request.tools.to_vec())),
        ("providerOptions", or_empty(request.provider_options)),
    ]);
    let serialized = payload.stringify().unwrap_or_default();
    let identity = Json::object([
        ("providerId", Json::String(request.provider.clone())),
        ("modelId", Json::String(request.model.clone())),
        ("payload", payload.clone()),
    ]);
    Capture {
        request_hash: stable::hash(&identity),
        protocol_free_hash: stable::hash(&protocol_free(&payload)),
        bytes: wide(serialized.utf8_bytes()),
        serialized,
        segments: segments(request),
    }
}

fn segments(request: Prepared<'_>) -> Vec<Segment> {
    let text = |value: &Json, name: &str| value.get(name).and_then(Json::as_text).cloned();
    let mut out = Vec::new();
    for (index, tool) in request.tools.iter().enumerate() {
        let label = text(tool, "name").filter(|name| !name.is_empty());
        out.push(Segment { label, ..segment("tool_schema", index, tool) });
    }
    match request.instructions {
        Json::Undefined => {}
        Json::Array(all) => {
            let all = all.iter().enumerate();
            out.extend(all.map(|(index, one)| segment("system_prompt", index, one)));
        }
        one => out.push(segment("system_prompt", 0, one)),
    }
    for (index, message) in request.messages.iter().enumerate() {
        out.push(Segment { role: text(message, "role"), ..segment("message", index, message) });
    }
    if *request.provider_options != Json::Undefined {
        let options = segment("provider_options", 0, request.provider_options);
        out.push(Segment { cacheable: false, ..options });
    }
    out
}

fn segment(kind: &'static str, index: usize, value: &Json) -> Segment {
    Segment {
        kind,
        index: wide(index),
        cacheable: true,
        hash: stable::hash(value),
        bytes: wide(stable::stringify(value).utf8_bytes()),
        role: None,
        label: None,
    }
}

/// The first segment that a cache may hold and that is not as before; a longer list changes at
/// its end.
pub fn first_changed<'s>(now: &'s [Segment], before: &'s [Segment]) -> Option<&'s Segment> {
    let mut now = now.iter().filter(|segment| segment.cacheable);
    let mut before = before.iter().filter(|segment| segment.cacheable);
    let key = |segment: &'s Segment| (segment.kind, segment.index, &segment.hash);
    loop {
        let (left, right) = (now.next(), before.next());
        if left.map(key) != right.map(key) {
            return left.or(right);
        }
        left?;
    }
}

/// Ids that only one run has, as numbers of their order.
#[derive(Default)]
struct Ids {
    calls: BTreeMap<Text, Text>,
    approvals: BTreeMap<Text, Text>,
}

fn numbered(value: Option<&Json>, ids: &mut BTreeMap<Text, Text>, prefix: &str) -> Option<Json> {
    let value = value?;
    let Some(id) = value.as_text() else { return Some(value.clone()) };
    let next = ids.len() + 1;
    let name = ids.entry(id.clone());
    let name = name.or_insert_with(|| Text::from(alloc::format!("{prefix}-{next}")));
    Some(Json::String(name.clone()))
}

/// The payload without what only one protocol has.
pub fn protocol_free(payload: &Json) -> Json {
    let Some(object) = payload.as_object() else { return payload.clone() };
    let options = object.get("providerOptions");
    let mut ids = Ids::default();
    let mut out = object.without(&["providerOptions"]);
    for name in ["prompt", "messages"] {
        if let Some(messages) = object.get(name).and_then(Json::as_items) {
            let messages = messages.iter().map(|it| protocol_free_message(it, &mut ids)).collect();
            out = out.with(name, Json::Array(messages));
        }
    }
    if let Some(tools) = object.get("tools").and_then(Json::as_items) {
        out = out.with("tools", Json::Array(tools.iter().map(without_options).collect()));
    }
    if let Some(effort) = options.and_then(reasoning_effort) {
        out = out.with("reasoningEffort", effort);
    }
    let budget = options.and_then(thinking_budget);
    let limit = out.get("maxOutputTokens").and_then(safe_natural);
    if let (Some(budget), Some(limit)) = (budget, limit) {
        let sum = limit + budget;
        if sum < 1 << 53 {
            out = out.with("maxOutputTokens", Json::natural(sum));
        }
    }
    Json::Object(out)
}

fn without_options(value: &Json) -> Json {
    match value {
        Json::Object(object) => Json::Object(object.without(&["providerOptions"])),
        other => other.clone(),
    }
}

fn protocol_free_message(message: &Json, ids: &mut Ids) -> Json {
    let message = without_options(message);
    let Json::Object(object) = &message else { return message };
    let Some(parts) = object.get("content").and_then(Json::as_items) else { return message };
    let parts = parts.iter().map(|part| protocol_free_part(part, ids)).collect();
    Json::Object(object.clone().with("content", Json::Array(parts)))
}

fn protocol_free_part(part: &Json, ids: &mut Ids) -> Json {
    let part = without_options(part);
    let Json::Object(object) = &part else { return part };
    let kind = object.get("type").and_then(Json::as_text).map(Text::to_utf8).unwrap_or_default();
    let (gone, has_approval, has_call): (&[&str], bool, bool) = match kind.as_str() {
        "tool-call" => (&["providerExecuted"], false, true),
        "tool-approval-request" => (&["isAutomatic", "signature"], true, true),
        "tool-approval-response" => (&["providerExecuted"], true, false),
        "tool-result" => (&[], false, true),
        _ => return part,
    };
    let mut out = object.without(gone);
    if has_approval {
        let id = numbered(object.get("approvalId"), &mut ids.approvals, "approval");
        out = out.with("approvalId", id.unwrap_or(Json::Undefined));
    }
    if has_call {
        let id = numbered(object.get("toolCallId"), &mut ids.calls, "tool-call");
        out = out.with("toolCallId", id.unwrap_or(Json::Undefined));
    }
    if kind == "tool-result" {
        let output = object.get("output").map_or(Json::Undefined, without_options);
        out = out.with("output", protocol_free_output(output));
    }
    Json::Object(out)
}

fn protocol_free_output(output: Json) -> Json {
    let is_content = output.get("type").and_then(Json::as_text).is_some_and(|it| *it == "content");
    let items = output.get("value").and_then(Json::as_items).filter(|_| is_content);
    match (items, output.as_object()) {
        (Some(items), Some(object)) => {
            let items = items.iter().map(without_options).collect();
            Json::Object(object.clone().with("value", Json::Array(items)))
        }
        _ => output,
    }
}

/// How hard the model is asked to think, from whatever option says so.
fn reasoning_effort(options: &Json) -> Option<Json> {
    let text = |value: Option<&Json>| value.and_then(Json::as_text).cloned();
    let mut efforts = BTreeSet::new();
    efforts.extend(text(options.get("anthropic").and_then(|it| it.get("effort"))));
    for (_, space) in options.as_object()?.members() {
        efforts.extend(text(space.get("reasoningEffort")));
        let disabled = text(space.get("thinking").and_then(|it| it.get("type")));
        let config = space.get("thinkingConfig");
        efforts.extend(text(config.and_then(|it| it.get("thinkingLevel"))));
        let no_budget = config.and_then(|it| it.get("thinkingBudget"));
        let template = space.get("chat_template_kwargs").and_then(|it| it.get("thinking"));
        let none = disabled.is_some_and(|it| it == "disabled")
            || no_budget.and_then(Json::as_number) == Some(Number::ZERO)
            || template == Some(&Json::Bool(false));
        efforts.extend(none.then(|| Text::from("none")));
    }
    let mut efforts: Vec<Json> = efforts.into_iter().map(Json::String).collect();
    if efforts.len() > 1 { Some(Json::Array(efforts)) } else { efforts.pop() }
}

fn thinking_budget(options: &Json) -> Option<u64> {
    let thinking = options.get("anthropic")?.get("thinking")?;
    let enabled = thinking.get("type")?.as_text().is_some_and(|it| *it == "enabled");
    thinking.get("budgetTokens").and_then(safe_natural).filter(|_| enabled)
}

/// A natural number that a double holds exactly.
fn safe_natural(value: &Json) -> Option<u64> {
    value.as_number()?.to_u64().filter(|value| *value < 1 << 53)
}
