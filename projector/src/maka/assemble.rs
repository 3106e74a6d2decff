//! From the replay plan to messages: one assistant message for each step of the model, then one
//! tool message for each result, in the order of the calls.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::json::Json;
use super::plan::{Item, Kind, Plan};
use super::text::Text;

/// A result as the provider library wants it: text where it is a string, JSON where it can be,
/// with the failing kinds for a failure.
pub fn wrap(output: &Json, is_error: bool) -> Json {
    let (kind, value) = match (output, is_error) {
        (Json::String(_), true) => ("error-text", output.clone()),
        (Json::String(_), false) => ("text", output.clone()),
        (Json::Undefined, true) => ("error-text", Json::string("undefined")),
        (Json::Undefined, false) => ("text", Json::string("undefined")),
        (_, true) => ("error-json", output.clone()),
        (_, false) => ("json", output.clone()),
    };
    Json::object([("type", Json::string(kind)), ("value", value)])
}

/// Calls of one step that wait for its text.
#[derive(Default)]
struct Pending<'p> {
    step: Option<Text>,
    calls: Vec<&'p Item>,
}

/// Makes the messages. A result without its call is left out.
pub fn messages(plan: &Plan) -> Vec<Json> {
    let mut results: BTreeMap<&Text, Vec<&Item>> = BTreeMap::new();
    let mut thoughts: Vec<&Item> = Vec::new();
    for item in &plan.items {
        if let Kind::Result { call_id, .. } = &item.kind {
            results.entry(call_id).or_default().push(item);
        }
    }
    for list in results.values_mut() {
        list.reverse();
    }
    let mut out = Vec::new();
    let mut pending = Pending::default();
    for (place, item) in plan.items.iter().enumerate() {
        match &item.kind {
            Kind::Result { .. } => {}
            Kind::Thinking { .. } => {
                let closes = later_in_step(plan, place, item.step.as_ref());
                if closes {
                    thoughts.push(item);
                } else {
                    pending.flush(&mut thoughts, None, &mut results, &mut out);
                    out.push(assistant(alloc::vec![reasoning(item)]));
                }
            }
            Kind::Call { .. } => {
                if !pending.calls.is_empty() && pending.step != item.step {
                    pending.flush(&mut thoughts, None, &mut results, &mut out);
                }
                pending.step.clone_from(&item.step);
                pending.calls.push(item);
            }
            Kind::Text { role: "assistant", text } => {
                let closes = item.step.is_some() && pending.step == item.step;
                let alone =
                    item.step.is_none() || (pending.calls.is_empty() && thoughts.is_empty());
                if !closes {
                    pending.flush(&mut thoughts, None, &mut results, &mut out);
                }
                if alone {
                    out.push(message("assistant", Json::String(text.clone())));
                } else {
                    pending.step.clone_from(&item.step);
                    pending.flush(&mut thoughts, Some(text), &mut results, &mut out);
                }
            }
            Kind::Text { role, text } => {
                pending.flush(&mut thoughts, None, &mut results, &mut out);
                out.push(message(role, Json::String(text.clone())));
            }
        }
    }
    pending.flush(&mut thoughts, None, &mut results, &mut out);
    out
}

/// True when something else of the step comes before or behind it.
fn later_in_step(plan: &Plan, place: usize, step: Option<&Text>) -> bool {
    let others = plan.items.iter().enumerate().filter(|(other, _)| *other != place);
    step.is_some() && others.map(|(_, item)| item.step.as_ref()).any(|other| other == step)
}

impl Pending<'_> {
    /// Writes the step: thoughts, what the provider ran, the text, the calls, then the results.
    fn flush(
        &mut self,
        thoughts: &mut Vec<&Item>,
        text: Option<&Text>,
        results: &mut BTreeMap<&Text, Vec<&Item>>,
        out: &mut Vec<Json>,
    ) {
        let calls = core::mem::take(&mut self.calls);
        let step = self.step.take();
        if calls.is_empty() && text.is_none() {
            return;
        }
        let own = |item: &&Item| item.step.is_some() && item.step == step;
        let mut parts: Vec<Json> =
            thoughts.iter().filter(|item| own(item)).map(|item| reasoning(item)).collect();
        thoughts.retain(|item| !own(item));
        let mut behind = Vec::new();
        let mut client = Vec::new();
        for item in calls {
            let Kind::Call { call_id, by_provider, .. } = &item.kind else { continue };
            let result = results.get_mut(call_id).and_then(Vec::pop);
            if *by_provider {
                parts.push(call(item));
                parts.extend(result.map(tool_result));
            } else {
                client.push(call(item));
                behind.extend(
                    result.map(|result| {
                        message("tool", Json::Array(alloc::vec![tool_result(result)]))
                    }),
                );
            }
        }
        parts.extend(text.map(|text| {
            let text = Json::String(text.clone());
            Json::object([("type", Json::string("text")), ("text", text)])
        }));
        parts.extend(client);
        out.push(assistant(parts));
        out.extend(behind);
    }
}

fn message(role: &str, content: Json) -> Json {
    Json::object([("role", Json::string(role)), ("content", content)])
}

fn assistant(parts: Vec<Json>) -> Json {
    message("assistant", Json::Array(parts))
}

fn reasoning(item: &Item) -> Json {
    let Kind::Thinking { text, signature } = &item.kind else { return Json::Undefined };
    let options = signature.as_ref().map_or(Json::Undefined, |signature| {
        let signature = Json::object([("signature", Json::String(signature.clone()))]);
        Json::object([("anthropic", signature)])
    });
    Json::object([
        ("type", Json::string("reasoning")),
        ("text", Json::String(text.clone())),
        ("providerOptions", options),
    ])
}

fn call(item: &Item) -> Json {
    let Kind::Call { call_id, tool, input, by_provider } = &item.kind else {
        return Json::Undefined;
    };
    Json::object([
        ("type", Json::string("tool-call")),
        ("toolCallId", Json::String(call_id.clone())),
        ("toolName", Json::String(tool.clone())),
        ("input", input.clone()),
        ("providerExecuted", if *by_provider { Json::Bool(true) } else { Json::Undefined }),
    ])
}

fn tool_result(item: &Item) -> Json {
    let Kind::Result { call_id, tool, output, is_error, .. } = &item.kind else {
        return Json::Undefined;
    };
    Json::object([
        ("type", Json::string("tool-result")),
        ("toolCallId", Json::String(call_id.clone())),
        ("toolName", Json::String(tool.clone())),
        ("output", wrap(output, *is_error)),
    ])
}
