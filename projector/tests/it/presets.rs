//! Goal: what holds of policies holds of every built-in one: the way to a request does not
//! matter, a snapshot changes nothing, accounts are those of the bytes, texts that are cut when
//! they come in stay as they are, and a larger limit never hides more. Method: random runs and
//! texts under every preset; those with constants that nobody documented have them set.

use projector::policy::op::EmptyTail;
use projector::policy::{Amount, At, Op, Policy, Setting, Shape, presets};
use projector::text::{self, Context};
use projector::{Account, Fidelity, Projector, Snapshot, project};
use proptest::prelude::*;

use crate::naive;
use crate::property::{fold, written};
use crate::random::{Script, play, script};
use crate::run::{Made, Request};

/// Constants that a user has to set, for the presets that have some.
type Constants = (&'static str, &'static [(&'static str, &'static str)]);

const SET: [Constants; 8] = [
    ("anthropic-context-management@20250919", &[("clear_results.replacement", "[gone]")]),
    (
        "claude-code~documented@2.1.240",
        &[
            ("cap_text.1.limit", "40"),
            ("cap_text.1.marker", "[{n}]"),
            ("cap_text.2.marker", "[saved]"),
            ("cap_text.3.marker", "[saved]"),
            ("dedupe_reads.replacement", "[read]"),
            ("clear_results.keep", "{ unit = \"results\", n = 2 }"),
            ("clear_results.trigger", "{ metric = \"est_tokens\", cmp = \">\", value = 50 }"),
            ("clear_results.replacement", "[gone]"),
            ("summary.trigger", "{ metric = \"est_tokens\", cmp = \">\", value = 500 }"),
        ],
    ),
    ("deepagents@0.7.8", &[("cap_text.marker", "[{preview}]")]),
    ("goose@0036b81", &[("cap_text.marker", "[saved]")]),
    (
        "cline-legacy@pre-791d238",
        &[("dedupe_reads.replacement", "[read]"), ("window.gap_marker", "[hidden]")],
    ),
    ("roo@cb83656", &[("cap_text.limit", "40")]),
    (
        "langchain-trim-last@core1.8.3",
        &[("window.keep", "{ unit = \"tokens\", n = 40, fit = true }")],
    ),
    (
        "langchain-summarization@1.5.2",
        &[("summary.trigger", "{ metric = \"est_tokens\", cmp = \">\", value = 500 }")],
    ),
];

fn with_constants(preset: &presets::Preset) -> Result<Policy, String> {
    let set = SET.iter().find(|(id, _)| *id == preset.id).map_or(&[][..], |(_, set)| set);
    let set: Vec<_> = set.iter().map(|(key, value)| Setting { key, value }).collect();
    Policy::from_toml_with(preset.toml, &set).map_err(|error| error.to_string())
}

fn every() -> Vec<Policy> {
    presets::every().filter_map(|preset| with_constants(preset).ok()).collect()
}

#[test]
fn every_preset_is_read_with_its_constants() {
    let wrong = presets::every().filter_map(|preset| with_constants(preset).err());
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Bytes around the messages' end: of the recorded body without what follows the messages.
fn without_tail(made: &Made, request: &Request) -> usize {
    naive::recorded(&made.model, &Request { tail: Vec::new(), ..request.clone() }).len()
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// True when no id of a call, and none of a result, stands twice in a body. Programs mend pairs
/// by the sets of ids: of two results with one id they keep both, though each call has one.
fn ids_are_single(body: &[u8]) -> bool {
    let body = core::str::from_utf8(body).unwrap();
    ["\"tool_use_id\":\"", "\"id\":\""].iter().all(|name| {
        let mut seen = std::collections::BTreeSet::new();
        body.split(name).skip(1).all(|rest| seen.insert(rest.split('"').next()))
    })
}

fn account_is_that_of_the_bytes(script: &Script) -> Result<(), TestCaseError> {
    let made = play(script);
    let recorded = fold(&made, &Policy::recorded());
    for policy in every() {
        let repairs = policy.steps.iter().any(|step| matches!(step.op, Op::Repair(_)));
        for (projection, recorded) in fold(&made, &policy).iter().zip(&recorded) {
            let request = projection.request;
            let bytes = written(&made.history, &made.store, request, &projection.view);
            let before = written(&made.history, &made.store, request, &recorded.view);
            let Account { body_bytes, recorded_bytes, changed, broken_pairs, .. } =
                projection.account;
            prop_assert_eq!(body_bytes, bytes.len() as u64, "{}", &policy.name);
            prop_assert_eq!(recorded_bytes, before.len() as u64);
            prop_assert_eq!(changed, bytes != before, "{}", &policy.name);
            if matches!(projection.fidelity, Fidelity::Refused(_)) {
                prop_assert!(!changed, "{}", &policy.name);
            } else if repairs && ids_are_single(&before) {
                prop_assert_eq!(broken_pairs, 0, "{}", &policy.name);
            }
        }
    }
    Ok(())
}

#[test]
fn the_account_is_that_of_the_bytes_where_an_id_stands_twice() {
    let script = vec![
        [12, 0, 0, 0],
        [156, 0, 0, 0],
        [60, 30, 60, 38],
        [161, 77, 175, 29],
        [145, 42, 57, 224],
        [144, 42, 255, 189],
        [55, 102, 164, 75],
        [36, 128, 69, 244],
        [96, 16, 57, 61],
        [134, 102, 25, 244],
        [219, 239, 136, 206],
        [162, 175, 126, 155],
    ];
    account_is_that_of_the_bytes(&script).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_way_to_a_request_does_not_matter_under_any_preset(script in script()) {
        let made = play(&script);
        for policy in every() {
            let folded = fold(&made, &policy);
            let mut steps = Projector::new(&made.history, &made.store, &policy);
            for (nth, projection) in folded.iter().enumerate() {
                let snapshot = Snapshot::from_bytes(&steps.snapshot().to_bytes()).unwrap();
                let resumed =
                    Projector::resume(&made.history, &made.store, &policy, None, &snapshot);
                let id = projection.request;
                prop_assert_eq!(&resumed.unwrap().projection(id).unwrap(), projection);
                let sizes = (projection.fidelity.clone(), projection.account);
                prop_assert_eq!(&steps.step(id).unwrap(), &sizes, "{}", &policy.name);
                if nth % 4 == 0 {
                    let alone = project(&made.history, &made.store, &policy, id).unwrap();
                    prop_assert_eq!(&alone, projection, "{}", &policy.name);
                }
            }
        }
    }

    #[test]
    fn the_account_is_that_of_the_bytes_under_any_preset(script in script()) {
        account_is_that_of_the_bytes(&script)?;
    }

    #[test]
    fn what_is_cut_when_it_comes_in_stays_as_it_is(script in script()) {
        let made = play(&script);
        let recorded = fold(&made, &Policy::recorded());
        for mut policy in every() {
            policy.steps.retain(|step| step.at == At::Result);
            let folded = fold(&made, &policy);
            let body = |of: &[projector::Projection], nth: usize| {
                written(&made.history, &made.store, of[nth].request, &of[nth].view)
            };
            let requests = &made.model.requests;
            for (nth, request) in requests.iter().enumerate() {
                let later = requests.iter().enumerate().skip(nth + 1);
                let mut later = later.filter(|(_, later)| later.session == request.session);
                let Some((next, _)) = later.next() else { continue };
                let (before, after) = (body(&recorded, nth), body(&recorded, next));
                let kept = without_tail(&made, request);
                let plain = request.marks.is_empty() && !request.unsplit;
                if plain && common(&before, &after) >= kept {
                    let tail = before.len() - kept;
                    let (own, own_next) = (body(&folded, nth), body(&folded, next));
                    let stays = own.len() - tail;
                    prop_assert!(common(&own, &own_next) >= stays, "{}", &policy.name);
                }
            }
        }
    }

    #[test]
    fn a_larger_limit_never_hides_more(
        text in "[a-z\u{e9}\u{6f22}\u{1f600} \n\r]{0,160}",
        limits in (0_u64..120, 0_u64..120),
    ) {
        let (small, large) = (limits.0.min(limits.1), limits.0.max(limits.1));
        for policy in every() {
            for step in &policy.steps {
                let Op::CapText(cap) = &step.op else { continue };
                let plain = cap.limit.is_some()
                    && cap.threshold.is_none()
                    && !cap.marker_in_limit
                    && !cap.zero_is_unlimited
                    && cap.run_length.is_empty()
                    // A tail of no units that is the whole text hides nothing.
                    && cap.empty_tail == EmptyTail::Nothing
                    && cap.ceiling.is_none()
                    && !matches!(cap.shape, Shape::Replace)
                    && cap.template.is_none();
                if !plain {
                    continue;
                }
                let hidden = |limit: u64| {
                    let cap = projector::policy::CapText {
                        limit: Some(Amount::Fixed(limit)),
                        ..cap.clone()
                    };
                    let values = &[("spill", "/s"), ("tool", "t")];
                    let context = Context { values, ..Context::default() };
                    let shown = text::apply(&Op::CapText(cap), &text, &context).unwrap();
                    shown.map_or(0, |shown| shown.hidden_bytes)
                };
                prop_assert!(hidden(large) <= hidden(small), "{} {small} {large}", &policy.name);
            }
        }
    }
}
