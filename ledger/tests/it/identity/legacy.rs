//! Ids for calls of older snapshots.

use std::collections::BTreeSet;

use ledger::id::ToolCallId;
use ledger::identity::legacy::{
    Anchor, CallKey, Occurrence, PairError, Step, assign, assign_all, pair,
};

fn occurrence(message: u32, position: u32, id: &[u8]) -> Occurrence<'_> {
    Occurrence { anchor: Anchor { message, position }, provider_call: id, saved: None }
}

#[test]
fn t36_ids_of_older_calls_follow_from_where_they_stand_and_from_nothing_else() {
    let calls = [occurrence(1, 0, b"same"), occurrence(1, 1, b"same"), occurrence(3, 0, b"same")];
    let ids = assign_all(b"session", &calls);
    assert_eq!(ids, assign_all(b"session", &calls));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 3);
    // Another provider id at the same place is the same call; another session is not.
    let renamed = [occurrence(1, 0, b"x"), occurrence(1, 1, b"y"), occurrence(3, 0, b"z")];
    assert_eq!(assign_all(b"session", &renamed), ids);
    assert_ne!(assign_all(b"other", &calls), ids);
    let shown = assign(b"session", Anchor { message: 1, position: 0 }).to_string();
    assert_eq!(shown, "legacy-b33f4fa50fa38712c74f2534e0e9f56d");
    assert!(!shown.contains("same") && !shown.contains("session"));
}

#[test]
fn t38_t39_ids_that_were_saved_are_used_and_copies_keep_them() {
    let mut calls = [occurrence(1, 0, b"a"), occurrence(2, 0, b"b")];
    let ids = assign_all(b"session", &calls);
    for (call, id) in calls.iter_mut().zip(&ids) {
        call.saved = Some(*id);
    }
    // The snapshot was compacted and copied: the places are others, the ids are the same.
    for call in &mut calls {
        call.anchor.message += 10;
    }
    assert_eq!(assign_all(b"a copy", &calls), ids);
    calls[0].saved = Some(CallKey::Minted(ToolCallId::new(4)));
    assert_eq!(assign_all(b"a copy", &calls)[0], CallKey::Minted(ToolCallId::new(4)));
}

#[test]
fn t40_a_result_without_a_call_of_its_id_is_unpaired_whatever_its_name() {
    let steps = [
        Step::Call { provider_call: b"a" },
        Step::Call { provider_call: b"b" },
        Step::Result { provider_call: b"" },
        Step::Result { provider_call: b"b" },
        Step::Result { provider_call: b"b" },
        Step::Result { provider_call: b"a" },
    ];
    assert_eq!(pair(&steps), Ok(vec![None, Some(1), None, Some(0)]));
}

#[test]
fn t41_a_repeated_id_pairs_with_the_call_that_is_open() {
    let round = |id| [Step::Call { provider_call: id }, Step::Result { provider_call: id }];
    let steps = [round(&b"a"[..]), round(b"a"), round(b"b")].concat();
    assert_eq!(pair(&steps), Ok(vec![Some(0), Some(1), Some(2)]));
}

#[test]
fn t42_a_result_that_fits_two_calls_is_an_error_and_not_a_guess() {
    let steps = [
        Step::Call { provider_call: b"a" },
        Step::Call { provider_call: b"a" },
        Step::Result { provider_call: b"a" },
    ];
    assert_eq!(pair(&steps), Err(PairError::Ambiguous { result: 0, first: 0, second: 1 }));
}
