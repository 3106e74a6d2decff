//! Goal: the numbers of a sweep are right. Method: recompute rows from the recorded bodies with
//! nothing of ours: a JSON library, string search, and the policy's rule written down again.

use projector::Policy;
use projector::policy::presets;
use serde_json::Value;

use crate::support::{bodies, import};

/// What a row says of one request.
#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    bytes: usize,
    hidden: usize,
    changed: bool,
}

/// The texts of all tool outputs of a Chat or Responses body, as JSON values.
fn outputs(body: &Value) -> Vec<String> {
    let chat = body["messages"].as_array();
    let items = chat.or_else(|| body["input"].as_array()).unwrap();
    let text = |item: &Value| match (item["role"].as_str(), item["type"].as_str()) {
        (Some("tool"), _) => item["content"].as_str().map(str::to_owned),
        (_, Some("function_call_output")) => item["output"].as_str().map(str::to_owned),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

/// The body with the texts of its outputs replaced, found by their JSON form.
fn replaced(body: &[u8], replace: impl Fn(usize, &str) -> Option<(String, usize)>) -> Numbers {
    let parsed: Value = serde_json::from_slice(body).unwrap();
    let mut text = String::from_utf8(body.to_vec()).unwrap();
    let mut numbers = Numbers { bytes: 0, hidden: 0, changed: false };
    let mut from = 0;
    for (index, output) in outputs(&parsed).iter().enumerate() {
        let json = serde_json::to_string(output).unwrap();
        let at = from + text[from..].find(&json).unwrap();
        let Some((new, hidden)) = replace(index, output) else {
            from = at + json.len();
            continue;
        };
        let new = serde_json::to_string(&new).unwrap();
        text.replace_range(at..at + json.len(), &new);
        from = at + new.len();
        numbers.hidden += hidden;
        numbers.changed |= new != json;
    }
    numbers.bytes = text.len();
    numbers
}

/// cap-4k: 4,000 bytes, half from each end, cut at characters.
fn cap_4k(_index: usize, text: &str) -> Option<(String, usize)> {
    if text.len() <= 4000 {
        return None;
    }
    let mut head = 2000;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - 2000;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let hidden = tail - head;
    let marker = format!("\n[... {hidden} bytes hidden ...]\n");
    Some((format!("{}{marker}{}", &text[..head], &text[tail..]), hidden))
}

fn check(case: &str, policy: &Policy, brute: impl Fn(&[u8]) -> Numbers) {
    let imported = import(case);
    let row = replay::sweep::row(&imported.recording, policy).unwrap();
    let expected: Vec<Numbers> = bodies(case).iter().map(|body| brute(body)).collect();
    let tokens = |numbers: &Numbers| numbers.bytes.div_ceil(4) as u64;
    assert_eq!(row.requests, expected.len() as u64);
    assert_eq!(row.body_bytes, expected.iter().map(|n| n.bytes as u64).sum::<u64>(), "{case}");
    assert_eq!(row.tokens_total, expected.iter().map(tokens).sum::<u64>(), "{case}");
    assert_eq!(row.tokens_max, expected.iter().map(tokens).max().unwrap(), "{case}");
    assert_eq!(row.hidden_bytes, expected.iter().map(|n| n.hidden as u64).sum::<u64>(), "{case}");
    assert_eq!(row.changed, expected.iter().filter(|n| n.changed).count() as u64, "{case}");
    let frontier = expected.iter().position(|n| n.changed).map(|at| at as u64 + 1);
    assert_eq!(row.frontier, frontier, "{case}");
}

fn policy(name: &str) -> Policy {
    let all = presets::all().unwrap();
    all.into_iter().find(|policy| policy.name == name).unwrap()
}

#[test]
fn a_cap_row_equals_brute_force_over_the_recorded_bodies() {
    for case in ["codex-std", "mini-std", "cline-std"] {
        check(case, &policy("cap-4k"), |body| replaced(body, cap_4k));
    }
}

#[test]
fn a_clear_row_equals_brute_force_over_the_recorded_bodies() {
    for case in ["codex-std", "mini-std"] {
        check(case, &policy("clear-keep-3"), |body| {
            let parsed: Value = serde_json::from_slice(body).unwrap();
            let count = outputs(&parsed).len();
            replaced(body, |index, text| {
                (index + 3 < count).then(|| ("[cleared]".to_owned(), text.len()))
            })
        });
    }
}

#[test]
fn the_recorded_policy_changes_nothing() {
    for case in ["codex-std", "hermes-compaction"] {
        let imported = import(case);
        let row = replay::sweep::row(&imported.recording, &Policy::recorded()).unwrap();
        let bytes: usize = bodies(case).iter().map(Vec::len).sum();
        assert_eq!((row.body_bytes, row.changed, row.hidden_bytes), (bytes as u64, 0, 0));
        assert_eq!(row.fidelity.exact, row.requests);
    }
}

#[test]
fn rows_come_in_input_order_whatever_the_number_of_threads() {
    let first = import("mini-std");
    let second = import("pi-gemini-std");
    let recordings = [first.recording, second.recording];
    let policies = presets::all().unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| replay::sweep(&recordings, &policies, &|| {}))
    };
    let one: Vec<_> = run(1).into_iter().map(Result::unwrap).collect();
    let two: Vec<_> = run(2).into_iter().map(Result::unwrap).collect();
    assert_eq!(one, two);
    let order: Vec<_> = one.iter().map(|row| (row.recording, row.policy)).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(order, sorted);
    assert_eq!(order.len(), recordings.len() * policies.len());
}
