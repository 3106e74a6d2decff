//! The work that `fixtures/oracles/speed.py` gives to other programs: writes the requests and the
//! outputs of a recorded run as JSON into a folder, and prints our own medians for them.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use benches::Workload;
use projector::policy::{Op, Setting, presets};
use projector::text::{self, Context};
use projector::{Policy, Projector};
use replay::assemble::Assembler;
use serde_json::json;

/// Passes over the run; the median is over all of them.
const ROUNDS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: python FOLDER")?);
    let workload = Workload::new("mini-long");
    let recording = &workload.recording;
    let (history, source) = (recording.history(), recording.as_source());
    let ids: Vec<_> = history.requests().iter().map(|it| it.captured.request).collect();
    let mut assembler = Assembler::new(history, source);
    for (nth, id) in ids.iter().enumerate() {
        fs::write(folder.join(format!("request-{nth:03}.json")), assembler.body(*id)?)?;
    }
    let policy = preset("langchain-clear-tool-uses@1.5.2", "clear_results.trigger", TRIGGER)?;
    let mut steps = Vec::new();
    for _ in 0..ROUNDS {
        let mut projector = Projector::new(history, source, &policy);
        for id in &ids {
            let start = Instant::now();
            let account = projector.step(*id)?;
            steps.push(start.elapsed().as_nanos());
            std::hint::black_box(account);
        }
    }
    let mut outputs = Vec::new();
    for call in history.calls() {
        for output in call.output.iter().flatten() {
            outputs.push(String::from_utf8(output.text.read(source)?.to_vec())?);
        }
    }
    fs::write(folder.join("outputs.json"), serde_json::to_vec(&outputs)?)?;
    let codex = preset("codex@820f85c", "cap_text.limit", "1000")?;
    let cap = codex.steps.first().map(|step| &step.op).ok_or("a cap comes first")?;
    let mut cuts = Vec::new();
    for _ in 0..ROUNDS {
        for output in &outputs {
            let start = Instant::now();
            let shown = cut(cap, output)?;
            cuts.push(start.elapsed().as_nanos());
            std::hint::black_box(shown);
        }
    }
    let medians = json!({ "clear": median(steps), "cut": median(cuts), "trigger": 20_000 });
    fs::write(folder.join("ours.json"), serde_json::to_vec(&medians)?)?;
    writeln!(std::io::stdout(), "{medians}")?;
    Ok(())
}

const TRIGGER: &str = "{ metric = \"est_tokens\", cmp = \">\", value = 20000 }";

fn preset(id: &str, key: &str, value: &str) -> Result<Policy, Box<dyn Error>> {
    let preset = presets::find(id).ok_or("no such preset")?;
    Ok(Policy::from_toml_with(preset.toml, &[Setting { key, value }])?)
}

fn cut(op: &Op, text: &str) -> Result<String, Box<dyn Error>> {
    let shown = text::apply(op, text, &Context::default())?;
    Ok(shown.map_or_else(|| text.to_owned(), |shown| shown.lossy(text)))
}

/// Nanoseconds.
fn median(mut times: Vec<u128>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
}
