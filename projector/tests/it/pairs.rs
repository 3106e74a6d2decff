//! Goal: a safe window keeps both sides of every call that the request holds both sides of, and
//! what it was asked to keep. Method: random conversations with several calls in an answer, and
//! results in any order, late, doubled or missing; messages are told apart in the bodies alone.

use std::collections::BTreeSet;

use ledger::event::Dropped;
use projector::Policy;
use projector::policy::{Boundary, Step, Window};
use proptest::prelude::*;
use serde_json::Value;

use crate::naive;
use crate::property::{fold, written};
use crate::run::{Made, Run};

/// Plays a script of numbers, each taken modulo what is possible there. No two messages are equal.
fn play(script: &[[u8; 3]]) -> Made {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "go");
    let mut told = Vec::new();
    for (nth, [op, a, b]) in script.iter().map(|step| step.map(usize::from)).enumerate() {
        let text = format!("text {nth}");
        match op % 8 {
            0..=2 => {
                run.request(session, &[]);
                run.ask(session, &["f", "g", "h"][..=a % 3]);
            }
            3..=5 => {
                let mut open = run.open_calls(session);
                let count = open.len().min(1 + b % 2);
                let calls: Vec<_> =
                    (0..count).map(|nth| open.remove((a + nth) % open.len())).collect();
                let texts = [text.as_str()];
                let results: Vec<_> = calls.iter().map(|call| (*call, &texts[..])).collect();
                if !results.is_empty() {
                    run.tell(session, &results, Dropped::Bytes(0));
                }
                told.extend(calls);
            }
            6 => {
                let call = told.get(a % told.len().max(1)).copied();
                run.tell_again(session, call, &text);
            }
            _ => move_message(&mut run, session, a, b),
        }
    }
    run.request(session, &[]);
    run.finish()
}

/// The client moves a message to another place, so that a result may come before its call.
fn move_message(run: &mut Run, session: usize, a: usize, b: usize) {
    let items = run.items(session);
    let (from, to) = (a % items.len(), b % items.len());
    let part = items[from];
    run.edit(session, from, 1, &[]);
    run.edit(session, to, 0, &[part]);
}

/// A message of a body: its text, the calls it holds, and those it has results for.
struct Message {
    text: String,
    calls: Vec<String>,
    results: Vec<String>,
}

fn messages(body: &[u8]) -> Vec<Message> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let ids = |message: &Value, key: &str| {
        let blocks = message["content"].as_array().into_iter().flatten();
        blocks.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
    };
    let message = |message: &Value| Message {
        text: message.to_string(),
        calls: ids(message, "id"),
        results: ids(message, "tool_use_id"),
    };
    body["messages"].as_array().unwrap().iter().map(message).collect()
}

/// For each result behind its call, the places of both.
fn pairs(messages: &[Message]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        for id in &message.results {
            let call = messages[..place].iter().position(|before| before.calls.contains(id));
            pairs.extend(call.map(|call| (call, place)));
        }
    }
    pairs
}

/// Which messages of each request are kept, and how many of its pairs are said to be broken.
fn kept(made: &Made, steps: &[Step]) -> Vec<(Vec<Message>, Vec<bool>, u32)> {
    let policy = Policy::new("pairs", steps.to_vec());
    let projections = fold(made, &policy);
    let of = projections.iter().zip(&made.model.requests).map(|(projection, request)| {
        let before = messages(&naive::recorded(&made.model, request));
        let view = &projection.view;
        let after = messages(&written(&made.history, &made.store, projection.request, view));
        let after: BTreeSet<_> = after.into_iter().map(|message| message.text).collect();
        let kept = before.iter().map(|message| after.contains(&message.text)).collect();
        (before, kept, projection.account.broken_pairs)
    });
    of.collect()
}

fn safe(protect_head: u32, keep: u64) -> Step {
    Step::new(Window::plain(protect_head, keep, Boundary::SafeGroup))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn safe_windows_keep_both_sides_of_a_call_or_none(
        script in prop::collection::vec(any::<[u8; 3]>(), 0..32),
        windows in prop::collection::vec((0..6_u32, 1..6_u64), 1..3),
    ) {
        let made = play(&script);
        let steps: Vec<_> = windows.iter().map(|(head, keep)| safe(*head, *keep)).collect();
        for (messages, kept, broken) in kept(&made, &steps) {
            for (call, result) in pairs(&messages) {
                prop_assert_eq!(kept[call], kept[result], "{} {}", call, result);
            }
            prop_assert_eq!(broken, 0);
            if let [(head, keep)] = windows.as_slice() {
                let (head, keep) = (*head as usize, usize::try_from(*keep).unwrap());
                let asked = |place: &usize| *place < head || *place + keep >= messages.len();
                prop_assert!((0..messages.len()).filter(asked).all(|place| kept[place]));
            }
        }
    }
}

/// The places that are kept of the last request, as digits.
fn digits(made: &Made, steps: &[Step]) -> String {
    let (_, kept, _) = kept(made, steps).pop().unwrap();
    let places = kept.iter().enumerate().filter(|(_, kept)| **kept);
    places.map(|(place, _)| place.to_string()).collect()
}

#[test]
fn the_head_grows_to_the_last_result_of_its_calls_and_of_those_in_between() {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "0");
    run.request(session, &[]);
    let first = run.ask(session, &["f", "g"]);
    run.tell(session, &[(first[1], &["2"])], Dropped::Bytes(0));
    run.request(session, &[]);
    let second = run.ask(session, &["f"]);
    run.tell(session, &[(first[0], &["4"])], Dropped::Bytes(0));
    run.tell(session, &[(second[0], &["5"])], Dropped::Bytes(0));
    for text in ["6", "7", "8", "9"] {
        run.say(session, text);
    }
    run.request(session, &[]);
    let made = run.finish();
    for (head, keep, kept) in [
        (1, 2, "089"),
        // Message 1 calls twice, 2 and 4 answer; 3 calls in between, and 5 answers.
        (2, 2, "01234589"),
        (5, 2, "01234589"),
        (7, 2, "012345689"),
        // The window grows first: 5 needs 3, 4 needs 1.
        (0, 5, "123456789"),
        (1, 5, "0123456789"),
    ] {
        assert_eq!(digits(&made, &[safe(head, keep)]), kept, "{head} {keep}");
    }
    let mut steps = [safe(0, 9), safe(1, 2)];
    assert_eq!(digits(&made, &steps), "1234589", "a second window");
    steps.reverse();
    assert_eq!(digits(&made, &steps), "089");
}
