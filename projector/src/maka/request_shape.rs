//! The source's hashes of a request by its components, and what they say changed. Text of earlier
//! messages counts by its length alone: two requests of one hash may differ.

use alloc::string::String;
use alloc::vec::Vec;

use super::json::{Json, Object};
use super::ruler::wide;
use super::stable;
use super::text::Text;

/// What is hashed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kind of provider.
    pub provider: &'a Text,
    /// The connection's name.
    pub connection: &'a Text,
    /// The model.
    pub model: &'a Text,
    /// The system prompt; empty if there is none.
    pub system_prompt: &'a Text,
    /// Options of the provider; an empty object if there are none.
    pub provider_options: &'a Json,
    /// All tools, each with `name`, `description` and `parameters`, perhaps `providerTool`.
    pub tools: &'a [Json],
    /// The tools that the model is told of, in the order sent.
    pub active_tools: &'a [Text],
    /// The messages before the current one.
    pub prior_messages: &'a [Json],
}

/// One hash for each component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// Provider, connection and model.
    pub model_provider: String,
    /// The system prompt.
    pub system_prompt: String,
    /// Options of the provider.
    pub provider_options: String,
    /// The tools that the model is told of.
    pub tool_schema: String,
    /// The messages before the current one, texts by their length.
    pub history_projection: String,
}

impl Components {
    /// Hashes a request.
    pub fn of(request: Request<'_>) -> Self {
        let string = |text: &Text| Json::String(text.clone());
        let model_provider = Json::object([
            ("providerId", string(request.provider)),
            ("connectionSlug", string(request.connection)),
            ("modelId", string(request.model)),
        ]);
        let history = request.prior_messages.iter().map(message_shape).collect();
        Self {
            model_provider: stable::hash(&model_provider),
            system_prompt: stable::hash(&string(request.system_prompt)),
            provider_options: stable::hash(request.provider_options),
            tool_schema: stable::hash(&tool_schema(request.tools, request.active_tools)),
            history_projection: stable::hash(&Json::Array(history)),
        }
    }

    fn json(&self, with_history: bool) -> Json {
        let history = if with_history { Some(&self.history_projection) } else { None };
        let members = [
            ("modelProviderHash", Some(&self.model_provider)),
            ("systemPromptHash", Some(&self.system_prompt)),
            ("providerOptionsHash", Some(&self.provider_options)),
            ("toolSchemaHash", Some(&self.tool_schema)),
            ("historyProjectionHash", history),
        ];
        let members = members
            .into_iter()
            .filter_map(|(name, hash)| Some((Text::from(name), Json::string(hash?))));
        Json::Object(Object::from_members(members))
    }

    /// The hash of all but the history.
    pub fn prefix_hash(&self) -> String {
        stable::hash(&self.json(false))
    }

    /// The hash of all.
    pub fn shape_hash(&self) -> String {
        stable::hash(&self.json(true))
    }

    /// What changed first since another request, with and without the history.
    pub fn change(&self, before: Option<&Self>, with_history: bool) -> &'static str {
        let Some(before) = before else { return "first_turn" };
        let history = with_history && self.history_projection != before.history_projection;
        let found = [
            (self.model_provider != before.model_provider, "model_or_provider_changed"),
            (self.system_prompt != before.system_prompt, "system_prompt_changed"),
            (self.tool_schema != before.tool_schema, "tool_schema_changed"),
            (self.provider_options != before.provider_options, "provider_options_changed"),
            (history, "history_projection_changed"),
        ];
        found.iter().find(|(changed, _)| *changed).map_or("stable", |(_, reason)| reason)
    }

    /// Why the tools changed, if they did; the states of the groups tell more where there are
    /// any.
    pub fn tool_change(
        &self,
        before: Option<&Self>,
        now: Option<&ToolSources>,
        then: Option<&ToolSources>,
    ) -> Option<&'static str> {
        let before = before?;
        if self.tool_schema == before.tool_schema {
            return None;
        }
        let enabled = match (now, then) {
            (Some(now), Some(then)) => {
                now.catalog == then.catalog
                    && now.enabled.len() > then.enabled.len()
                    && then.enabled.iter().all(|id| now.enabled.contains(id))
            }
            _ => false,
        };
        Some(if enabled {
            "tool_source_enabled"
        } else if now != then {
            "tool_source_state_changed"
        } else {
            "tool_schema_changed"
        })
    }
}

/// The state of the groups of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSources {
    /// All groups and their tools.
    pub catalog: Json,
    /// Ids of the loaded ones.
    pub enabled: Vec<Text>,
}

/// Units of the canonical text of the tools, for the prompt segments.
pub fn tool_schema_units(tools: &[Json], active: &[Text]) -> usize {
    stable::stringify(&tool_schema(tools, active)).len()
}

fn tool_schema(tools: &[Json], active: &[Text]) -> Json {
    let names = active.iter().cloned().map(Json::String).collect();
    let is_active = |tool: &&Json| {
        let name = tool.get("name").and_then(Json::as_text);
        name.is_some_and(|name| active.contains(name))
    };
    let shapes = tools.iter().filter(is_active).map(tool_shape).collect();
    Json::object([("activeTools", Json::Array(names)), ("providerTools", Json::Array(shapes))])
}

fn tool_shape(tool: &Json) -> Json {
    let member = |name: &str| tool.get(name).cloned().unwrap_or(Json::Undefined);
    let mut members = alloc::vec![
        (Text::from("name"), member("name")),
        (Text::from("description"), member("description")),
        (Text::from("inputSchema"), without_runtime_fields(&member("parameters"))),
    ];
    let provider =
        tool.get("providerTool").filter(|it| !matches!(it, Json::Undefined | Json::Null));
    members.extend(provider.map(|tool| (Text::from("providerTool"), tool.clone())));
    Json::Object(Object::from_members(members))
}

/// A schema without what its library adds.
fn without_runtime_fields(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(without_runtime_fields).collect()),
        Json::Object(object) => {
            let members = object.without(&["~standard", "$schema"]);
            let members = members.members().iter();
            let members =
                members.map(|(name, value)| (name.clone(), without_runtime_fields(value)));
            Json::Object(Object::from_members(members))
        }
        other => other.clone(),
    }
}

fn message_shape(message: &Json) -> Json {
    let role = message.get("role").and_then(Json::as_text).cloned();
    let content = match message.get("content") {
        Some(Json::String(text)) => Json::object([
            ("type", Json::string("text")),
            ("chars", Json::natural(wide(text.len()))),
        ]),
        Some(Json::Array(parts)) => Json::Array(parts.iter().map(part_shape).collect()),
        other => Json::object([("type", Json::string(other.map_or("undefined", type_of)))]),
    };
    let role = Json::String(role.unwrap_or_else(|| Text::from("unknown")));
    Json::object([("role", role), ("content", content)])
}

fn part_shape(part: &Json) -> Json {
    if !matches!(part, Json::Object(_) | Json::Array(_)) {
        return Json::object([("type", Json::string(type_of(part)))]);
    }
    let text = |name: &str| part.get(name).and_then(Json::as_text).cloned();
    let kind = text("type").unwrap_or_else(|| Text::from("unknown"));
    let mut members = alloc::vec![(Text::from("type"), Json::String(kind))];
    for name in ["toolName", "toolCallId"] {
        members.extend(text(name).map(|value| (Text::from(name), Json::String(value))));
    }
    let chars = text("text").map(|text| Json::natural(wide(text.len())));
    members.extend(chars.map(|chars| (Text::from("chars"), chars)));
    let output = part.get("output").map(payload_shape);
    members.extend(output.map(|output| (Text::from("output"), output)));
    Json::Object(Object::from_members(members))
}

fn payload_shape(value: &Json) -> Json {
    let text = stable::stringify(value);
    let kind = match value {
        Json::Null => "null",
        Json::Array(_) => "array",
        other => type_of(other),
    };
    Json::object([
        ("type", Json::string(kind)),
        ("chars", Json::natural(wide(text.len()))),
        ("bytes", Json::natural(wide(text.utf8_bytes()))),
        ("hash", Json::string(&stable::hash(value))),
    ])
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Undefined => "undefined",
        Json::Null | Json::Array(_) | Json::Object(_) => "object",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
    }
}
