//! Trajectories in the Agent Trajectory Interchange Format, versions 1.0 to 1.8: steps of a
//! system, a user and an agent, with calls, results and metrics, and sub-agents inside. While a
//! run lasts some programs write them as lines, a head and then its steps.

use ledger::recorder::RecordError;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, fold_records, with_document};
use super::anthropic::{self, Answer};
use super::chat::text_or_json;
use super::json::{self, Json, Value};
use super::plain::Plain;
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Tag, Talk};
use super::swe::head;
use super::time::of_value;

/// Sub-agents nested deeper than this are kept and not read.
const DEPTH_MAX: usize = 16;

pub(super) struct Atif;

fn is_trajectory(document: &Json<'_>) -> bool {
    let version = document.str("schema_version").unwrap_or_default();
    let plain = version.split_once('.').is_some_and(|(major, _)| major == "1");
    document.get("steps").is_some_and(Json::is_list)
        && (version.starts_with("ATIF-v1") || (plain && document.get("agent").is_some()))
}

fn is_head(record: &Json<'_>) -> bool {
    record.str("schema_version").is_some_and(|version| version.starts_with("ATIF-v1"))
        && record.get("agent").is_some()
        && record.get("steps").is_none()
}

impl Adapter for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.document.is_some_and(is_trajectory) || look.records.first().is_some_and(is_head)
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        if source.is_lines {
            return fold_lines(source.reader, &mut At::default(), scribe, &mut Lines::default());
        }
        with_document(source, scribe, &mut |document, scribe| trajectory(document, None, 0, scribe))
    }
}

/// A trajectory as lines.
#[derive(Default)]
struct Lines {
    steps: Option<Steps>,
}

impl Fold for Lines {
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if is_head(json) {
            self.steps = Some(Steps { plain: begin(json, None, scribe)?, system: String::new() });
            return Ok(Fate::Aside("facts about the session"));
        }
        match &mut self.steps {
            Some(steps) => steps.row(row, json, scribe),
            None => Ok(Fate::Unknown("step before the head of its trajectory")),
        }
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// Opens the conversation of a trajectory.
fn begin(
    document: &Json<'_>,
    parent: Option<Talk>,
    scribe: &mut Scribe,
) -> Result<Plain, RecordError> {
    if let Some(version) = document.name("schema_version") {
        scribe.tally.version(version);
    }
    let name = document.name("trajectory_id").or_else(|| document.name("session_id"));
    let mut plain = Plain::open(scribe, parent, name)?;
    let agent = document.get("agent");
    plain.setting.model = agent.and_then(|it| it.name("model_name")).map(str::to_owned);
    if let Some(tools) = agent.and_then(|it| it.some("tool_definitions")).filter(|it| it.is_list())
    {
        plain.set("tools", tools.raw.to_vec());
    }
    Ok(plain)
}

fn trajectory(
    document: &Json<'_>,
    parent: Option<Talk>,
    depth: usize,
    scribe: &mut Scribe,
) -> Result<(), Stop> {
    head(document, &["steps", "subagent_trajectories"], scribe)?;
    let plain = begin(document, parent, scribe)?;
    let talk = plain.talk;
    fold_records(document.items("steps"), scribe, &mut Steps { plain, system: String::new() })?;
    for child in document.items("subagent_trajectories") {
        if depth < DEPTH_MAX && child.get("steps").is_some() {
            trajectory(child, Some(talk), depth + 1, scribe)?;
        } else {
            head(child, &[], scribe)?;
        }
    }
    Ok(())
}

struct Steps {
    plain: Plain,
    system: String,
}

impl Fold for Steps {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.get("timestamp").and_then(of_value));
        let text = json.get("message").map(anthropic::texts).unwrap_or_default();
        match json.str("source") {
            // A step of the system that only brings results says nothing.
            Some("system") if text.is_empty() && json.get("observation").is_some() => {}
            Some("system") => {
                if self.system.is_empty() && scribe.length(self.plain.talk) == 0 {
                    self.system.clone_from(&text);
                    self.plain.system(&text);
                } else {
                    self.plain.user(scribe, Tag::Injected, &text);
                }
            }
            Some("user") => {
                let blocks = json.get("message").map_or_else(|| b"\"\"".to_vec(), blocks);
                scribe.say(self.plain.talk, Tag::Prompt, anthropic::message("user", &blocks));
            }
            Some("agent") => {
                let answer = answer(json);
                let asked =
                    json.number("llm_call_count") != Some(0) && !json.flag("is_copied_context");
                if asked {
                    cost(json, scribe);
                    self.plain.answer(scribe, &answer)?;
                } else {
                    self.plain.said_before(scribe, &answer);
                }
            }
            _ => return Ok(Fate::Unknown("step of an unknown source")),
        }
        for result in json.at(&["observation", "results"]).map(Json::list).unwrap_or_default() {
            let content = result.some("content");
            let Some(call) = result.name("source_call_id") else {
                let text = content.map(plain_text).unwrap_or_default();
                self.plain.user(scribe, Tag::Result, &text);
                continue;
            };
            let blocks = content.map_or_else(|| b"\"\"".to_vec(), blocks);
            let block = anthropic::result_block(call, &blocks, false);
            let item = anthropic::message("user", &anthropic::list(&[block]));
            scribe.say(self.plain.talk, Tag::Result, item);
        }
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

fn cost(json: &Json<'_>, scribe: &mut Scribe) {
    if let Some(cost) = json.at(&["metrics", "cost_usd"]) {
        scribe.tally.cost_of(cost);
    }
}

/// A text, or the JSON of a value that programs write in the place of one.
fn plain_text(content: &Json<'_>) -> String {
    if content.is_object() { text_or_json(content) } else { anthropic::texts(content) }
}

/// A content as it is sent: a text, or its texts as blocks. Images are files beside the document.
fn blocks(content: &Json<'_>) -> Vec<u8> {
    let Value::List(parts) = &content.value else { return json::quoted(&plain_text(content)) };
    let block = |part: &Json<'_>| match part.str("text") {
        Some(text) => anthropic::text_block(text),
        None => anthropic::text_block(&String::from_utf8_lossy(part.raw)),
    };
    anthropic::list(&parts.iter().map(block).collect::<Vec<_>>())
}

fn answer(json: &Json<'_>) -> Answer {
    let mut blocks = Vec::new();
    if let Some(reasoning) = json.name("reasoning_content") {
        blocks.push(anthropic::thinking_block(reasoning));
    }
    match json.get("message").map(|message| &message.value) {
        Some(Value::List(parts)) => {
            let texts = parts.iter().filter_map(|part| part.str("text"));
            blocks.extend(texts.map(anthropic::text_block));
        }
        Some(Value::Text(text)) if !text.is_empty() => blocks.push(anthropic::text_block(text)),
        _ => {}
    }
    for call in json.items("tool_calls") {
        let id = call.str("tool_call_id").unwrap_or_default();
        let name = call.str("function_name").unwrap_or_default();
        let arguments = call.get("arguments").map_or(&b"{}"[..], |it| it.raw);
        blocks.push(anthropic::call_block(id, name, arguments));
    }
    let metrics = json.get("metrics");
    let count = |name: &str| metrics.and_then(|metrics| metrics.number(name));
    let cached = count("cached_tokens");
    let written = metrics.and_then(|it| it.get("extra")).and_then(|extra| {
        let names = ["cache_creation_input_tokens", "cache_write_input_tokens"];
        names.iter().find_map(|name| extra.number(name))
    });
    // The prompt's count includes what was cached; Anthropic's words leave it out.
    let cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let input = count("prompt_tokens").map(|it| it.saturating_sub(cache));
    Answer {
        id: None,
        model: json.name("model_name").map(str::to_owned),
        blocks,
        stop: None,
        usage: anthropic::usage(&[
            ("input_tokens", input),
            ("cache_creation_input_tokens", written),
            ("cache_read_input_tokens", cached),
            ("output_tokens", count("completion_tokens")),
        ]),
    }
}
