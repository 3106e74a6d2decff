//! Goal: rules and prices are data that users can list, print, and replace. Method: run the program.

use crate::program::Folder;

#[test]
fn rulebooks_are_listed_with_what_they_assume() {
    let folder = Folder::new();
    let listed = folder.run(&["rules", "list", "--format", "json"]).json();
    assert_eq!(listed["schema"], "counterfold.rules/1");
    let books = listed["rulebooks"].as_array().unwrap();
    assert!(books.len() >= 6);
    for book in books {
        assert!(!book["sources"].as_array().unwrap().is_empty(), "{book}");
        assert!(!book["assumes"].as_array().unwrap().is_empty(), "{book}");
    }
    assert_eq!(listed["prices"]["license"], "MIT");
    assert_eq!(listed["prices"]["sha256"].as_str().unwrap().len(), 64);
    let table = folder.run(&["rules", "list", "--models"]).text();
    let line = table.lines().find(|line| line.starts_with("claude-sonnet-4-5 ")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[1..7], ["anthropic", "3", "0.3", "3.75", "6", "15"]);
}

#[test]
fn a_rulebook_that_was_printed_can_be_read_again() {
    let folder = Folder::new();
    let text = folder.run(&["rules", "show", "anthropic@2026-11"]).text();
    let path = folder.path("mine.toml");
    std::fs::write(&path, text.replace("anthropic@2026-11", "mine@1")).unwrap();
    let path = path.to_str().unwrap();
    let listed = folder.run(&["rules", "list", "--rules", path, "--format", "json"]).json();
    assert_eq!(listed["rulebooks"][0]["id"], "mine@1");
    std::fs::write(path, "schema = 1").unwrap();
    assert_eq!(folder.run(&["rules", "list", "--rules", path]).code, 2);
    assert_eq!(folder.run(&["rules", "show", "anthropc@2026-11"]).code, 2);
}

#[test]
fn a_price_table_is_made_of_a_data_set_and_keeps_its_digits() {
    let folder = Folder::new();
    let set = r#"{"sample_spec":{"mode":"x"},
        "claude-x":{"litellm_provider":"anthropic","mode":"chat","input_cost_per_token":3e-06,
            "cache_read_input_token_cost":2.5e-07,"output_cost_per_token":1.5e-05,
            "max_input_tokens":200000,"input_cost_per_token_above_200k_tokens":6e-06},
        "gemini/gemini-x":{"litellm_provider":"gemini","mode":"chat","input_cost_per_token":1e-13,
            "output_cost_per_token":1e-06},
        "other":{"litellm_provider":"nobody","mode":"chat","input_cost_per_token":1e-06}}"#;
    let from = folder.path("set.json");
    std::fs::write(&from, set).unwrap();
    let made = folder.run(&[
        "rules",
        "update",
        "--from",
        from.to_str().unwrap(),
        "--date",
        "2026-11-30",
        "--source",
        "a set",
    ]);
    let text = made.text();
    for line in [
        "name = \"claude-x\"",
        "input = 3000000",
        "read = 250000",
        "output = 15000000",
        "window = 200000",
        "above_tokens = 200000",
        "input = 6000000",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("gemini-x") && !text.contains("other"), "{text}");
    std::fs::write(&from, "[]").unwrap();
    let bad = [
        "rules",
        "update",
        "--from",
        from.to_str().unwrap(),
        "--date",
        "2026-11-30",
        "--source",
        "x",
    ];
    assert_eq!(folder.run(&bad).code, 2);
}
