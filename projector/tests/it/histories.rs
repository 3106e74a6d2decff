//! Goal: a policy with a peer's parameters does to a history what the peer's own function does.
//! Method: those outputs of peers (`fixtures/vectors/policies-vectors.json`) whose input is a list
//! of messages, over histories that are built by hand and go through the real projector.
//!
//! Condensations of OpenHands are edits of the client in these histories. Where a peer's function
//! finds a place to cut or tells whether to, and nothing else, ours is asked alone.

use artifacts::ArtifactId;
use ledger::event::Dropped;
use ledger::wire::Role;
use projector::Policy;
use projector::policy::{Budget, presets};
use projector::stage::atomic::{self, Link};
use projector::stage::retain::{self, Item, Speaker};
use serde_json::Value;

use crate::property::{fold, written};
use crate::run::{Block, Made, Run};
use crate::vectors::generated;

const VECTORS: &str = include_str!("../../../fixtures/vectors/policies-vectors.json");

/// The vectors of a function.
fn vectors(function: &str, count: usize) -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let all = file["vectors"].as_array().unwrap().iter();
    let of = all.filter(|vector| vector["fn"].as_str().unwrap().ends_with(function));
    let of: Vec<_> = of.cloned().collect();
    assert_eq!(of.len(), count, "{function}");
    of
}

pub(crate) fn policy(estimator: &str, step: &str) -> Policy {
    let text = format!("name = \"peer\"\nestimator = \"{estimator}\"\n[[step]]\n{step}\n");
    Policy::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The messages of the last request.
fn last(made: &Made, policy: &Policy) -> Vec<Value> {
    let projection = fold(made, policy).pop().unwrap();
    assert_eq!(projection.fidelity.name(), "derived", "{:?}", projection.fidelity);
    let bytes = written(&made.history, &made.store, projection.request, &projection.view);
    assert_eq!(bytes.len() as u64, projection.account.body_bytes);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// `conv(n, 400)`.
fn conversation(turns: usize) -> Made {
    let mut run = Run::new();
    let session = run.session();
    run.speak(session, Role::System, "s");
    run.say(session, "hi");
    for nth in 0..turns {
        run.request(session, &[]);
        let calls = run.ask(session, &[if nth % 2 == 0 { "f" } else { "g" }]);
        let letter = ["A", "B", "C", "D", "E", "F"][nth];
        run.tell(session, &[(calls[0], &[&letter.repeat(400)])], Dropped::Bytes(0));
    }
    run.speak(session, Role::Assistant, "done");
    run.request(session, &[]);
    run.finish()
}

fn output(message: &Value) -> Option<&str> {
    message["content"][0]["content"][0]["text"].as_str()
}

#[test]
fn langchain_clears_the_same_results_and_arguments() {
    for vector in vectors("ClearToolUsesEdit.apply", 7) {
        let parameter = |name: &str| vector["params"].get(name);
        let (trigger, keep) = (&vector["params"]["trigger"], &vector["params"]["keep"]);
        let exclude = parameter("exclude_tools").map_or("[]".into(), Value::to_string);
        let inputs = parameter("clear_tool_inputs").is_some_and(|on| on == true);
        let gain = parameter("clear_at_least").and_then(Value::as_u64).unwrap_or(0);
        let policy = policy(
            "lc_approx",
            &format!(
                "op = \"clear_results\"\nkeep = {keep}\nreplacement = \"[cleared]\"\n\
                 sticky = false\nclear_inputs = {inputs}\n\
                 min_gain = {{ n = {gain}, mode = \"stop\" }}\n\
                 trigger = {{ metric = \"est_tokens\", cmp = \">\", value = {trigger} }}\n\
                 applies = {{ exclude_tools = {exclude} }}"
            ),
        );
        let mut found = Vec::new();
        for message in last(&conversation(6), &policy) {
            if let Some(text) = output(&message) {
                found.push(format!("t:{}", text.chars().take(9).collect::<String>()));
            } else if let Some(arguments) = message["content"][1]["input"].as_str() {
                found.push(if arguments == "{}" { "a:{}".into() } else { "a:whole".into() });
            }
        }
        let messages = vector["out"].as_array().unwrap().iter();
        let expected = messages.filter_map(|message| {
            let text = message.as_str()?;
            match text.strip_prefix("a:{") {
                Some("}") => Some("a:{}".into()),
                Some(_) => Some("a:whole".into()),
                None => text.starts_with("t:").then(|| text.to_owned()),
            }
        });
        assert_eq!(found, expected.collect::<Vec<String>>(), "{vector}");
    }
}

#[test]
fn langchain_trims_to_the_same_messages() {
    let mut checked = 0;
    for vector in vectors("trim_messages", 24) {
        let parameters = &vector["params"];
        let oldest = parameters["strategy"] == "first";
        checked += 1;
        let boundary = if parameters.get("start_on").is_some() { "user" } else { "any" };
        let system = parameters.get("include_system").is_some();
        let policy = policy(
            "lc_approx",
            &format!(
                "op = \"window\"\nprotect_head = 0\nprotect_system = {system}\n\
                 keep = {{ unit = \"tokens\", n = {}, fit = true, oldest = {oldest} }}\n\
                 boundary = \"{boundary}\"",
                parameters["max_tokens"]
            ),
        );
        let messages = last(&conversation(4), &policy);
        let found = messages.iter().map(|message| match message["role"].as_str().unwrap() {
            "user" if output(message).is_some() => "tool",
            "user" => "human",
            "assistant" => "ai",
            role => role,
        });
        let expected = vector["out"].as_array().unwrap().iter().map(|role| role.as_str().unwrap());
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{vector}");
    }
    assert_eq!(checked, 24);
}

#[test]
fn swe_agent_leaves_the_same_observations() {
    for vector in vectors("LastNObservations.__call__", 7) {
        let input = vector["input"].as_str().unwrap();
        let turns = input.trim_start_matches("hist(").trim_end_matches(')');
        let mut run = Run::new();
        let session = run.session();
        run.speak(session, Role::System, "s");
        run.tell_again(session, None, "task");
        for nth in 0..turns.parse::<usize>().unwrap() {
            run.speak(session, Role::Assistant, &format!("a{nth}"));
            run.tell_again(session, None, &format!("o{nth}\nx\ny"));
        }
        run.request(session, &[]);
        let polling = vector["params"].get("polling").and_then(Value::as_u64).unwrap_or(1);
        let policy = policy(
            "none",
            &format!(
                "op = \"clear_results\"\nsticky = false\npolling = {polling}\n\
                 keep = {{ unit = \"results\", n = {}, protect_first = 1 }}\n\
                 replacement = \"Old environment output: ({{hidden_lines}} lines omitted)\"\n\
                 line_rule = \"py_splitlines\"",
                vector["params"]["n"]
            ),
        );
        let messages = last(&run.finish(), &policy);
        let found = messages.iter().map(|message| {
            let text = output(message).or_else(|| message["content"].as_str()).unwrap();
            text.chars().take(40).collect::<String>()
        });
        let expected = vector["out"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{vector}");
    }
}

#[test]
fn the_agents_sdk_trims_to_the_same_previews() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    for vector in vectors("ToolOutputTrimmer", 5) {
        let text = generated(&file["inputs"][vector["input"].as_str().unwrap()]).unwrap();
        let parameters = &vector["params"];
        let mut run = Run::new();
        let session = run.session();
        run.say(session, "old");
        run.request(session, &[]);
        let calls = run.ask(session, &[parameters["tool"].as_str().unwrap()]);
        run.tell(session, &[(calls[0], &[&text])], Dropped::Bytes(0));
        for _ in 0..parameters["recent_turns"].as_u64().unwrap() {
            run.say(session, "new");
        }
        run.request(session, &[]);
        let policy = policy(
            "none",
            &format!(
                "op = \"clear_results\"\nsticky = false\nreplace = \"preview\"\n\
                 keep = {{ unit = \"user_turns\", n = {} }}\nonly_if_smaller = true\n\
                 replacement = \"[Trimmed: {{tool}} output \u{2014} {{total_chars}} chars \u{2192} \
                 {{head_size}} char preview]\\n{{preview}}...\"\n\
                 preview = {{ unit = \"cp\", over = {}, head = {} }}",
                parameters["recent_turns"],
                parameters["max_output_chars"],
                parameters["preview_chars"]
            ),
        );
        let messages = last(&run.finish(), &policy);
        let shown = messages.iter().find_map(output).unwrap();
        assert_eq!(shown.len() as u64, vector["out"]["bytes"], "{vector}: {shown:.100}");
        let digest = ArtifactId::of(shown.as_bytes()).to_string();
        assert_eq!(digest, vector["out"]["sha256"].as_str().unwrap(), "{vector}");
    }
}

/// What `pruneMessages` is asked for.
pub(crate) fn prune(params: &Value) -> Policy {
    let mut steps = Vec::new();
    if let Some(reasoning) = params.get("reasoning").filter(|it| *it != "none") {
        let keep = if reasoning == "all" { "none" } else { "last_message" };
        steps.push(format!(
            "[[step]]\nop = \"drop_reasoning\"\nat = \"request\"\nkeep = \"{keep}\"\n"
        ));
    }
    let rules = match params.get("toolCalls") {
        None => Vec::new(),
        Some(Value::String(none)) if none == "none" => Vec::new(),
        Some(Value::Array(rules)) => rules
            .iter()
            .map(|rule| {
                let tools = match rule.get("tools") {
                    // A list of no tools is for none.
                    Some(tools) if tools.as_array().is_some_and(Vec::is_empty) => {
                        "[\"\\u0001\"]".to_owned()
                    }
                    Some(tools) => tools.to_string(),
                    None => "[]".to_owned(),
                };
                (rule["type"].as_str().unwrap().to_owned(), tools)
            })
            .collect(),
        Some(rule) => vec![(rule.as_str().unwrap().to_owned(), "[]".to_owned())],
    };
    for (rule, tools) in rules {
        let keep = match rule.as_str() {
            "all" => 0,
            "before-last-message" => 1,
            other => {
                let number = other.trim_start_matches("before-last-");
                number.trim_end_matches("-messages").parse().unwrap()
            }
        };
        let empty = if params["emptyMessages"] == "keep" { "keep" } else { "remove" };
        steps.push(format!(
            "[[step]]\nop = \"clear_results\"\nat = \"request\"\nreplace = \"remove_pair\"\n\
             keep = {{ unit = \"messages\", n = {keep}, ids_in_tail = true }}\nsticky = false\n\
             orphan_reasoning = \"drop\"\nempty_messages = \"{empty}\"\n\
             applies = {{ tools = {tools} }}\n"
        ));
    }
    let text = format!("name = \"prune\"\nestimator = \"none\"\n{}", steps.concat());
    Policy::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `M7`.
fn seven() -> Made {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "q1");
    run.request(session, &[]);
    let one = run.answer(session, &[Block::Reasoning("r1"), Block::Call("a")]);
    run.tell(session, &[(one[0], &["result 1"])], Dropped::Bytes(0));
    run.request(session, &[]);
    let two = run.answer(session, &[Block::Reasoning("r2"), Block::Text("t"), Block::Call("b")]);
    run.tell(session, &[(two[0], &["result 2"])], Dropped::Bytes(0));
    run.request(session, &[]);
    run.answer(session, &[Block::Text("done")]);
    run.say(session, "q2");
    run.request(session, &[]);
    run.finish()
}

fn told(message: &Value) -> String {
    let content = &message["content"];
    if let Some(text) = content.as_str() {
        return format!("u:{text}");
    }
    let blocks = content.as_array().unwrap();
    let words = blocks.iter().map(|block| {
        let number = |id: &Value| match id.as_str().unwrap() {
            "call_0" => 1,
            _ => 2,
        };
        if let Some(id) = block.get("tool_use_id") {
            format!("tool-result{}", number(id))
        } else if let Some(id) = block.get("id") {
            format!("tool-call{}", number(id))
        } else if block.get("thinking").is_some() {
            "reasoning".to_owned()
        } else {
            "text".to_owned()
        }
    });
    let who = if message["role"] == "assistant" { "a" } else { "t" };
    format!("{who}:{}", words.collect::<Vec<_>>().join(","))
}

#[test]
fn vercel_prunes_the_same_parts() {
    for vector in vectors("pruneMessages", 9) {
        let policy = prune(&vector["params"]);
        let found: Vec<_> = last(&seven(), &policy).iter().map(told).collect();
        // An assistant's and a tool's empty message are told apart by who says them.
        let expected: Vec<_> =
            vector["out"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(found, expected, "{vector}");
    }
}

/// What happens to a log of messages.
enum Happens {
    /// So many more messages come.
    More(usize),
    /// From a place on, so many go, and a summary may take their place.
    Condensed(usize, usize, Option<&'static str>),
}

fn log(events: &[Happens]) -> Made {
    let mut run = Run::new();
    let session = run.session();
    let mut count = 0;
    for event in events {
        match event {
            Happens::More(more) => {
                for _ in 0..*more {
                    run.say(session, &format!("e{count}"));
                    count += 1;
                }
            }
            Happens::Condensed(at, remove, summary) => {
                let part = summary.map(|text| {
                    // A summary comes to be as a message at the end, which goes again.
                    let part = run.say(session, text);
                    let end = run.items(session).len() - 1;
                    run.edit(session, end, 1, &[]);
                    part
                });
                run.edit(session, *at, *remove, part.as_slice());
            }
        }
    }
    run.request(session, &[]);
    run.finish()
}

#[test]
fn openhands_shows_the_same_view_and_may_cut_it_at_the_same_places() {
    use Happens::{Condensed, More};
    let repair = "op = \"repair\"\norphan_output = \"drop\"\norphan_call = \"drop\"\n\
                  unique_output = true\nbatch_atomic = true\nthinking_loop_atomic = true";
    for vector in vectors("View.from_events", 4) {
        let made = log(match vector["input"].as_str().unwrap() {
            "10msgs+forget2..6@2+1" => &[More(10), Condensed(2, 5, Some("c1-summary")), More(1)],
            "two condensations, second forgets first summary" => &[
                More(10),
                Condensed(2, 5, Some("c1-summary")),
                More(1),
                Condensed(2, 2, Some("c2-summary")),
            ],
            "no summary" => &[More(10), Condensed(1, 1, None)],
            // Beyond the end is at the end.
            _ => &[More(3), Condensed(1, 1, None), Condensed(2, 0, Some("c1-summary"))],
        });
        let projection = fold(&made, &policy("none", repair)).pop().unwrap();
        let bytes = written(&made.history, &made.store, projection.request, &projection.view);
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        let messages = body["messages"].as_array().unwrap().iter();
        let shown: Vec<_> = messages.map(|it| it["content"].as_str().unwrap()).collect();
        assert_eq!(Value::from(shown.clone()), vector["out"]["ids"], "{vector}");
        let links = vec![Link::<u8, u8>::Other; shown.len()];
        let cuts: Vec<_> = atomic::cuts(&links).into_iter().collect();
        assert_eq!(Value::from(cuts), vector["out"]["manip"], "{vector}");
        assert_eq!(vector["out"]["unhandled"], false);
    }
}

fn item(
    speaker: Speaker,
    size: u64,
    calls: &[&'static str],
    results: &[&'static str],
) -> Item<&'static str> {
    Item { speaker, size, calls: calls.to_vec(), results: results.to_vec() }
}

#[test]
fn what_stays_beside_a_summary_begins_at_the_same_place() {
    for vector in vectors("_find_safe_cutoff_point", 1) {
        let items = [
            item(Speaker::Tool, 0, &[], &["gone"]),
            item(Speaker::Assistant, 0, &["c1"], &[]),
            item(Speaker::Tool, 0, &[], &["c1"]),
            item(Speaker::Tool, 0, &[], &["gone2"]),
            item(Speaker::Assistant, 0, &[], &[]),
        ];
        let found: Vec<_> = (0..=5).map(|at| retain::safe_group(&items, at)).collect();
        assert_eq!(Value::from(found), vector["out"]);
    }
    for vector in vectors("findCompressSplitPoint", 1) {
        let items = (0..10).map(|nth| {
            let speaker = if nth % 2 == 0 { Speaker::User } else { Speaker::Assistant };
            item(speaker, 100, &[], &[])
        });
        let items: Vec<_> = items.collect();
        let shares = vector["params"]["fraction"].as_array().unwrap().iter();
        let found = shares.map(|share| {
            let digits = share.to_string().trim_start_matches("0.").to_owned();
            retain::behind_share(&items, format!("{digits:0<3}").parse().unwrap())
        });
        assert_eq!(Value::from(found.collect::<Vec<_>>()), vector["out"]);
    }
}

#[test]
fn pi_compacts_from_the_same_number_of_tokens_on() {
    let pi = Policy::from_toml(presets::find("pi@0.73.1").unwrap().toml).unwrap();
    let trigger = pi.steps.iter().find_map(|step| step.trigger).unwrap();
    for vector in vectors("shouldCompact", 1) {
        let window = vector["params"]["window"].as_u64();
        let budget = Budget { window, ..Budget::default() };
        let tokens = vector["params"]["tokens"].as_array().unwrap().iter();
        let found = tokens.map(|tokens| trigger.fires(tokens.as_u64().unwrap(), &budget).unwrap());
        assert_eq!(Value::from(found.collect::<Vec<_>>()), vector["out"]);
    }
}

/// Every function of the file, and how many of its cases some test reads.
const TESTED: [(&str, usize); 23] = [
    ("ClearToolUsesEdit.apply", 7),
    ("LastNObservations.__call__", 7),
    ("ToolOutputTrimmer", 5),
    ("View.from_events", 4),
    ("_find_safe_cutoff_point", 1),
    ("_limit_output_length", 10),
    ("approx_token_count", 14),
    ("count_tokens_approximately", 14),
    ("default.yaml:observation_template", 7),
    ("estimateTokenCountSync", 14),
    ("estimateTokens", 14),
    ("findCompressSplitPoint", 1),
    ("formatTruncatedToolOutput", 5),
    ("formatted_truncate_text", 72),
    ("maybe_truncate", 9),
    ("mini.yaml:observation_template", 7),
    ("pruneContent", 3),
    ("pruneMessages", 9),
    ("shouldCompact", 1),
    ("trim_messages", 24),
    ("truncateHead", 7),
    ("truncateTail", 7),
    ("truncate_content", 6),
];

#[test]
fn no_case_of_the_file_is_left_out() {
    let all: usize = TESTED.iter().map(|(function, count)| vectors(function, *count).len()).sum();
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(all, 248);
    assert_eq!(file["vectors"].as_array().unwrap().len(), all);
    // Those whose input is a text are compared in `vectors.rs`, the others here.
    let here = ["ClearToolUsesEdit.apply", "LastNObservations.__call__", "View.from_events"];
    let here = here.into_iter().chain([
        "_find_safe_cutoff_point",
        "findCompressSplitPoint",
        "pruneMessages",
        "shouldCompact",
        "trim_messages",
    ]);
    let here: usize = here.map(|name| TESTED.iter().find(|it| it.0 == name).unwrap().1).sum();
    assert_eq!(all - here, 194);
}
