//! Results of the current turn: large ones, and those that a newer step made needless, are
//! replaced before the next step, each only when it was archived.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::archive::{self, Body, Origin, Placeholder, Supersession};
use super::json::{Json, Object};
use super::ruler::UnitsPerToken;
use super::supersession::{self, Observation};
use super::text::Text;

/// When a result is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivePrune {
    /// Results of more estimated tokens are replaced.
    pub max_result_tokens: u64,
    /// Needless results of so many estimated tokens are replaced.
    pub min_superseded_tokens: u64,
    /// Nothing is replaced before this step.
    pub min_step: u64,
}

/// A call of an earlier step that has its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedCall {
    /// The provider's id of the call.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The arguments.
    pub input: Json,
    /// The step that called it.
    pub step: u64,
}

/// Artifact ids of what was archived before, by call and hash.
pub type Cache = BTreeMap<(Text, String), Text>;

/// A request between two steps.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Number of the step that is about to come.
    pub number: u64,
    /// The turn.
    pub turn: &'a Text,
    /// Calls that may be replaced; `None`: all.
    pub eligible: Option<&'a BTreeSet<Text>>,
    /// Calls that have their results.
    pub completed: &'a [CompletedCall],
    /// How tokens are estimated.
    pub per_token: UnitsPerToken,
    /// What tells the model how to read an archived result.
    pub read_instructions: &'a str,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The messages.
    pub messages: Vec<Json>,
    /// Replaced results.
    pub results: u64,
    /// Of them: needless ones.
    pub superseded: u64,
    /// Of them: those that were the same as a newer one.
    pub duplicates: u64,
    /// Results that stayed because they could not be archived.
    pub archive_failures: u64,
    /// Estimated tokens that were saved.
    pub tokens_saved: u64,
}

/// Where a result stands in a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    /// In `output`, as text: a placeholder is put as text too.
    OutputText { is_error: bool },
    /// In `output`, as JSON.
    OutputJson { is_error: bool },
    /// In `result`.
    Result,
}

/// Rewrites messages. `archive` keeps a text and gives the artifact's id; it is asked once for
/// each call and text that the cache does not know.
pub fn rewrite(
    messages: &[Json],
    policy: ActivePrune,
    step: Step<'_>,
    cache: &mut Cache,
    mut archive: impl FnMut(&Text, &Body) -> Option<Text>,
) -> Rewritten {
    let mut out = Rewritten::default();
    if step.number < policy.min_step {
        out.messages = messages.to_vec();
        return out;
    }
    let superseded = supersession::plan(&observations(messages, step));
    for message in messages {
        let Some(parts) = tool_parts(message) else {
            out.messages.push(message.clone());
            continue;
        };
        let mut changed = false;
        let mut next = Vec::with_capacity(parts.len());
        for part in parts {
            let rewritten =
                rewrite_part(part, policy, step, &superseded, cache, &mut archive, &mut out);
            changed |= rewritten.is_some();
            next.push(rewritten.unwrap_or_else(|| part.clone()));
        }
        out.messages.push(match message.as_object().filter(|_| changed) {
            Some(object) => Json::Object(object.clone().with("content", Json::Array(next))),
            None => message.clone(),
        });
    }
    out
}

fn tool_parts(message: &Json) -> Option<&[Json]> {
    let role = message.get("role")?.as_text()?;
    message.get("content")?.as_items().filter(|_| *role == "tool")
}

/// Id, tool and payload of a part that is a result.
fn result_part(part: &Json) -> Option<(&Text, &Text, Arm, &Json)> {
    part.get("type")?.as_text().filter(|kind| **kind == "tool-result")?;
    let call_id = part.get("toolCallId")?.as_text()?;
    let tool = part.get("toolName")?.as_text()?;
    let (arm, value) = match part.get("output") {
        Some(output) => {
            let arm = match output.get("type")?.as_text()?.to_utf8().as_str() {
                "text" => Arm::OutputText { is_error: false },
                "error-text" => Arm::OutputText { is_error: true },
                "json" => Arm::OutputJson { is_error: false },
                "error-json" => Arm::OutputJson { is_error: true },
                _ => return None,
            };
            (arm, output.get("value")?)
        }
        None => (Arm::Result, part.get("result")?),
    };
    Some((call_id, tool, arm, value))
}

fn observations(messages: &[Json], step: Step<'_>) -> Vec<Observation> {
    let calls: BTreeMap<&Text, &CompletedCall> =
        step.completed.iter().map(|call| (&call.call_id, call)).collect();
    let parts = messages.iter().filter_map(tool_parts).flatten();
    let observe = |part: &Json| {
        let (call_id, tool, arm, value) = result_part(part)?;
        let call = calls.get(call_id).filter(|call| call.tool == *tool)?;
        if archive::is_active_placeholder(value) {
            return None;
        }
        let is_error = match arm {
            Arm::OutputText { is_error } | Arm::OutputJson { is_error } => is_error,
            Arm::Result => false,
        };
        Some(Observation {
            call_id: call_id.clone(),
            tool: tool.clone(),
            input: call.input.clone(),
            step: call.step,
            sha256: super::stable::text_hash(&archive::serialize(value)),
            is_error,
            eligible: step.eligible.is_none_or(|eligible| eligible.contains(call_id)),
        })
    };
    parts.filter_map(observe).collect()
}

fn rewrite_part(
    part: &Json,
    policy: ActivePrune,
    step: Step<'_>,
    superseded: &BTreeMap<Text, Supersession>,
    cache: &mut Cache,
    archive: &mut impl FnMut(&Text, &Body) -> Option<Text>,
    out: &mut Rewritten,
) -> Option<Json> {
    let (call_id, tool, arm, value) = result_part(part)?;
    let eligible = step.eligible.is_none_or(|eligible| eligible.contains(call_id));
    if !eligible || archive::is_active_placeholder(value) {
        return None;
    }
    let serialized = archive::serialize(value);
    let tokens = step.per_token.tokens(serialized.len());
    let supersession = superseded.get(call_id);
    let small = match supersession {
        Some(_) => tokens < policy.min_superseded_tokens,
        None => tokens <= policy.max_result_tokens,
    };
    if small {
        return None;
    }
    let body = Body::of(&serialized, step.per_token);
    let key = (call_id.clone(), body.sha256.clone());
    let known = cache.get(&key).cloned();
    let artifact_id = known.or_else(|| archive(&serialized, &body));
    let Some(artifact_id) = artifact_id.filter(|id| !id.trim().is_empty()) else {
        out.archive_failures += 1;
        return None;
    };
    cache.insert(key, artifact_id.clone());
    let placeholder = Placeholder {
        origin: Origin::Active,
        place: step.turn,
        call_id,
        tool,
        artifact_id: &artifact_id,
        body: &body,
        read_instructions: step.read_instructions,
        supersession,
    };
    let placeholder = placeholder.json();
    let after = step.per_token.tokens(placeholder.units());
    if supersession.is_some() && after >= tokens {
        return None;
    }
    out.results += 1;
    out.superseded += u64::from(supersession.is_some());
    out.duplicates += u64::from(supersession.is_some_and(|by| by.reason == "exact_duplicate"));
    out.tokens_saved += tokens.saturating_sub(after);
    replaced(part.as_object()?, arm, placeholder)
}

fn replaced(part: &Object, arm: Arm, placeholder: Json) -> Option<Json> {
    let part = part.clone();
    let value = match arm {
        Arm::Result => return Some(Json::Object(part.with("result", placeholder))),
        Arm::OutputText { .. } => Json::String(placeholder.stringify()?),
        Arm::OutputJson { .. } => placeholder,
    };
    let output = part.get("output")?.as_object()?.clone().with("value", value);
    Some(Json::Object(part.with("output", Json::Object(output))))
}
