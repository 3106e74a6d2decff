//! Goal: tokens are counted as the vocabularies' own program counts them. Method: every stored case
//! of `fixtures/vectors/peers/tiktoken.json.zst`, and a policy whose trigger asks for such counts.

use fixtures::peers::{resolved, vectors};
use projector::measure::{Estimator, TokenCounter as _};
use projector::{Policy, Projector};
use replay::{Recording, Vocabularies};

use crate::support::import;

#[test]
fn every_stored_text_has_as_many_tokens_as_tiktoken_counts() {
    let mut counted = 0;
    for vector in vectors::read("tiktoken").unwrap().vectors {
        let estimator = match vector.case.function.as_str() {
            "cl100k_base" => Estimator::TiktokenCl100k,
            "o200k_base" => Estimator::TiktokenO200k,
            other => panic!("{other} is no vocabulary"),
        };
        let text = resolved(&vector.case.input);
        let found = Vocabularies.count(estimator, text.as_str().unwrap());
        assert_eq!(found, vector.out.as_u64(), "{estimator:?} {text}");
        counted += 1;
    }
    assert!(counted >= 2000, "only {counted} cases");
}

#[test]
fn other_estimators_have_no_vocabulary_here() {
    for estimator in [Estimator::External, Estimator::B4Ceil, Estimator::None] {
        assert_eq!(Vocabularies.count(estimator, "text"), None);
    }
}

fn clearing(estimator: &str, above: u64) -> Policy {
    let text = format!(
        "name = \"clear\"\nestimator = \"{estimator}\"\n[[step]]\nop = \"clear_results\"\n\
         keep = 1\nreplacement = \"\"\nsticky = false\n\
         trigger = {{ metric = \"est_tokens\", cmp = \">\", value = {above} }}\n"
    );
    Policy::from_toml(&text).unwrap()
}

/// Of each request: what its projection rests on, its tokens, and results that were cleared.
fn steps(recording: &Recording, policy: &Policy) -> Vec<(&'static str, u64, u32)> {
    let history = recording.history();
    let mut projector = replay::projector(history, recording.as_source(), policy);
    let ids = history.requests().iter().map(|it| it.captured.request);
    let step = |id| {
        let (fidelity, account) = projector.step(id).unwrap();
        (fidelity.name(), account.tokens, account.cleared_results)
    };
    ids.map(step).collect()
}

#[test]
fn a_trigger_fires_by_exact_counts() {
    let imported = import("mini-std");
    for estimator in ["tiktoken_cl100k_base", "tiktoken_o200k_base"] {
        let counted = steps(&imported.recording, &clearing(estimator, u64::MAX));
        assert!(counted.iter().all(|step| step.0 == "derived" && step.2 == 0), "{counted:?}");
        let middle = counted[counted.len() / 2].1;
        let at = steps(&imported.recording, &clearing(estimator, middle));
        for ((_, tokens, _), (fidelity, _, cleared)) in counted.iter().zip(&at) {
            assert_eq!((*fidelity, *cleared > 0), ("derived", *tokens > middle), "{tokens}");
        }
        // A vocabulary finds about four letters in a token, and never less than one.
        let history = imported.recording.history();
        for (request, (_, tokens, _)) in history.requests().iter().zip(&counted) {
            let bytes = request.captured.body_bytes;
            assert!((bytes / 8..bytes).contains(tokens), "{tokens} tokens of {bytes} bytes");
        }
    }
}

#[test]
fn who_brings_no_counter_is_refused_with_the_reason() {
    let imported = import("mini-std");
    let recording = &imported.recording;
    let policy = clearing("tiktoken_o200k_base", 10);
    let mut projector = Projector::new(recording.history(), recording.as_source(), &policy);
    let first = recording.history().requests()[0].captured.request;
    let (fidelity, _) = projector.step(first).unwrap();
    let why = "the estimator needs a counter of tokens";
    assert_eq!((fidelity.name(), fidelity.reason()), ("refused", Some((0, why))));
}

#[test]
fn a_tokenizer_that_is_not_at_hand_is_assumed_only_where_it_decides() {
    let imported = import("mini-std");
    let counted = steps(&imported.recording, &clearing("external", u64::MAX));
    let middle = counted[counted.len() / 2].1;
    let found = steps(&imported.recording, &clearing("external", middle));
    let mut near = false;
    for ((_, tokens, _), (fidelity, _, cleared)) in counted.iter().zip(&found) {
        // What was assumed once, later requests of the conversation rest on.
        near |= tokens.abs_diff(middle) <= tokens * 300 / 1000;
        assert_eq!(*fidelity, if near { "assumed" } else { "derived" }, "{tokens}");
        assert_eq!(*cleared > 0, *tokens > middle);
    }
    assert!(found.iter().any(|step| step.0 == "derived"), "{found:?}");
    assert!(found.iter().any(|step| step.0 == "assumed"), "{found:?}");
}
