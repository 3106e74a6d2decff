//! Folding, dropping and showing history: the rules one by one.

use std::collections::BTreeSet;

use projector::maka::archive::{ArchiveRef, Body};
use projector::maka::assemble;
use projector::maka::block::Block;
use projector::maka::checkpoint::{self, Anchor, Checkpoint, CheckpointError};
use projector::maka::compact::{self, Against, Compact, Compacted, Mode, Protocol, Stands};
use projector::maka::event::Event;
use projector::maka::json::Json;
use projector::maka::mid_turn::{self, Phase};
use projector::maka::number::Number;
use projector::maka::order::{self, Context};
use projector::maka::plan;
use projector::maka::policy::{BudgetPolicy, For, StalePruneKnobs};
use projector::maka::ruler::{self, UnitsPerToken};
use projector::maka::stale_prune;
use projector::maka::synthesis::{self, Limits, Selected, Synthesis};
use projector::maka::text::Text;
use projector::maka::texts::Texts;
use projector::maka::tools::{self, Availability, Group};
use serde_json::{Value, json};

use super::make::{answered, called, event, ids, json as ours, made, said, text, texts, value};
use super::vectors::{bare, nothing};

const ONE: UnitsPerToken = UnitsPerToken::units(1);

fn policy() -> Compact {
    Compact {
        mode: Mode::Deterministic,
        high_water_ratio: Number::parse("0.01").unwrap(),
        target_ratio: Number::parse("0.5").unwrap(),
        tail_tokens: Some(48),
        min_recent_turns: Some(1),
        max_summary_tokens: 120,
        max_blocks: 1,
        max_tokens: 2_048,
        max_block_tokens: 1_024,
        archive_required: false,
        high_water: text("hw"),
    }
}

fn against(texts: &Texts, max: u64) -> Against<'_> {
    Against {
        max_history_tokens: Some(max),
        per_token: ONE,
        protocol: Protocol::LegacyV1,
        checkpoint: None,
        blocks: &[],
        archive: &[],
        texts,
    }
}

/// Six events in five turns; the newest ones are short.
fn history() -> Vec<Event> {
    vec![
        said("e1", "t1", &"alpha ".repeat(60)),
        said("e2", "t2", &"beta ".repeat(60)),
        said("e3", "t3", &"gamma ".repeat(60)),
        made("e4", "t3", "model", &json!({"kind": "text", "text": "delta ".repeat(60)})),
        said("e5", "t4", "short"),
        said("e6", "t5", "shorter"),
    ]
}

fn made_block(done: &Compacted) -> &Block {
    match &done.stands {
        Some(Stands::Made(block)) => block,
        other => panic!("no block was made: {other:?}, {:?}", done.skipped),
    }
}

#[test]
fn m56_old_turns_are_folded_into_one_block() {
    let texts = texts();
    let events = history();
    let done = compact::compact(&events, &policy(), against(&texts, 1_600));
    let block = made_block(&done);
    assert_eq!((block.coverage.turns.len(), block.coverage.events.len()), (3, 4));
    assert_eq!(
        ids(&done.events),
        [format!("history-compact:{}", block.id), "e5".into(), "e6".into()]
    );
    let shown = &done.events[0];
    assert!(shown.text("role") == "user" && shown.text("author") == "system");
    assert_eq!(events, history(), "the ledger is not touched");
    let again = compact::compact(&events, &policy(), against(&texts, 1_600));
    assert_eq!(again, done, "twice the same");
    let line = block.render(&texts).to_utf8();
    let line = line.lines().find(|line| line.starts_with("coverage: ")).unwrap().to_owned();
    assert!(line.contains("4 runtime events across 3 turns") && !line.contains("e1"), "{line}");
}

#[test]
fn m56_why_nothing_is_folded() {
    let texts = texts();
    let events = history();
    let reason = |events: &[Event], policy: &Compact, against: Against<'_>| {
        let done = compact::compact(events, policy, against);
        assert_eq!(done.events, events, "unchanged");
        assert!(done.stands.is_none());
        done.skipped
    };
    let wide = against(&texts, 1_600);
    let none = Against { max_history_tokens: None, ..wide };
    assert_eq!(reason(&events, &policy(), none), ["max_history_tokens_missing"]);
    assert_eq!(reason(&events, &policy(), against(&texts, 1_000_000)), ["below_high_water"]);
    assert_eq!(reason(&events[..1], &policy(), wide), ["insufficient_turns"]);
    let tail = Compact { tail_tokens: Some(100_000), ..policy() };
    assert_eq!(reason(&events, &tail, wide), ["no_foldable_turns"]);
    let lookup = Compact { mode: Mode::Lookup, ..policy() };
    assert_eq!(reason(&events, &lookup, wide), ["lookup_miss"]);
    assert_eq!(reason(&events, &policy(), against(&texts, 500)), ["replay_over_budget"]);
    let archived = Compact { archive_required: true, ..policy() };
    assert_eq!(reason(&events, &archived, wide), ["archive_missing"]);
    let wrong = [archive_of(&events[0], "x")];
    let with = Against { archive: &wrong, ..wide };
    assert_eq!(reason(&events, &archived, with), ["archive_missing"]);
    let mut bad = archive_of(&events[0], "x");
    bad.body.bytes += 1;
    let bad = [bad];
    assert_eq!(reason(&events, &archived, Against { archive: &bad, ..wide }), ["archive_mismatch"]);
    let whole: Vec<ArchiveRef> = events.iter().map(|event| archive_of(event, "x")).collect();
    let done = compact::compact(&events, &archived, Against { archive: &whole, ..wide });
    let shown = made_block(&done).render(&texts).to_utf8();
    assert!(shown.contains(", archivedSources=4"), "{shown}");
}

/// A change to a value.
type Change<'c, T> = &'c dyn Fn(&mut T);

fn archive_of(event: &Event, artifact: &str) -> ArchiveRef {
    let content = event.get("content").unwrap().stringify().unwrap();
    ArchiveRef {
        event_id: event.id().clone(),
        call_id: Text::new(),
        tool: Text::new(),
        artifact_id: text(artifact),
        body: Body::of(&content, ONE),
    }
}

#[test]
fn m56_what_stays_behind_a_fold() {
    let texts = texts();
    let turn = |id: &str| {
        [
            called(&format!("{id}-call"), id, &format!("{id}-c"), "Read"),
            answered(
                &format!("{id}-result"),
                id,
                &format!("{id}-c"),
                "Read",
                &json!("x".repeat(90)),
            ),
        ]
    };
    let events: Vec<Event> = [said("old", "t0", &"o".repeat(900))]
        .into_iter()
        .chain(turn("t1"))
        .chain(turn("t2").into_iter().chain([said("u", "t2", "more words")]))
        .collect();
    let stays = |policy: &Compact, against: Against<'_>| {
        let done = compact::compact(&events, policy, against);
        assert!(done.stands.is_some(), "{:?}", done.skipped);
        ids(&done.events)[1..].to_vec()
    };
    let wide = against(&texts, 1_200);
    // Not even the newest turn fits: its newest call and result.
    let tight = Compact { tail_tokens: Some(1), ..policy() };
    assert_eq!(stays(&tight, wide), ["t2-call", "t2-result"]);
    let v2 = Against { protocol: Protocol::CheckpointV2, ..wide };
    assert_eq!(stays(&tight, v2), ["t2-call", "t2-result", "u"]);
    let none = Compact { min_recent_turns: Some(0), ..tight.clone() };
    assert_eq!(stays(&none, v2), [""; 0]);
    let half =
        Compact { tail_tokens: None, target_ratio: Number::parse("0.25").unwrap(), ..policy() };
    assert_eq!(stays(&half, wide), ["t1-call", "t1-result", "t2-call", "t2-result", "u"]);
}

#[test]
fn m56_a_loaded_block_is_used_while_it_holds() {
    let texts = texts();
    let events = history();
    let made = compact::compact(&events, &policy(), against(&texts, 1_600));
    let block = made_block(&made).clone();
    let mut more = events.clone();
    more.push(said("e7", "t6", "newest words of all that are not many"));
    let blocks = [block.clone()];
    let wide = Against { blocks: &blocks, ..against(&texts, 1_600) };
    let lookup = Compact { mode: Mode::Lookup, ..policy() };
    let done = compact::compact(&more, &lookup, wide);
    assert_eq!(done.stands, Some(Stands::Loaded(block.clone())));
    assert_eq!(ids(&done.events)[1..], ["e5", "e6", "e7"]);
    let skipped = |change: &dyn Fn(&mut Block), policy: &Compact| {
        let mut other = block.clone();
        change(&mut other);
        let blocks = [other];
        let done = compact::compact(&more, policy, Against { blocks: &blocks, ..wide });
        assert_eq!(done.events, more);
        done.skipped
    };
    let changes: [(Change<'_, Block>, &str); 4] = [
        (&|it| it.session = text("other"), "session_mismatch"),
        (&|it| it.coverage.events.push(text("unknown")), "coverage_miss"),
        (&|it| it.coverage.turns.clear(), "coverage_miss"),
        (&|it| it.coverage.sha256[0] = text("other"), "source_hash_mismatch"),
    ];
    for (change, reason) in changes {
        assert_eq!(skipped(change, &lookup), [reason, "lookup_miss"]);
    }
    let small = Compact { max_block_tokens: 10, ..lookup.clone() };
    assert_eq!(skipped(&|_| {}, &small), ["max_block_tokens", "lookup_miss"]);
    let small = Compact { max_tokens: 10, ..lookup.clone() };
    assert_eq!(skipped(&|_| {}, &small), ["max_total_tokens", "lookup_miss"]);
    let tight = Against { max_history_tokens: Some(640), ..wide };
    let done = compact::compact(&more, &lookup, tight);
    assert_eq!((done.events, done.skipped), (more.clone(), vec!["prefix_over_budget"]));
}

fn checkpoint_of(
    events: &[Event],
    anchor: Option<&Anchor>,
    texts: &Texts,
) -> Result<Checkpoint, CheckpointError> {
    let high_water = text("hw");
    let maker = checkpoint::Maker {
        high_water: &high_water,
        anchor,
        previous: None,
        per_token: ONE,
        texts,
    };
    Checkpoint::new(events, &text(" the summary "), maker)
}

#[test]
fn m56_a_replaced_prefix_never_comes_back() {
    let texts = texts();
    let events = history();
    let checkpoint = checkpoint_of(&events[..4], None, &texts).unwrap();
    // The history is far below every high water, and still the checkpoint stands for its start.
    let small = Compact { high_water_ratio: Number::natural(1), ..policy() };
    let with = Against { checkpoint: Some(&checkpoint), ..against(&texts, 1_000_000) };
    let done = compact::compact(&events, &small, with);
    assert_eq!(done.stands, Some(Stands::Checkpoint(checkpoint.clone())));
    assert_eq!(ids(&done.events)[1..], ["e5", "e6"]);
    assert!(done.events[0].text("id") == format!("history-compact:{}", checkpoint.id).as_str());
    let over = Against { max_history_tokens: Some(100), ..with };
    assert_eq!(compact::compact(&events, &small, over).skipped[0], "prefix_over_budget");
    let short = [said("e1", "t1", "a"), said("e2", "t2", "b")];
    let no_gain = checkpoint_of(&short[..1], None, &texts).unwrap();
    let done = compact::compact(&short, &small, Against { checkpoint: Some(&no_gain), ..with });
    assert_eq!(done.skipped, ["replacement_not_smaller", "below_high_water"]);
}

#[test]
fn m56_a_checkpoint_stands_for_its_exact_prefix_alone() {
    let texts = texts();
    let events = history();
    let checkpoint = checkpoint_of(&events[..4], None, &texts).unwrap();
    assert_eq!(checkpoint.matches(&events), Ok(4));
    assert_eq!(checkpoint.matches(&events[..3]), Err("coverage_miss"));
    assert_eq!(checkpoint.matches(&events[1..]), Err("coverage_miss"));
    let mut changed = events.clone();
    changed[1] = said("e2", "t2", "other words");
    assert_eq!(checkpoint.matches(&changed), Err("source_hash_mismatch"));
    let mut renamed = checkpoint.clone();
    renamed.prefix.first_event = Some(text("other"));
    assert_eq!(renamed.matches(&events), Err("coverage_miss"));
    let mut elsewhere = checkpoint.clone();
    elsewhere.session = text("other");
    assert_eq!(elsewhere.matches(&events), Err("coverage_miss"));
}

#[test]
fn m56_inside_of_a_turn_the_message_is_shown_again() {
    let texts = texts();
    let events = [
        said("old", "t1", &"o".repeat(500)),
        said("ask", "t2", "the question"),
        called("call", "t2", "c", "Read"),
        answered("result", "t2", "c", "Read", &json!("r".repeat(500))),
        called("open", "t2", "d", "Read"),
    ];
    let anchor = Anchor { event_id: text("ask"), turn: text("t2") };
    let checkpoint = checkpoint_of(&events[..4], Some(&anchor), &texts).unwrap();
    let shown = checkpoint.replay(&events[..4], &events[4..], &texts);
    assert_eq!(ids(&shown)[1..], ["ask", "open"]);
    assert_eq!(checkpoint.matches(&events), Ok(4));
    let wrong = [
        Anchor { event_id: text("old"), turn: text("t1") },
        Anchor { event_id: text("call"), turn: text("t2") },
        Anchor { event_id: text("none"), turn: text("t2") },
    ];
    for anchor in wrong {
        assert_eq!(
            checkpoint_of(&events[..4], Some(&anchor), &texts),
            Err(CheckpointError::Anchor)
        );
    }
    // Without a phase the id is the one that it was.
    assert_ne!(checkpoint.id, checkpoint_of(&events[..4], None, &texts).unwrap().id);
    assert_eq!(checkpoint_of(&[], None, &texts), Err(CheckpointError::NoEvents));
}

#[test]
fn m56_which_checkpoint_takes_the_place_of_another() {
    let texts = texts();
    let events = history();
    let shorter = checkpoint_of(&events[..2], None, &texts).unwrap();
    let longer = checkpoint_of(&events[..4], None, &texts).unwrap();
    assert!(shorter.replaces(None) && longer.replaces(Some(&shorter)));
    assert!(!shorter.replaces(Some(&longer)) && !longer.replaces(Some(&longer)));
    let successor = Checkpoint { previous: Some(longer.id.clone()), ..longer.clone() };
    assert!(successor.replaces(Some(&longer)));
}

#[test]
fn m56_where_a_turn_may_be_cut() {
    let steering = event(&json!({
        "id": "steer", "turnId": "t2", "role": "user", "author": "user",
        "content": {"kind": "text", "text": "also this", "steering": true},
    }));
    let partial = event(&json!({
        "id": "part", "turnId": "t2", "role": "model", "partial": true,
        "content": {"kind": "text", "text": "so f"},
    }));
    let ask = said("ask", "t2", "q");
    let pair = |n: u32| {
        [
            called(&format!("c{n}"), "t2", &format!("k{n}"), "Read"),
            answered(&format!("r{n}"), "t2", &format!("k{n}"), "Read", &json!(1)),
        ]
    };
    let build = |tail: Vec<Event>| -> Vec<Event> {
        [said("old", "t1", "o"), ask.clone()]
            .into_iter()
            .chain(pair(1))
            .chain(pair(2))
            .chain(tail)
            .collect()
    };
    let cut =
        |events: &[Event], phase, reserve| mid_turn::boundary(events, &text("ask"), phase, reserve);
    assert_eq!(cut(&build(vec![]), Phase::MidTurn, 1), Ok(4), "a pair is not parted");
    assert_eq!(cut(&build(vec![]), Phase::MidTurn, 0), Ok(6));
    assert_eq!(cut(&build(vec![partial]), Phase::MidTurn, 0), Ok(6), "nothing partial");
    assert_eq!(cut(&build(vec![steering]), Phase::MidTurn, 0), Ok(6), "no steering");
    let open = called("open", "t2", "k9", "Read");
    assert_eq!(
        cut(&build(vec![open, said("u", "t2", "x")]), Phase::MidTurn, 0),
        Ok(6),
        "no open call"
    );
    assert_eq!(cut(&build(vec![]), Phase::PreTurn, 1), Ok(1));
    assert_eq!(cut(&build(vec![])[1..], Phase::PreTurn, 1), Err("no_safe_completed_span"));
    assert_eq!(cut(&build(vec![])[..2], Phase::MidTurn, 1), Err("no_safe_completed_span"));
    assert_eq!(cut(&build(vec![])[2..], Phase::MidTurn, 1), Err("no_safe_completed_span"));
    assert!(
        mid_turn::exceeds_high_water(101, 200, 100) && !mid_turn::exceeds_high_water(100, 200, 100)
    );
    assert!(mid_turn::exceeds_high_water(2, 5, 10) && !mid_turn::exceeds_high_water(1, 5, 10));
    assert!(mid_turn::exceeds_window(201, 200) && !mid_turn::exceeds_window(200, 200));
}

#[test]
fn m56_the_order_of_the_stack() {
    let texts = texts();
    let names = [
        ("MAKA_CONTEXT_HISTORY_SEARCH", "on"),
        ("MAKA_CONTEXT_HISTORY_BUDGET_TOKENS", "200"),
        ("MAKA_CONTEXT_HISTORY_COMPACT", "off"),
        ("MAKA_CONTEXT_MIN_RECENT_TURNS", "1"),
    ];
    let names =
        names.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let for_what = For { provider: "openai", window: None, name: None };
    let policy = BudgetPolicy::from_names(&names, for_what).unwrap().unwrap();
    let ledger = [
        said("far", "t1", &format!("needle {}", "x".repeat(300))),
        said("mid", "t2", &"y".repeat(600)),
        said("new", "t3", &"z".repeat(600)),
        said("now", "t4", "where is the needle"),
    ];
    let (current, query, session) = (text("t4"), text("the needle"), text("session-1"));
    let context =
        Context { session: &session, current_turn: &current, query: &query, ..nothing(&texts) };
    let prior = order::prior_history(&ledger, &policy, context, |_| Err("not_found")).unwrap();
    // Retention keeps the newest turn; the search brings the hit and its neighbor back, in order;
    // the current turn is no history.
    assert_eq!(ids(&prior.events), ["far", "mid", "new"]);
    assert_eq!(prior.report.kept_turns, 1);
    assert_eq!(prior.report.found.as_ref().unwrap().hits.len(), 1);
    assert!(!prior.exhausted);
}

#[test]
fn m56_a_newest_turn_that_is_too_large_is_folded_or_nothing_is_sent() {
    let texts = texts();
    let knobs = BudgetPolicy::from_names(
        &std::collections::BTreeMap::new(),
        For { provider: "x", window: None, name: None },
    );
    let knobs = knobs.unwrap().unwrap();
    let policy = |max| BudgetPolicy {
        units_per_token: ONE,
        max_history_tokens: Some(max),
        compact: Some(projector::maka::policy::CompactKnobs {
            mode: projector::maka::policy::CompactMode::Deterministic,
            ..knobs.compact.clone().unwrap()
        }),
        stale_prune: None,
        ..bare()
    };
    let one = [said("u", "t1", &"u".repeat(5_000))];
    let prior = order::budget(&one, &policy(3_000), nothing(&texts)).unwrap();
    assert!(!prior.exhausted);
    assert!(ids(&prior.events)[0].starts_with("history-compact:"), "{:?}", ids(&prior.events));
    let prior = order::budget(&one, &policy(100), nothing(&texts)).unwrap();
    assert!(prior.exhausted);
}

#[test]
fn m56_events_that_show_nothing_take_no_place() {
    let texts = texts();
    let mut policy = bare();
    policy.max_history_turns = Some(2);
    let done =
        event(&json!({"id": "end", "turnId": "t9", "role": "system", "status": "completed"}));
    let events = [said("a", "t1", "x"), said("b", "t2", "x"), done, said("c", "t3", "x")];
    let prior = order::budget(&events, &policy, nothing(&texts)).unwrap();
    assert_eq!(ids(&prior.events), ["b", "c"]);
    let unknown =
        event(&json!({"id": "n", "turnId": "", "content": {"kind": "text", "text": "x"}}));
    assert!(unknown.turn_key() == "<unknown-turn>");
    let hidden = event(
        &json!({"id": "h", "modelVisibility": "hidden", "content": {"kind": "text", "text": "x"}}),
    );
    assert_eq!(ruler::events_tokens([&hidden], ONE), 0);
}

/// A pruned result, its call and another event, and a synthesis of the result.
fn synthesized(texts: &Texts) -> (Vec<Event>, Synthesis) {
    let mut policy = bare();
    let knobs = StalePruneKnobs { max_result_tokens: 10, min_recent_turns_full: 0 };
    policy.stale_prune = Some(knobs.clone());
    let events = [
        called("call", "t1", "c1", "Read"),
        answered("result", "t1", "c1", "Read", &json!("x".repeat(200))),
        said("other", "t1", "stays"),
    ];
    let found = stale_prune::candidates(&events, knobs.resolve(), UnitsPerToken::FOUR);
    let source = ArchiveRef {
        event_id: text("result"),
        call_id: text("c1"),
        tool: text("Read"),
        artifact_id: text("artifact"),
        body: found[0].body.clone(),
    };
    let archive = [source.clone()];
    let context = Context { archive: &archive, ..nothing(texts) };
    let pruned = order::budget(&events, &policy, context).unwrap().events;
    let block = Synthesis {
        id: text("synth-1"),
        session: text("session-1"),
        created_at: 1,
        high_water: text("hw"),
        high_water_seq: 1,
        query_keys: vec![text("lock-file")],
        turns: vec![text("t1")],
        sources: vec![source],
        summary: text("what it said"),
        limitations: text("limits"),
    };
    (pruned, block)
}

const LIMITS: Limits = Limits {
    max_blocks: 1,
    max_tokens: 2_048,
    max_block_tokens: 1_024,
    invalidate_on_new_tool_result: true,
};

fn select(events: &[Event], query: &str, block: &Synthesis, limits: Limits) -> Selected {
    let blocks = std::slice::from_ref(block);
    let with = (UnitsPerToken::FOUR, &texts());
    synthesis::select(events, &text(query), blocks, limits, &text("session-1"), with)
}

fn why_not(events: &[Event], query: &str, block: &Synthesis, limits: Limits) -> Vec<&'static str> {
    let done = select(events, query, block, limits);
    assert_eq!(done.events, events);
    done.skipped.into_keys().chain(done.invalid.into_keys()).collect()
}

#[test]
fn m56_a_synthesis_stands_for_its_sources() {
    let (pruned, block) = synthesized(&texts());
    let done = select(&pruned, "What is in the Lock-File?", &block, LIMITS);
    assert_eq!(ids(&done.events), ["synthesis-cache:synth-1", "other"]);
    assert!(done.events[0].text("role") == "model");
    let cases = [
        ("the lock-filename", LIMITS, "coverage_miss"),
        ("show the exact lock-file", LIMITS, "exact_output_requested"),
        ("raw lock-file", LIMITS, "raw_evidence_requested"),
        ("drawn lock-file", Limits { max_block_tokens: 3, ..LIMITS }, "max_block_tokens"),
        ("lock-file", Limits { max_tokens: 3, ..LIMITS }, "max_total_tokens"),
        ("lock-file", Limits { max_blocks: 0, ..LIMITS }, "max_blocks"),
    ];
    for (query, limits, reason) in cases {
        assert_eq!(why_not(&pruned, query, &block, limits), [reason]);
    }
    // A word inside of another one asks for nothing.
    assert_eq!(select(&pruned, "drawn lock-file", &block, LIMITS).blocks.len(), 1);
}

#[test]
fn m56_a_synthesis_that_does_not_hold_is_not_used() {
    let (pruned, block) = synthesized(&texts());
    let changes: [(Change<'_, Synthesis>, &str); 5] = [
        (&|it| it.session = text("x"), "session_mismatch"),
        (&|it| it.sources.clear(), "source_missing"),
        (&|it| it.sources[0].event_id = text("gone"), "source_missing"),
        (&|it| it.sources[0].body.sha256 = "0".repeat(64), "source_hash_mismatch"),
        (&|it| it.turns[0] = text("t9"), "source_hash_mismatch"),
    ];
    for (change, reason) in changes {
        let mut other = block.clone();
        change(&mut other);
        assert_eq!(why_not(&pruned, "lock-file", &other, LIMITS), [reason]);
    }
    let newer = event(&json!({
        "id": "newer", "turnId": "t2", "ts": 1_800_000_000_001_u64, "role": "tool",
        "content": {"kind": "function_response", "id": "c2", "name": "Read",
                    "result": "lock-file again"},
    }));
    let more: Vec<Event> = pruned.iter().cloned().chain([newer]).collect();
    assert_eq!(why_not(&more, "lock-file", &block, LIMITS), ["new_relevant_tool_result"]);
    let keep = Limits { invalidate_on_new_tool_result: false, ..LIMITS };
    assert_eq!(select(&more, "lock-file", &block, keep).blocks.len(), 1);
}

#[test]
fn m56_messages_of_a_replayed_step() {
    let of_step = |id: &str, content: &Value, refs: &Value| {
        event(&json!({
            "id": id, "turnId": "t", "role": "model", "refs": refs, "content": content,
        }))
    };
    let call = |id: &str, call: &str, step: &Value| {
        of_step(id, &json!({"kind": "function_call", "id": call, "name": "Read", "args": {}}), step)
    };
    let events = [
        said("u", "t", "go"),
        call("c1", "k1", &json!({"stepId": "s1"})),
        call("c2", "k2", &json!({"stepId": "s1"})),
        answered("r2", "t", "k2", "Read", &json!({"a": 1})),
        answered("r1", "t", "k1", "Read", &json!("text")),
        of_step(
            "th",
            &json!({"kind": "thinking", "text": "why", "signature": "sig"}),
            &json!({"providerEventId": "s1"}),
        ),
        of_step("m", &json!({"kind": "text", "text": "done"}), &json!({"providerEventId": "s1"})),
        call("c3", "k3", &json!({"stepId": "s2"})),
        answered("r3", "t", "k3", "Read", &Value::Null),
        of_step("old", &json!({"kind": "text", "text": "legacy"}), &json!({})),
    ];
    let plan = plan::plan(&events, &BTreeSet::new());
    let messages: Vec<Value> = assemble::messages(&plan).iter().map(value).collect();
    let result = |call: &str, output: Value| {
        json!({"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": call, "toolName": "Read", "output": output}]})
    };
    let tool_call = |call: &str| json!({"type": "tool-call", "toolCallId": call, "toolName": "Read", "input": {}});
    assert_eq!(
        messages,
        [
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": [
            {"type": "reasoning", "text": "why", "providerOptions": {"anthropic": {"signature": "sig"}}},
            {"type": "text", "text": "done"}, tool_call("k1"), tool_call("k2")]}),
            result("k1", json!({"type": "text", "value": "text"})),
            result("k2", json!({"type": "json", "value": {"a": 1}})),
            json!({"role": "assistant", "content": [tool_call("k3")]}),
            result("k3", json!({"type": "json", "value": null})),
            json!({"role": "assistant", "content": "legacy"}),
        ]
    );
    assert_eq!(
        value(&assemble::wrap(&ours(&json!("boom")), true)),
        json!({"type": "error-text", "value": "boom"})
    );
    assert_eq!(
        value(&assemble::wrap(&ours(&json!([1])), true)),
        json!({"type": "error-json", "value": [1]})
    );
    assert_eq!(
        value(&assemble::wrap(&Json::Undefined, false)),
        json!({"type": "text", "value": "undefined"})
    );
}

#[test]
fn m56_what_blocks_a_replay() {
    let one = |role: &str, content: &Value| {
        let plan = plan::plan(&[made("e", "t", role, content)], &BTreeSet::new());
        plan.notes.iter().map(|note| (note.code, note.is_blocking())).collect::<Vec<_>>()
    };
    let call = json!({"kind": "function_call", "id": "k", "name": "Read", "args": {}});
    assert_eq!(one("user", &call), [("unsupported_role", true)]);
    assert_eq!(one("user", &json!({"kind": "picture"})), [("unsupported_content", true)]);
    assert_eq!(
        one("system", &json!({"kind": "text", "text": "note"})),
        [("system_runtime_fact_diagnostic_only", false)]
    );
    let renamed = plan::plan(
        &[called("c", "t", "k", "Read"), answered("r", "t", "k", "Write", &json!(1))],
        &BTreeSet::new(),
    );
    assert_eq!(renamed.notes[0].code, "tool_id_mismatch");
    let thought = event(&json!({"id": "th", "turnId": "t", "role": "model",
        "content": {"kind": "thinking", "text": "x", "signature": "s"}}));
    let legacy = [
        called("c", "t", "k", "Read"),
        answered("r", "t", "k", "Read", &json!(1)),
        thought.clone(),
    ];
    let notes = plan::plan(&legacy, &BTreeSet::new()).notes;
    assert_eq!(notes[0].code, "signed_thinking_in_tool_turn_skipped");
    // A slice without the calls is told of them.
    let notes = plan::plan(&[thought], &BTreeSet::from([text("t")])).notes;
    assert_eq!(notes[0].code, "signed_thinking_in_tool_turn_skipped");
}

#[test]
fn m56_tools_stay_away_until_they_are_asked_for() {
    let name = |names: &[&str]| names.iter().map(|it| text(it)).collect::<Vec<Text>>();
    let group = |id: &str, tools: &[&str]| Group {
        id: text(id),
        tools: name(tools),
        label: None,
        description: None,
    };
    let known = name(&["Read", "Browse", "Click", "Zip"]);
    let groups = [
        group("web", &["Click", "Browse", "Unknown"]),
        group("files", &["Zip", "Click"]),
        group("none", &["Unknown"]),
    ];
    let shown = |list: &[Text]| list.iter().map(Text::to_utf8).collect::<Vec<_>>();
    let tools = Availability::new(&known, &groups, true);
    assert!(tools.is_economy());
    assert_eq!(shown(&tools.active(&BTreeSet::new())), ["load_tools", "Read"]);
    let args = [
        ("load_tools", json!({"group": "web"})),
        ("load_tool", json!("{\"namespace\":\"files\"}")),
        ("connect_tool_source", json!({"source": "nobody"})),
        ("Other", json!({"group": "files"})),
    ];
    let events: Vec<Event> = args
        .iter()
        .enumerate()
        .map(|(n, (tool, args))| {
            let content = json!({"kind": "function_call", "id": "k", "name": tool, "args": args});
            made(&format!("e{n}"), "t", "model", &content)
        })
        .collect();
    let before = tools.loaded_before(&events);
    assert_eq!(before, BTreeSet::from([text("files"), text("web")]));
    let calls: Vec<(Text, Json)> =
        args.iter().map(|(tool, args)| (text(tool), ours(args))).collect();
    let now = tools.loaded_now(calls.iter().map(|(tool, input)| (tool, input)));
    assert_eq!(now, BTreeSet::from([text("web")]), "old names count in the ledger alone");
    assert_eq!(shown(&tools.active(&now)), ["Browse", "Click", "load_tools", "Read"]);
    let whole = Availability::new(&known, &groups, false);
    assert_eq!(shown(&whole.active(&BTreeSet::new())), ["Browse", "Click", "Read", "Zip"]);
    assert!(!Availability::new(&known, &groups[2..], true).is_economy(), "nothing to hide");
    assert_eq!(
        tools::catalog_hash(&groups, true),
        tools::catalog_hash(
            &[group("web", &["Browse", "Unknown", "Click"]), groups[1].clone(), groups[2].clone()],
            true
        )
    );
    assert_ne!(tools::catalog_hash(&groups, true), tools::catalog_hash(&groups, false));
}
