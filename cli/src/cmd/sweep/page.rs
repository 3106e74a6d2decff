//! A sweep as one HTML file that refers to nothing outside of itself: the page reads the numbers
//! from the JSON that is embedded in it.

use projector::metrics::{Line, Voice};
use replay::evaluate::Prepared;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::row::RowEntry;
use super::{HELD_FIXED, Results, pareto};
use crate::error::Stop;
use crate::report::money;
use crate::report::number::{bytes, count, percent};

const PAGE: &str = include_str!("page.html");
const DATA: &str = "@DATA@";
/// Most words of one row that are listed.
const MISSED_MAX: usize = 50;
/// Most bytes of details on a page; rows beyond have none.
const DETAILS_BYTES_MAX: usize = 16 << 20;

/// A row request by request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Detail {
    /// By request, bytes in the order of [`Voice::ALL`].
    voices: Vec<[u64; Voice::COUNT]>,
    breaks: Vec<BreakEntry>,
    missed: Vec<MissedEntry>,
    /// Words that are not listed.
    more: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct BreakEntry {
    request: usize,
    cause: String,
    lost: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct MissedEntry {
    request: usize,
    word: String,
    tool: String,
}

/// The details of a row.
pub(super) fn detail(prepared: &Prepared<'_>, lines: &[Line]) -> Detail {
    let evidence = &prepared.ground().evidence;
    let mut detail = Detail { voices: Vec::new(), breaks: Vec::new(), missed: Vec::new(), more: 0 };
    for line in lines {
        detail.voices.push(line.voices);
        if let Some(broke) = line.charge.as_ref().and_then(|charge| charge.broke) {
            detail.breaks.push(BreakEntry {
                request: line.request + 1,
                cause: broke.cause.name().to_owned(),
                lost: broke.lost_tokens,
            });
        }
        let anchors = evidence.anchors.get(line.request);
        for nth in &line.missed {
            let Some(anchor) = anchors.and_then(|all| all.get(*nth as usize)) else { continue };
            if detail.missed.len() == MISSED_MAX {
                detail.more += 1;
                continue;
            }
            let word = evidence.words.get(anchor.word as usize);
            let word = String::from_utf8_lossy(word.map_or(&[][..], Vec::as_slice));
            let tool = anchor.places.first().map(|place| prepared.tool_of(place.text));
            detail.missed.push(MissedEntry {
                request: line.request + 1,
                word: crate::text::one_line(&word).into_owned(),
                tool: tool.unwrap_or_default(),
            });
        }
    }
    detail
}

/// A column: key, name, meaning, and whether it holds numbers.
const COLUMNS: [(&str, &str, &str, bool); 13] = [
    ("recording", "recording", "the run", false),
    ("policy", "policy", "select it to see its requests", false),
    ("requests", "requests", "recorded requests", true),
    ("frontier", "frontier", "first request that differs from the recorded one", true),
    ("tokens", "tokens", "input tokens of all requests", true),
    ("largest", "largest", "input tokens of the largest request", true),
    ("cached", "from cache", "share of the input read from the cache, simulated", true),
    ("cost", "cost", "simulated cost of input and recorded output", true),
    ("against", "to recorded", "against the simulated cost of what was recorded", false),
    ("evidence", "evidence", "what recorded answers use and the policy shows", true),
    ("random", "random", "what is left of it when as much is hidden by chance", true),
    ("hidden", "hidden", "recorded bytes that are not shown, over all requests", true),
    ("fidelity", "fidelity", "what the projections rest on", false),
];

/// A row as the page has it: the texts that it shows, and values to sort by.
fn row(nth: usize, entry: &RowEntry, front: bool, priced: bool) -> Value {
    let input = entry.cache.read + entry.cache.write + entry.cache.uncached;
    let recording = entry.recording.as_deref().unwrap_or("all recordings");
    if !entry.is_known() {
        return unknown(nth, recording, entry);
    }
    let recall = entry.recall();
    let dash = || "-".to_owned();
    let cost = if entry.is_priced() { money::dollars(entry.cost.total) } else { dash() };
    let per_mille = |share: Option<u64>| share.map_or_else(dash, |share| percent(share, 1000));
    let (evidence, random) = (per_mille(recall), per_mille(entry.random_recall()));
    let micro = entry.cost.total / 1_000_000;
    let against = super::table::against(entry);
    let fidelity = super::table::fidelity(&entry.fidelity);
    json!({
        "nth": nth,
        "recording": recording,
        "policy": entry.policy,
        "front": front,
        "detail": format!("{recording}\n{}", entry.policy),
        "x": if priced { micro } else { entry.prompt_tokens },
        "y": recall,
        "label": format!("{cost}, {} tokens, evidence {evidence}, {fidelity}",
            count(entry.prompt_tokens)),
        "texts": [
            recording, &entry.policy, count(entry.requests),
            entry.frontier.map_or_else(dash, count), count(entry.prompt_tokens),
            count(entry.prompt_tokens_max), percent(entry.cache.read, input), cost, against,
            evidence, random, bytes(entry.hidden_bytes), fidelity,
        ],
        "values": [
            recording, &entry.policy, entry.requests, entry.frontier, entry.prompt_tokens,
            entry.prompt_tokens_max,
            (entry.cache.read * 1000).checked_div(input),
            entry.is_priced().then_some(micro),
            (entry.cost.total.saturating_mul(1000)).checked_div(entry.cost.recorded),
            recall,
            entry.random_recall(),
            entry.hidden_bytes,
            entry.fidelity.assumed + 1000 * entry.fidelity.refused,
        ],
    })
}

/// A row of which nothing is known: a request was refused, or nothing could be worked out.
fn unknown(nth: usize, recording: &str, entry: &RowEntry) -> Value {
    let fidelity = match &entry.error {
        Some(_) => "failed".to_owned(),
        None => super::table::fidelity(&entry.fidelity),
    };
    let mut texts = vec!["-".to_owned(); COLUMNS.len()];
    let mut values = vec![Value::Null; COLUMNS.len()];
    let known = [(0, recording), (1, &entry.policy), (2, &count(entry.requests))];
    for (at, text) in known.into_iter().chain([(COLUMNS.len() - 1, fidelity.as_str())]) {
        if let (Some(place), Some(value)) = (texts.get_mut(at), values.get_mut(at)) {
            text.clone_into(place);
            *value = json!(text);
        }
    }
    if let Some(value) = values.get_mut(2) {
        *value = json!(entry.requests);
    }
    json!({
        "nth": nth, "recording": recording, "policy": entry.policy, "front": false,
        "detail": null, "x": null, "y": null, "label": fidelity, "texts": texts, "values": values,
    })
}

/// The page.
pub(super) fn page(results: &Results<'_>) -> Result<String, Stop> {
    let mut rows = Vec::new();
    let mut details = serde_json::Map::new();
    let (mut kept, mut left_out) = (0_usize, 0_u64);
    let mut priced = true;
    results.read(|_recording, entries| {
        priced &= entries.iter().all(|row| row.is_priced() || !row.is_known() || row.requests == 0);
        Ok(())
    })?;
    for (path, slot) in &results.found {
        let Ok(slot) = slot else { continue };
        for (policy, text) in results.store.details(slot)? {
            if kept + text.len() > DETAILS_BYTES_MAX {
                left_out += 1;
                continue;
            }
            kept += text.len();
            let detail = serde_json::from_str(&text).unwrap_or(Value::Null);
            details.insert(format!("{path}\n{policy}"), detail);
        }
    }
    results.each(|_recording, entries| {
        let front = pareto::front(&entries.iter().collect::<Vec<_>>());
        for (entry, front) in entries.iter().zip(front) {
            rows.push(row(rows.len(), entry, front, priced));
        }
        Ok(())
    })?;
    let several = results.found.len() > 1;
    let totals: Vec<Value> = results
        .totals
        .iter()
        .zip(&results.front)
        .enumerate()
        .filter(|_| several)
        .map(|(nth, (entry, front))| row(nth, entry, *front, priced))
        .collect();
    let mut basis = results.bases.lines();
    basis.push(HELD_FIXED.to_owned());
    if left_out > 0 {
        basis.push(format!("{left_out} rows have no details here: the page would be too large."));
    }
    let columns = COLUMNS.map(|(key, name, title, number)| {
        json!({ "key": key, "name": name, "title": title, "number": number })
    });
    let data = json!({
        "schema": "counterfold.sweep-page/1",
        "basis": basis,
        "columns": columns,
        "voices": Voice::ALL.map(Voice::name),
        "sort": "tokens",
        "priced": priced,
        "known": results.front.contains(&true),
        "rows": rows,
        "totals": totals,
        "details": details,
    });
    // Nothing that is embedded may end the element that it stands in.
    let text = data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028");
    Ok(PAGE.replacen(DATA, &text.replace('\u{2029}', "\\u2029"), 1))
}
