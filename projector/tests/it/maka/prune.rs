//! Pruning and hydration: nothing is replaced that is not archived, and nothing comes back that
//! is not what was archived.

use std::collections::BTreeSet;

use artifacts::ArtifactId;
use projector::maka::active_prune::{self, ActivePrune, Cache, CompletedCall, Rewritten, Step};
use projector::maka::archive::{self, ArchiveRef, Body};
use projector::maka::event::Event;
use projector::maka::json::Json;
use projector::maka::retrieval::{self, Mode, Retrieval, Retrieved};
use projector::maka::ruler::UnitsPerToken;
use projector::maka::stale_prune::{self, Pruned, StalePrune};
use projector::maka::text::Text;
use projector::maka::truncate;
use serde_json::{Value, json};

use super::make::{answered, json as ours, said, text, texts};

const ONE: StalePrune = StalePrune { max_result_tokens: 10, min_recent_turns_full: 1 };

/// Two old turns with large results, and a new one.
fn history() -> Vec<Event> {
    vec![
        answered("r1", "t1", "c1", "Read", &json!("a".repeat(100))),
        answered("r2", "t2", "c2", "Grep", &json!({"lines": ["b".repeat(200)]})),
        answered("r3", "t3", "c3", "Read", &json!("c".repeat(300))),
    ]
}

/// Archives of everything that would be replaced.
fn archived(events: &[Event], policy: StalePrune) -> Vec<ArchiveRef> {
    let candidates = stale_prune::candidates(events, policy, UnitsPerToken::FOUR);
    let refs = candidates.into_iter().map(|found| ArchiveRef {
        artifact_id: text(&format!("artifact-{}", found.event_id)),
        event_id: found.event_id,
        call_id: found.call_id,
        tool: found.tool,
        body: found.body,
    });
    refs.collect()
}

fn pruned(events: &[Event], policy: StalePrune, archive: &[ArchiveRef]) -> Pruned {
    stale_prune::prune(events, policy, UnitsPerToken::FOUR, archive, "read it")
}

fn is_replaced(event: &Event) -> bool {
    archive::placeholder(&event.response().unwrap().result, archive::Origin::Stale).is_some()
}

#[test]
fn m05_old_results_are_replaced_and_new_ones_stay() {
    let events = history();
    let before = events.clone();
    let done = pruned(&events, ONE, &archived(&events, ONE));
    assert_eq!(events, before, "the ledger is not touched");
    let replaced: Vec<bool> = done.events.iter().map(is_replaced).collect();
    assert_eq!(replaced, [true, true, false]);
    assert_eq!((done.results, done.archive_failures), (2, 0));
    // Again: nothing is left to do.
    let again = pruned(&done.events, ONE, &[]);
    assert_eq!((again.results, again.archive_failures), (0, 0));
    assert_eq!(again.events, done.events);
    let none = StalePrune { min_recent_turns_full: 0, ..ONE };
    assert_eq!(pruned(&events, none, &archived(&events, none)).results, 3);
    let all = StalePrune { min_recent_turns_full: 9, ..ONE };
    assert_eq!(pruned(&events, all, &archived(&events, none)).results, 0);
}

#[test]
fn m05_a_result_whose_archive_is_missing_or_another_stays() {
    let events = history();
    let whole = archived(&events, ONE);
    assert_eq!(pruned(&events, ONE, &[]).archive_failures, 2);
    assert_eq!(pruned(&events, ONE, &[]).events, events);
    let changes: [&dyn Fn(&mut ArchiveRef); 7] = [
        &|it| it.event_id = text("other"),
        &|it| it.call_id = text("other"),
        &|it| it.tool = text("other"),
        &|it| it.artifact_id = text(""),
        &|it| it.body.sha256 = "0".repeat(64),
        &|it| it.body.tokens += 1,
        &|it| it.body.bytes -= 1,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut archive = whole.clone();
        change(&mut archive[0]);
        let done = pruned(&events, ONE, &archive);
        assert_eq!((done.results, done.archive_failures), (1, 1), "change {number}");
        assert_eq!(done.events[0], events[0], "change {number}");
    }
    // The same lengths and another text: only the hash tells.
    let other = answered("r1", "t1", "c1", "Read", &json!("z".repeat(100)));
    let done = pruned(&[other.clone(), events[1].clone(), events[2].clone()], ONE, &whole);
    assert_eq!((done.results, done.archive_failures), (1, 1));
    assert_eq!(done.events[0], other);
}

#[test]
fn m05_what_the_rules_leave_alone_stays() {
    let result = json!("a".repeat(100));
    let hidden = json!({
        "id": "h", "turnId": "t1", "role": "tool", "modelVisibility": "hidden",
        "content": {"kind": "function_response", "id": "c", "name": "Read", "result": result},
    });
    let partial = json!({
        "id": "p", "turnId": "t1", "role": "tool", "partial": true,
        "content": {"kind": "function_response", "id": "c", "name": "Read", "result": result},
    });
    let native = json!({
        "id": "n", "turnId": "t1", "role": "tool",
        "content": {"kind": "function_response", "id": "c", "name": "WebSearch", "result": 1,
                    "providerExecuted": true, "providerOutput": {"raw": "x".repeat(10_000)}},
    });
    let mut events: Vec<Event> = [hidden, partial, native].iter().map(super::make::event).collect();
    // One unit below the limit in tokens: 10 tokens are 40 units, quotes among them.
    events.push(answered("small", "t1", "c", "Read", &json!("a".repeat(38))));
    events.push(said("u", "t2", "hi"));
    let done = pruned(&events, ONE, &[]);
    assert_eq!((done.results, done.archive_failures), (0, 0));
    assert_eq!(done.events, events);
    let large = answered("large", "t1", "c", "Read", &json!("a".repeat(39)));
    assert_eq!(pruned(&[large, said("u", "t2", "hi")], ONE, &[]).archive_failures, 1);
}

#[test]
fn m05_archived_texts_come_back_as_they_were() {
    for value in [json!("text"), json!({"b": 1, "a": [null, 1.5]}), json!(null), json!("undefined")]
    {
        let value = ours(&value);
        assert_eq!(archive::deserialize(&archive::serialize(&value)), value);
    }
    assert_eq!(archive::serialize(&Json::Undefined).to_utf8(), "undefined");
    assert_eq!(archive::deserialize(&text("undefined")), Json::Undefined);
    assert_eq!(archive::deserialize(&text("no json")), Json::string("no json"));
    let body = Body::of(&text("\u{4e16}\u{1f642}"), UnitsPerToken::units(1));
    assert_eq!((body.tokens, body.bytes), (3, 7), "units for tokens, bytes for bytes");
}

#[test]
fn m05_addresses_of_archives_go_both_ways() {
    let sha256 = "ab".repeat(32);
    let address = archive::resource_ref(&text("tool-result.1_a"), &sha256, 12).to_utf8();
    assert_eq!(
        archive::parse_resource_ref(&address),
        Some(("tool-result.1_a".into(), sha256.clone(), 12))
    );
    let wrong = [
        format!("maka://archive/a/{sha256}/012"),
        format!("maka://archive/a/{sha256}/0"),
        format!("maka://archive/a/{sha256}/-1"),
        format!("maka://archive/a/{sha256}/9007199254740992"),
        format!("maka://archive/a/{sha256}/12/x"),
        format!("maka://archive/a/{sha256}/12?q"),
        format!("maka://user@archive/a/{sha256}/12"),
        format!("maka://archive//{sha256}/12"),
        format!("maka://archive/{}/{sha256}/12", "a".repeat(161)),
        format!("maka://archive/a/{}/12", "g".repeat(64)),
        format!("https://archive/a/{sha256}/12"),
    ];
    for address in wrong {
        assert_eq!(archive::parse_resource_ref(&address), None, "{address}");
    }
    assert_eq!(
        archive::resource_ref(&text("a b/\u{e9}"), "f", 1).to_utf8(),
        "maka://archive/a%20b%2F%C3%A9/f/1"
    );
}

const LIMITS: Retrieval =
    Retrieval { mode: Mode::Eager, max_results: 3, max_tokens: 8_192, max_bytes: 1 << 20 };

/// Hydrates a pruned history; `read` gives the archived texts by event.
fn hydrated(
    limits: Retrieval,
    turns: &[&str],
    read: &mut dyn FnMut(&ArchiveRef) -> Result<Text, &'static str>,
) -> Retrieved {
    let policy = StalePrune { min_recent_turns_full: 0, ..ONE };
    let events = history();
    let done = pruned(&events, policy, &archived(&events, policy));
    let turns: BTreeSet<Text> = turns.iter().map(|turn| text(turn)).collect();
    retrieval::retrieve(&done.events, limits, &turns, read)
}

fn stored(reference: &ArchiveRef) -> Result<Text, &'static str> {
    let events = history();
    let event = events.iter().find(|event| *event.id() == reference.event_id).ok_or("not_found")?;
    Ok(archive::serialize(&event.response().unwrap().result))
}

#[test]
fn m05_hydration_gives_back_exactly_what_was_archived() {
    let done = hydrated(LIMITS, &[], &mut |reference| stored(reference));
    assert_eq!(done.events, history());
    assert_eq!(done.sources.len(), 3);
    // 102, 216 and 302 units of JSON.
    assert_eq!(done.tokens, 26 + 54 + 76);
}

#[test]
fn m05_a_tampered_or_missing_archive_leaves_the_placeholder() {
    let done =
        hydrated(LIMITS, &[], &mut |reference| match reference.event_id.to_utf8().as_str() {
            "r1" => Err("not_found"),
            "r2" => Ok(text("tampered")),
            _ => stored(reference),
        });
    assert_eq!(done.failures.iter().collect::<Vec<_>>(), [(&"corrupt", &1), (&"not_found", &1)]);
    assert_eq!(done.events.iter().map(is_replaced).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn m56_hydration_stops_at_its_limits_before_reading() {
    let asked = |limits: Retrieval, turns: &[&str]| {
        let mut seen = Vec::new();
        let done = hydrated(limits, turns, &mut |reference| {
            seen.push(reference.event_id.to_utf8());
            stored(reference)
        });
        (seen, done.skipped.into_iter().collect::<Vec<_>>())
    };
    let one = Retrieval { max_results: 1, ..LIMITS };
    assert_eq!(asked(one, &[]), (vec!["r3".to_owned()], vec![]));
    let bytes = Retrieval { max_bytes: 250, ..LIMITS };
    assert_eq!(asked(bytes, &[]).1, [("max_bytes", 1)]);
    let tokens = Retrieval { max_tokens: 60, ..LIMITS };
    assert_eq!(
        asked(tokens, &[]),
        (vec!["r2".to_owned()], vec![("max_candidate_tokens", 1), ("max_total_tokens", 1)])
    );
    let gated = Retrieval { mode: Mode::HistorySearchGated, ..LIMITS };
    assert_eq!(asked(gated, &["t1"]), (vec!["r1".to_owned()], vec![("history_search_gate", 2)]));
}

fn tool_message(call: &str, tool: &str, output: &Value) -> Json {
    ours(&json!({"role": "tool", "content": [{
        "type": "tool-result", "toolCallId": call, "toolName": tool, "output": output,
    }]}))
}

const ACTIVE: ActivePrune =
    ActivePrune { max_result_tokens: 10_000, min_superseded_tokens: 1, min_step: 1 };

fn call(id: &str, tool: &str, input: &Value, step: u64) -> CompletedCall {
    CompletedCall { call_id: text(id), tool: text(tool), input: ours(input), step }
}

struct Turn {
    policy: ActivePrune,
    completed: Vec<CompletedCall>,
    eligible: Option<BTreeSet<Text>>,
    cache: Cache,
    asked: Vec<String>,
}

impl Turn {
    fn new(policy: ActivePrune) -> Self {
        Self {
            policy,
            completed: Vec::new(),
            eligible: None,
            cache: Cache::new(),
            asked: Vec::new(),
        }
    }

    fn rewrite(&mut self, number: u64, messages: &[Json], artifact: Option<&str>) -> Rewritten {
        let turn = text("turn-1");
        let step = Step {
            number,
            turn: &turn,
            eligible: self.eligible.as_ref(),
            completed: &self.completed,
            per_token: UnitsPerToken::units(1),
            read_instructions: "read it",
        };
        let asked = &mut self.asked;
        active_prune::rewrite(messages, self.policy, step, &mut self.cache, |_, body| {
            asked.push(body.sha256.clone());
            artifact.map(text)
        })
    }
}

#[test]
fn m05_active_results_stay_when_they_cannot_be_archived() {
    let policy = ActivePrune { max_result_tokens: 1, ..ACTIVE };
    let messages = [tool_message("c1", "Read", &json!({"type": "text", "value": "x".repeat(500)}))];
    for artifact in [None, Some(""), Some(" \n")] {
        let mut turn = Turn::new(policy);
        let done = turn.rewrite(1, &messages, artifact);
        assert_eq!((done.results, done.archive_failures), (0, 1), "{artifact:?}");
        assert_eq!(done.messages, messages);
    }
    assert_eq!(Turn::new(policy).rewrite(0, &messages, Some("a")).messages, messages);
}

#[test]
fn m56_placeholders_stay_the_same_over_the_steps() {
    let policy = ActivePrune { max_result_tokens: 1, ..ACTIVE };
    for output in [
        json!({"type": "text", "value": "x".repeat(500)}),
        json!({"type": "error-text", "value": "x".repeat(500)}),
        json!({"type": "json", "value": {"a": "x".repeat(500)}}),
        json!({"type": "error-json", "value": {"a": "x".repeat(500)}}),
    ] {
        let messages = [tool_message("c1", "Read", &output)];
        let mut turn = Turn::new(policy);
        let first = turn.rewrite(1, &messages, Some("artifact"));
        let part = &first.messages[0].get("content").unwrap().as_items().unwrap()[0];
        let value = part.get("output").unwrap().get("value").unwrap();
        let as_text = output["type"].as_str().unwrap().ends_with("text");
        assert_eq!(matches!(value, Json::String(_)), as_text, "text stays text, JSON stays JSON");
        assert!(archive::is_active_placeholder(value));
        assert_eq!(turn.rewrite(2, &first.messages, None).messages, first.messages);
        // From the original again: the archive is asked once.
        assert_eq!(turn.rewrite(3, &messages, None).messages, first.messages);
        assert_eq!(turn.asked.len(), 1);
    }
}

#[test]
fn m56_a_placeholder_without_an_artifact_is_none() {
    let mut turn = Turn::new(ActivePrune { max_result_tokens: 1, ..ACTIVE });
    let messages = [tool_message("c1", "Read", &json!({"type": "text", "value": "x".repeat(500)}))];
    let done = turn.rewrite(1, &messages, Some("artifact"));
    let written = done.messages[0].stringify().unwrap().to_utf8();
    let blank = Json::parse_str(&written.replace(r#"\"artifact\""#, r#"\" \""#)).unwrap();
    let again = turn.rewrite(2, std::slice::from_ref(&blank), Some("artifact"));
    assert_eq!(again.results, 1, "it is archived again");
}

#[test]
fn m56_a_needless_result_is_replaced_and_says_by_what() {
    let output = |body: &str| json!({"type": "text", "value": body.repeat(40)});
    let messages = [
        tool_message("old", "Query", &output("SAME OBSERVATION ")),
        tool_message("new", "Query", &output("SAME OBSERVATION ")),
        tool_message("read-old", "Read", &output("old lines of the file ")),
        tool_message("read-new", "Read", &output("new lines of the file ")),
    ];
    let mut turn = Turn::new(ACTIVE);
    turn.completed = vec![
        call("old", "Query", &json!({"q": 1}), 0),
        call("new", "Query", &json!({"q": 1}), 1),
        call("read-old", "Read", &json!({"path": "./a", "offset": 5, "limit": 5}), 0),
        call("read-new", "Read", &json!({"path": "a"}), 1),
    ];
    let done = turn.rewrite(2, &messages, Some("artifact"));
    assert_eq!((done.results, done.superseded, done.duplicates), (2, 2, 1));
    assert_eq!((&done.messages[1], &done.messages[3]), (&messages[1], &messages[3]));
    let shown = done.messages[0].stringify().unwrap().to_utf8();
    assert!(shown.contains("exact_duplicate") && shown.contains(r#"\"new\""#), "{shown}");
    let shown = done.messages[2].stringify().unwrap().to_utf8();
    assert!(shown.contains("newer_read_covers_range") && shown.contains("read-new"), "{shown}");
    assert_eq!(turn.rewrite(3, &done.messages, None).messages, done.messages);
    // Only those that may be.
    turn.eligible = Some(BTreeSet::from([text("read-old")]));
    assert_eq!(turn.rewrite(2, &messages, Some("artifact")).results, 1);
    // A placeholder that is larger than the result is none.
    let small = [
        tool_message("old", "Query", &json!({"type": "text", "value": "short"})),
        tool_message("new", "Query", &json!({"type": "text", "value": "short"})),
    ];
    assert_eq!(
        Turn { completed: turn.completed.clone(), ..Turn::new(ACTIVE) }
            .rewrite(2, &small, Some("a"))
            .messages,
        small
    );
}

#[test]
fn m56_two_names_of_a_file_and_two_commands_are_not_merged() {
    let output = |body: &str| json!({"type": "text", "value": body.repeat(4_000)});
    let pairs = [
        ("Read", json!({"path": " a"}), json!({"path": "a"})),
        ("Read", json!({"path": "a\\b"}), json!({"path": "a/b"})),
        ("Read", json!({"path": "//a"}), json!({"path": "/a"})),
        ("Read", json!({"path": "a", "limit": 10}), json!({"path": "a", "offset": 1})),
        ("Bash", json!({"command": "npm test"}), json!({"command": "npm test"})),
        ("Bash", json!({"command": "git log; ls"}), json!({"command": "git log; ls"})),
        ("Bash", json!({"command": "git log $(x)"}), json!({"command": "git log $(x)"})),
        ("Bash", json!({"command": "git push"}), json!({"command": "git push"})),
        (
            "Bash",
            json!({"command": "git log", "pty": true}),
            json!({"command": "git log", "pty": true}),
        ),
        ("Grep", json!({"pattern": "a", "glob": "*"}), json!({"pattern": "a"})),
        ("Glob", json!({"pattern": "a", "cwd": 1}), json!({"pattern": "a", "cwd": 1})),
        ("Other", json!({"path": "a"}), json!({"path": "a"})),
    ];
    for (tool, older, newer) in pairs {
        let mut turn = Turn::new(ACTIVE);
        turn.completed = vec![call("1", tool, &older, 0), call("2", tool, &newer, 1)];
        let messages =
            [tool_message("1", tool, &output("a")), tool_message("2", tool, &output("b"))];
        let done = turn.rewrite(2, &messages, Some("artifact"));
        assert_eq!(done.results, 0, "{tool} {older} {newer}");
    }
    let same = [
        ("Bash", json!({"command": " git -C x status "}), json!({"command": "git -C x status"})),
        ("Grep", json!({"pattern": "a"}), json!({"path": ".", "pattern": "a"})),
        ("Glob", json!({"pattern": "a", "cwd": "././b"}), json!({"pattern": "a", "cwd": "b"})),
    ];
    for (tool, older, newer) in same {
        let mut turn = Turn::new(ACTIVE);
        turn.completed = vec![call("1", tool, &older, 0), call("2", tool, &newer, 1)];
        let messages =
            [tool_message("1", tool, &output("a")), tool_message("2", tool, &output("b"))];
        assert_eq!(turn.rewrite(2, &messages, Some("artifact")).results, 1, "{tool} {older}");
    }
}

#[test]
fn m11_only_bare_strings_are_capped() {
    let exact = Json::String(text(&"x".repeat(8_192)));
    assert_eq!(truncate::cap_bare_string(&exact, 8_192), exact);
    let longer = Json::String(text(&"x".repeat(8_193)));
    assert_eq!(truncate::cap_bare_string(&longer, 8_192), exact);
}

#[test]
fn m34_an_object_passes_whole_whatever_is_in_it() {
    let object = ours(&json!({"out": "x".repeat(8_193), "list": ["y".repeat(9_000)]}));
    assert_eq!(truncate::cap_bare_string(&object, 8_192), object);
    let list = ours(&json!(["x".repeat(8_193)]));
    assert_eq!(truncate::cap_bare_string(&list, 8_192), list);
}

#[test]
fn m12_a_failure_keeps_3999_units_and_the_ellipsis() {
    let texts = texts();
    let whole = text(&"e".repeat(4_000));
    assert_eq!(truncate::cap_error(&whole, 4_000, &texts), whole);
    let cut = truncate::cap_error(&text(&"e".repeat(5_000)), 4_000, &texts);
    assert_eq!(cut.len(), 4_000);
    assert_eq!(cut.to_utf8(), format!("{}\u{2026}", "e".repeat(3_999)));
}

#[test]
fn m05_the_archive_of_a_result_is_an_artifact_of_the_store() {
    // The hash that a placeholder carries is the id under which the store has the same text.
    let body = Body::of(&archive::serialize(&Json::string("whole output")), UnitsPerToken::FOUR);
    assert_eq!(body.sha256, ArtifactId::of(br#""whole output""#).to_string());
}
