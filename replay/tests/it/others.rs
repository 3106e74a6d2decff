//! Goal: steps that choose tools, cut texts that are no outputs, and add texts do just that to real
//! requests. Method: the projected body, parsed, against the recorded one with the change made to
//! its JSON.

use projector::Policy;
use projector::projection::Projection;
use replay::Recording;
use serde_json::{Value, json};

use crate::support::{bodies, import};

fn policy(step: &str) -> Policy {
    let text = format!("name = \"test\"\nestimator = \"b4ceil\"\n[[step]]\n{step}\n");
    Policy::from_toml(&text).unwrap()
}

/// Every request under a policy, with its body.
fn projected(recording: &Recording, policy: &Policy) -> Vec<(Projection, Value)> {
    let (history, source) = (recording.history(), recording.as_source());
    let mut projector = replay::projector(history, source, policy);
    let ids = history.requests().iter().map(|it| it.captured.request);
    let one = |id| {
        let projection = projector.projection(id).unwrap();
        let mut body = Vec::new();
        projection.write(history, source, &mut body).unwrap();
        assert_eq!(projection.account.body_bytes, body.len() as u64);
        (projection, serde_json::from_slice(&body).unwrap())
    };
    ids.map(one).collect()
}

fn recorded(case: &str) -> Vec<Value> {
    bodies(case).iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
}

/// The tools of a body, wherever they stand.
fn tools(body: &mut Value) -> &mut Vec<Value> {
    let tools = body["tools"].as_array_mut().unwrap();
    if tools.first().is_some_and(|tool| tool.get("functionDeclarations").is_some()) {
        return tools[0]["functionDeclarations"].as_array_mut().unwrap();
    }
    tools
}

fn name(tool: &Value) -> String {
    let name = tool.get("name").or_else(|| tool["function"].get("name"));
    name.or(tool.get("type")).and_then(Value::as_str).unwrap().to_owned()
}

const CASES: [&str; 5] =
    ["mini-std", "codex-std", "pi-anthropic-std", "gemini-cli-std", "opencode-anthropic-std"];

#[test]
fn tools_are_taken_out_of_requests_of_every_format() {
    for case in CASES {
        let imported = import(case);
        let recorded = recorded(case);
        let with_tools = recorded.iter().find(|body| body.get("tools").is_some()).unwrap();
        let names: Vec<String> = tools(&mut with_tools.clone()).iter().map(name).collect();
        let (first, last) = (names.first().unwrap(), names.last().unwrap());
        let but = |gone: &str| names.iter().filter(|it| *it != gone).cloned().collect();
        let cases: [(String, Vec<String>); 4] = [
            (format!("exclude = [\"{first}\"]"), but(first)),
            (format!("only = [\"{last}\"]"), vec![last.clone()]),
            ("max_tokens = 0".to_owned(), Vec::new()),
            (String::new(), names.clone()),
        ];
        for (step, stays) in cases {
            let policy = policy(&format!("op = \"tools\"\n{step}"));
            for (ours, theirs) in projected(&imported.recording, &policy).iter().zip(&recorded) {
                let mut expected = theirs.clone();
                if theirs.get("tools").is_some() {
                    tools(&mut expected).retain(|tool| stays.contains(&name(tool)));
                }
                assert_eq!(ours.1, expected, "{case} {step}");
                assert_eq!(ours.0.account.changed, expected != *theirs, "{case} {step}");
                assert_ne!(ours.0.fidelity.name(), "refused", "{case}");
            }
        }
    }
}

#[test]
fn a_deferred_tool_is_offered_once_the_messages_hold_a_call_of_it() {
    let imported = import("codex-std");
    let recorded = recorded("codex-std");
    let step = "op = \"tools\"\ndeferred = [\"exec_command\"]";
    let found = projected(&imported.recording, &policy(step));
    let (mut before, mut after) = (0, 0);
    for ((_, ours), theirs) in found.iter().zip(&recorded) {
        let called =
            theirs["input"].as_array().unwrap().iter().any(|item| item["name"] == "exec_command");
        let offered = tools(&mut ours.clone()).iter().any(|tool| name(tool) == "exec_command");
        assert_eq!(offered, called);
        if called {
            after += 1;
            assert_eq!(ours, theirs);
        } else {
            before += 1;
        }
    }
    assert!(before > 0 && after > 0, "{before} {after}");
}

/// Every string under a key of a value.
fn each<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| each(item, found)),
        Value::Object(map) => {
            found.extend(map.get("text").and_then(Value::as_str));
            map.get("content").into_iter().for_each(|content| each(content, found));
        }
        _ => {}
    }
}

#[test]
fn texts_of_users_models_and_instructions_are_cut() {
    for (case, kind, role) in [
        ("mini-std", "user_text", "user"),
        ("mini-std", "instructions", "system"),
        ("codex-std", "assistant_text", "assistant"),
        ("codex-std", "user_text", "user"),
    ] {
        let imported = import(case);
        let step = format!(
            "op = \"cap_text\"\napplies = {{ kinds = [\"{kind}\"] }}\nunit = \"cp\"\nlimit = 12\n\
             shape = \"head\"\nmarker = \"\"\nmarker_in_limit = false"
        );
        let mut cut = 0;
        for (projection, body) in projected(&imported.recording, &policy(&step)) {
            assert_ne!(projection.fidelity.name(), "refused", "{case} {kind}");
            cut += u64::from(projection.account.changed);
            let list = body.get("messages").or(body.get("input")).unwrap().as_array().unwrap();
            for message in list.iter().filter(|message| message["role"] == role) {
                let mut texts = Vec::new();
                each(&message["content"], &mut texts);
                for text in texts {
                    assert!(text.chars().count() <= 12, "{case} {kind}: {text:.40}");
                }
            }
        }
        assert!(cut > 0, "{case} {kind}");
    }
}

#[test]
fn instructions_beside_the_messages_are_in_one_piece_and_a_cap_of_them_is_refused() {
    let imported = import("pi-anthropic-std");
    let step = "op = \"cap_text\"\napplies = { kinds = [\"instructions\"] }\nunit = \"cp\"\n\
                limit = 12\nshape = \"head\"\nmarker = \"\"\nmarker_in_limit = false";
    for (projection, body) in projected(&imported.recording, &policy(step)) {
        assert_eq!(projection.fidelity.name(), "refused");
        assert!(body["system"].to_string().len() > 12);
    }
}

#[test]
fn a_text_whose_size_alone_is_known_is_a_placeholder_and_one_of_no_size_is_refused() {
    let imported = import("mini-std");
    let inject =
        |items: &str| policy(&format!("op = \"inject\"\non = \"start\"\nitems = [{items}]"));
    let sized = projected(&imported.recording, &inject("{ kind = \"rules\", each = 100 }"));
    for (projection, body) in &sized {
        assert_eq!(projection.fidelity.name(), "assumed");
        let text = body["messages"].to_string();
        assert!(text.contains("[rules, assumed: 100 tokens] ..."), "{text:.300}");
    }
    let told =
        projected(&imported.recording, &inject("{ kind = \"rules\", text = \"Be brief.\" }"));
    for (projection, body) in &told {
        assert_eq!(projection.fidelity.name(), "derived");
        assert_eq!(
            body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["content"] == "Be brief.")
                .count(),
            1
        );
    }
    for (projection, body) in projected(&imported.recording, &inject("{ kind = \"rules\" }")) {
        assert_eq!(projection.fidelity.name(), "refused");
        assert!(!body.to_string().contains("assumed"), "{}", json!(body));
    }
}
