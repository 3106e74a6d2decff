//! Chats of Gemini CLI: a document, lines that change it, or the bare list of a checkpoint.
//!
//! The lines are a header, messages (again with the same id where one has changed), `$set` of
//! members (perhaps of all messages) and `$rewindTo` a message. A message of the model holds its
//! calls with their results; since 0.39 the results come as a message of their own as well.

use std::collections::BTreeSet;

use ledger::id::RequestId;
use ledger::recorder::{RawKey, RecordError};
use ledger::wire::Dialect;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, fold_records, with_document};
use super::anthropic::{list, object};
use super::json::{self, Json, Value};
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Setting, Tag, Talk};
use super::time::unix_ns;

pub(super) struct GeminiChat;

fn is_chat(json: &Json<'_>) -> bool {
    json.get("sessionId").is_some()
        && (json.get("projectHash").is_some() || json.get("startTime").is_some())
}

fn is_content(json: &Json<'_>) -> bool {
    matches!(json.str("role"), Some("user" | "model" | "function"))
        && json.get("parts").is_some_and(Json::is_list)
}

impl Adapter for GeminiChat {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let checkpoint = |document: &Json<'_>| {
            let list = document.list();
            !list.is_empty() && list.iter().all(is_content)
        };
        look.any(is_chat)
            || look.document.is_some_and(is_chat)
            || look.document.is_some_and(checkpoint)
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut chat = Chat::default();
        if source.is_lines {
            fold_lines(source.reader, &mut At::default(), scribe, &mut chat)?;
        } else {
            with_document(source, scribe, &mut |document, scribe| {
                if document.is_list() {
                    return fold_records(document.list(), scribe, &mut chat);
                }
                let own = document.members().iter().filter(|(name, _)| name != "messages");
                let head: Vec<(&str, &[u8])> =
                    own.map(|(name, value)| (name.as_ref(), value.raw)).collect();
                let head = object(&head);
                if let Some(head) = json::whole(&head) {
                    fold_records(&[head], scribe, &mut chat)?;
                }
                fold_records(document.items("messages"), scribe, &mut chat)
            })?;
        }
        chat.end(scribe)
    }
}

/// A message of the state.
#[derive(Clone, Debug)]
struct Known {
    id: Option<String>,
    digest: RawKey,
    /// Length of the live list before it.
    before: usize,
}

/// An answer that may still change: its message came, and no other since.
#[derive(Debug)]
struct Pending {
    id: Option<String>,
    request: Option<RequestId>,
    raw: Vec<u8>,
}

#[derive(Debug, Default)]
struct Chat {
    talk: Option<Talk>,
    id: Option<String>,
    known: Vec<Known>,
    pending: Option<Pending>,
    /// Marks of messages of the model that were answers already.
    answered: BTreeSet<String>,
    /// Results of the last calls, until a message brings them.
    results: Option<Vec<u8>>,
    /// Ids of the calls of the answers so far.
    called: BTreeSet<String>,
}

impl Chat {
    fn talk(&mut self, scribe: &mut Scribe) -> Result<Talk, RecordError> {
        if let Some(talk) = self.talk {
            return Ok(talk);
        }
        let talk = scribe.open(Dialect::GeminiGenerate, None, self.id.as_deref())?;
        self.talk = Some(talk);
        Ok(talk)
    }

    /// Ends the answer that may still change.
    fn close(&mut self, scribe: &mut Scribe) -> Result<(), RecordError> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let talk = self.talk(scribe)?;
        let Some(message) = json::whole(&pending.raw) else { return Ok(()) };
        let parts = list(&model_parts(&message));
        if let Some(request) = pending.request {
            scribe.answer(talk, request, &answer(&message, &parts))?;
        }
        let item = object(&[("role", b"\"model\""), ("parts", &parts)]);
        scribe.say(talk, Tag::Answer, item);
        self.called.extend(call_ids(&message).map(str::to_owned));
        self.results = results(&message);
        Ok(())
    }

    /// Puts the results into the list that no message of their own has brought.
    fn own_results(
        &mut self,
        next: Option<&Json<'_>>,
        scribe: &mut Scribe,
    ) -> Result<(), RecordError> {
        let Some(results) = self.results.take() else { return Ok(()) };
        let brings = |json: &Json<'_>| {
            json.items("content").iter().any(|part| part.get("functionResponse").is_some())
        };
        if !next.is_some_and(brings) {
            let talk = self.talk(scribe)?;
            let item = object(&[("role", b"\"user\""), ("parts", &results)]);
            scribe.say(talk, Tag::Result, item);
        }
        Ok(())
    }

    fn message(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.str("timestamp").and_then(unix_ns));
        let id = json.name("id").map(str::to_owned);
        if let Some(pending) = &mut self.pending
            && id.is_some()
            && pending.id == id
        {
            pending.raw = json.raw.to_vec();
            if let Some(last) = self.known.last_mut() {
                last.digest = RawKey::of(json.raw);
            }
            return Ok(Fate::Used);
        }
        if is_calls_alone(json) && self.more_calls(json) {
            return Ok(Fate::Used);
        }
        let place = self.known.iter().position(|known| id.is_some() && known.id == id);
        if let Some(place) = place {
            return self.change(place, json, scribe);
        }
        self.close(scribe)?;
        self.own_results(Some(json), scribe)?;
        self.add(json, false, scribe)
    }

    /// Calls that stand in a message of their own, which is written again with each new one:
    /// those that are new are calls of the answer before. False when they are not.
    fn more_calls(&mut self, json: &Json<'_>) -> bool {
        let new = |call: &&Json<'_>| call.str("id").is_none_or(|id| !self.called.contains(id));
        let calls: Vec<&[u8]> =
            json.items("toolCalls").iter().filter(new).map(|it| it.raw).collect();
        let Some(pending) = &mut self.pending else { return calls.is_empty() };
        let Some(answer) = json::whole(&pending.raw).filter(|it| it.some("tokens").is_some())
        else {
            return calls.is_empty();
        };
        let calls = list(&calls);
        let own = answer.members().iter().filter(|(name, _)| name != "toolCalls");
        let mut members: Vec<(&str, &[u8])> =
            own.map(|(name, value)| (name.as_ref(), value.raw)).collect();
        members.push(("toolCalls", &calls));
        let merged = object(&members);
        pending.raw = merged;
        true
    }

    /// A message that was not there; a `copy` without counts is one of an answer of before.
    fn add(&mut self, json: &Json<'_>, copy: bool, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let talk = self.talk(scribe)?;
        let before = scribe.length(talk);
        let id = json.name("id").map(str::to_owned);
        let content = json.get("content");
        match json.str("type") {
            Some("user") => {
                let parts = content.map_or_else(|| list::<&[u8]>(&[]), parts_of);
                let is_result = content.is_some_and(|content| {
                    content.list().iter().any(|part| part.get("functionResponse").is_some())
                });
                let tag = if is_result { Tag::Result } else { Tag::Prompt };
                scribe.say(talk, tag, object(&[("role", b"\"user\""), ("parts", &parts)]));
            }
            Some("gemini" | "qwen" | "model" | "assistant") => {
                let bare = json.some("tokens").is_none();
                // A history that is written anew has neither counts nor a model.
                let copy = copy || (!self.answered.is_empty() && json.name("model").is_none());
                let is_new =
                    !(copy && bare) && mark(json).is_none_or(|mark| self.answered.insert(mark));
                let setting = Setting::of_model(json.name("model"));
                let request = if is_new { scribe.ask(talk, &setting)? } else { None };
                self.pending = Some(Pending { id: id.clone(), request, raw: json.raw.to_vec() });
            }
            Some("info" | "error" | "warning") => {
                return Ok(Fate::Aside("note for the person"));
            }
            Some(_) => return Ok(Fate::Unknown("message of an unknown type")),
            None => return Ok(Fate::Unknown("record without a type")),
        }
        self.known.push(Known { id, digest: RawKey::of(json.raw), before });
        Ok(Fate::Used)
    }

    /// An earlier message is not what it was: what came after it stays.
    fn change(&mut self, place: usize, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let digest = RawKey::of(json.raw);
        if self.known.get(place).is_some_and(|known| known.digest == digest) {
            return Ok(Fate::Aside("message again as it was"));
        }
        self.close(scribe)?;
        let talk = self.talk(scribe)?;
        let item = match json.str("type") {
            Some("user") => {
                let parts = json.get("content").map_or_else(|| list::<&[u8]>(&[]), parts_of);
                object(&[("role", b"\"user\""), ("parts", &parts)])
            }
            _ => object(&[("role", b"\"model\""), ("parts", &list(&model_parts(json)))]),
        };
        if let Some(known) = self.known.get_mut(place) {
            known.digest = digest;
            scribe.replace(talk, known.before, item);
        }
        Ok(Fate::Used)
    }

    /// All messages anew: those that are as before stay.
    fn all(&mut self, messages: &[Json<'_>], scribe: &mut Scribe) -> Result<(), Stop> {
        self.close(scribe)?;
        let same = self
            .known
            .iter()
            .zip(messages.iter().filter(|it| is_message(it)))
            .take_while(|(known, json)| known.digest == RawKey::of(json.raw))
            .count();
        let more = messages.iter().filter(|it| is_message(it)).skip(same);
        if same < self.known.len() {
            self.back_to(same, scribe)?;
        }
        for json in more {
            self.close(scribe)?;
            self.own_results(Some(json), scribe)?;
            self.add(json, true, scribe)?;
        }
        Ok(())
    }

    fn back_to(&mut self, place: usize, scribe: &mut Scribe) -> Result<(), RecordError> {
        let talk = self.talk(scribe)?;
        if let Some(known) = self.known.get(place) {
            scribe.cut(talk, known.before);
        }
        self.known.truncate(place);
        self.results = None;
        Ok(())
    }

    fn rewind(&mut self, id: &Json<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        self.close(scribe)?;
        let wanted = id.text();
        let place = self.known.iter().position(|known| known.id.as_deref() == wanted);
        Ok(self.back_to(place.unwrap_or(0), scribe)?)
    }
}

/// What tells an answer when its message is written again: a history that is written anew has
/// new ids, and the times and counts of before.
fn mark(json: &Json<'_>) -> Option<String> {
    match (json.name("timestamp"), json.some("tokens")) {
        (Some(time), Some(tokens)) => {
            Some(format!("{time} {}", String::from_utf8_lossy(tokens.raw)))
        }
        _ => json.name("id").map(str::to_owned),
    }
}

fn is_message(json: &Json<'_>) -> bool {
    matches!(json.str("type"), Some("user" | "gemini" | "qwen" | "model" | "assistant"))
}

impl Fold for Chat {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if is_chat(json) && json.get("type").is_none() {
            self.id = json.name("sessionId").map(str::to_owned);
            return Ok(Fate::Aside("facts about the session"));
        }
        if let Some(set) = json.get("$set") {
            if let Some(messages) = set.get("messages") {
                self.all(messages.list(), scribe)?;
                return Ok(Fate::Used);
            }
            return Ok(Fate::Aside("facts about the session"));
        }
        if let Some(id) = json.get("$rewindTo") {
            self.rewind(id, scribe)?;
            return Ok(Fate::Used);
        }
        if is_content(json) {
            return self.content(json, scribe);
        }
        if json.str("type") == Some("message_update") {
            return Ok(self.update(json));
        }
        self.message(json, scribe)
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        self.close(scribe)?;
        Ok(self.own_results(None, scribe)?)
    }
}

impl Chat {
    /// A message as it is sent, in the list of a checkpoint.
    fn content(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let talk = self.talk(scribe)?;
        if json.str("role") == Some("model") {
            if let Some(request) = scribe.ask(talk, &Setting::default())? {
                let parts = json.get("parts").map_or(&b"[]"[..], |parts| parts.raw);
                scribe.answer(talk, request, &answer(json, parts))?;
            }
            scribe.say(talk, Tag::Answer, json.raw.to_vec());
        } else {
            let is_result = |part: &Json<'_>| part.get("functionResponse").is_some();
            let is_result = json.items("parts").iter().any(is_result);
            let tag = if is_result { Tag::Result } else { Tag::Prompt };
            scribe.say(talk, tag, json.raw.to_vec());
        }
        Ok(Fate::Used)
    }

    /// Members of a message that have changed: those of the answer that may still change.
    fn update(&mut self, json: &Json<'_>) -> Fate {
        let Some(pending) = &mut self.pending else {
            return Fate::Unknown("change of a message that is closed");
        };
        let id = json.name("id").or_else(|| json.name("messageId")).map(str::to_owned);
        let Some(message) = json::whole(&pending.raw).filter(|_| pending.id == id) else {
            return Fate::Unknown("change of a message that is closed");
        };
        let update = json.get("update").or_else(|| json.get("message")).unwrap_or(json);
        let named = |name: &str| update.get(name).filter(|_| !["type", "id"].contains(&name));
        let kept = message.members().iter().filter(|(name, _)| named(name).is_none());
        let new = update.members().iter().filter(|(name, _)| named(name).is_some());
        let members: Vec<(&str, &[u8])> =
            kept.chain(new).map(|(name, value)| (name.as_ref(), value.raw)).collect();
        let merged = object(&members);
        pending.raw = merged;
        Fate::Used
    }
}

/// The content of a message as parts.
fn parts_of(content: &Json<'_>) -> Vec<u8> {
    match &content.value {
        Value::Text(text) => list(&[object(&[("text", &json::quoted(text))])]),
        Value::List(_) => content.raw.to_vec(),
        Value::Object(_) => list(&[content.raw]),
        _ => list::<&[u8]>(&[]),
    }
}

/// What the model said and asked for.
fn model_parts(message: &Json<'_>) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    for thought in message.items("thoughts") {
        let subject = thought.str("subject").unwrap_or_default();
        let description = thought.str("description").unwrap_or_default();
        let text = json::quoted(&format!("**{subject}**\n{description}"));
        parts.push(object(&[("text", &text), ("thought", b"true")]));
    }
    match message.get("content").map(|content| &content.value) {
        Some(Value::Text(text)) if !text.is_empty() => {
            parts.push(object(&[("text", &json::quoted(text))]));
        }
        Some(Value::List(own)) => parts.extend(own.iter().map(|part| part.raw.to_vec())),
        _ => {}
    }
    for call in message.items("toolCalls") {
        let empty = Json { raw: b"{}", value: Value::Object(Vec::new()) };
        let member = |name: &str| call.get(name).unwrap_or(&empty).raw.to_vec();
        let id = member("id");
        let (name, args) = (member("name"), member("args"));
        let mut members: Vec<(&str, &[u8])> = Vec::new();
        if call.name("id").is_some() {
            members.push(("id", &id));
        }
        members.extend([("name", name.as_slice()), ("args", args.as_slice())]);
        parts.push(object(&[("functionCall", &object(&members))]));
    }
    parts
}

fn call_ids<'j>(message: &'j Json<'_>) -> impl Iterator<Item = &'j str> {
    message.items("toolCalls").iter().filter_map(|call| call.str("id"))
}

/// A message that holds calls, and neither words nor counts of an answer.
fn is_calls_alone(json: &Json<'_>) -> bool {
    let says = match json.get("content").map(|content| &content.value) {
        Some(Value::Text(text)) => !text.is_empty(),
        Some(Value::List(parts)) => !parts.is_empty(),
        _ => false,
    };
    !says
        && json.str("type") != Some("user")
        && json.some("tokens").is_none()
        && !json.items("toolCalls").is_empty()
}

/// The results that a message's calls hold, as parts.
fn results(message: &Json<'_>) -> Option<Vec<u8>> {
    let mut parts = Vec::new();
    for call in message.items("toolCalls") {
        match call.get("result").map(|result| &result.value) {
            Some(Value::List(result)) => parts.extend(result.iter().map(|it| it.raw.to_vec())),
            Some(Value::Object(_)) => parts.extend(call.get("result").map(|it| it.raw.to_vec())),
            Some(Value::Text(text)) => {
                let output = object(&[("output", &json::quoted(text))]);
                let id = json::quoted(call.str("id").unwrap_or_default());
                let name = json::quoted(call.str("name").unwrap_or_default());
                let response = object(&[("id", &id), ("name", &name), ("response", &output)]);
                parts.push(object(&[("functionResponse", &response)]));
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| list(&parts))
}

/// An answer as a document.
fn answer(message: &Json<'_>, parts: &[u8]) -> Vec<u8> {
    let content = object(&[("role", b"\"model\""), ("parts", parts)]);
    let candidate =
        object(&[("content", &content), ("finishReason", b"\"STOP\""), ("index", b"0")]);
    let candidates = list(&[candidate]);
    let model = json::quoted(message.str("model").unwrap_or_default());
    let mut members: Vec<(&str, &[u8])> = vec![("candidates", &candidates)];
    let counts = message.some("tokens").map(|tokens| {
        let count = |name: &str| tokens.number(name).unwrap_or(0).to_string().into_bytes();
        object(&[
            ("promptTokenCount", &count("input")),
            ("candidatesTokenCount", &count("output")),
            ("cachedContentTokenCount", &count("cached")),
            ("thoughtsTokenCount", &count("thoughts")),
            ("totalTokenCount", &count("total")),
        ])
    });
    if let Some(counts) = &counts {
        members.push(("usageMetadata", counts));
    }
    if message.name("model").is_some() {
        members.push(("modelVersion", &model));
    }
    object(&members)
}
