//! Every case of the recorded inputs and outputs, read from the file.

use projector::maka::active_prune::{self, ActivePrune, Step};
use projector::maka::archive::{self, ArchiveRef, Body};
use projector::maka::block::{self, Block};
use projector::maka::checkpoint::{self, Checkpoint};
use projector::maka::compact::Protocol;
use projector::maka::event::Event;
use projector::maka::json::Json;
use projector::maka::mid_turn::{self, Known};
use projector::maka::order::{self, Context};
use projector::maka::plan::{self, Kind};
use projector::maka::policy::{BudgetPolicy, CompactKnobs, CompactMode, StalePruneKnobs};
use projector::maka::ruler::{self, UnitsPerToken};
use projector::maka::search::{self, Search};
use projector::maka::supersession::{self, Observation};
use projector::maka::tail_buffer::TailBuffer;
use projector::maka::text::Text;
use projector::maka::truncate::{self, Budget, Keep, Removed};
use projector::maka::{number::Number, stable};
use serde_json::{Value, json};

use super::make::{
    event, ids, json as ours, said, source_events, strings, text, texts, units, value, vectors,
};

#[test]
fn m53_canonical_json() {
    for case in vectors("stableStringify").as_array().unwrap() {
        let mut given = ours(&case["input"]);
        let wanted = case["out"].as_str().unwrap();
        // A member without a value was lost when the vectors were written as JSON.
        if wanted.contains("[undefined]") {
            let Json::Object(object) = given else { panic!("an object") };
            given = Json::Object(object.with("a", Json::Undefined));
        }
        assert_eq!(stable::stringify(&given).to_utf8(), wanted);
        assert_eq!(stable::hash(&given), case["hash"].as_str().unwrap());
    }
}

#[test]
fn m53_canonical_json_of_special_values() {
    for case in vectors("stableStringify_special").as_array().unwrap() {
        let given = match case["name"].as_str().unwrap() {
            // What is no number is written as `null`, and no other value reads so.
            "NaN" | "Infinity" => Number::parse("1e999").map_or(Json::Null, Json::Number),
            "-0" => Json::parse_str("-0").unwrap(),
            "bigint" => Json::string("10"),
            "date" => Json::String(stable::iso_time(0)),
            "undefined" => Json::Undefined,
            other => panic!("no case {other}"),
        };
        assert_eq!(stable::stringify(&given).to_utf8(), case["out"].as_str().unwrap());
        assert_eq!(stable::hash(&given), case["hash"].as_str().unwrap());
    }
    let dates = [(951_782_400_000, "2000-02-29"), (1_800_000_000_000, "2027-01-15")];
    for (milliseconds, day) in dates {
        assert!(stable::iso_time(milliseconds).to_utf8().starts_with(day));
    }
}

/// Inputs whose bytes the vectors do not hold, by the rule in the name of the case.
fn truncated_input(name: &str) -> String {
    let lines = |count: usize| (0..count).map(|line| format!("line{line}")).collect::<Vec<_>>();
    match name {
        "ten lines head 4" | "ten lines tail 3" => lines(10).join("\n"),
        "50x100 bytes 250 head" | "50x100 bytes 250 tail" => vec!["x".repeat(100); 50].join("\n"),
        "100+nl max100" => format!("{}\n", "x".repeat(100)),
        "abcd nl max4" => "a\nb\nc\nd\n".to_owned(),
        "one line 500 max100 head" => "x".repeat(500),
        "cjk 200 max100 tail" | "cjk 200 max100 head" => "\u{4e16}".repeat(200),
        "empty" => String::new(),
        "only newline" => "\n".to_owned(),
        "emoji 100 max10 tail" => "\u{1f642}".repeat(100),
        "3 nl trailing" => "a\n\n\n".to_owned(),
        "crlf" => "a\r\nb\r\nc\r\n".to_owned(),
        "defaults 2001 lines" => {
            let numbered: Vec<_> = (0..2001).map(|line| format!("line{line}")).collect();
            numbered.join("\n")
        }
        "defaults 60KB" => format!("{}\n", "y".repeat(99)).repeat(600),
        other => panic!("no case {other}"),
    }
}

#[test]
fn m06_tool_output_is_cut_as_the_source_cuts_it() {
    let texts = texts();
    for case in vectors("truncateToolOutput").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let given = truncated_input(name);
        assert_eq!(stable::sha256_hex(given.as_bytes()), case["inputSha256"], "{name}");
        let option = |name: &str| case["options"][name].as_u64();
        let usize_of = |value: u64| usize::try_from(value).unwrap();
        let budget = Budget {
            max_lines: option("maxLines").map_or(Budget::DEFAULT.max_lines, usize_of),
            max_bytes: option("maxBytes").map_or(Budget::DEFAULT.max_bytes, usize_of),
            keep: if case["options"]["direction"] == "tail" { Keep::Tail } else { Keep::Head },
        };
        let cut = truncate::truncate(&given, budget, &texts);
        assert_eq!(cut.is_some(), case["truncated"].as_bool().unwrap(), "{name}");
        let (kept, shown, removed) = match &cut {
            Some(cut) => (cut.kept.as_str(), cut.shown.as_str(), cut.removed),
            None => (given.as_str(), given.as_str(), Removed::Lines(0)),
        };
        let (count, unit) = match removed {
            Removed::Lines(count) => (count, "lines"),
            Removed::Bytes(count) => (count, "bytes"),
        };
        assert_eq!(
            (count, unit),
            (case["removed"].as_u64().unwrap(), case["unit"].as_str().unwrap()),
            "{name}"
        );
        assert_eq!(kept.len() as u64, case["keptBytes"].as_u64().unwrap(), "{name}");
        assert_eq!(stable::sha256_hex(kept.as_bytes()), case["keptSha256"], "{name}");
        assert_eq!(shown.len() as u64, case["contentBytes"].as_u64().unwrap(), "{name}");
    }
}

#[test]
fn m56_estimates() {
    for case in vectors("estimateTokens").as_array().unwrap() {
        let chars = usize::try_from(case["chars"].as_i64().unwrap().max(0)).unwrap();
        assert_eq!(units(&case["charsPerToken"]).tokens(chars), case["out"].as_u64().unwrap());
    }
    for case in vectors("estimateRuntimeEventChars").as_array().unwrap() {
        assert_eq!(
            ruler::event_units(&event(&case["event"])) as u64,
            case["out"].as_u64().unwrap()
        );
    }
}

#[test]
fn m05_the_artifact_of_a_stale_result_has_the_id_of_the_source() {
    let case = vectors("toolResultArchiveArtifactId");
    let given = |name: &str| text(case["input"][name].as_str().unwrap());
    let id = archive::artifact_id(
        &given("sessionId"),
        &given("runtimeEventId"),
        &given("toolCallId"),
        &given("toolName"),
        case["input"]["bodySha256"].as_str().unwrap(),
    );
    assert_eq!(id.to_utf8(), case["out"].as_str().unwrap());
}

/// A policy without any section.
pub(super) fn bare() -> BudgetPolicy {
    BudgetPolicy {
        name: text("p"),
        units_per_token: UnitsPerToken::FOUR,
        max_history_tokens: None,
        max_history_turns: None,
        min_recent_turns: 1,
        stale_prune: None,
        active_prune: None,
        retrieval: None,
        search: None,
        synthesis: None,
        compact: None,
        semantic: None,
        rewrite_gate: None,
    }
}

/// Nothing beside the events.
pub(super) fn nothing(texts: &projector::maka::texts::Texts) -> Context<'_> {
    static EMPTY: Text = Text::new();
    Context {
        session: &EMPTY,
        current_turn: &EMPTY,
        query: &EMPTY,
        archive: &[],
        checkpoint: None,
        blocks: &[],
        syntheses: &[],
        protocol: Protocol::LegacyV1,
        texts,
    }
}

#[test]
fn m05_stale_results_become_placeholders() {
    let case = vectors("stalePrunePlaceholder");
    let texts = texts();
    let of = |name: &str| text(case["archiveRef"][name].as_str().unwrap());
    let reference = ArchiveRef {
        event_id: of("runtimeEventId"),
        call_id: of("toolCallId"),
        tool: of("toolName"),
        artifact_id: of("artifactId"),
        body: Body {
            sha256: of("bodySha256").to_utf8(),
            tokens: case["archiveRef"]["originalEstimatedTokens"].as_u64().unwrap(),
            bytes: case["archiveRef"]["originalBytes"].as_u64().unwrap(),
        },
    };
    // The vectors do not hold the other events: the call, and a newer turn of 72 units.
    let result =
        super::make::answered("result-old", "turn-old", "tool-old", "Read", &case["result"]);
    let call = super::make::event(&json!({
        "id": "call-old", "sessionId": "session-1", "turnId": "turn-old", "role": "model",
        "content": {"kind": "function_call", "id": "tool-old", "name": "Read",
                    "args": {"path": "tool-old.txt"}},
    }));
    let mut policy = bare();
    policy.units_per_token = UnitsPerToken::units(1);
    policy.stale_prune = Some(StalePruneKnobs { max_result_tokens: 50, min_recent_turns_full: 1 });
    let newer = [said("u", "turn-new", &"u".repeat(36)), said("v", "turn-new", &"v".repeat(36))];
    let history: Vec<Event> = [call, result].into_iter().chain(newer).collect();
    let archive = [reference];
    let context = Context { archive: &archive, ..nothing(&texts) };
    let prior = order::budget(&history, &policy, context).unwrap();
    let placeholder = prior.events[1].response().unwrap().result.clone();
    let names: Vec<String> =
        placeholder.as_object().unwrap().members().iter().map(|(name, _)| name.to_utf8()).collect();
    assert_eq!(names, strings(&case["keysInOrder"]));
    let mut shown = value(&placeholder);
    let hint = shown.as_object_mut().unwrap().remove("readInstructions").unwrap();
    assert_eq!(
        hint.as_str().unwrap().encode_utf16().count() as u64,
        case["readInstructionsChars"].as_u64().unwrap()
    );
    assert_eq!(shown, case["placeholderWithoutReadInstructions"]);
    assert_eq!(value(&prior.report.json()), case["diagnostic"]);
}

#[test]
fn m56_whole_turn_retention() {
    let texts = texts();
    for case in vectors("wholeTurnRetention").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let history: Vec<Event> = case["turnChars"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(place, chars)| {
                let words = "x".repeat(usize::try_from(chars.as_u64().unwrap()).unwrap());
                said(&format!("e{}", place + 1), &format!("t{place}"), &words)
            })
            .collect();
        let given = &case["policy"];
        let mut policy = bare();
        policy.max_history_tokens = given["maxHistoryEstimatedTokens"].as_u64();
        policy.max_history_turns = given["maxHistoryTurns"].as_u64();
        policy.min_recent_turns = given["minRecentTurns"].as_u64().unwrap_or(1);
        if given["charsPerToken"].is_number() {
            policy.units_per_token = units(&given["charsPerToken"]);
        }
        let prior = order::budget(&history, &policy, nothing(&texts));
        match prior {
            None => assert!(case["kept"].is_null() && case["diagnostic"].is_null(), "{name}"),
            Some(prior) => {
                assert_eq!(ids(&prior.events), strings(&case["kept"]), "{name}");
                assert_eq!(value(&prior.report.json()), case["diagnostic"], "{name}");
            }
        }
    }
}

#[test]
fn m56_deterministic_blocks() {
    let case = vectors("historyCompactDeterministic");
    let texts = texts();
    let given = &case["policy"];
    let mut policy = bare();
    policy.units_per_token = units(&case["charsPerToken"]);
    policy.max_history_tokens = case["maxHistoryEstimatedTokens"].as_u64();
    policy.compact = Some(CompactKnobs {
        mode: CompactMode::Deterministic,
        high_water_ratio: Number::parse(&given["highWaterRatio"].to_string()).unwrap(),
        force_ratio: None,
        target_ratio: None,
        tail_tokens: given["tailEstimatedTokens"].as_u64().unwrap(),
        min_recent_turns: given["minRecentTurns"].as_u64().unwrap(),
        max_summary_tokens: given["maxSummaryEstimatedTokens"].as_u64(),
        max_blocks: 1,
        max_tokens: 2_048,
        max_block_tokens: 1_024,
        high_water_name: text(block::HIGH_WATER_NAME),
        mid_turn: None,
    });
    let prior =
        order::budget(&source_events("historyCompactDeterministic"), &policy, nothing(&texts))
            .unwrap();
    assert_eq!(ids(&prior.events), strings(&case["outIds"]));
    let done = prior.report.compacted.unwrap();
    let Some(projector::maka::compact::Stands::Made(block)) = done.stands else {
        panic!("a block that was made")
    };
    let Block { id, coverage, .. } = &block;
    assert_eq!(*id, case["blockId"]);
    assert_eq!(block.tokens, case["estimatedTokens"].as_u64().unwrap());
    assert_eq!(block.created_at, case["createdAt"].as_u64().unwrap());
    assert_eq!(block.high_water_seq, case["highWaterSeq"].as_u64().unwrap());
    let lists = [
        (&coverage.turns, "turnIds"),
        (&coverage.events, "runtimeEventIds"),
        (&coverage.kinds, "contentKinds"),
        (&coverage.sha256, "bodySha256"),
    ];
    for (found, name) in lists {
        let found: Vec<String> = found.iter().map(Text::to_utf8).collect();
        assert_eq!(found, strings(&case["coverage"][name]), "{name}");
    }
    assert_eq!(block.summary.len() as u64, case["summaryChars"].as_u64().unwrap());
    assert_eq!(stable::text_hash(&block.summary), case["summarySha256"]);
    let rendered = block.render(&texts);
    assert_eq!(rendered.len() as u64, case["renderedChars"].as_u64().unwrap());
    assert_eq!(stable::text_hash(&rendered), case["renderedSha256"]);
}

#[test]
fn m56_checkpoints() {
    let case = vectors("historyCompactCheckpoint");
    let texts = texts();
    let high_water = text(case["highWaterName"].as_str().unwrap());
    let maker = checkpoint::Maker {
        high_water: &high_water,
        anchor: None,
        previous: None,
        per_token: UnitsPerToken::FOUR,
        texts: &texts,
    };
    let summary = text(case["summary"].as_str().unwrap());
    let made =
        Checkpoint::new(&source_events("historyCompactCheckpoint"), &summary, maker).unwrap();
    assert_eq!(made.prefix.digest, case["sourceDigest"]);
    assert_eq!(made.id, case["checkpointId"]);
    assert_eq!(made.tokens, case["estimatedTokens"].as_u64().unwrap());
    assert_eq!(made.created_at, case["createdAt"].as_u64().unwrap());
    assert_eq!(made.high_water_seq, case["highWaterSeq"].as_u64().unwrap());
    let rendered = made.render(&texts);
    assert_eq!(rendered.len() as u64, case["renderedChars"].as_u64().unwrap());
    assert_eq!(stable::text_hash(&rendered), case["renderedSha256"]);
}

#[test]
fn m56_active_prune_thresholds() {
    let texts = texts();
    for case in vectors("activePrune").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let chars = name.split(' ').find_map(|word| word.parse().ok()).unwrap_or(9_000);
        let number = u64::from(!name.starts_with("step 0"));
        let chars = if number == 0 { 9_000 } else { chars };
        let messages = [ours(&json!({"role": "tool", "content": [{
            "type": "tool-result", "toolCallId": "c1", "toolName": "Read",
            "output": {"type": "text", "value": "a".repeat(chars)},
        }]}))];
        let policy =
            ActivePrune { max_result_tokens: 2_048, min_superseded_tokens: 256, min_step: 1 };
        let turn = text("turn-1");
        let step = Step {
            number,
            turn: &turn,
            eligible: None,
            completed: &[],
            per_token: UnitsPerToken::FOUR,
            read_instructions: &texts.read_instructions,
        };
        let mut cache = active_prune::Cache::new();
        let done = active_prune::rewrite(&messages, policy, step, &mut cache, |_, _| {
            Some(text("artifact"))
        });
        assert_eq!(done.results, case["rewritten"].as_u64().unwrap(), "{name}");
        if done.results == 0 {
            assert_eq!(done.messages, messages, "{name}");
            continue;
        }
        let part = &done.messages[0].get("content").unwrap().as_items().unwrap()[0];
        let shown = part.get("output").unwrap().get("value").unwrap().as_text().unwrap();
        let shown = Json::parse(shown).unwrap();
        let names: Vec<String> =
            shown.as_object().unwrap().members().iter().map(|(name, _)| name.to_utf8()).collect();
        assert_eq!(names, strings(&case["keys"]), "{name}");
        assert_eq!(
            done.results,
            case["diagnosticPatch"]["activePrunedToolResults"].as_u64().unwrap()
        );
        // The case has a shorter artifact or turn name; each unit of them counts.
        let saved = case["diagnosticPatch"]["activeEstimatedTokensSaved"].as_u64().unwrap();
        assert!(done.tokens_saved.abs_diff(saved) <= 8, "{} and {saved}", done.tokens_saved);
    }
}

#[test]
fn m56_supersession() {
    for case in vectors("supersession").as_array().unwrap() {
        let observations: Vec<Observation> = case["observations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|seen| Observation {
                call_id: text(seen["toolCallId"].as_str().unwrap()),
                tool: text(seen["toolName"].as_str().unwrap()),
                input: ours(&seen["input"]),
                step: seen["stepNumber"].as_u64().unwrap(),
                sha256: seen["bodySha256"].as_str().unwrap().to_owned(),
                is_error: seen["isError"].as_bool().unwrap(),
                eligible: seen["eligible"].as_bool().unwrap(),
            })
            .collect();
        let decisions: serde_json::Map<String, Value> = supersession::plan(&observations)
            .into_iter()
            .map(|(call, by)| {
                let mut decision =
                    json!({"reason": by.reason, "supersededByToolCallId": by.by_call.to_utf8()});
                if let Some(failure) = by.failure_sha256 {
                    decision["failureBodySha256"] = failure.into();
                }
                (call.to_utf8(), decision)
            })
            .collect();
        assert_eq!(Value::Object(decisions), case["decisions"], "{}", case["name"]);
    }
}

#[test]
fn m08_the_capture_cap_keeps_what_the_source_keeps() {
    for case in vectors("bashTailBuffer").as_array().unwrap() {
        let cap = usize::try_from(case["cap"].as_u64().unwrap()).unwrap();
        let mut buffer = TailBuffer::new(cap);
        for chunk in strings(&case["chunks"]) {
            buffer.push(&text(&chunk));
        }
        assert_eq!(buffer.value().to_utf8(), case["value"].as_str().unwrap());
        assert_eq!(buffer.has_dropped_unsafe(), case["droppedUnsafe"].as_bool().unwrap());
    }
}

#[test]
fn m56_estimates_inside_of_a_turn() {
    for case in vectors("midTurnEstimate").as_array().unwrap() {
        let given = &case["input"];
        let known = match given["priorUsageTokens"].as_u64() {
            Some(tokens) => {
                Known::Usage { tokens, delta_units: given["appendedChars"].as_i64().unwrap() }
            }
            None => Known::Cold { units: given["coldStartChars"].as_u64().unwrap() },
        };
        let tokens = mid_turn::next_request_tokens(known, UnitsPerToken::FOUR);
        assert_eq!(tokens, case["out"].as_u64().unwrap());
    }
}

#[test]
fn m56_history_search() {
    let case = vectors("historySearch");
    for terms in case["tokens"].as_array().unwrap() {
        let found: Vec<String> =
            search::terms(&text(terms["q"].as_str().unwrap())).iter().map(Text::to_utf8).collect();
        assert_eq!(found, strings(&terms["terms"]));
    }
    let history = [
        said("far", "turn-0", "nothing of it"),
        said("before", "turn-1", "some words"),
        said("target", "turn-2", "here is the needle"),
        said("after", "turn-3", "other words"),
        said("last", "turn-4", "more words"),
    ];
    let limits = Search { max_results: 5, around: 1, max_tokens: 4_096 };
    let query = text(case["query"].as_str().unwrap());
    let found = search::search(&history, &query, limits, UnitsPerToken::FOUR);
    assert_eq!(ids(&found.events), strings(&case["ids"]));
    let hits: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            json!({
                "eventId": hit.event_id.to_utf8(), "turnId": hit.turn.to_utf8(),
                "ts": history[hit.place].time().floor(), "score": hit.score,
                "matchedTerms": hit.terms.iter().map(Text::to_utf8).collect::<Vec<_>>(),
            })
        })
        .collect();
    assert_eq!(Value::Array(hits), case["hits"]);
}

#[test]
fn m56_replay_plan() {
    let case = vectors("replayPlan");
    let plan = plan::plan(&source_events("replayPlan"), &std::collections::BTreeSet::new());
    let notes: Vec<Value> = plan
        .notes
        .iter()
        .map(|note| json!({"code": note.code, "eventId": note.event_id.to_utf8()}))
        .collect();
    assert_eq!(Value::Array(notes), case["diagnostics"]);
    assert!(!plan.notes.iter().any(plan::Note::is_blocking));
    let items: Vec<Value> = plan.items.iter().map(item).collect();
    assert_eq!(Value::Array(items), case["items"]);
}

fn item(item: &plan::Item) -> Value {
    let mut shown = match &item.kind {
        Kind::Text { role, text } => {
            json!({"kind": "text", "role": role, "content": text.to_utf8()})
        }
        Kind::Thinking { text, signature } => json!({
            "kind": "thinking", "text": text.to_utf8(),
            "signature": signature.as_ref().map(Text::to_utf8),
        }),
        Kind::Call { call_id, tool, input, .. } => json!({
            "kind": "tool_call", "toolCallId": call_id.to_utf8(), "toolName": tool.to_utf8(),
            "input": value(input),
        }),
        Kind::Result { call_id, tool, output, is_error, .. } => json!({
            "kind": "tool_result", "toolCallId": call_id.to_utf8(), "toolName": tool.to_utf8(),
            "output": value(output), "isError": is_error,
        }),
    };
    if let Some(step) = &item.step {
        shown["stepId"] = step.to_utf8().into();
    }
    shown["eventId"] = item.event_id.to_utf8().into();
    shown["ts"] = 1_800_000_000_000_u64.into();
    shown
}
