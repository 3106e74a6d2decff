//! Goal: each promise of the fold, by itself and with its numbers. Method: runs of a few messages.

use ledger::event::Dropped;
use ledger::id::RequestId;
use projector::policy::{
    Applies, Boundary, CapText, ClearResults, Metric, Shape, Step, Trigger, Unit, Window,
};
use projector::view::Segment;
use projector::{Policy, Projection, Projector};

use crate::property::{fold, written};
use crate::run::{Made, Run};

mod clearing;
mod errors;
mod fidelity;
mod stack;

const WHOLE: Dropped = Dropped::Bytes(0);

fn policy(steps: &[Step]) -> Policy {
    Policy::new("case", steps.to_vec())
}

fn cap(unit: Unit, limit: u64, shape: Shape, marker: &str) -> CapText {
    CapText::plain(unit, limit, shape, marker)
}

fn head(limit: u64) -> Step {
    Step::new(cap(Unit::Bytes, limit, Shape::Head, "[{n}]"))
}

fn clear(keep: u64, trigger: Option<Trigger>, sticky: bool) -> Step {
    Step { trigger, ..Step::new(ClearResults::plain(keep, "-", sticky)) }
}

fn window(protect_head: u32, keep: u64, boundary: Boundary) -> Step {
    Step::new(Window::plain(protect_head, keep, boundary))
}

fn named(tools: &[&str]) -> Vec<String> {
    tools.iter().map(|tool| (*tool).to_owned()).collect()
}

/// One conversation: for each result, a request, its answer with one call, and the result.
/// Messages: the user's text, then call and result in turn.
fn turns(results: &[(&str, &str)]) -> (Run, usize) {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "go");
    for (tool, text) in results {
        run.request(session, &[]);
        let calls = run.ask(session, &[tool]);
        run.tell(session, &[(calls[0], &[text])], WHOLE);
    }
    (run, session)
}

fn last(made: &Made, policy: &Policy) -> (Projection, String) {
    let projection = fold(made, policy).pop().unwrap();
    let bytes = written(&made.history, &made.store, projection.request, &projection.view);
    (projection, String::from_utf8(bytes).unwrap())
}

/// The texts of the last request's results.
fn results(made: &Made, policy: &Policy) -> Vec<String> {
    results_of(&last(made, policy).1)
}

fn results_of(body: &str) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let mut texts = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().into_iter().flatten() {
            for text in block["content"].as_array().into_iter().flatten() {
                texts.push(text["text"].as_str().unwrap().to_owned());
            }
        }
    }
    texts
}

fn done((mut run, session): (Run, usize)) -> Made {
    run.request(session, &[]);
    run.finish()
}

#[test]
fn a_trigger_acts_above_its_value_or_at_it() {
    let made = done(turns(&[("a", "one"), ("a", "two"), ("a", "three")]));
    let tokens = last(&made, &Policy::recorded()).0.account.tokens;
    for (metric, found) in [(Metric::EstTokens, tokens), (Metric::ToolResults, 3)] {
        for (trigger, acts) in [
            (Some(Trigger::above(metric, found - 1)), true),
            (Some(Trigger::above(metric, found)), false),
            (Some(Trigger::at_least(metric, found)), true),
            (Some(Trigger::at_least(metric, found + 1)), false),
        ] {
            let steps = policy(&[clear(1, trigger, false)]);
            let texts = if acts { ["-", "-", "three"] } else { ["one", "two", "three"] };
            assert_eq!(results(&made, &steps), texts, "{trigger:?}");
        }
    }
}

#[test]
fn a_trigger_looks_at_what_the_steps_before_have_left() {
    let made = done(turns(&[("a", "one"), ("a", "two"), ("a", "three"), ("a", "four")]));
    let three = Some(Trigger::at_least(Metric::ToolResults, 3));
    let clear = clear(0, three, false);
    let last_four = window(0, 4, Boundary::Any);
    assert_eq!(results(&made, &policy(&[last_four.clone(), clear.clone()])), ["three", "four"]);
    assert_eq!(results(&made, &policy(&[clear, last_four])), ["-", "-"]);
    let recorded = last(&made, &Policy::recorded()).0.account.tokens;
    let as_recorded = Some(Trigger::at_least(Metric::EstTokens, recorded));
    let clear = self::clear(0, as_recorded, false);
    assert_eq!(results(&made, &policy(std::slice::from_ref(&clear))), ["-", "-", "-", "-"]);
    let shorter = policy(&[Step::new(cap(Unit::Chars, 1, Shape::Head, "")), clear]);
    assert_eq!(results(&made, &shorter), ["o", "t", "t", "f"]);
}

/// Three results, the oldest of which the client then takes out.
fn shrinking() -> Made {
    let (mut run, session) = turns(&[("a", "one"), ("a", "two"), ("a", "three")]);
    run.request(session, &[]);
    run.edit(session, 1, 2, &[]);
    done((run, session))
}

#[test]
fn what_is_cleared_stays_cleared_only_when_it_is_sticky() {
    let made = shrinking();
    let trigger = Some(Trigger::above(Metric::ToolResults, 2));
    for (sticky, texts) in [(false, ["two", "three"]), (true, ["-", "three"])] {
        let steps = policy(&[clear(1, trigger, sticky)]);
        let cleared: Vec<_> =
            fold(&made, &steps).iter().map(|p| p.account.cleared_results).collect();
        assert_eq!(cleared, [0, 0, 0, 2, u32::from(sticky)]);
        assert_eq!(results(&made, &steps), texts);
    }
}

#[test]
fn a_step_leaves_the_results_of_other_tools_alone() {
    let results = [("bash", "b1"), ("read", "r1"), ("bash", "b2"), ("read", "r2")];
    let (mut run, session) = turns(&results);
    run.tell_again(session, None, "unknown");
    let made = done((run, session));
    let applies = |tools: &[&str], exclude: &[&str]| Applies {
        tools: named(tools),
        exclude_tools: named(exclude),
        ..Applies::all()
    };
    for (applies, cleared, capped) in [
        (applies(&[], &[]), ["-", "-", "-", "-", "unknown"], ["b", "r", "b", "r", "u"]),
        (
            applies(&["bash"], &[]),
            ["-", "r1", "-", "r2", "unknown"],
            ["b", "r1", "b", "r2", "unknown"],
        ),
        (applies(&[], &["bash"]), ["b1", "-", "b2", "-", "unknown"], ["b1", "r", "b2", "r", "u"]),
        (
            applies(&["edit"], &[]),
            ["b1", "r1", "b2", "r2", "unknown"],
            ["b1", "r1", "b2", "r2", "unknown"],
        ),
    ] {
        let step = clear(1, None, false).for_only(applies.clone());
        assert_eq!(self::results(&made, &policy(&[step])), cleared);
        let step = Step::new(cap(Unit::Bytes, 1, Shape::Head, "")).for_only(applies);
        assert_eq!(self::results(&made, &policy(&[step])), capped);
    }
}

#[test]
fn a_capped_result_that_is_cleared_counts_as_cleared_and_hides_all_of_its_text() {
    let made = done(turns(&[("a", "0123456789"), ("a", "0123456789")]));
    let steps = [head(4), clear(1, None, false)];
    let (projection, body) = last(&made, &policy(&steps));
    assert_eq!(results_of(&body), ["-", "0123[6]"]);
    let account = projection.account;
    assert_eq!((account.capped_results, account.cleared_results), (1, 1));
    assert_eq!(account.hidden_bytes, 10 + 6);
    assert_eq!(account.recorded_bytes - account.body_bytes, 9 + 3);
    let steps = [head(4), clear(1, None, false), window(0, 1, Boundary::Any)];
    let account = last(&made, &policy(&steps)).0.account;
    assert_eq!((account.capped_results, account.cleared_results), (1, 0));
}

#[test]
fn a_result_of_several_texts_is_one_result_and_its_replacement_stands_once() {
    let (mut run, session) = turns(&[]);
    run.request(session, &[]);
    let calls = run.ask(session, &["a", "b"]);
    run.tell(session, &[(calls[0], &["one", "two"]), (calls[1], &["-", "three"])], WHOLE);
    let made = done((run, session));
    let (projection, body) = last(&made, &policy(&[clear(0, None, false)]));
    assert_eq!(results_of(&body), ["-", "", "-", ""]);
    assert_eq!(projection.account.cleared_results, 2);
    assert_eq!(projection.account.hidden_bytes, 3 + 3 + 1 + 5);
    let (projection, body) = last(&made, &policy(&[head(3)]));
    assert_eq!(results_of(&body), ["one", "two", "-", "thr[2]"]);
    assert_eq!(projection.account.capped_results, 1);
}

#[test]
fn a_projection_that_spells_the_recorded_bytes_is_not_changed() {
    let (mut run, session) = turns(&[("a", "-"), ("a", "12[2]")]);
    run.request(session, &[]);
    let calls = run.ask(session, &["a"]);
    run.tell(session, &[(calls[0], &["-", ""])], WHOLE);
    let made = done((run, session));
    let same = cap(Unit::Bytes, 4, Shape::middle(500), "[");
    let (projection, body) = last(&made, &policy(&[Step::new(same)]));
    assert_eq!(results_of(&body), ["-", "12[2]", "-", ""]);
    let account = projection.account;
    assert_eq!((account.capped_results, account.hidden_bytes, account.changed), (1, 1, false));
    let old = clear(1, None, false);
    let (projection, body) = last(&made, &policy(&[old]));
    assert_eq!(results_of(&body), ["-", "-", "-", ""]);
    assert!(projection.account.changed);
}

#[test]
fn a_replacement_that_spells_what_a_cap_took_away_changes_nothing() {
    let (mut run, session) = turns(&[("a", "-")]);
    run.tell_again(session, None, "-");
    let made = done((run, session));
    let nothing = Step::new(cap(Unit::Bytes, 0, Shape::Head, "gone"));
    let all = clear(0, None, false);
    for (steps, texts, changed) in [
        ([nothing.clone()].as_slice(), ["gone", "gone"], true),
        (&[nothing, all.clone()], ["-", "-"], false),
        (&[all], ["-", "-"], false),
    ] {
        let (projection, body) = last(&made, &policy(steps));
        assert_eq!(results_of(&body), texts);
        assert_eq!((projection.account.changed, projection.account.hidden_bytes), (changed, 2));
    }
}

#[test]
fn a_dropped_message_takes_its_marks_and_its_separator_with_it() {
    let mut run = Run::new();
    let session = run.session();
    for text in ["one", "two", "three"] {
        run.say(session, text);
    }
    run.request(session, &[(0, 27), (1, 27), (2, 27)]);
    let made = run.finish();
    let (_, body) = last(&made, &Policy::recorded());
    let message = |(nth, text): (usize, &str)| {
        format!("{{\"role\":\"user\",\"content\":\"{text}\",\"cache_control\":[{nth},27]}}")
    };
    let frame = "{\"system\":\"You are \\\"brief\\\".\\n\",\"messages\":[";
    let [one, two, three] = [(0, "one"), (1, "two"), (2, "three")].map(message);
    assert_eq!(body, format!("{frame}{one}, {two}, {three}]}}"));
    for (window, left) in [
        (window(0, 1, Boundary::Any), three.clone()),
        (window(0, 2, Boundary::Any), format!("{two}, {three}")),
        (window(1, 1, Boundary::Any), format!("{one}, {three}")),
        (window(0, 0, Boundary::Any), String::new()),
    ] {
        let (projection, body) = last(&made, &policy(&[window]));
        assert_eq!(body, format!("{frame}{left}]}}"));
        assert_eq!(projection.account.body_bytes, body.len() as u64);
        let shown = left.matches("role").count();
        assert_eq!(projection.account.dropped_messages as usize, 3 - shown);
    }
}

#[test]
fn pairs_that_a_window_tears_are_counted_and_a_safe_window_tears_none() {
    let (mut run, session) = turns(&[("a", "one")]);
    run.request(session, &[]);
    let calls = run.ask(session, &["a", "b"]);
    run.tell(session, &[(calls[0], &["two"]), (calls[1], &["three"])], WHOLE);
    run.tell_again(session, Some(calls[1]), "again");
    let made = done((run, session));
    for (protect_head, keep, boundary, dropped, broken) in [
        (0, 6, Boundary::Any, 0, 0),
        (0, 5, Boundary::Any, 1, 0),
        (0, 4, Boundary::Any, 2, 1),
        (0, 3, Boundary::Any, 3, 0),
        (0, 2, Boundary::Any, 4, 3),
        (0, 1, Boundary::Any, 5, 1),
        (4, 1, Boundary::Any, 1, 2),
        (0, 2, Boundary::SafeGroup, 3, 0),
        (0, 1, Boundary::SafeGroup, 3, 0),
        (0, 4, Boundary::SafeGroup, 1, 0),
        // The head ends in a call, and grows by its result.
        (2, 1, Boundary::Any, 3, 2),
        (2, 1, Boundary::SafeGroup, 0, 0),
        (2, 2, Boundary::SafeGroup, 0, 0),
        // The call of the newest message is in the head: the window does not grow for it, but the
        // head does for the results between.
        (4, 1, Boundary::SafeGroup, 0, 0),
        (1, 1, Boundary::SafeGroup, 2, 0),
    ] {
        let step = window(protect_head, keep, boundary);
        let account = last(&made, &policy(&[step])).0.account;
        let found = (account.dropped_messages, account.broken_pairs);
        assert_eq!(found, (dropped, broken), "{protect_head} {keep} {boundary:?}");
    }
}

#[test]
fn a_window_looks_at_what_the_window_before_has_left() {
    let mut run = Run::new();
    let session = run.session();
    for text in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        run.say(session, text);
    }
    run.request(session, &[]);
    let made = run.finish();
    let texts = |steps: &[Step]| -> String {
        let (_, body) = last(&made, &policy(steps));
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].as_str().unwrap()).collect()
    };
    let (first, second) = (window(2, 2, Boundary::Any), window(0, 3, Boundary::Any));
    assert_eq!(texts(std::slice::from_ref(&first)), "0189");
    assert_eq!(texts(&[first.clone(), second.clone()]), "189");
    assert_eq!(texts(&[second, first]), "789");
}

#[test]
fn two_caps_in_a_row_show_ranges_of_the_recorded_text() {
    let made = done(turns(&[("a", "abcdefghijklmnopqrstuvwxyz")]));
    let middle = Shape::middle(500);
    let first = Step::new(cap(Unit::Bytes, 10, middle, "<{n}>"));
    let second = Step::new(cap(Unit::Bytes, 6, Shape::Tail, "[{n}]"));
    let (projection, body) = last(&made, &policy(&[first, second]));
    assert_eq!(results_of(&body), ["[8]>vwxyz"]);
    let mut shown = Vec::new();
    for segment in &projection.view.segments {
        match segment {
            Segment::Text { part, range, .. } if part.index() == 4 => {
                shown.push((None, range.clone()));
            }
            Segment::Inserted { step, text, .. } => {
                shown.push((Some((*step, text.as_str())), 0..0));
            }
            _ => {}
        }
    }
    let ids = (None, 0..6);
    let expected = [ids, (Some((1, "[8]")), 0..0), (Some((0, ">")), 0..0), (None, 21..26)];
    assert_eq!(shown, expected);
    assert_eq!(projection.account.hidden_bytes, 21);
}

#[test]
fn a_cap_without_a_marker_cuts_too() {
    let made = done(turns(&[("a", "0123456789")]));
    for (shape, text) in [(Shape::Head, "0123"), (Shape::Tail, "6789")] {
        let (projection, body) = last(&made, &policy(&[Step::new(cap(Unit::Bytes, 4, shape, ""))]));
        assert_eq!(results_of(&body), [text]);
        assert_eq!((projection.account.capped_results, projection.account.hidden_bytes), (1, 6));
    }
}

/// A run of `count` results, with ids and what the store was asked for.
fn long(count: usize) -> Made {
    let texts: Vec<_> = (0..count).map(|nth| format!("{nth}\n").repeat(40)).collect();
    let results: Vec<_> = texts.iter().map(|text| ("a", text.as_str())).collect();
    done(turns(&results))
}

fn reads(made: &Made, policy: &Policy) -> Vec<u32> {
    made.store.reads.borrow_mut().clear();
    let mut projector = Projector::new(&made.history, &made.store, policy);
    for request in &made.model.requests {
        projector.step(request.id).unwrap();
    }
    made.store.reads.borrow().values().copied().collect()
}

#[test]
fn an_output_is_read_once_however_many_requests_carry_it() {
    let made = long(200);
    let lines = Step::new(cap(Unit::Lines, 10, Shape::Head, "[{n}]"));
    let again = Step::new(cap(Unit::Chars, 9, Shape::Tail, "[{n}]"));
    let clear = clear(3, None, true);
    let window = window(1, 50, Boundary::SafeGroup);
    let steps = [lines, again, clear, window];
    assert_eq!(reads(&made, &policy(&steps)), [1; 200]);
}

#[test]
fn an_output_is_not_read_when_its_recorded_size_decides() {
    let made = long(20);
    assert_eq!(reads(&made, &Policy::recorded()), [0; 0]);
    let lines = Step::new(cap(Unit::Lines, 120, Shape::Head, ""));
    assert_eq!(reads(&made, &policy(&[lines])), [0; 0], "no text has more lines than bytes");
    for unit in [Unit::Bytes, Unit::Chars, Unit::Utf16] {
        let within = Step::new(cap(unit, 120, Shape::Head, ""));
        let same_length = Step::new(ClearResults::plain(0, &"x".repeat(80), true));
        assert_eq!(reads(&made, &policy(&[within, same_length])), [0; 0]);
        let some = Step::new(cap(unit, 119, Shape::Head, ""));
        assert_eq!(reads(&made, &policy(&[some])), [1; 10], "outputs of two-digit numbers");
    }
}

fn id(number: u32) -> RequestId {
    RequestId::new(number)
}
