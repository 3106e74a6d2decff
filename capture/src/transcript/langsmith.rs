//! Runs of `LangSmith`: rows that create a run and rows that end it, joined by id; a run of a model
//! has its messages, serialized by `LangChain` or in the form of Chat Completions.

use std::collections::BTreeMap;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, fold_records, with_document};
use super::chat::{self, Counts, Listed, said};
use super::json::{self, Json};
use super::rows::{At, Row};
use super::scribe::{Fate, Scribe, Tag};

pub(super) struct LangSmith;

fn is_run(json: &Json<'_>) -> bool {
    let names = json.name("id").is_some() || json.name("run_id").is_some();
    let begun = json.get("run_type").is_some()
        && (json.get("inputs").is_some() || json.get("dotted_order").is_some());
    let ended = json.get("outputs").is_some()
        && (json.get("dotted_order").is_some() || json.get("end_time").is_some());
    names && (begun || ended)
}

impl Adapter for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let list = |list: &[Json<'_>]| !list.is_empty() && list.iter().take(8).all(is_run);
        look.any(is_run)
            || look.document.is_some_and(|document| {
                list(document.list())
                    || list(document.items("runs"))
                    || list(document.items("post"))
            })
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut runs = Runs::default();
        if source.is_lines {
            fold_lines(source.reader, &mut At::default(), scribe, &mut runs)?;
        } else {
            with_document(source, scribe, &mut |document, scribe| {
                if is_run(document) {
                    return fold_records(core::slice::from_ref(document), scribe, &mut runs);
                }
                for list in [
                    Some(document),
                    document.get("runs"),
                    document.get("post"),
                    document.get("patch"),
                ] {
                    fold_records(list.map(Json::list).unwrap_or_default(), scribe, &mut runs)?;
                }
                Ok(())
            })?;
        }
        runs.end(scribe)
    }
}

#[derive(Debug, Default)]
struct Run {
    order: String,
    trace: String,
    is_model: bool,
    inputs: Option<Vec<u8>>,
    outputs: Option<Vec<u8>>,
    tools: Option<Vec<u8>>,
    model: Option<String>,
}

#[derive(Debug, Default)]
struct Runs(BTreeMap<String, Run>);

impl Fold for Runs {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, _scribe: &mut Scribe) -> Result<Fate, Stop> {
        if !is_run(json) {
            return Ok(Fate::Unknown("record that is no run"));
        }
        let id = json.name("id").or_else(|| json.name("run_id")).unwrap_or_default();
        let run = self.0.entry(id.to_owned()).or_default();
        if let Some(order) = json.name("dotted_order").or_else(|| json.name("start_time")) {
            order.clone_into(&mut run.order);
        }
        if let Some(trace) = json.name("trace_id") {
            trace.clone_into(&mut run.trace);
        }
        let kept = |name: &str| json.some(name).map(|it| it.raw.to_vec());
        run.is_model |= matches!(json.str("run_type"), Some("llm" | "chat_model"));
        run.inputs = kept("inputs").or(run.inputs.take());
        run.outputs = kept("outputs").or(run.outputs.take());
        let parameters = json.at(&["extra", "invocation_params"]);
        if let Some(parameters) = parameters {
            run.tools = parameters.some("tools").map(|it| it.raw.to_vec());
            let model = parameters.name("model").or_else(|| parameters.name("model_name"));
            run.model = model.map(str::to_owned);
        }
        let is_model = run.is_model;
        Ok(if is_model { Fate::Used } else { Fate::Aside("run that is no model call") })
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut runs: Vec<Run> = core::mem::take(&mut self.0).into_values().collect();
        runs.retain(|run| run.is_model);
        runs.sort_by(|a, b| a.order.cmp(&b.order));
        let mut talks: BTreeMap<String, Listed> = BTreeMap::new();
        for run in runs {
            if !talks.contains_key(&run.trace) {
                talks.insert(run.trace.clone(), Listed::open(scribe, None, Some(&run.trace))?);
            }
            if let Some(listed) = talks.get_mut(&run.trace) {
                exchange(&run, listed, scribe)?;
            }
        }
        Ok(())
    }
}

fn exchange(run: &Run, listed: &mut Listed, scribe: &mut Scribe) -> Result<(), Stop> {
    let inputs = run.inputs.as_deref().and_then(json::whole);
    let outputs = run.outputs.as_deref().and_then(json::whole);
    listed.setting.model.clone_from(&run.model);
    if let Some(tools) = &run.tools {
        listed.setting.set("tools", tools.clone());
    }
    let messages = inputs.as_ref().map(|it| it.items("messages")).unwrap_or_default();
    // The framework sends batches of one.
    let messages = match messages {
        [only] if only.is_list() => only.list(),
        several => several,
    };
    let messages: Vec<(Tag, Vec<u8>)> =
        messages.iter().flat_map(said).map(|it| (it.tag(), it.item())).collect();
    let answer = outputs.as_ref().and_then(|outputs| answered(outputs, run.model.as_deref()));
    Ok(listed.exchange(scribe, &messages, answer.as_deref())?)
}

fn answered(outputs: &Json<'_>, model: Option<&str>) -> Option<Vec<u8>> {
    if outputs.get("choices").is_some() {
        return Some(outputs.raw.to_vec());
    }
    let batch = outputs.items("generations").first();
    let generation =
        batch.and_then(|first| if first.is_list() { first.list().first() } else { Some(first) });
    let message = generation.and_then(|it| it.get("message")).or_else(|| outputs.get("message"))?;
    let said = said(message).into_iter().next()?;
    let kwargs = message.get("kwargs").unwrap_or(message);
    let usage = kwargs.get("usage_metadata").or_else(|| outputs.at(&["llm_output", "token_usage"]));
    let count =
        |names: [&str; 2]| usage.and_then(|usage| names.iter().find_map(|it| usage.number(it)));
    let cached = usage
        .and_then(|usage| usage.at(&["input_token_details", "cache_read"]))
        .and_then(Json::count);
    let counts = Counts {
        input: count(["input_tokens", "prompt_tokens"]),
        output: count(["output_tokens", "completion_tokens"]),
        cached,
    };
    let id = kwargs.name("id");
    Some(chat::answer(id, model, &said.item(), None, counts))
}
