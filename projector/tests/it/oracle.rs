//! Goal: a policy that names a peer's parameters gives that peer's lists. Method: outputs of the
//! peers' own functions (`fixtures/vectors`). Texts are compared in `vectors.rs`.

use ledger::event::Dropped;
use projector::Policy;
use serde_json::Value;

use crate::property::{fold, written};
use crate::run::{Made, Run};

const VECTORS: &str = include_str!("../../../fixtures/vectors/peers.json");

fn vectors(function: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let all = file["vectors"].as_array().unwrap().clone();
    all.into_iter().filter(|vector| vector["fn"].as_str().unwrap().ends_with(function)).collect()
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
