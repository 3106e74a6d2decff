//! Goal: a policy with a peer's parameters does to a history what the peer's own function does.
//! Method: those outputs of peers (`fixtures/vectors/policies-vectors.json`) whose input is a list
//! of messages, over histories that are built by hand and go through the real projector.
//!
//! Not expressible: `trim_messages` with strategy `first`, which keeps the oldest messages. Pairs
//! are not removed yet, so that Vercel's `pruneMessages` is not here, nor are the event views of
//! OpenHands, whose condensations are events of another kind.

use artifacts::ArtifactId;
use ledger::event::Dropped;
use ledger::wire::Role;
use projector::Policy;
use serde_json::Value;

use crate::property::{fold, written};
use crate::run::{Made, Run};
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

fn policy(estimator: &str, step: &str) -> Policy {
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
        if parameters["strategy"] != "last" {
            continue;
        }
        checked += 1;
        let boundary = if parameters.get("start_on").is_some() { "user" } else { "any" };
        let system = parameters.get("include_system").is_some();
        let policy = policy(
            "lc_approx",
            &format!(
                "op = \"window\"\nprotect_head = 0\nprotect_system = {system}\n\
                 keep = {{ unit = \"tokens\", n = {}, fit = true }}\nboundary = \"{boundary}\"",
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
    assert_eq!(checked, 12);
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
