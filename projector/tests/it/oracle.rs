//! Goal: a policy that names a peer's parameters gives that peer's bytes. Method: outputs of the
//! peers' own functions (`fixtures/vectors`), compared by length and SHA-256.
//!
//! Not expressible yet, and left out: Codex counts hidden characters while it cuts bytes, and
//! tokens in its other mode (its ranges are checked, its count only where a byte is a
//! character); odd limits of terminus-2, which rounds both halves down; `OpenHands` above the
//! length of its notice, where the odd unit goes to the head; pi's two limits at once and its
//! lines without a line feed; the Gemini CLI, mini-swe-agent and Agents SDK, whose texts stand
//! around what is kept; the `DeepSeek` pruner, whose threshold is not what it keeps; `LangChain`'s
//! `clear_at_least` and `clear_tool_inputs`.

use artifacts::ArtifactId;
use ledger::event::Dropped;
use projector::Policy;
use projector::policy::{CapText, Op};
use projector::stage::cap;
use serde_json::Value;

use crate::property::{fold, written};
use crate::run::{Made, Run};

const VECTORS: &str = include_str!("../../../fixtures/vectors/peers.json");

const SMOLAGENTS: &str = r#"unit = "cp"
shape = "middle"
head_per_mille = 500
marker = "\n..._This content has been truncated to stay below {limit} characters_...\n"
marker_in_limit = false
"#;
const CODEX: &str = r#"unit = "b"
shape = "middle"
head_per_mille = 500
marker = "\u2026{n} chars truncated\u2026"
marker_in_limit = false
"#;
const TERMINUS: &str = r#"unit = "b"
shape = "middle"
head_per_mille = 500
marker = "\n[... output limited to {limit} bytes; {n} interior bytes omitted ...]\n"
marker_in_limit = false
"#;
const OPENHANDS: &str = r#"unit = "cp"
shape = "middle"
head_per_mille = 500
marker = """<response clipped><NOTE>Due to the max output limit, only part of the full response \
  has been shown to you.</NOTE>"""
marker_in_limit = true
"#;
/// For texts of one line only.
const PI_TAIL: &str = r#"unit = "b"
shape = "tail"
marker = ""
marker_in_limit = false
"#;

fn vectors(function: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let all = file["vectors"].as_array().unwrap().clone();
    all.into_iter().filter(|vector| vector["fn"].as_str().unwrap().ends_with(function)).collect()
}

fn input(vector: &Value) -> String {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let input = &file["inputs"][vector["input"].as_str().unwrap()];
    let count = || usize::try_from(input["n"].as_u64().unwrap()).unwrap();
    match input["gen"].as_str().unwrap() {
        "lit" => input["s"].as_str().unwrap().to_owned(),
        "rep" => input["s"].as_str().unwrap().repeat(count()),
        "lines" => {
            (1..=count()).fold(String::new(), |text, line| text + &format!("line {line} \n"))
        }
        other => panic!("unknown generator {other}"),
    }
}

fn cap(limit: u64, fields: &str) -> CapText {
    let head = "name = \"peer\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"cap_text\"\n";
    let policy = Policy::from_toml(&format!("{head}limit = {limit}\n{fields}")).unwrap();
    let Op::CapText(cap) = &policy.steps[0].op else { panic!("one cap") };
    cap.clone()
}

fn shown(cap: &CapText, text: &str) -> String {
    match cap::cut(cap, text) {
        Some(cut) => [&text[cut.head], &cut.marker, &text[cut.tail]].concat(),
        None => text.to_owned(),
    }
}

#[track_caller]
fn check(vector: &Value, found: &str) {
    let digest = ArtifactId::of(found.as_bytes()).to_string();
    assert_eq!(found.len() as u64, vector["out"]["bytes"], "{vector}");
    assert_eq!(digest, vector["out"]["sha256"].as_str().unwrap(), "{vector}");
}

#[track_caller]
fn check_all(function: &str, limit: &str, count: usize, fields: &str) {
    let vectors = vectors(function);
    assert_eq!(vectors.len(), count);
    for vector in vectors {
        let cap = cap(vector["params"][limit].as_u64().unwrap_or(50 << 10), fields);
        check(&vector, &shown(&cap, &input(&vector)));
    }
}

#[test]
fn smolagents_cuts_the_same_bytes() {
    check_all("truncate_content", "max_length", 6, SMOLAGENTS);
}

#[test]
fn terminus_cuts_the_same_bytes() {
    check_all("_limit_output_length", "max_bytes", 8, TERMINUS);
}

#[test]
fn openhands_cuts_its_notice_to_the_same_bytes() {
    check_all("maybe_truncate", "truncate_after", 4, OPENHANDS);
}

#[test]
fn pi_keeps_the_same_end_of_a_single_line() {
    check_all("truncateTail", "maxBytes", 2, PI_TAIL);
}

/// The line that Codex puts in front of what it cuts; no part of a cap.
fn header(text: &str) -> String {
    format!("Total output lines: {}\n\n", text.lines().count())
}

#[test]
fn codex_cuts_the_same_bytes_where_a_byte_is_a_character() {
    let mut compared = 0;
    for vector in vectors("formatted_truncate_text") {
        let text = input(&vector);
        if vector["params"]["mode"] != "bytes" || !text.is_ascii() {
            continue;
        }
        let cap = cap(vector["params"]["limit"].as_u64().unwrap(), CODEX);
        let found = shown(&cap, &text);
        let header = if found == text { String::new() } else { header(&text) };
        check(&vector, &(header + &found));
        compared += 1;
    }
    assert_eq!(compared, 25);
}

#[test]
fn codex_keeps_the_same_ranges_of_every_text() {
    let vectors = vectors("formatted_truncate_text");
    assert_eq!(vectors.len(), 72);
    for vector in vectors {
        let text = input(&vector);
        let tokens = vector["params"]["mode"] == "tokens";
        let limit = vector["params"]["limit"].as_u64().unwrap() * if tokens { 4 } else { 1 };
        let Some(cut) = cap::cut(&cap(limit, CODEX), &text) else {
            check(&vector, &text);
            continue;
        };
        // The count is Codex's own; what stands around it is ours.
        let marker = if tokens {
            format!("\u{2026}{} tokens truncated\u{2026}", (text.len() as u64 - limit).div_ceil(4))
        } else {
            let hidden = text[cut.head.end..cut.tail.start].chars().count();
            format!("\u{2026}{hidden} chars truncated\u{2026}")
        };
        check(&vector, &[&header(&text), &text[cut.head], &marker, &text[cut.tail]].concat());
    }
}

/// `conv(6,400)` of the vectors; the last request holds all of it.
fn conversation() -> Made {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "s");
    run.say(session, "hi");
    for nth in 0..6 {
        run.request(session, &[]);
        let calls = run.ask(session, &[if nth % 2 == 0 { "f" } else { "g" }]);
        let letter = ["A", "B", "C", "D", "E", "F"][nth];
        run.tell(session, &[(calls[0], &[&letter.repeat(400)])], Dropped::Bytes(0));
    }
    run.say(session, "done");
    run.request(session, &[]);
    run.finish()
}

/// The results of the last request, cut as the vectors cut them.
fn results(made: &Made, policy: &Policy) -> Vec<String> {
    let projection = fold(made, policy).pop().unwrap();
    let bytes = written(&made.history, &made.store, projection.request, &projection.view);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let results = messages.filter_map(|m| m["content"][0]["content"][0]["text"].as_str());
    results.map(|text| text.chars().take(9).collect()).collect()
}

#[test]
fn langchain_clears_the_same_results() {
    let made = conversation();
    let vectors = vectors("ClearToolUsesEdit.apply");
    assert_eq!(vectors.len(), 4);
    for vector in vectors {
        let (trigger, keep) = (&vector["params"]["trigger"], &vector["params"]["keep"]);
        let exclude = vector["params"].get("exclude_tools").map_or("[]".into(), Value::to_string);
        let policy = Policy::from_toml(&format!(
            "name = \"peer\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"clear_results\"\n\
             keep = {keep}\nreplacement = \"[cleared]\"\nsticky = false\n\
             trigger = {{ metric = \"est_tokens\", cmp = \">\", value = {trigger} }}\n\
             applies = {{ exclude_tools = {exclude} }}\n"
        ));
        let messages = vector["out"].as_array().unwrap().iter();
        let expected = messages.filter_map(|message| message.as_str()?.strip_prefix("t:"));
        assert_eq!(results(&made, &policy.unwrap()), expected.collect::<Vec<_>>(), "{vector}");
    }
}
