//! Trajectories in the Agent Trajectory Interchange Format, versions 1.0 to 1.8: steps of a
//! system, a user and an agent, with calls, results and metrics, and sub-agents inside.

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_records, with_document};
use super::anthropic::{self, Answer};
use super::json::Json;
use super::plain::Plain;
use super::rows::Row;
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

impl Adapter for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.document.is_some_and(is_trajectory)
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        with_document(source, scribe, &mut |document, scribe| trajectory(document, None, 0, scribe))
    }
}

fn trajectory(
    document: &Json<'_>,
    parent: Option<Talk>,
    depth: usize,
    scribe: &mut Scribe,
) -> Result<(), Stop> {
    if let Some(version) = document.name("schema_version") {
        scribe.tally.version(version);
    }
    head(document, &["steps", "subagent_trajectories"], scribe)?;
    let name = document.name("trajectory_id").or_else(|| document.name("session_id"));
    let mut plain = Plain::open(scribe, parent, name)?;
    let agent = document.get("agent");
    plain.setting.model = agent.and_then(|it| it.name("model_name")).map(str::to_owned);
    if let Some(tools) = agent.and_then(|it| it.some("tool_definitions")).filter(|it| it.is_list())
    {
        plain.set("tools", tools.raw.to_vec());
    }
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
            Some("system") => {
                if self.system.is_empty() && scribe.length(self.plain.talk) == 0 {
                    self.system.clone_from(&text);
                    self.plain.system(&text);
                } else {
                    self.plain.user(scribe, Tag::Injected, &text);
                }
            }
            Some("user") => self.plain.user(scribe, Tag::Prompt, &text),
            Some("agent") => {
                let answer = answer(json, &text);
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
            let text = result.get("content").map(anthropic::texts).unwrap_or_default();
            match result.name("source_call_id") {
                Some(call) => self.plain.result(scribe, call, &text, false),
                None => self.plain.user(scribe, Tag::Result, &text),
            }
        }
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

fn cost(json: &Json<'_>, scribe: &mut Scribe) {
    if let Some(cost) = json.at(&["metrics", "cost_usd"]) {
        let dollars = std::str::from_utf8(cost.raw).ok().and_then(|text| text.parse().ok());
        scribe.tally.cost(dollars.unwrap_or(0.0));
    }
}

fn answer(json: &Json<'_>, text: &str) -> Answer {
    let mut blocks = Vec::new();
    if let Some(reasoning) = json.name("reasoning_content") {
        blocks.push(anthropic::thinking_block(reasoning));
    }
    if !text.is_empty() {
        blocks.push(anthropic::text_block(text));
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
    // The prompt's count includes what was cached; Anthropic's words leave it out.
    let input = count("prompt_tokens").map(|it| it.saturating_sub(cached.unwrap_or(0)));
    Answer {
        id: None,
        model: json.name("model_name").map(str::to_owned),
        blocks,
        stop: None,
        usage: anthropic::usage(&[
            ("input_tokens", input),
            ("cache_read_input_tokens", cached),
            ("output_tokens", count("completion_tokens")),
        ]),
    }
}
