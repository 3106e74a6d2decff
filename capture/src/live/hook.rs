//! Messages of clients' tool hooks: which call they speak of, and what the tool gave.
//!
//! Codex and Claude Code send one shape, other clients close ones; an agent that is spoken to over
//! the Agent Client Protocol tells it in an update. What is not understood is kept all the same;
//! it is joined to no call.

use serde_json::Value;

use crate::side::{Claim, ClaimText, Named, acp};

/// Members that name the call, as it is named on the wire.
const CALL_IDS: [&str; 4] = ["tool_use_id", "tool_call_id", "call_id", "toolCallId"];
/// Member that names the conversation; ids of calls repeat among several.
const SESSION_ID: &str = "session_id";
/// Members that hold what the tool gave.
const OUTPUTS: [&str; 3] = ["tool_response", "tool_output", "output"];
/// Members of an output that hold its text.
const TEXTS: [&str; 5] = ["stdout", "aggregated_output", "output", "text", "content"];

/// A message that speaks of a call's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// From a hook. Clients cut what they tell hooks, too, so nobody vouches for its end.
    Hook {
        /// The provider's id of the call.
        call_id: String,
        /// The client's id of the conversation.
        session: Option<String>,
        /// What the tool gave.
        text: String,
    },
    /// From an agent's update.
    Update(acp::Told),
}

impl Heard {
    /// Where it was heard.
    pub(super) fn source(&self) -> &'static str {
        match self {
            Self::Hook { .. } => "hook",
            Self::Update(_) => "acp",
        }
    }

    pub(super) fn claim(&self, record: u64) -> Claim<'_> {
        match self {
            Self::Hook { call_id, session, text } => {
                let call = Named::Id { call: call_id, session: session.as_deref() };
                Claim { call, record, text: ClaimText::Ends(text, "") }
            }
            Self::Update(told) => told.claim(record),
        }
    }

    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        match self.claim(0).text {
            ClaimText::Whole(text) => text.len(),
            ClaimText::Ends(head, tail) => head.len() + tail.len(),
        }
    }
}

/// Reads a message; `None` where it speaks of no output.
pub(super) fn heard(message: &[u8]) -> Option<Heard> {
    if let Ok(Some(told)) = acp::told(message) {
        return Some(Heard::Update(told));
    }
    let message: Value = serde_json::from_slice(message).ok()?;
    let call_id = CALL_IDS.iter().find_map(|name| message.get(name)?.as_str())?;
    let output = OUTPUTS.iter().find_map(|name| message.get(name))?;
    let text = text(output).filter(|text| !text.is_empty())?;
    let session = message.get(SESSION_ID).and_then(Value::as_str).map(str::to_owned);
    Some(Heard::Hook { call_id: call_id.to_owned(), session, text })
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
            let found = heard(message.as_bytes());
            let found = found.as_ref().map(|heard| match heard.claim(0).text {
                ClaimText::Ends(head, "") => head,
                other => panic!("{other:?}"),
            });
            assert_eq!(found, wanted, "{message}");
        }
    }

    #[test]
    fn an_update_of_an_agent_tells_the_whole() {
        let update = |call: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":
                {{"sessionUpdate":"tool_call_update"{call}}}}}}}"#
            )
        };
        let told = heard(update(r#","toolCallId":"c","rawOutput":"all of it""#).as_bytes());
        let told = told.unwrap();
        assert_eq!((told.source(), told.bytes()), ("acp", 9));
        assert!(matches!(told.claim(0).text, ClaimText::Whole("all of it")));
        assert_eq!(heard(update("").as_bytes()), None);
    }
}
