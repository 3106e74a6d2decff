//! Histories of Cline and Roo Code: `api_conversation_history.json`, a list of messages as they
//! are sent, with `ui_messages.json` beside it; and `SESSION.messages.json` of the newer Cline,
//! which has the system prompt as well.

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_records, with_document};
use super::anthropic::{self, Answer, list, message, object};
use super::json::{self, Json, Value};
use super::plain::Plain;
use super::rows::Row;
use super::scribe::{Fate, Scribe, Tag};
use super::time::of_value;

pub(super) struct ClineHistory;

fn is_message(json: &Json<'_>) -> bool {
    matches!(json.str("role"), Some("user" | "assistant"))
        && json.get("content").is_some_and(|it| it.is_list() || it.text().is_some())
}

/// True for a message of a person or a program to the model, with the time that Cline writes.
fn is_timed(json: &Json<'_>) -> bool {
    is_message(json) && (json.get("ts").is_some() || json.get("content").is_some_and(Json::is_list))
}

fn is_ui(json: &Json<'_>) -> bool {
    matches!(json.str("type"), Some("say" | "ask")) && json.get("ts").is_some()
}

impl Adapter for ClineHistory {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let Some(document) = look.document else { return false };
        let all =
            |list: &[Json<'_>], is: fn(&Json<'_>) -> bool| !list.is_empty() && list.iter().all(is);
        let session = document.get("sessionId").is_some() && document.get("messages").is_some();
        all(document.list(), is_timed)
            || all(document.list(), is_ui)
            || (session && document.items("messages").iter().all(is_message))
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        with_document(source, scribe, &mut |document, scribe| {
            let mut history = History { plain: None, has_metrics: false };
            if document.is_list() {
                return fold_records(document.list(), scribe, &mut history);
            }
            let mut plain = Plain::open(scribe, None, document.name("sessionId"))?;
            if let Some(system) = document.name("system_prompt") {
                plain.system(system);
            }
            if let Some(version) = document.number("version") {
                scribe.tally.version(&version.to_string());
            }
            history.plain = Some(plain);
            let own = document.members().iter();
            let head: Vec<(&str, &[u8])> = own
                .filter(|(name, _)| name != "messages" && name != "system_prompt")
                .map(|(name, value)| (name.as_ref(), value.raw))
                .collect();
            let head = object(&head);
            let row =
                Row { index: 0, offset: 0, raw: &head, read: Err(super::rows::Unread::NotJson) };
            scribe.account(&row, Fate::Aside("facts about the session"))?;
            fold_records(document.items("messages"), scribe, &mut history)
        })
    }
}

struct History {
    plain: Option<Plain>,
    has_metrics: bool,
}

impl Fold for History {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.get("ts").and_then(of_value));
        if is_ui(json) {
            if json.str("say") == Some("api_req_started") && !self.has_metrics {
                spent(json, scribe);
            }
            return Ok(Fate::Aside("message of the user interface"));
        }
        if !is_message(json) {
            return Ok(Fate::Unknown("record that is no message"));
        }
        if self.plain.is_none() {
            self.plain = Some(Plain::open(scribe, None, None)?);
        }
        let Some(plain) = &mut self.plain else { return Ok(Fate::Used) };
        let null = Json { raw: b"[]", value: Value::List(Vec::new()) };
        let content = json.get("content").unwrap_or(&null);
        if json.str("role") == Some("user") {
            let results = content.list().iter().any(|it| it.str("type") == Some("tool_result"));
            let tag = if results { Tag::Result } else { Tag::Prompt };
            scribe.say(plain.talk, tag, message("user", &blocks(content)));
            return Ok(Fate::Used);
        }
        if json.flag("isSummary") {
            scribe.say(plain.talk, Tag::Injected, message("assistant", &blocks(content)));
            return Ok(Fate::Used);
        }
        let metrics = json.get("metrics");
        self.has_metrics |= metrics.is_some();
        let answer = Answer {
            id: json.name("id").map(str::to_owned),
            model: json
                .at(&["modelInfo", "id"])
                .or(json.at(&["modelInfo", "modelId"]))
                .and_then(Json::text)
                .map(str::to_owned),
            blocks: match content.text() {
                Some(text) => vec![anthropic::text_block(text)],
                None => content.list().iter().map(|block| block.raw.to_vec()).collect(),
            },
            stop: None,
            usage: metrics.and_then(usage),
        };
        plain.answer(scribe, &answer)?;
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// What a request cost, where only the user interface was told.
fn spent(json: &Json<'_>, scribe: &mut Scribe) {
    let Some(told) = json.str("text").and_then(|text| json::whole(text.as_bytes())) else { return };
    scribe.tally.tokens_elsewhere.add(
        told.number("tokensIn"),
        told.number("tokensOut"),
        told.number("cacheReads"),
        told.number("cacheWrites"),
    );
    if let Some(cost) = told.get("cost") {
        scribe.tally.cost_of(cost);
    }
}

/// A content whose results are texts: the newer Cline has a list of queries and results there.
fn blocks(content: &Json<'_>) -> Vec<u8> {
    let Value::List(blocks) = &content.value else { return content.raw.to_vec() };
    let block = |block: &Json<'_>| {
        let own = block.items("content");
        let queries = !own.is_empty() && own.iter().all(|it| it.get("result").is_some());
        if block.str("type") != Some("tool_result") || !queries {
            return block.raw.to_vec();
        }
        let texts =
            own.iter().filter_map(|it| it.get("result")).map(|result| match result.text() {
                Some(text) => anthropic::text_block(text),
                None => anthropic::text_block(&String::from_utf8_lossy(result.raw)),
            });
        let texts = list(&texts.collect::<Vec<_>>());
        let id = block.str("tool_use_id").unwrap_or_default();
        anthropic::result_block(id, &texts, block.flag("is_error"))
    };
    list(&blocks.iter().map(block).collect::<Vec<_>>())
}

fn usage(metrics: &Json<'_>) -> Option<Vec<u8>> {
    anthropic::usage(&[
        ("input_tokens", metrics.number("inputTokens")),
        ("cache_creation_input_tokens", metrics.number("cacheWriteTokens")),
        ("cache_read_input_tokens", metrics.number("cacheReadTokens")),
        ("output_tokens", metrics.number("outputTokens")),
    ])
}
