//! The policy from names and values, its snapshot, and the table of the knobs.

use std::collections::{BTreeMap, BTreeSet};

use projector::maka::json::Json;
use projector::maka::policy::knobs::{KNOBS, Use};
use projector::maka::policy::window::{self, Limits};
use projector::maka::policy::{BudgetPolicy, For, SnapshotError};
use serde_json::Value;

use super::make::{value, vectors};

const PREFIX: &str = "MAKA_CONTEXT_";

fn names(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect()
}

fn built(list: &[(&str, &str)]) -> BudgetPolicy {
    let for_what = For { provider: "openai", window: None, name: None };
    BudgetPolicy::from_names(&names(list), for_what).unwrap().unwrap()
}

#[test]
fn m18_default_policies() {
    for case in vectors("defaultPolicy").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let given: BTreeMap<String, String> = serde_json::from_value(case["env"].clone()).unwrap();
        let for_what = For {
            provider: if name.starts_with("deepseek") { "deepseek" } else { "openai" },
            window: match name {
                "known 128k" => Some(128_000),
                "known 8k" => Some(8_000),
                _ => None,
            },
            name: None,
        };
        match BudgetPolicy::from_names(&given, for_what) {
            Err(error) => {
                assert_eq!(case["error"], true, "{name}");
                assert!(error.to_string().contains("MAKA_CONTEXT_STALE_TOOL_RESULT_PRUNE"));
            }
            Ok(None) => assert!(case["policy"].is_null() && case["error"].is_null(), "{name}"),
            Ok(Some(policy)) => assert_eq!(value(&policy.source_json()), case["policy"], "{name}"),
        }
    }
}

/// A value that is not the default, for every knob.
fn other(knob: &str, unit: &str) -> String {
    let word = match knob {
        "BUDGET" => "on",
        "ARCHIVE_RETRIEVAL_MODE" => "history_search_gated",
        "SYNTHESIS_CACHE_MODE" => "read_write",
        "HISTORY_COMPACT_MODE" => "lookup",
        "SEMANTIC_COMPACT_MODE" => "validate_only",
        _ => match unit {
            "switch" | "`on`" => "on",
            "share" => "0.37",
            "text" => "a name",
            "factor" => "1.5",
            _ => "17",
        },
    };
    word.to_owned()
}

fn all_set() -> BTreeMap<String, String> {
    let set =
        KNOBS.iter().map(|knob| (format!("{PREFIX}{}", knob.name), other(knob.name, knob.unit)));
    set.collect()
}

#[test]
fn m18_the_snapshot_with_all_names_set_comes_back_the_same() {
    let all = all_set();
    assert_eq!(all.len(), 71);
    let for_what =
        For { provider: "openai", window: Some(100_000), name: Some("cli-default-history-budget") };
    let policy = BudgetPolicy::from_names(&all, for_what).unwrap().unwrap();
    let snapshot = policy.snapshot();
    assert_eq!(BudgetPolicy::from_snapshot(&snapshot), Ok(policy.clone()));
    // Over the written text as well.
    let read = Json::parse(&snapshot.stringify().unwrap()).unwrap();
    assert_eq!(BudgetPolicy::from_snapshot(&read), Ok(policy));
    let bare = built(&[]);
    assert_eq!(BudgetPolicy::from_snapshot(&bare.snapshot()), Ok(bare));
}

/// Every place of an object that has members, as a list of names.
fn places(value: &Value, at: &[String], out: &mut Vec<Vec<String>>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let place = [at, std::slice::from_ref(name)].concat();
        out.push(place.clone());
        places(inner, &place, out);
    }
}

#[test]
fn m18_dropping_any_parameter_makes_reading_fail() {
    let for_what = For { provider: "openai", window: Some(100_000), name: None };
    let policy = BudgetPolicy::from_names(&all_set(), for_what).unwrap().unwrap();
    let whole = value(&policy.snapshot());
    let mut all = Vec::new();
    places(&whole, &[], &mut all);
    assert_eq!(all.len(), 73, "the parameters of the snapshot are pinned");
    for place in &all {
        let (last, path) = place.split_last().unwrap();
        let pointer = [&[String::new()], path].concat().join("/");
        let mut cut = whole.clone();
        cut.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(last);
        let read = BudgetPolicy::from_snapshot(&super::make::json(&cut));
        assert!(matches!(read, Err(SnapshotError::Field { .. })), "{place:?}: {read:?}");
        let mut grown = whole.clone();
        grown.pointer_mut(&pointer).unwrap()["moreOfIt"] = 1.into();
        let read = BudgetPolicy::from_snapshot(&super::make::json(&grown));
        assert!(matches!(read, Err(SnapshotError::Unknown { .. })), "{place:?}: {read:?}");
        let mut wrong = whole.clone();
        wrong.pointer_mut(&pointer).unwrap()[last] = serde_json::json!([1]);
        assert!(BudgetPolicy::from_snapshot(&super::make::json(&wrong)).is_err(), "{place:?}");
    }
}

#[test]
fn m55_every_knob_sets_the_parameter_that_the_table_says() {
    let all = all_set();
    let for_what = For { provider: "openai", window: None, name: None };
    let policy = |names: &BTreeMap<String, String>| {
        BudgetPolicy::from_names(names, for_what).unwrap().map(|it| value(&it.snapshot()))
    };
    let whole = policy(&all).unwrap();
    for knob in KNOBS {
        let mut without = all.clone();
        without.remove(&format!("{PREFIX}{}", knob.name));
        // What a switch is on by, its mode, would keep it on.
        let pointer = format!("/{}", knob.parameter.replace('.', "/"));
        match knob.name {
            "BUDGET" => {
                without.insert(format!("{PREFIX}BUDGET"), "off".to_owned());
                assert_eq!(policy(&without), None);
                continue;
            }
            "SEMANTIC_COMPACT" => drop(without.remove(&format!("{PREFIX}SEMANTIC_COMPACT_MODE"))),
            // On unless they are off.
            "STALE_TOOL_RESULT_PRUNE"
            | "ACTIVE_TOOL_RESULT_PRUNE"
            | "HISTORY_COMPACT"
            | "HISTORY_COMPACT_MID_TURN" => {
                drop(without.insert(format!("{PREFIX}{}", knob.name), " Disabled ".to_owned()));
            }
            // Older names, heard where the newer ones are silent.
            "SEMANTIC_COMPACT_MAX_ESTIMATED_TOKENS" => {
                drop(without.insert(
                    format!("{PREFIX}SEMANTIC_COMPACT_MAX_ACTIVE_ESTIMATED_TOKENS"),
                    "x".to_owned(),
                ));
            }
            "SEMANTIC_COMPACT_SUMMARY_MAX_ESTIMATED_TOKENS" => {
                let newer =
                    ["MAX_ACCEPTED_PROJECTION_ESTIMATED_TOKENS", "MAX_SUMMARY_ESTIMATED_TOKENS"];
                for name in newer {
                    drop(
                        without.insert(format!("{PREFIX}SEMANTIC_COMPACT_{name}"), "0".to_owned()),
                    );
                }
            }
            "SEMANTIC_COMPACT_MAX_ACCEPTED_PROJECTION_ESTIMATED_TOKENS" => {
                for name in ["MAX_SUMMARY_ESTIMATED_TOKENS", "SUMMARY_MAX_ESTIMATED_TOKENS"] {
                    drop(without.remove(&format!("{PREFIX}SEMANTIC_COMPACT_{name}")));
                }
            }
            "SEMANTIC_COMPACT_MAX_ACTIVE_ESTIMATED_TOKENS" => {
                drop(without.remove(&format!("{PREFIX}SEMANTIC_COMPACT_MAX_ESTIMATED_TOKENS")));
            }
            "STALE_TOOL_RESULT_MIN_RECENT_TURNS" => {
                drop(without.remove(&format!("{PREFIX}MIN_RECENT_TURNS")));
            }
            _ => {}
        }
        let found = policy(&without).unwrap();
        assert!(whole.pointer(&pointer).is_some(), "{}: no parameter {pointer}", knob.name);
        assert_ne!(found.pointer(&pointer), whole.pointer(&pointer), "{}", knob.name);
    }
}

#[test]
fn m55_every_knob_is_documented_with_its_use_or_a_reason() {
    let unique: BTreeSet<&str> = KNOBS.iter().map(|knob| knob.name).collect();
    assert_eq!((KNOBS.len(), unique.len()), (71, 71));
    let page = include_str!("../../../../docs/reference/maka.md");
    for knob in KNOBS {
        let used = match knob.used {
            Use::By(functions) => {
                functions.split(", ").map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
            }
            Use::Unused(reason) => format!("not used: {reason}"),
        };
        let row = format!(
            "| `{}` | {} | {} | {} | {used} |",
            knob.name,
            if knob.parameter.starts_with('(') {
                knob.parameter.to_owned()
            } else {
                format!("`{}`", knob.parameter)
            },
            knob.unit,
            knob.default,
        );
        assert!(page.contains(&row), "the page has no line:\n{row}");
    }
    let rows = page
        .lines()
        .filter(|line| KNOBS.iter().any(|knob| line.starts_with(&format!("| `{}` ", knob.name))))
        .count();
    assert_eq!(rows, 71, "lines of the table on the page");
}

#[test]
fn m55_functions_that_the_table_names_are_there() {
    let sources: Vec<&str> = KNOBS
        .iter()
        .filter_map(|knob| match knob.used {
            Use::By(functions) => Some(functions.split(", ")),
            Use::Unused(_) => None,
        })
        .flatten()
        .collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/maka");
    for function in sources {
        let (path, name) = function.rsplit_once("::").unwrap();
        let file = path.split("::").take_while(|part| part.starts_with(char::is_lowercase));
        let file = file.collect::<Vec<_>>().join("/");
        let candidates =
            [root.join(format!("{file}.rs")), root.join(file.clone()).join("from_names.rs")];
        let found = candidates.iter().filter_map(|it| std::fs::read_to_string(it).ok());
        assert!(found.into_iter().any(|text| text.contains(&format!("fn {name}"))), "{function}");
    }
}

#[test]
fn m55_values_are_read_as_the_source_reads_them() {
    let turns = |value: &str| built(&[("HISTORY_BUDGET_TURNS", value)]).max_history_turns;
    let cases = [
        ("12abc", Some(12)),
        (" \t7", Some(7)),
        ("+3", Some(3)),
        ("1e5", Some(1)),
        ("0x10", None),
        ("-4", None),
        ("", None),
        ("abc", None),
        ("99999999999999999999999", Some(u64::MAX)),
    ];
    for (given, wanted) in cases {
        assert_eq!(turns(given), wanted, "{given:?}");
    }
    let ratio = |value: &str| {
        let policy = built(&[("HISTORY_COMPACT_HIGH_WATER_RATIO", value)]);
        policy.compact.unwrap().high_water_ratio.to_string()
    };
    let cases = [
        ("0.8", "0.8"),
        ("2", "1"),
        (".5x", "0.5"),
        ("5.", "1"),
        ("-1", "1"),
        ("0", "1"),
        ("1e-3", "0.001"),
        ("Infinity", "1"),
        ("0.99999999999999999", "1"),
    ];
    for (given, wanted) in cases {
        assert_eq!(ratio(given), wanted, "{given:?}");
    }
    // Two kinds of switches.
    assert!(built(&[("HISTORY_SEARCH", "true")]).search.is_none());
    assert!(built(&[("HISTORY_SEARCH", "on")]).search.is_some());
    assert!(built(&[("STALE_TOOL_RESULT_PRUNE", " NO\n")]).stale_prune.is_none());
    assert!(built(&[("SEMANTIC_COMPACT_MODE", "replace")]).semantic.is_some());
    assert!(
        built(&[("SEMANTIC_COMPACT", "1"), ("SEMANTIC_COMPACT_MODE", "off")]).semantic.is_none()
    );
}

#[test]
fn m55_whose_word_on_the_window_counts() {
    let limits = |window, input| Limits { context_window: window, input_limit: input };
    let none = Limits::default();
    assert_eq!(window::resolve(Some(5), limits(Some(9), None), none), Some(5));
    assert_eq!(window::resolve(None, limits(Some(9), Some(7)), limits(Some(3), None)), Some(7));
    assert_eq!(window::resolve(None, limits(Some(9), Some(0)), none), Some(9));
    assert_eq!(window::resolve(None, limits(None, Some(0)), limits(Some(3), None)), Some(3));
    assert_eq!(window::resolve(None, none, none), None);
    for (window, history, reserve) in [(128_000, 111_616, 16_384), (8_000, 6_000, 2_000), (1, 1, 1)]
    {
        assert_eq!(window::reserve(Some(window)), reserve);
        assert_eq!(window::history(Some(window), reserve, "openai"), Some(history));
    }
}

#[test]
fn m55_the_policy_of_a_manual_compaction() {
    let manual = built(&[]).for_manual_compact();
    let compact = manual.compact.as_ref().unwrap();
    assert_eq!(compact.mode.word(), "lookup");
    assert_eq!(compact.high_water_ratio.to_string(), "0.000001");
    assert_eq!((compact.tail_tokens, compact.max_blocks), (1, 1));
    assert_eq!((compact.max_tokens, compact.max_block_tokens), (2_048, 1_024));
    let off = built(&[("HISTORY_COMPACT", "off")]);
    let manual = BudgetPolicy { max_history_tokens: None, ..off }.for_manual_compact();
    assert_eq!(manual.max_history_tokens, Some(32_000));
    assert!(manual.compact.unwrap().high_water_name == "manual-history-compact");
}
