//! Events of `OpenHands`: a list or lines of them, of version 0 (`action`, `observation`) and of
//! the agent SDK (`kind`); instances of evaluations with a `history`; logs of single model calls.

use std::collections::BTreeMap;

use ledger::recorder::RecordError;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, fold_records, with_document};
use super::anthropic::{self, Answer};
use super::chat::{Listed, text_or_json};
use super::json::{self, Json};
use super::plain::Plain;
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Tag};
use super::time::of_value;

pub(super) struct OpenHands;

fn is_event(json: &Json<'_>) -> bool {
    let old = json.get("source").is_some()
        && (json.get("action").is_some() || json.get("observation").is_some());
    let new =
        json.str("kind").is_some_and(|kind| kind.ends_with("Event") || kind == "Condensation")
            && json.get("source").is_some();
    old || new
}

fn is_instance(json: &Json<'_>) -> bool {
    json.get("instance_id").is_some() && json.get("history").is_some_and(Json::is_list)
}

fn is_call_log(json: &Json<'_>) -> bool {
    json.get("messages").is_some_and(Json::is_list)
        && json.get("response").is_some()
        && (json.get("kwargs").is_some() || json.get("latency_sec").is_some())
}

impl Adapter for OpenHands {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let list = |document: &Json<'_>| {
            let events = document.list();
            !events.is_empty() && events.iter().take(8).all(is_event)
        };
        look.any(is_event)
            || look.any(is_instance)
            || look.any(is_call_log)
            || look.document.is_some_and(|it| list(it) || is_instance(it) || is_call_log(it))
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut events = Events::default();
        if source.is_lines {
            fold_lines(source.reader, &mut At::default(), scribe, &mut events)?;
        } else {
            with_document(source, scribe, &mut |document, scribe| {
                let one = core::slice::from_ref(document);
                let records = if document.is_list() { document.list() } else { one };
                fold_records(records, scribe, &mut events)
            })?;
        }
        events.end(scribe)
    }
}

#[derive(Debug, Default)]
struct Events {
    plain: Option<Plain>,
    /// The answer whose actions are still coming, by the id of its response.
    pending: Option<(String, Answer)>,
    /// Ids of calls, by the ids of the events that ask for them.
    calls: BTreeMap<u64, String>,
    /// What came while the answer was not complete.
    results: Vec<(String, String, bool)>,
    logged: Option<Listed>,
    /// What the run has cost so far, by its own sum: the JSON of a number.
    spent: Option<Vec<u8>>,
}

impl Events {
    fn plain(&mut self, scribe: &mut Scribe) -> Result<&mut Plain, RecordError> {
        if self.plain.is_none() {
            self.plain = Some(Plain::open(scribe, None, None)?);
        }
        self.plain.as_mut().ok_or(RecordError::Unknown { what: "conversation", number: 0 })
    }

    /// Ends the answer whose actions were coming.
    fn close(&mut self, scribe: &mut Scribe) -> Result<(), RecordError> {
        let pending = self.pending.take();
        let results = core::mem::take(&mut self.results);
        if let Some((_, answer)) = pending {
            self.plain(scribe)?.answer(scribe, &answer)?;
        }
        for (call, text, is_error) in results {
            self.plain(scribe)?.result(scribe, &call, &text, is_error);
        }
        Ok(())
    }

    fn user(&mut self, tag: Tag, text: &str, scribe: &mut Scribe) -> Result<Fate, Stop> {
        self.close(scribe)?;
        self.plain(scribe)?.user(scribe, tag, text);
        Ok(Fate::Used)
    }

    /// Adds to the answer of this response, or begins it.
    fn add(
        &mut self,
        response: &str,
        blocks: Vec<Vec<u8>>,
        model: Option<&str>,
        usage: Option<Vec<u8>>,
        scribe: &mut Scribe,
    ) -> Result<(), RecordError> {
        if let Some((id, answer)) = &mut self.pending
            && id == response
        {
            answer.blocks.extend(blocks);
            return Ok(());
        }
        self.close(scribe)?;
        let answer = Answer {
            id: Some(response.to_owned()),
            model: model.map(str::to_owned),
            blocks,
            stop: None,
            usage,
        };
        self.pending = Some((response.to_owned(), answer));
        Ok(())
    }

    fn old(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if json.get("observation").is_some() {
            return self.observation(json, scribe);
        }
        let args = json.get("args");
        let text = |name: &str| args.and_then(|args| args.str(name)).unwrap_or_default();
        match (json.str("action"), json.str("source")) {
            (Some("system"), _) => {
                let system = text("content").to_owned();
                let tools = args.and_then(|args| args.some("tools")).map(|it| it.raw.to_vec());
                let plain = self.plain(scribe)?;
                plain.system(&system);
                if let Some(tools) = tools {
                    plain.set("tools", tools);
                }
                Ok(Fate::Used)
            }
            (Some("message"), Some("user")) => self.user(Tag::Prompt, text("content"), scribe),
            (Some("message"), _) => {
                let id = format!("event-{}", json.number("id").unwrap_or(0));
                let blocks = vec![anthropic::text_block(text("content"))];
                self.add(&id, blocks, None, None, scribe)?;
                Ok(Fate::Used)
            }
            (Some("change_agent_state" | "recall" | "null" | "start"), _) => {
                Ok(Fate::Aside("event that is no message"))
            }
            (Some("condensation"), _) => self.condensed(text("summary"), scribe),
            (Some(action), Some("user")) => {
                let said = format!("{action}: {}", args.map(text_or_json).unwrap_or_default());
                self.user(Tag::Injected, &said, scribe)
            }
            (Some(action), _) => self.action(json, action, args, scribe),
            (None, _) => Ok(Fate::Unknown("event without an action")),
        }
    }

    fn action(
        &mut self,
        json: &Json<'_>,
        action: &str,
        args: Option<&Json<'_>>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        let event = json.number("id").unwrap_or(0);
        let told = json.get("tool_call_metadata");
        let call = told.and_then(|told| told.name("tool_call_id"));
        let call = call.map_or_else(|| format!("event-{event}"), str::to_owned);
        let response = told.and_then(|told| told.get("model_response"));
        let id = response.and_then(|it| it.name("id")).unwrap_or(&call).to_owned();
        let name = told.and_then(|told| told.name("function_name")).unwrap_or(action);
        let asked = response.and_then(|response| {
            let calls = response.items("choices").first()?.at(&["message", "tool_calls"])?.list();
            let own = calls.iter().find(|it| it.str("id") == Some(&call))?;
            Some(anthropic::arguments(own.at(&["function", "arguments"])?.text()?))
        });
        let arguments =
            asked.unwrap_or_else(|| args.map_or_else(|| b"{}".to_vec(), |it| it.raw.to_vec()));
        let mut blocks = Vec::new();
        let thought = args.and_then(|args| args.name("thought"));
        if let Some(thought) = thought {
            blocks.push(anthropic::text_block(thought));
        }
        blocks.push(anthropic::call_block(&call, name, &arguments));
        let usage = response.and_then(|it| it.get("usage")).and_then(usage);
        let model = response.and_then(|it| it.name("model"));
        self.add(&id, blocks, model, usage, scribe)?;
        self.calls.insert(event, call);
        Ok(Fate::Used)
    }

    fn observation(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let text = json.get("content").map(text_or_json).unwrap_or_default();
        let told = json.at(&["tool_call_metadata", "tool_call_id"]).and_then(Json::text);
        let cause = json.number("cause").and_then(|cause| self.calls.get(&cause)).cloned();
        let is_error = json.str("observation") == Some("error");
        match told.map(str::to_owned).or(cause) {
            Some(call) => {
                self.results.push((call, text, is_error));
                Ok(Fate::Used)
            }
            None if matches!(
                json.str("observation"),
                Some("agent_state_changed" | "recall" | "null")
            ) =>
            {
                Ok(Fate::Aside("event that is no message"))
            }
            None => self.user(Tag::Result, &text, scribe),
        }
    }

    /// What was forgotten is not told in a form that the list knows.
    fn condensed(&mut self, summary: &str, scribe: &mut Scribe) -> Result<Fate, Stop> {
        self.close(scribe)?;
        let talk = self.plain(scribe)?.talk;
        let before = scribe.length(talk);
        let first = scribe.list(talk).first().cloned().into_iter().collect();
        scribe.compacted(talk, before, Some(summary).filter(|it| !it.is_empty()))?;
        scribe.restart(talk, first, true);
        if !summary.is_empty() {
            self.plain(scribe)?.user(scribe, Tag::Injected, summary);
        }
        Ok(Fate::Used)
    }

    fn of_sdk(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let texts = |name: &str| json.get(name).map(anthropic::texts).unwrap_or_default();
        match json.str("kind") {
            Some("SystemPromptEvent") => {
                let system =
                    json.at(&["system_prompt", "text"]).and_then(Json::text).unwrap_or_default();
                let tools = json.some("tools").map(|tools| tools.raw.to_vec());
                let plain = self.plain(scribe)?;
                plain.system(system);
                if let Some(tools) = tools {
                    plain.set("tools", tools);
                }
                Ok(Fate::Used)
            }
            Some("MessageEvent") => {
                let said =
                    json.at(&["llm_message", "content"]).map(anthropic::texts).unwrap_or_default();
                if json.str("source") == Some("agent") {
                    let id = json
                        .name("llm_response_id")
                        .or_else(|| json.name("id"))
                        .unwrap_or("message");
                    self.add(id, vec![anthropic::text_block(&said)], None, None, scribe)?;
                    return Ok(Fate::Used);
                }
                self.user(Tag::Prompt, &said, scribe)
            }
            Some("ActionEvent") => {
                let id =
                    json.name("llm_response_id").or_else(|| json.name("id")).unwrap_or("action");
                let call = json.name("tool_call_id").unwrap_or(id);
                let asked = json.get("tool_call").and_then(|call| {
                    call.at(&["function", "arguments"]).or(call.get("arguments"))?.text()
                });
                let asked = asked.map_or_else(
                    || json.get("action").map_or_else(|| b"{}".to_vec(), |it| it.raw.to_vec()),
                    anthropic::arguments,
                );
                let mut blocks = Vec::new();
                let thought = texts("thought");
                if !thought.is_empty() {
                    blocks.push(anthropic::text_block(&thought));
                }
                let name = json.name("tool_name").unwrap_or("action");
                blocks.push(anthropic::call_block(call, name, &asked));
                self.add(id, blocks, None, None, scribe)?;
                Ok(Fate::Used)
            }
            Some("ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation") => {
                let call = json.name("tool_call_id").unwrap_or("call without an id").to_owned();
                let observed = json.get("observation");
                let content =
                    observed.and_then(|it| it.get("content").or_else(|| it.get("output")));
                let text = match (content, json.name("error"), observed) {
                    (Some(content), _, _) if content.is_list() => anthropic::texts(content),
                    (Some(content), _, _) => text_or_json(content),
                    (None, Some(error), _) => error.to_owned(),
                    (None, None, Some(observed)) => text_or_json(observed),
                    (None, None, None) => String::new(),
                };
                let is_error = json.str("kind") == Some("AgentErrorEvent");
                self.results.push((call, text, is_error));
                Ok(Fate::Used)
            }
            Some("Condensation") => self.condensed(json.str("summary").unwrap_or_default(), scribe),
            Some(kind) if kind.ends_with("Event") || kind.starts_with("Condensation") => {
                Ok(Fate::Aside("event that is no message"))
            }
            _ => Ok(Fate::Unknown("record of an unknown type")),
        }
    }

    /// One call of the model as it was sent and answered.
    fn logged(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if self.logged.is_none() {
            self.logged = Some(Listed::open(scribe, None, None)?);
        }
        let Some(listed) = &mut self.logged else { return Ok(Fate::Used) };
        let response = json.get("response");
        listed.setting.model = response.and_then(|it| it.name("model")).map(str::to_owned);
        let tools = json.some("tools").or_else(|| json.get("kwargs")?.some("tools"));
        if let Some(tools) = tools {
            listed.setting.set("tools", tools.raw.to_vec());
        }
        let tag = |message: &Json<'_>| match message.str("role") {
            Some("assistant") => Tag::Answer,
            Some("tool") => Tag::Result,
            _ => Tag::Prompt,
        };
        let messages: Vec<_> =
            json.items("messages").iter().map(|it| (tag(it), it.raw.to_vec())).collect();
        listed.exchange(scribe, &messages, response.map(|response| response.raw))?;
        Ok(Fate::Used)
    }
}

impl Fold for Events {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.get("timestamp").and_then(of_value));
        if is_call_log(json) {
            if let Some(cost) = json.get("cost") {
                scribe.tally.cost_of(cost);
            }
            return self.logged(json, scribe);
        }
        if is_instance(json) {
            let mut own = Self::default();
            if let Some(cost) = json.at(&["metrics", "accumulated_cost"]) {
                own.spent = Some(cost.raw.to_vec());
            }
            for entry in json.items("history") {
                // The older form is a pair of an action and its observation.
                let one = core::slice::from_ref(entry);
                for event in if entry.is_list() { entry.list() } else { one } {
                    if is_event(event) {
                        own.event(event, scribe)?;
                    }
                }
            }
            own.end(scribe)?;
            return Ok(Fate::Aside("instance whose history is on record"));
        }
        if is_event(json) {
            // Each event tells the sum up to it.
            if let Some(cost) = json.at(&["llm_metrics", "accumulated_cost"]) {
                self.spent = Some(cost.raw.to_vec());
            }
            return self.event(json, scribe);
        }
        Ok(Fate::Unknown("record of an unknown type"))
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        if let Some(cost) = self.spent.take().as_deref().and_then(json::whole) {
            scribe.tally.cost_of(&cost);
        }
        Ok(self.close(scribe)?)
    }
}

impl Events {
    fn event(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if json.str("kind").is_some() { self.of_sdk(json, scribe) } else { self.old(json, scribe) }
    }
}

fn usage(usage: &Json<'_>) -> Option<Vec<u8>> {
    let details = usage.get("prompt_tokens_details");
    let cached = details.and_then(|details| details.number("cached_tokens"));
    let input = usage.number("prompt_tokens").map(|it| it.saturating_sub(cached.unwrap_or(0)));
    anthropic::usage(&[
        ("input_tokens", input),
        ("cache_read_input_tokens", cached),
        ("output_tokens", usage.number("completion_tokens")),
    ])
}
