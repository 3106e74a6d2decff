//! The replay plan: which events a model may be shown again, as what, and why not the others.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::event::{Content, Event};
use super::json::Json;
use super::text::Text;

/// Something that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// The step of the model that it belongs to.
    pub step: Option<Text>,
    /// Its event.
    pub event_id: Text,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text of this role: `user`, `assistant` or `system`.
    Text {
        /// The role.
        role: &'static str,
        /// The text.
        text: Text,
    },
    /// What the model thought.
    Thinking {
        /// The text.
        text: Text,
        /// The provider's signature.
        signature: Option<Text>,
    },
    /// A call.
    Call {
        /// The provider's id of the call.
        call_id: Text,
        /// The tool.
        tool: Text,
        /// The arguments.
        input: Json,
        /// The provider runs the tool.
        by_provider: bool,
    },
    /// A result.
    Result {
        /// The provider's id of the call.
        call_id: Text,
        /// The tool.
        tool: Text,
        /// The result.
        output: Json,
        /// The tool failed.
        is_error: bool,
        /// The provider ran the tool.
        by_provider: bool,
    },
}

/// Why an event is not shown, or is shown with a doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The source's code.
    pub code: &'static str,
    /// The event.
    pub event_id: Text,
}

impl Note {
    /// True when the whole history is taken from the stored messages instead.
    pub fn is_blocking(&self) -> bool {
        matches!(self.code, "unsupported_role" | "unsupported_content" | "tool_id_mismatch")
    }
}

/// The plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is shown, in order.
    pub items: Vec<Item>,
    /// What is not, and why.
    pub notes: Vec<Note>,
}

/// A call that has no result yet.
struct Open {
    tool: Text,
    event_id: Text,
    order: usize,
}

/// Plans a replay. `tool_turns`: turns that have calls in the whole ledger, where the events are
/// only a part of it.
pub fn plan(events: &[Event], tool_turns: &BTreeSet<Text>) -> Plan {
    let unpaired = unpaired_turns(events, tool_turns);
    let mut plan = Plan::default();
    let mut open: BTreeMap<Text, Open> = BTreeMap::new();
    for (order, event) in events.iter().enumerate() {
        let mut note = |code| plan.notes.push(Note { code, event_id: event.id().clone() });
        if event.is_partial() {
            note("partial_skipped");
            continue;
        }
        if event.is_hidden() {
            note("model_hidden_skipped");
            continue;
        }
        let terminal = is_terminal(event);
        if terminal {
            note("terminal_fact_diagnostic_only");
        }
        let Some(content) = event.content() else {
            if !terminal && event.get("actions").is_some_and(|it| *it != Json::Undefined) {
                note("system_runtime_fact_diagnostic_only");
            }
            continue;
        };
        match item(event, content, &unpaired) {
            Err(code) => note(code),
            Ok(kind) => {
                match &kind {
                    Kind::Call { call_id, tool, .. } => {
                        let event_id = event.id().clone();
                        open.insert(call_id.clone(), Open { tool: tool.clone(), event_id, order });
                    }
                    Kind::Result { call_id, tool, .. } => match open.remove(call_id) {
                        None => note("unmatched_tool_result"),
                        Some(call) if call.tool != *tool => note("tool_id_mismatch"),
                        Some(_) => {}
                    },
                    Kind::Text { .. } | Kind::Thinking { .. } => {}
                }
                let step = step(event, &kind);
                plan.items.push(Item { kind, step, event_id: event.id().clone() });
            }
        }
    }
    // A call without a result is no request that a provider takes.
    let mut left: Vec<Open> = open.into_values().collect();
    left.sort_by_key(|call| call.order);
    let gone: BTreeSet<Text> = left.iter().map(|call| call.event_id.clone()).collect();
    plan.items.retain(|item| !gone.contains(&item.event_id));
    let notes =
        left.into_iter().map(|call| Note { code: "unmatched_tool_call", event_id: call.event_id });
    plan.notes.extend(notes);
    plan
}

/// Turns whose calls do not say their step: their signed thoughts have no place.
fn unpaired_turns(events: &[Event], tool_turns: &BTreeSet<Text>) -> BTreeSet<Text> {
    let mut paired = BTreeSet::new();
    let mut unpaired = BTreeSet::new();
    let calls = events.iter().filter(|event| {
        let shown = !event.is_partial() && !event.is_hidden();
        shown && matches!(event.content(), Some(Content::Call { .. }))
    });
    for event in calls {
        let turn = event.text("turnId");
        match event.reference("stepId").filter(|step| !step.is_empty()) {
            Some(_) => paired.insert(turn),
            None => unpaired.insert(turn),
        };
    }
    unpaired.extend(tool_turns.difference(&paired).cloned());
    unpaired.remove(&Text::new());
    unpaired
}

fn is_terminal(event: &Event) -> bool {
    let ends = ["completed", "failed", "aborted", "cancelled"];
    let status = event.text("status");
    ends.iter().any(|end| status == *end)
}

fn step(event: &Event, kind: &Kind) -> Option<Text> {
    let of_model =
        || event.reference("providerEventId").or_else(|| event.reference("storedMessageId"));
    let step = match kind {
        Kind::Call { .. } => event.reference("stepId"),
        Kind::Thinking { .. } | Kind::Text { role: "assistant", .. } => of_model(),
        Kind::Text { .. } | Kind::Result { .. } => None,
    };
    step.filter(|step| !step.is_empty())
}

fn item(event: &Event, content: &Content, unpaired: &BTreeSet<Text>) -> Result<Kind, &'static str> {
    let role = event.text("role").to_utf8();
    match content {
        Content::Text { text } if text.is_empty() && role == "model" => {
            return Err("empty_text_skipped");
        }
        Content::Error { .. } => return Err("error_content_diagnostic_only"),
        Content::Text { text } | Content::Thinking { text, .. } if text.is_empty() => {
            return Err("unsupported_content");
        }
        Content::Other { .. } => return Err("unsupported_content"),
        _ if role == "system" => return Err("system_runtime_fact_diagnostic_only"),
        _ => {}
    }
    let by_provider = || {
        let content = event.get("content");
        content.and_then(|it| it.get("providerExecuted")).is_some_and(Json::is_true)
    };
    match (content, role.as_str()) {
        (Content::Text { text }, "user") => Ok(Kind::Text { role: "user", text: text.clone() }),
        (Content::Text { text }, "model") => {
            Ok(Kind::Text { role: "assistant", text: text.clone() })
        }
        (Content::Thinking { signature: Some(_), .. }, "model")
            if unpaired.contains(&event.text("turnId")) =>
        {
            Err("signed_thinking_in_tool_turn_skipped")
        }
        (Content::Thinking { text, signature }, "model") => {
            Ok(Kind::Thinking { text: text.clone(), signature: signature.clone() })
        }
        (Content::Call { id, name, args }, "model") => Ok(Kind::Call {
            call_id: id.clone(),
            tool: name.clone(),
            input: args.clone(),
            by_provider: by_provider(),
        }),
        (Content::Response(response), "tool") => Ok(Kind::Result {
            call_id: response.id.clone(),
            tool: response.name.clone(),
            output: response.measured().clone(),
            is_error: response.is_error,
            by_provider: by_provider(),
        }),
        _ => Err("unsupported_role"),
    }
}
