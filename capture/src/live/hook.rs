//! Messages of clients' tool hooks: which call they speak of, and what the tool gave.
//!
//! Codex and Claude Code send one shape, other clients close ones. What is not understood is kept
//! all the same; it is joined to no call.

use serde_json::Value;

/// Members that name the call, as it is named on the wire.
const CALL_IDS: [&str; 4] = ["tool_use_id", "tool_call_id", "call_id", "toolCallId"];
/// Members that hold what the tool gave.
const OUTPUTS: [&str; 3] = ["tool_response", "tool_output", "output"];
/// Members of an output that hold its text.
const TEXTS: [&str; 5] = ["stdout", "aggregated_output", "output", "text", "content"];

/// A message that speaks of a call's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The provider's id of the call.
    pub(super) call_id: Vec<u8>,
    /// What the tool gave, as the hook has it: clients cut here too, so nobody vouches for all.
    pub(super) text: String,
}

/// Reads a message; `None` where it speaks of no output.
pub(super) fn heard(message: &[u8]) -> Option<Heard> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let call_id = CALL_IDS.iter().find_map(|name| message.get(name)?.as_str())?;
    let output = OUTPUTS.iter().find_map(|name| message.get(name))?;
    let text = text(output).filter(|text| !text.is_empty())?;
    Some(Heard { call_id: call_id.as_bytes().to_vec(), text })
}

fn text(output: &Value) -> Option<String> {
    match output {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        Value::Object(members) => TEXTS.iter().find_map(|name| text(members.get(*name)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read_in_the_shapes_of_the_known_clients() {
        for (message, wanted) in [
            (r#"{"tool_use_id":"c","tool_response":"whole"}"#, Some("whole")),
            (r#"{"tool_use_id":"c","tool_response":{"stdout":"a","stderr":"b"}}"#, Some("a")),
            (r#"{"call_id":"c","output":{"content":[{"text":"a"},{"text":"b"}]}}"#, Some("ab")),
            (r#"{"tool_use_id":"c","tool_input":{"command":"ls"}}"#, None),
            (r#"{"tool_use_id":"c","tool_response":""}"#, None),
            (r#"{"tool_response":"x"}"#, None),
            ("no json", None),
        ] {
            let found = heard(message.as_bytes()).map(|heard| heard.text);
            assert_eq!(found.as_deref(), wanted, "{message}");
        }
    }
}
