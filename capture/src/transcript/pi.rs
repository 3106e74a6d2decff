//! Sessions of pi: JSONL of a header and entries that are a tree by `id` and `parentId`; the first
//! version had no ids and was a list.

use std::collections::HashMap;
use std::rc::{Rc, Weak};

use ledger::recorder::{RawKey, RecordError};

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines};
use super::anthropic::{self, Answer, list, message, object};
use super::chain::{Chain, Tree};
use super::json::{self, Json, Value};
use super::rows::{At, Row};
use super::scribe::{Entry, Fate, Scribe, Setting, Tag};
use super::time::unix_ns;

pub(super) struct PiSession;

impl Adapter for PiSession {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let header = |json: &Json<'_>| {
            json.str("type") == Some("session")
                && json.name("id").is_some()
                && (json.get("cwd").is_some() || json.get("version").is_some())
        };
        let entry = |json: &Json<'_>| {
            json.str("type") == Some("message")
                && json.at(&["message", "role"]).is_some()
                && json.get("sessionId").is_none()
        };
        look.any(header) && (look.records.len() == 1 || look.any(entry) || look.any(is_setting))
            || look.any(entry) && look.any(|json| json.get("parentId").is_some())
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut session = Session::default();
        fold_lines(source.reader, &mut At::default(), scribe, &mut session)
    }
}

fn is_setting(json: &Json<'_>) -> bool {
    matches!(json.str("type"), Some("model_change" | "thinking_level_change" | "session_info"))
}

#[derive(Default)]
struct Session {
    id: Option<String>,
    tree: Tree,
    chain: Option<Chain>,
    /// Messages by their place in the file, for the version without ids.
    by_index: HashMap<u64, Weak<Entry>>,
    row: u64,
}

impl Session {
    fn chain(&mut self, scribe: &mut Scribe) -> Result<&mut Chain, RecordError> {
        if self.chain.is_none() {
            self.chain = Some(Chain::open(scribe, None, self.id.as_deref(), false)?);
        }
        self.chain.as_mut().ok_or(RecordError::Unknown { what: "conversation", number: 0 })
    }

    /// Brings the list to where the entry stands.
    fn place(&mut self, json: &Json<'_>, tag: Tag, scribe: &mut Scribe) -> Result<(), RecordError> {
        self.chain(scribe)?;
        let parent = json.name("parentId").map(|id| RawKey::of(id.as_bytes()));
        let Some(chain) = &mut self.chain else { return Ok(()) };
        match parent {
            Some(parent) if self.tree.has(parent) => chain.attach(&self.tree, parent, tag, scribe),
            Some(_) => chain.restart(true, scribe),
            None => {}
        }
        Ok(())
    }

    fn remember(&mut self, json: &Json<'_>, scribe: &Scribe, entry: Option<&Rc<Entry>>) {
        let Some(chain) = &self.chain else { return };
        if let Some(entry) = entry {
            self.by_index.insert(self.row, Rc::downgrade(entry));
        }
        if let Some(id) = json.name("id") {
            let key = |id: &str| RawKey::of(id.as_bytes());
            let parent = json.name("parentId").map(key);
            self.tree.add(key(id), parent, 0, chain, scribe, entry);
        }
    }

    /// Puts a text into the list that is not an answer.
    fn say(
        &mut self,
        json: &Json<'_>,
        tag: Tag,
        item: Vec<u8>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        self.place(json, tag, scribe)?;
        let talk = self.chain(scribe)?.talk;
        let entry = scribe.say(talk, tag, item);
        self.remember(json, scribe, entry.as_ref());
        Ok(Fate::Used)
    }

    fn message(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let Some(said) = json.get("message").filter(|said| said.is_object()) else {
            return Ok(Fate::Unknown("message row without a message"));
        };
        let null = Json { raw: b"null", value: Value::Null };
        let content = said.get("content").unwrap_or(&null);
        match said.str("role") {
            Some("user") => {
                let item = message("user", &blocks(content));
                self.say(json, Tag::Prompt, item, scribe)
            }
            Some("assistant") => self.answer(json, said, content, scribe),
            Some("toolResult") => {
                let id = said.str("toolCallId").unwrap_or_default();
                let is_error = said.flag("isError");
                let block = anthropic::result_block(id, &blocks(content), is_error);
                self.say(json, Tag::Result, message("user", &list(&[block])), scribe)
            }
            Some("bashExecution") => {
                let command = said.str("command").unwrap_or_default();
                let output = said.str("output").unwrap_or_default();
                let text = format!("Ran `{command}`\n```\n{output}\n```");
                self.say(json, Tag::Injected, anthropic::text_message("user", &text), scribe)
            }
            Some("custom" | "hookMessage" | "branchSummary" | "compactionSummary") => {
                let text = match content.value {
                    Value::Null => {
                        anthropic::text_message("user", said.str("summary").unwrap_or_default())
                    }
                    _ => message("user", &blocks(content)),
                };
                self.say(json, Tag::Injected, text, scribe)
            }
            Some(_) => Ok(Fate::Unknown("message of an unknown role")),
            None => Ok(Fate::Unknown("message without a role")),
        }
    }

    fn answer(
        &mut self,
        json: &Json<'_>,
        said: &Json<'_>,
        content: &Json<'_>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        self.place(json, Tag::Answer, scribe)?;
        let answer = Answer {
            id: said.name("responseId").map(str::to_owned),
            model: said.name("model").map(str::to_owned),
            blocks: answer_blocks(content),
            stop: said.name("stopReason").map(str::to_owned),
            usage: said.some("usage").and_then(usage),
        };
        if let Some(cost) = said.at(&["usage", "cost", "total"]) {
            scribe.tally.cost_of(cost);
        }
        let talk = self.chain(scribe)?.talk;
        let setting = Setting::of_model(said.name("model"));
        if let Some(request) = scribe.ask(talk, &setting)? {
            scribe.answer(talk, request, &answer.document())?;
        }
        let entry = scribe.say(talk, Tag::Answer, answer.message());
        self.remember(json, scribe, entry.as_ref());
        Ok(Fate::Used)
    }

    /// What stands before the first kept entry is replaced by a summary.
    fn compaction(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        self.place(json, Tag::Result, scribe)?;
        let kept = match (json.name("firstKeptEntryId"), json.number("firstKeptEntryIndex")) {
            (Some(id), _) => self.tree.entry(RawKey::of(id.as_bytes())),
            (None, Some(index)) => {
                // The header is row 0 and no entry.
                (index..self.row).find_map(|row| self.by_index.get(&row)?.upgrade())
            }
            (None, None) => None,
        };
        let summary = json.str("summary").unwrap_or_default();
        let chain = self.chain(scribe)?;
        let talk = chain.talk;
        let list = scribe.list(talk);
        let at = kept.and_then(|kept| list.iter().position(|it| it.serial() == kept.serial()));
        let rest = at.and_then(|at| list.get(at..)).unwrap_or_default().to_vec();
        let replaced = list.len() - rest.len();
        scribe.compacted(talk, replaced, Some(summary))?;
        chain.restart(false, scribe);
        let entry = scribe.say(talk, Tag::Injected, anthropic::text_message("user", summary));
        for kept in rest {
            scribe.say_again(talk, kept);
        }
        self.remember(json, scribe, entry.as_ref());
        Ok(Fate::Used)
    }

    fn pass(&mut self, json: &Json<'_>, scribe: &mut Scribe, fate: Fate) -> Result<Fate, Stop> {
        let key = |id: &str| RawKey::of(id.as_bytes());
        match (json.name("id").map(key), json.name("parentId").map(key)) {
            (Some(id), Some(parent)) if !self.tree.has(id) => self.tree.pass(id, parent),
            // The first entries are settings, and what follows begins at the root.
            (Some(id), None) if !self.tree.has(id) => {
                self.chain(scribe)?;
                if let Some(chain) = self.chain.as_ref().filter(|it| scribe.length(it.talk) == 0) {
                    self.tree.add(id, None, 0, chain, scribe, None);
                }
            }
            _ => {}
        }
        Ok(fate)
    }
}

impl Fold for Session {
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        self.row = row.index;
        scribe.time(json.str("timestamp").and_then(unix_ns));
        if let Some(id) = json.name("id").filter(|_| json.str("type") != Some("session"))
            && self.tree.has(RawKey::of(id.as_bytes()))
        {
            return Ok(Fate::Aside("row with an id that another row had"));
        }
        match json.str("type") {
            Some("session") => {
                self.id = json.name("id").map(str::to_owned);
                if let Some(version) = json.number("version") {
                    scribe.tally.version(&format!("v{version}"));
                } else {
                    scribe.tally.version("v1");
                }
                Ok(Fate::Aside("facts about the session"))
            }
            Some("message") => self.message(json, scribe),
            Some("compaction") => self.compaction(json, scribe),
            Some("branch_summary") => {
                let text = json.str("summary").unwrap_or_default();
                self.say(json, Tag::Injected, anthropic::text_message("user", text), scribe)
            }
            Some("custom_message") => match json.some("content") {
                Some(content) => {
                    self.say(json, Tag::Injected, message("user", &blocks(content)), scribe)
                }
                None => self.pass(json, scribe, Fate::Unknown("message without a content")),
            },
            Some(
                "model_change"
                | "thinking_level_change"
                | "label"
                | "custom"
                | "session_info"
                | "leaf"
                | "queue",
            ) => self.pass(json, scribe, Fate::Aside("facts about the session")),
            Some(_) => self.pass(json, scribe, Fate::Unknown("record of an unknown type")),
            None => Ok(Fate::Unknown("record without a type")),
        }
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// A content as Anthropic's blocks: a text stays one.
fn blocks(content: &Json<'_>) -> Vec<u8> {
    match &content.value {
        Value::Text(text) => json::quoted(text),
        Value::List(blocks) => list(&blocks.iter().map(block).collect::<Vec<_>>()),
        _ => list::<&[u8]>(&[]),
    }
}

fn block(block: &Json<'_>) -> Vec<u8> {
    match block.str("type") {
        Some("image") => {
            let data = block.get("data").map_or(&b"\"\""[..], |data| data.raw);
            let mime = block.get("mimeType").map_or(&b"\"\""[..], |mime| mime.raw);
            let source = object(&[("type", b"\"base64\""), ("media_type", mime), ("data", data)]);
            object(&[("type", b"\"image\""), ("source", &source)])
        }
        _ => block.raw.to_vec(),
    }
}

fn answer_blocks(content: &Json<'_>) -> Vec<Vec<u8>> {
    if let Some(text) = content.text() {
        return vec![anthropic::text_block(text)];
    }
    let own = |block: &Json<'_>| match block.str("type") {
        Some("toolCall") => anthropic::call_block(
            block.str("id").unwrap_or_default(),
            block.str("name").unwrap_or_default(),
            block.get("arguments").map_or(b"{}", |it| it.raw),
        ),
        Some("thinking") => anthropic::thinking_block(block.str("thinking").unwrap_or_default()),
        _ => block.raw.to_vec(),
    };
    content.list().iter().map(own).collect()
}

fn usage(usage: &Json<'_>) -> Option<Vec<u8>> {
    anthropic::usage(&[
        ("input_tokens", usage.number("input")),
        ("cache_creation_input_tokens", usage.number("cacheWrite")),
        ("cache_read_input_tokens", usage.number("cacheRead")),
        ("output_tokens", usage.number("output")),
    ])
}
