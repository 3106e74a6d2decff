//! Goal: whatever the run and whatever the policy, the fold says what a plain projector says, its
//! account is that of the bytes it would write, and the way there does not matter. Method: random
//! runs under random policies.

use artifacts::Source;
use ledger::history::{History, ListWalker};
use ledger::id::RequestId;
use ledger::wire::SlotKind;
use projector::view::Segment;
use projector::{Account, Policy, Projection, Projector, View, project};
use proptest::prelude::*;

use crate::naive;
use crate::random::{play, policy, script};
use crate::run::{Made, Model};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

/// The bytes of a view.
pub(crate) fn written(
    history: &History,
    source: &dyn Source,
    request: RequestId,
    view: &View,
) -> Vec<u8> {
    let overlays = history.request(request).unwrap().overlays();
    let mut out = Vec::new();
    view.write(history, source, Model::separator(), overlays, &mut out).unwrap();
    out
}

/// All requests of a run, in order of capture.
pub(crate) fn fold(made: &Made, policy: &Policy) -> Vec<Projection> {
    let mut projector = Projector::new(&made.history, &made.store, policy);
    let ids = made.model.requests.iter().map(|request| request.id);
    ids.map(|request| projector.projection(request).unwrap()).collect()
}

/// Recorded text that the request holds, and that its view shows: ids and names not counted.
fn texts(history: &History, projection: &Projection) -> (u64, u64) {
    let counts =
        |kind| ![SlotKind::CALL_ID, SlotKind::RESULT_CALL_ID, SlotKind::TOOL_NAME].contains(&kind);
    let kind = |part, slot: usize| history.skeleton(history.part(part)).slots[slot].kind;
    let mut lists = ListWalker::new(history);
    let lists = lists.lists(projection.request).unwrap().clone();
    let mut held = 0;
    for part in [lists.head, lists.items, lists.tail].concat() {
        for (slot, hole) in history.part(part).holes.iter().enumerate() {
            held += if counts(kind(part, slot)) { history.text(hole).len() } else { 0 };
        }
    }
    let shown = projection.view.segments.iter().map(|segment| match segment {
        Segment::Text { part, slot, range, .. } if counts(kind(*part, *slot)) => range.len() as u64,
        _ => 0,
    });
    (held, shown.sum())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_fold_says_what_a_plain_projector_says(script in script(), policy in policy()) {
        let made = play(&script);
        let expected = naive::project(&made.model, &policy);
        for (projection, expected) in fold(&made, &policy).iter().zip(expected) {
            let body = written(&made.history, &made.store, projection.request, &projection.view);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            prop_assert_eq!(text(&body), text(&expected.body));
            prop_assert_eq!(projection.account, expected.account);
            prop_assert_eq!(&projection.fidelity, &expected.fidelity);
        }
    }

    #[test]
    fn the_account_is_that_of_the_bytes(script in script(), policy in policy()) {
        let made = play(&script);
        let recorded = fold(&made, &Policy::recorded());
        for (projection, recorded) in fold(&made, &policy).iter().zip(recorded) {
            let request = projection.request;
            let bytes = written(&made.history, &made.store, request, &projection.view);
            let before = written(&made.history, &made.store, request, &recorded.view);
            let Account { body_bytes, recorded_bytes, tokens, hidden_bytes, changed, .. } =
                projection.account;
            prop_assert_eq!(body_bytes, bytes.len() as u64);
            prop_assert_eq!(recorded_bytes, before.len() as u64);
            prop_assert_eq!(tokens, body_bytes.div_ceil(4));
            prop_assert_eq!(changed, bytes != before);
            let (held, shown) = texts(&made.history, projection);
            prop_assert_eq!(hidden_bytes, held - shown);
        }
    }

    #[test]
    fn the_recorded_policy_gives_the_recorded_bytes(script in script()) {
        let made = play(&script);
        let folded = fold(&made, &Policy::recorded());
        for (projection, request) in folded.iter().zip(&made.model.requests) {
            let bytes = written(&made.history, &made.store, request.id, &projection.view);
            let recorded = naive::recorded(&made.model, request);
            prop_assert_eq!(projection.fidelity.name(), "exact");
            let body_bytes = recorded.len() as u64;
            let tokens = body_bytes.div_ceil(4);
            let recorded_bytes = body_bytes;
            let account = Account { body_bytes, recorded_bytes, tokens, ..Account::default() };
            prop_assert_eq!(projection.account, account);
            prop_assert_eq!(bytes, recorded);
        }
    }

    #[test]
    fn the_way_to_a_request_does_not_matter(script in script(), policy in policy()) {
        let made = play(&script);
        let folded = fold(&made, &policy);
        prop_assert_eq!(&fold(&made, &policy), &folded, "a second fold");
        let mut steps = Projector::new(&made.history, &made.store, &policy);
        let mut mixed = Projector::new(&made.history, &made.store, &policy);
        for (nth, projection) in folded.iter().enumerate() {
            let id = projection.request;
            let sizes = (projection.fidelity.clone(), projection.account);
            prop_assert_eq!(&steps.step(id).unwrap(), &sizes);
            if nth % 2 == 0 {
                prop_assert_eq!(&mixed.step(id).unwrap(), &sizes);
            } else {
                prop_assert_eq!(&mixed.projection(id).unwrap(), projection);
            }
            let alone = project(&made.history, &made.store, &policy, id).unwrap();
            prop_assert_eq!(&alone, projection);
        }
    }

    #[test]
    fn the_order_of_conversations_does_not_matter(script in script(), policy in policy()) {
        let made = play(&script);
        let folded = fold(&made, &policy);
        for order in [[0, 1], [1, 0]] {
            let mut projector = Projector::new(&made.history, &made.store, &policy);
            for session in order {
                for id in &made.history.sessions()[session].requests {
                    let projection = projector.projection(*id).unwrap();
                    prop_assert_eq!(&projection, &folded[id.index()]);
                }
            }
        }
    }
}
