//! Messages and answers in the form of Chat Completions, for formats whose messages have roles,
//! calls and results of that kind; and a list of them that each request shows in full.

use ledger::recorder::{RawKey, RecordError};
use ledger::wire::Dialect;

use super::anthropic::{list, object};
use super::json::{self, Json, Value};
use super::scribe::{Scribe, Setting, Tag, Talk};

/// A call that a message asks for.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its arguments: a JSON text.
    pub(crate) arguments: String,
}

/// A message in the common words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) role: String,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    /// The call that it is the result of.
    pub(crate) result_of: Option<String>,
}

impl Said {
    pub(crate) fn tag(&self) -> Tag {
        match self.role.as_str() {
            "assistant" => Tag::Answer,
            "tool" => Tag::Result,
            "user" => Tag::Prompt,
            _ => Tag::Injected,
        }
    }

    /// The message as JSON.
    pub(crate) fn item(&self) -> Vec<u8> {
        let (role, text) = (json::quoted(&self.role), json::quoted(&self.text));
        let reasoning = json::quoted(&self.reasoning);
        let calls = list(&self.calls.iter().map(call).collect::<Vec<_>>());
        let id = self.result_of.as_deref().map(json::quoted);
        let mut members: Vec<(&str, &[u8])> = vec![("role", &role), ("content", &text)];
        if !self.reasoning.is_empty() {
            members.push(("reasoning_content", &reasoning));
        }
        if !self.calls.is_empty() {
            members.push(("tool_calls", &calls));
        }
        if let Some(id) = &id {
            members.push(("tool_call_id", id));
        }
        object(&members)
    }
}

fn call(call: &Call) -> Vec<u8> {
    let function = object(&[
        ("name", &json::quoted(&call.name)),
        ("arguments", &json::quoted(&call.arguments)),
    ]);
    let id = json::quoted(&call.id);
    object(&[("id", &id), ("type", b"\"function\""), ("function", &function)])
}

/// Token counts in the words of Chat Completions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cached: Option<u64>,
}

/// An answer as a document.
pub(crate) fn answer(
    id: Option<&str>,
    model: Option<&str>,
    message: &[u8],
    finish: Option<&str>,
    counts: Counts,
) -> Vec<u8> {
    let finish = json::quoted(finish.unwrap_or("stop"));
    let choice = object(&[("index", b"0"), ("message", message), ("finish_reason", &finish)]);
    let choices = list(&[choice]);
    let (id, model) = (id.map(json::quoted), model.map(json::quoted));
    let mut members: Vec<(&str, &[u8])> = vec![("object", b"\"chat.completion\"")];
    if let Some(id) = &id {
        members.push(("id", id));
    }
    if let Some(model) = &model {
        members.push(("model", model));
    }
    members.push(("choices", &choices));
    let number = |count: Option<u64>| count.unwrap_or(0).to_string().into_bytes();
    let total = counts.input.unwrap_or(0).saturating_add(counts.output.unwrap_or(0));
    let cached = object(&[("cached_tokens", &number(counts.cached))]);
    let usage = object(&[
        ("prompt_tokens", &number(counts.input)),
        ("completion_tokens", &number(counts.output)),
        ("prompt_tokens_details", &cached),
        ("total_tokens", total.to_string().as_bytes()),
    ]);
    if counts.input.is_some() || counts.output.is_some() {
        members.push(("usage", &usage));
    }
    object(&members)
}

/// A conversation of which every request shows all messages.
#[derive(Debug)]
pub(crate) struct Listed {
    talk: Talk,
    keys: Vec<RawKey>,
    pub(crate) setting: Setting,
}

impl Listed {
    pub(crate) fn open(
        scribe: &mut Scribe,
        parent: Option<Talk>,
        name: Option<&str>,
    ) -> Result<Self, RecordError> {
        let talk = scribe.open(Dialect::OpenAiChat, parent, name)?;
        Ok(Self { talk, keys: Vec::new(), setting: Setting::default() })
    }

    pub(crate) fn talk(&self) -> Talk {
        self.talk
    }

    /// The model was asked with these messages, and said this.
    pub(crate) fn exchange(
        &mut self,
        scribe: &mut Scribe,
        messages: &[(Tag, Vec<u8>)],
        answer: Option<&[u8]>,
    ) -> Result<(), RecordError> {
        let keys: Vec<RawKey> = messages.iter().map(|(_, item)| RawKey::of(item)).collect();
        let same = self.keys.iter().zip(&keys).take_while(|(a, b)| a == b).count();
        scribe.cut(self.talk, same);
        for (tag, item) in messages.iter().skip(same) {
            scribe.say(self.talk, *tag, item.clone());
        }
        self.keys = keys;
        if let Some(request) = scribe.ask(self.talk, &self.setting)?
            && let Some(answer) = answer
        {
            scribe.answer(self.talk, request, answer)?;
        }
        Ok(())
    }
}

/// A message in one of the forms that traces use: of Chat Completions, of `LangChain`, of Inspect,
/// of the conventions of `OpenTelemetry`. Several results in one message become several.
pub(crate) fn said(message: &Json<'_>) -> Vec<Said> {
    if let Some(kwargs) = message.get("kwargs").filter(|kwargs| kwargs.is_object()) {
        let class = message.items("id").last().and_then(Json::text).unwrap_or_default();
        let role = role_of(kwargs.name("type").unwrap_or(class));
        return one(kwargs, &role);
    }
    if let Some(data) = message.get("data").filter(|data| data.is_object()) {
        let role = role_of(message.name("type").unwrap_or_default());
        return one(data, &role);
    }
    let role = message.name("role").or_else(|| message.name("type")).unwrap_or("user");
    let role = role_of(role);
    if message.get("parts").is_some_and(Json::is_list) {
        return of_parts(message, &role);
    }
    one(message, &role)
}

fn role_of(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let role = match word.trim_end_matches("chunk").trim_end_matches("message") {
        "ai" | "assistant" | "model" => "assistant",
        "system" | "developer" => "system",
        "tool" | "function" => "tool",
        _ => "user",
    };
    role.to_owned()
}

fn one(message: &Json<'_>, role: &str) -> Vec<Said> {
    let mut said = Said { role: role.to_owned(), ..Said::default() };
    content(message.get("content"), &mut said);
    let calls = [message.get("tool_calls"), message.at(&["additional_kwargs", "tool_calls"])];
    if said.calls.is_empty() {
        let list = calls.into_iter().flatten().map(Json::list).find(|list| !list.is_empty());
        said.calls = list.unwrap_or_default().iter().map(call_of).collect();
    }
    if role == "tool" {
        let id = message.str("tool_call_id").or_else(|| message.str("id")).unwrap_or_default();
        said.result_of = Some(id.to_owned());
    }
    let reasoning = message.str("reasoning_content").or_else(|| message.str("reasoning"));
    if let Some(reasoning) = reasoning {
        said.reasoning.push_str(reasoning);
    }
    vec![said]
}

/// A call in one of its forms.
pub(crate) fn call_of(call: &Json<'_>) -> Call {
    let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = function.str("name").or_else(|| call.str("function")).unwrap_or_default();
    let arguments = ["arguments", "args", "input"].iter().find_map(|name| function.get(name));
    Call {
        id: call.str("id").unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments: arguments.map_or_else(|| "{}".to_owned(), text_or_json),
    }
}

/// A text, or the JSON of what is none.
pub(crate) fn text_or_json(json: &Json<'_>) -> String {
    match &json.value {
        Value::Text(text) => text.to_string(),
        Value::Null => String::new(),
        _ => String::from_utf8_lossy(json.raw).into_owned(),
    }
}

/// Takes a content: a text, or blocks of text, thought and calls.
fn content(content: Option<&Json<'_>>, said: &mut Said) {
    let Some(content) = content else { return };
    if !content.is_list() {
        said.text = text_or_json(content);
        return;
    }
    let mut texts = Vec::new();
    for block in content.list() {
        match block.str("type") {
            Some("reasoning" | "thinking") => {
                let text = ["reasoning", "thinking", "text"].iter().find_map(|it| block.str(it));
                said.reasoning.push_str(text.unwrap_or_default());
            }
            Some("tool_use") => said.calls.push(call_of(block)),
            Some("tool_result") => {
                "tool".clone_into(&mut said.role);
                said.result_of = Some(block.str("tool_use_id").unwrap_or_default().to_owned());
                texts.push(block.get("content").map(super::anthropic::texts).unwrap_or_default());
            }
            _ => texts.push(match block.str("text").or(block.text()) {
                Some(text) => text.to_owned(),
                None => String::from_utf8_lossy(block.raw).into_owned(),
            }),
        }
    }
    said.text = texts.join("\n");
}

/// A message of the conventions of `OpenTelemetry`.
fn of_parts(message: &Json<'_>, role: &str) -> Vec<Said> {
    let mut said = Said { role: role.to_owned(), ..Said::default() };
    let mut results = Vec::new();
    let mut texts = Vec::new();
    for part in message.items("parts") {
        let own = part.get("content").or_else(|| part.get("text"));
        match part.str("type") {
            Some("reasoning" | "thinking") => {
                said.reasoning.push_str(&own.map(text_or_json).unwrap_or_default());
            }
            Some("tool_call" | "server_tool_call") => said.calls.push(call_of(part)),
            Some("tool_call_response" | "server_tool_call_response") => {
                let answer = ["response", "result", "content"].iter().find_map(|it| part.get(it));
                results.push(Said {
                    role: "tool".to_owned(),
                    text: answer.map(text_or_json).unwrap_or_default(),
                    result_of: Some(part.str("id").unwrap_or_default().to_owned()),
                    ..Said::default()
                });
            }
            _ => texts.push(
                own.map_or_else(|| String::from_utf8_lossy(part.raw).into_owned(), text_or_json),
            ),
        }
    }
    said.text = texts.join("\n");
    if !said.text.is_empty() || !said.calls.is_empty() || results.is_empty() {
        results.insert(0, said);
    }
    results
}
