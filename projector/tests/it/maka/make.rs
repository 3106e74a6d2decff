//! Values and events for the tests.

use projector::maka::event::Event;
use projector::maka::json::Json;
use projector::maka::ruler::UnitsPerToken;
use projector::maka::text::Text;
use projector::maka::texts::{F19EEDE, Texts};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../../fixtures/vectors/source-vectors.json");

/// One list or object of the vectors.
pub(super) fn vectors(name: &str) -> Value {
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    all["vectors"][name].clone()
}

/// The same, read by our own reader: it keeps the order of members, which some hashes cover.
pub(super) fn source(name: &str) -> Json {
    let all = Json::parse_str(VECTORS).unwrap();
    all.get("vectors").unwrap().get(name).unwrap().clone()
}

/// The events of a case.
pub(super) fn source_events(name: &str) -> Vec<Event> {
    let events = source(name).get("events").unwrap().clone();
    events.as_items().unwrap().iter().map(|it| Event::from_json(it.clone()).unwrap()).collect()
}

pub(super) fn texts() -> Texts {
    Texts::from_toml(F19EEDE).unwrap()
}

pub(super) fn text(value: &str) -> Text {
    Text::from(value)
}

/// A value as the source reads it. The way goes over text, so that our reader is in it.
pub(super) fn json(value: &Value) -> Json {
    Json::parse_str(&value.to_string()).unwrap()
}

/// A value of ours as one of the vectors' reader, for comparing without order.
pub(super) fn value(json: &Json) -> Value {
    serde_json::from_str(&json.stringify().unwrap().to_utf8()).unwrap()
}

pub(super) fn event(value: &Value) -> Event {
    Event::from_json(json(value)).unwrap()
}

/// An event with what every event has.
pub(super) fn made(id: &str, turn: &str, role: &str, content: &Value) -> Event {
    event(&serde_json::json!({
        "id": id, "sessionId": "session-1", "runId": "run-1", "turnId": turn,
        "invocationId": "invocation-1", "ts": 1_800_000_000_000_u64, "partial": false,
        "role": role, "author": role, "content": content,
    }))
}

pub(super) fn said(id: &str, turn: &str, words: &str) -> Event {
    made(id, turn, "user", &serde_json::json!({"kind": "text", "text": words}))
}

pub(super) fn called(id: &str, turn: &str, call: &str, tool: &str) -> Event {
    let content = serde_json::json!({
        "kind": "function_call", "id": call, "name": tool, "args": {"path": "a"},
    });
    made(id, turn, "model", &content)
}

pub(super) fn answered(id: &str, turn: &str, call: &str, tool: &str, result: &Value) -> Event {
    let content = serde_json::json!({
        "kind": "function_response", "id": call, "name": tool, "result": result,
    });
    made(id, turn, "tool", &content)
}

pub(super) fn units(value: &Value) -> UnitsPerToken {
    let thousandths = value.as_f64().unwrap() * 1000.0;
    UnitsPerToken::per_mille(format!("{thousandths}").parse().unwrap())
}

pub(super) fn ids(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.id().to_utf8()).collect()
}

pub(super) fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}
