//! Which results of a turn a newer step made needless. Careful by design: calls of one step never
//! replace each other, a failure never replaces a success, and tools that are not known take part
//! only where input and output are the same.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::archive::Supersession;
use super::json::{Json, write_string};
use super::text::{self, Text};

/// Newer reads of one file that are looked at, at most.
pub const READS_MAX: usize = 64;

/// A result that the model sees, and the call behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The provider's id of the call.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The arguments.
    pub input: Json,
    /// The step that called it.
    pub step: u64,
    /// Hash of the archived text of the result.
    pub sha256: String,
    /// The tool failed.
    pub is_error: bool,
    /// It may be replaced.
    pub eligible: bool,
}

/// What a result is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// Lines of a file.
    Read { path: Text, start: u64, end: Option<u64> },
    /// A state of the world that the same question asks for again.
    Snapshot(Vec<Text>),
}

/// What replaces the results, by call.
pub fn plan(observations: &[Observation]) -> BTreeMap<Text, Supersession> {
    let mut decisions = BTreeMap::new();
    let mut exact: BTreeMap<Vec<Text>, &Observation> = BTreeMap::new();
    let mut reads: BTreeMap<Text, Vec<&Observation>> = BTreeMap::new();
    let mut snapshots: BTreeMap<Vec<Text>, &Observation> = BTreeMap::new();
    for seen in observations.iter().rev() {
        let key = exact_key(seen);
        let subject = subject(&seen.tool, &seen.input);
        let same = exact.get(&key).filter(|newer| newer.step > seen.step);
        if let Some(newer) = same.filter(|_| seen.eligible) {
            decisions.insert(seen.call_id.clone(), decision(seen, newer, "exact_duplicate"));
        } else if let Some(subject) = subject.as_ref().filter(|_| seen.eligible) {
            let newer = newer(seen, subject, &reads, &snapshots);
            if let Some(newer) = newer.filter(|_| !decisions.contains_key(&seen.call_id)) {
                let reason = match (seen.is_error, subject) {
                    (true, _) => "failure_resolved",
                    (false, Subject::Read { .. }) => "newer_read_covers_range",
                    (false, Subject::Snapshot(_)) => "newer_snapshot",
                };
                decisions.insert(seen.call_id.clone(), decision(seen, newer, reason));
            }
        }
        exact.entry(key).or_insert(seen);
        match subject.filter(|_| !seen.is_error) {
            Some(Subject::Read { path, .. }) => {
                let list = reads.entry(path).or_default();
                if list.len() < READS_MAX {
                    list.push(seen);
                }
            }
            Some(Subject::Snapshot(key)) => {
                snapshots.entry(key).or_insert(seen);
            }
            None => {}
        }
    }
    decisions
}

fn decision(seen: &Observation, newer: &Observation, reason: &'static str) -> Supersession {
    let failure = (reason == "failure_resolved").then(|| seen.sha256.clone());
    Supersession { reason, by_call: newer.call_id.clone(), failure_sha256: failure }
}

fn newer<'o>(
    seen: &Observation,
    subject: &Subject,
    reads: &BTreeMap<Text, Vec<&'o Observation>>,
    snapshots: &BTreeMap<Vec<Text>, &'o Observation>,
) -> Option<&'o Observation> {
    match subject {
        Subject::Read { path, start, end } => {
            let covers = |newer: &&&Observation| {
                newer.step > seen.step
                    && matches!(
                        read(&newer.input),
                        Some(Subject::Read { start: from, end: to, .. })
                            if from <= *start && covers_end(to, *end)
                    )
            };
            reads.get(path)?.iter().find(covers).copied()
        }
        Subject::Snapshot(key) => {
            snapshots.get(key).filter(|newer| newer.step > seen.step).copied()
        }
    }
}

/// No end is the end of the file.
fn covers_end(newer: Option<u64>, older: Option<u64>) -> bool {
    match (newer, older) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(newer), Some(older)) => newer >= older,
    }
}

fn exact_key(seen: &Observation) -> Vec<Text> {
    let mut input = Text::new();
    sorted(&seen.input, &mut input);
    let outcome = Text::from(if seen.is_error { "error" } else { "success" });
    alloc::vec![seen.tool.clone(), input, outcome, Text::from(seen.sha256.as_str())]
}

/// JSON with all names in order; arrays stay as they are.
fn sorted(value: &Json, out: &mut Text) {
    match value {
        Json::Array(items) => {
            out.push_str("[");
            for item in items {
                sorted(item, out);
                out.push_str(",");
            }
            out.push_str("]");
        }
        Json::Object(object) => {
            let mut members: Vec<&(Text, Json)> = object.members().iter().collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            out.push_str("{");
            for (name, value) in members {
                write_string(name, out);
                out.push_str(":");
                sorted(value, out);
                out.push_str(",");
            }
            out.push_str("}");
        }
        Json::Undefined => {}
        other => out.push(&other.stringify().unwrap_or_default()),
    }
}

fn subject(tool: &Text, input: &Json) -> Option<Subject> {
    match tool.to_utf8().as_str() {
        "Read" => read(input),
        "Glob" => question(tool, input, "pattern", "cwd", None),
        "Grep" => question(tool, input, "pattern", "path", Some("glob")),
        "Bash" => command(tool, input),
        _ => None,
    }
}

fn read(input: &Json) -> Option<Subject> {
    let path = input.get("path")?.as_text().filter(|path| !path.is_empty())?;
    let natural = |name: &str| input.get(name)?.as_number()?.to_u64();
    let start = natural("offset").unwrap_or(0);
    let limit = natural("limit").filter(|limit| *limit > 0);
    let end = limit.map(|limit| start.saturating_add(limit));
    Some(Subject::Read { path: path_key(path), start, end })
}

fn question(
    tool: &Text,
    input: &Json,
    pattern: &str,
    place: &str,
    filter: Option<&str>,
) -> Option<Subject> {
    let pattern = input.get(pattern)?.as_text()?;
    let optional = |name: &str| match input.get(name) {
        None | Some(Json::Undefined) => Some(None),
        Some(Json::String(text)) => Some(Some(text)),
        Some(_) => None,
    };
    let place = optional(place)?.map_or_else(|| Text::from("."), path_key);
    let mut key = alloc::vec![tool.clone(), pattern.clone(), place];
    if let Some(filter) = filter {
        key.extend(optional(filter)?.cloned());
    }
    Some(Subject::Snapshot(key))
}

fn command(tool: &Text, input: &Json) -> Option<Subject> {
    let command = input.get("command")?.as_text()?.trim();
    let off =
        |name: &str| matches!(input.get(name), None | Some(Json::Undefined | Json::Bool(false)));
    let asks = off("run_in_background") && off("pty") && asks_git(&command);
    asks.then(|| Subject::Snapshot(alloc::vec![tool.clone(), command]))
}

/// What git is asked.
const ASKS: [&str; 6] = ["status", "diff", "log", "show", "branch", "rev-parse"];

/// True for one command that asks git for a state and does nothing else.
fn asks_git(command: &Text) -> bool {
    let joins = |unit: &u16| matches!(unit, 0x3b | 0x26 | 0x7c | 0x3c | 0x3e | 0x60 | 0x0a | 0x0d);
    if command.units().iter().any(joins) || command.contains(&Text::from("$(")) {
        return false;
    }
    let words = command.units().split(|unit| text::is_space(*unit));
    let mut words = words.filter(|word| !word.is_empty()).map(Text::from_units);
    if words.next().is_none_or(|word| word != "git") {
        return false;
    }
    let mut verb = words.next();
    if verb.as_ref().is_some_and(|word| *word == "-C") {
        words.next();
        verb = words.next();
    }
    verb.is_some_and(|verb| ASKS.iter().any(|asks| verb == *asks))
}

/// A path without `./` before it. Nothing else is taken for the same file.
fn path_key(path: &Text) -> Text {
    let mut key = path.clone();
    while key.units().starts_with(&[0x2e, 0x2f]) {
        key = key.slice(2, key.len());
    }
    if key.is_empty() { Text::from(".") } else { key }
}
