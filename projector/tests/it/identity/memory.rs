//! Goal: what a reducer holds grows with what is open, and not with what has happened. Method: the
//! whole state as its debug form writes it, behind short and long logs that end alike.

use ledger::event::*;
use ledger::id::Job;
use ledger::identity::desk::Desk;
use projector::identity::{Conversations, Lanes, View};

use super::make::*;

/// Numbers have more digits behind a long log.
const DIGITS_BYTES: usize = 100;

/// A turn with a reviewed call that somebody was asked about, one that is cancelled, and one that
/// a protocol shows; then everything said is replaced by a summary.
fn turn(number: u32) -> Vec<Event> {
    let first = 3 * number;
    let title = [(NameSource::Title, "read")];
    let standing = if number == 0 { 3 } else { 4 };
    let summary = Some(text("what there was"));
    vec![
        turn_started(0, number),
        prompted(0, "go"),
        accepted(0, "look", &[(first, "a"), (first + 1, "b")]),
        review(first, Job::Action, 0, u64::from(number) + 1, Assessment::Unresolved),
        asked(number, first, 0, None),
        answered(number, first, 0, None, Verdict::AllowOnce),
        dispatched(first, 1),
        returned(first, "out"),
        ended(first, 1, Outcome::Completed),
        ended(first + 1, 0, Outcome::Cancelled),
        observed(0, first + 2, Lane::Bridged(AliasForm::Bare), &title),
        dispatched(first + 2, 1),
        ended(first + 2, 1, Outcome::Failed),
        turn_ended(0, number, Stop::EndTurn, (1, 1)),
        Compacted { session: session(0), messages: standing, summary }.into(),
    ]
}

/// Lengths of the states of all reducers behind so many turns, with so many calls open.
fn held(turns: u32, open: u32) -> [(&'static str, usize); 4] {
    let mut events = vec![opened(0), advertised(0, &["lab"], &["read"])];
    events.extend((0..turns).flat_map(turn));
    let calls = (0..open).map(|number| (3 * turns + number, "open"));
    let names: Vec<_> = (0..open).map(|number| format!("open-{number}")).collect();
    let calls: Vec<_> = calls.zip(&names).map(|((call, _), name)| (call, name.as_str())).collect();
    events.push(accepted(0, "and then", &calls));
    let (mut view, mut talks) = (View::default(), Conversations::default());
    let (mut lanes, mut desk) = (Lanes::default(), Desk::default());
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
        talks.push(seq, &event);
        lanes.push(&event, &mut Vec::new());
        desk.observe(seq, &event).unwrap();
        if matches!(event, Event::Identity(IdentityEvent::Compacted(_))) {
            drop(view.take_settled());
            let archived = talks.get_mut(session(0)).unwrap().take_archived();
            assert!(archived.len() >= 3);
        }
    }
    drop(view.take_settled());
    [
        ("view", format!("{view:?}").len()),
        ("conversations", format!("{talks:?}").len()),
        ("lanes", format!("{lanes:?}").len()),
        ("desk", format!("{desk:?}").len()),
    ]
}

#[test]
fn what_a_reducer_holds_is_what_is_open_however_long_the_log_is() {
    let (short, long) = (held(10, 3), held(1_000, 3));
    for ((name, short), (_, long)) in short.into_iter().zip(long) {
        assert!(long <= short + DIGITS_BYTES, "{name}: {short}, then {long}");
    }
    // And it does grow with that, but for lanes, where none of these calls waits.
    for ((name, few), (_, many)) in held(10, 3).into_iter().zip(held(10, 300)) {
        assert!(name == "lanes" || many > few * 5, "{name}: {few}, then {many}");
    }
}
