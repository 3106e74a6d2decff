//! Rollouts of Codex: `rollout-TIME-ID.jsonl`, of the flat layout of 2025 and of the one with
//! `{timestamp, type, payload}` since.
//!
//! The items of the conversation stand in file order, as they are sent. What the model said
//! between two counts of tokens is one answer, and what stands before it is its request. Outputs
//! are as the model saw them, cut by the policy of their time.

use ledger::id::RequestId;
use ledger::recorder::RecordError;
use ledger::wire::Dialect;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines};
use super::anthropic::{list, object};
use super::json::{self, Json};
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Setting, Tag, Talk};
use super::time::unix_ns;

/// How long after a fork copied rows are stamped: all of them are written at once.
const COPY_NS_MAX: u64 = 1_500_000_000;

const OF_THE_SESSION: Fate = Fate::Aside("facts about the session");
const OF_THE_SCREEN: Fate = Fate::Aside("event of the user interface");

pub(super) struct CodexRollout;

/// Types of the flat layout and of response items.
fn is_item(kind: &str) -> bool {
    kind == "message"
        || kind == "reasoning"
        || kind.ends_with("_call")
        || kind.ends_with("_output")
        || kind.starts_with("compaction")
        || kind == "context_compaction"
        || kind == "agent_message"
}

fn is_said_by_model(item: &Json<'_>) -> bool {
    match item.str("type") {
        Some("message") => item.str("role") == Some("assistant"),
        Some(kind) => kind == "reasoning" || kind.ends_with("_call"),
        None => false,
    }
}

/// The kinds of rows of the layout with payloads.
const KINDS: [&str; 8] = [
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "world_state",
    "inter_agent_communication_metadata",
    "token_usage_record",
];

impl Adapter for CodexRollout {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let framed = |record: &Json<'_>| {
            record.get("payload").is_some_and(Json::is_object)
                && record.str("type").is_some_and(|kind| KINDS.contains(&kind))
        };
        let bare_head = |record: &Json<'_>| {
            record.str("type").is_none()
                && record.name("id").is_some()
                && record.str("timestamp").is_some()
                && record.get("instructions").is_some()
        };
        let state = |record: &Json<'_>| record.str("record_type") == Some("state");
        look.any(framed) || look.any(bare_head) || look.any(state)
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut rollout = Rollout::default();
        fold_lines(source.reader, &mut At::default(), scribe, &mut rollout)?;
        rollout.end(scribe)
    }
}

/// An answer whose items are still coming.
#[derive(Debug)]
struct Pending {
    request: Option<RequestId>,
    items: Vec<Vec<u8>>,
    usage: Option<Vec<u8>>,
    /// Something was put in behind it.
    followed: bool,
}

#[derive(Debug, Default)]
struct Rollout {
    talk: Option<Talk>,
    id: Option<String>,
    setting: Setting,
    pending: Option<Pending>,
    /// The history of another session is being copied, from this time on.
    copying_since: Option<u64>,
    /// Number of the first row that is the session's own, where it is told.
    own_from: Option<u64>,
    total: Option<Vec<u8>>,
    calls_without_id: u64,
}

impl Rollout {
    fn talk(&mut self, scribe: &mut Scribe) -> Result<Talk, RecordError> {
        if let Some(talk) = self.talk {
            return Ok(talk);
        }
        let talk = scribe.open(Dialect::OpenAiResponses, None, self.id.as_deref())?;
        self.talk = Some(talk);
        Ok(talk)
    }

    /// The session's own head, again the same, or that of the session it was forked from.
    fn head(&mut self, head: &Json<'_>, time: Option<u64>, scribe: &mut Scribe) {
        if let Some(version) = head.name("cli_version") {
            scribe.tally.version(version);
        }
        let Some(id) = head.name("id") else { return };
        match &self.id {
            None => {
                self.id = Some(id.to_owned());
                self.own_from = head.number("subagent_history_start_ordinal");
            }
            Some(own) if own != id => self.copying_since = Some(time.unwrap_or(0)),
            Some(_) => {}
        }
        let base = head.at(&["base_instructions", "text"]).or(head.get("instructions"));
        if let Some(text) = base.and_then(Json::text) {
            self.setting.members = vec![("instructions", json::quoted(text))];
        }
    }

    /// True while rows are a copy of another session's history.
    fn is_copy(&mut self, row: &Json<'_>, time: Option<u64>) -> bool {
        let Some(since) = self.copying_since else { return false };
        let own = match (self.own_from, row.number("ordinal")) {
            (Some(from), Some(ordinal)) => ordinal >= from,
            _ => time.is_some_and(|time| time.saturating_sub(since) > COPY_NS_MAX),
        };
        if own {
            self.copying_since = None;
        }
        !own
    }

    fn item(&mut self, item: &Json<'_>, is_copy: bool, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let kind = item.str("type").unwrap_or_default();
        if kind == "ghost_snapshot" {
            return Ok(Fate::Aside("snapshot of the work tree"));
        }
        if !is_item(kind) {
            return Ok(Fate::Unknown("item of an unknown type"));
        }
        let talk = self.talk(scribe)?;
        let raw = self.with_call_id(item);
        if is_copy {
            scribe.say(talk, Tag::Injected, raw);
            return Ok(Fate::Used);
        }
        if !is_said_by_model(item) {
            if let Some(pending) = &mut self.pending {
                pending.followed = true;
            }
            let tag = if kind.ends_with("_output") { Tag::Result } else { Tag::Prompt };
            scribe.say(talk, tag, raw);
            return Ok(Fate::Used);
        }
        if self.pending.as_ref().is_some_and(|it| it.followed || it.usage.is_some()) {
            self.close(scribe)?;
        }
        if self.pending.is_none() {
            let request = scribe.ask(talk, &self.setting)?;
            let (items, usage) = (Vec::new(), None);
            self.pending = Some(Pending { request, items, usage, followed: false });
        }
        scribe.say(talk, Tag::Answer, raw.clone());
        if let Some(pending) = &mut self.pending {
            pending.items.push(raw);
        }
        Ok(Fate::Used)
    }

    /// An item as it stands; a call without an id gets one, so that it can be spoken of.
    fn with_call_id(&mut self, item: &Json<'_>) -> Vec<u8> {
        let is_call = item.str("type").is_some_and(|kind| kind.ends_with("_call"));
        if !is_call || item.name("call_id").is_some() || item.name("id").is_some() {
            return item.raw.to_vec();
        }
        self.calls_without_id += 1;
        let id = json::quoted(&format!("call-without-id-{}", self.calls_without_id));
        let own = item.members().iter().filter(|(name, _)| name != "call_id");
        let mut members: Vec<(&str, &[u8])> =
            own.map(|(name, it)| (name.as_ref(), it.raw)).collect();
        members.push(("call_id", &id));
        object(&members)
    }

    fn close(&mut self, scribe: &mut Scribe) -> Result<(), RecordError> {
        let (Some(pending), Some(talk)) = (self.pending.take(), self.talk) else { return Ok(()) };
        let Some(request) = pending.request else { return Ok(()) };
        let output = list(&pending.items);
        let model = self.setting.model.as_deref().map(json::quoted);
        let mut members: Vec<(&str, &[u8])> =
            vec![("object", b"\"response\""), ("status", b"\"completed\"")];
        if let Some(model) = &model {
            members.push(("model", model));
        }
        members.push(("output", &output));
        if let Some(usage) = &pending.usage {
            members.push(("usage", usage));
        }
        scribe.answer(talk, request, &object(&members))
    }

    /// A count of tokens: that of the answer before it, where the sum has grown.
    fn count(&mut self, info: &Json<'_>, scribe: &mut Scribe) {
        let (Some(total), Some(last)) =
            (info.some("total_token_usage"), info.some("last_token_usage"))
        else {
            return;
        };
        if self.total.as_deref() == Some(total.raw) {
            return;
        }
        self.total = Some(total.raw.to_vec());
        match &mut self.pending {
            Some(pending) if pending.usage.is_none() => pending.usage = Some(usage(last)),
            // The model was asked for something that is not in the file: a compaction.
            _ => scribe.tally.tokens_elsewhere.add(
                last.number("input_tokens"),
                last.number("output_tokens"),
                last.number("cached_input_tokens"),
                last.number("cache_write_input_tokens"),
            ),
        }
    }

    fn compacted(&mut self, payload: &Json<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        self.close(scribe)?;
        let talk = self.talk(scribe)?;
        let before = scribe.length(talk);
        let history = payload.some("replacement_history");
        let message = payload.str("message");
        scribe.compacted(talk, before, message)?;
        if let Some(history) = history {
            scribe.restart(talk, Vec::new(), false);
            for item in history.list() {
                scribe.say(talk, Tag::Injected, item.raw.to_vec());
            }
            return Ok(());
        }
        // Older versions keep what people said and put the summary behind it; which of it is not
        // told.
        let text = json::quoted(message.unwrap_or_default());
        let content = list(&[object(&[("type", b"\"input_text\""), ("text", &text)])]);
        let item: &[(&str, &[u8])] =
            &[("type", b"\"message\""), ("role", b"\"user\""), ("content", &content)];
        scribe.restart(talk, Vec::new(), true);
        scribe.say(talk, Tag::Injected, object(item));
        Ok(())
    }

    fn event(&mut self, payload: &Json<'_>, is_copy: bool, scribe: &mut Scribe) -> Fate {
        match payload.str("type") {
            Some("token_count") if is_copy => Fate::Aside("count of tokens of another session"),
            Some("token_count") => {
                if let Some(info) = payload.some("info") {
                    self.count(info, scribe);
                }
                Fate::Aside("count of tokens")
            }
            Some(_) => OF_THE_SCREEN,
            None => Fate::Unknown("event without a type"),
        }
    }
}

impl Fold for Rollout {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let time = json.str("timestamp").and_then(unix_ns);
        scribe.time(time);
        let Some(kind) = json.str("type") else {
            if json.str("record_type") == Some("state") {
                return Ok(Fate::Aside("mark of the session's state"));
            }
            if json.name("id").is_some() && json.get("instructions").is_some() {
                self.head(json, time, scribe);
                return Ok(OF_THE_SESSION);
            }
            return Ok(Fate::Unknown("record without a type"));
        };
        let Some(payload) = json.get("payload").filter(|payload| payload.is_object()) else {
            return if is_item(kind) {
                self.item(json, false, scribe)
            } else {
                Ok(Fate::Unknown("record of an unknown type"))
            };
        };
        if kind == "session_meta" {
            self.head(payload, time, scribe);
            return Ok(OF_THE_SESSION);
        }
        let is_copy = self.is_copy(json, time);
        match kind {
            "response_item" => self.item(payload, is_copy, scribe),
            "event_msg" => Ok(self.event(payload, is_copy, scribe)),
            "turn_context" => {
                if let Some(model) = payload.name("model") {
                    self.setting.model = Some(model.to_owned());
                }
                Ok(Fate::Aside("settings of a turn"))
            }
            "compacted" => {
                self.compacted(payload, scribe)?;
                Ok(Fate::Used)
            }
            "world_state" | "inter_agent_communication_metadata" | "token_usage_record" => {
                Ok(OF_THE_SESSION)
            }
            _ => Ok(Fate::Unknown("record of an unknown type")),
        }
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(self.close(scribe)?)
    }
}

/// The counts in the words of the Responses API.
fn usage(last: &Json<'_>) -> Vec<u8> {
    let number = |name: &str| last.number(name).unwrap_or(0).to_string().into_bytes();
    let cached = object(&[("cached_tokens", &number("cached_input_tokens"))]);
    let reasoning = object(&[("reasoning_tokens", &number("reasoning_output_tokens"))]);
    object(&[
        ("input_tokens", &number("input_tokens")),
        ("input_tokens_details", &cached),
        ("output_tokens", &number("output_tokens")),
        ("output_tokens_details", &reasoning),
        ("total_tokens", &number("total_tokens")),
    ])
}
