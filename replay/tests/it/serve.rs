//! Recorded clients against recordings of themselves: what is the same is answered, and every
//! kind of change is named.

use ledger::wire::Dialect;
use replay::serve::{Cause, Drift, Faults, Match, OnDrift, ServeReport, Server};
use replay::twin::Rules;

use crate::support::{bodies, import};

/// Sends requests, each with its dialect; returns how each matched, and the report.
fn serve(
    case: &str,
    requests: &[(Dialect, Vec<u8>)],
    on_drift: OnDrift,
) -> (Vec<Option<Match>>, ServeReport) {
    let imported = import(case);
    let mut server =
        Server::new(imported.recording, Rules::known(), Faults::Skip, on_drift).unwrap();
    let mut matched = Vec::new();
    for (dialect, body) in requests {
        matched.push(server.answer(*dialect, body).unwrap().matched);
    }
    (matched, server.finish())
}

fn requests(case: &str) -> Vec<(Dialect, Vec<u8>)> {
    let imported = import(case);
    let dialects = imported.recording.history().requests().iter().map(|request| request.dialect);
    dialects.zip(bodies(case)).collect()
}

#[test]
fn the_same_run_again_is_identical_and_leaves_nothing_over() {
    for case in ["mini-std", "pi-gemini-std", "codex-subagents", "openai-agents-responses-std"] {
        let sent = requests(case);
        let (_, report) = serve(case, &sent, OnDrift::Fail);
        assert!(report.is_same(), "{case}: {report:?}");
        assert_eq!(report.identical, sent.len() as u64, "{case}");
    }
}

#[test]
fn a_second_run_of_codex_is_the_same_but_for_its_ids_and_times_until_its_outputs_are_cut() {
    let sent = requests("codex-std-limit2000");
    let (matched, report) = serve("codex-std-again", &sent[..5], OnDrift::Fail);
    assert_eq!(matched[..4], [Some(Match::Equal); 4]);
    let [(5, Drift::Differs { due, at, cause })] = report.drifts.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!((due.ordinal(), at.pointer.as_str()), (5, "/input/15/output"));
    assert_eq!(*cause, Cause::ToolOutputCut);
    assert!(report.aliases > 0);
}

#[test]
fn answers_are_those_of_the_recording() {
    let (imported, again) = (import("mini-std"), import("mini-std"));
    let mut server =
        Server::new(again.recording, Rules::known(), Faults::Skip, OnDrift::Fail).unwrap();
    for (index, (dialect, body)) in requests("mini-std").iter().enumerate() {
        let served = server.answer(*dialect, body).unwrap().served.unwrap();
        let (_, answer) = imported.recording.history().requests()[index].answer.as_ref().unwrap();
        let recorded = answer.body.as_ref().unwrap().read(imported.recording.source()).unwrap();
        assert_eq!((served.status, served.body.as_slice()), (200, &*recorded));
        assert!(served.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")));
    }
}

#[test]
fn failures_are_left_out_or_given_as_they_were() {
    let all = requests("codex-faults");
    let statuses = |faults| {
        let imported = import("codex-faults");
        let mut server =
            Server::new(imported.recording, Rules::known(), faults, OnDrift::Fail).unwrap();
        let served = all.iter().map(|(dialect, body)| {
            server.answer(*dialect, body).unwrap().served.map(|served| served.status)
        });
        served.collect::<Vec<_>>()
    };
    let failed = |statuses: &[Option<u16>]| {
        statuses.iter().filter(|status| status.is_some_and(|status| status >= 400)).count()
    };
    assert!(failed(&statuses(Faults::Replay)) >= 3);
    assert_eq!(failed(&statuses(Faults::Skip)), 0);
}

#[test]
fn a_change_of_a_tool_is_named_by_its_place() {
    let mut sent = requests("mini-std");
    let changed = |body: &[u8]| {
        let text = String::from_utf8(body.to_vec()).unwrap();
        text.replacen("Execute a bash command", "Execute any command", 1).into_bytes()
    };
    for (_, body) in &mut sent {
        let new = changed(body);
        assert!(new != *body);
        *body = new;
    }
    let (_, report) = serve("mini-std", &sent, OnDrift::Warn);
    assert_eq!(report.drifts.len(), sent.len());
    for (index, (arrival, drift)) in report.drifts.iter().enumerate() {
        let Drift::Differs { due, at, cause } = drift else { panic!("{drift:?}") };
        assert_eq!((due.ordinal(), *arrival), (index as u64 + 1, index as u64 + 1));
        assert!(at.pointer.starts_with("/tools/0"), "{at:?}");
        assert_eq!(*cause, Cause::ToolSchemas);
    }
    assert!(report.unused.is_empty());
}

#[test]
fn one_byte_of_an_output_is_named_by_its_place() {
    let mut sent = requests("mini-std");
    let body = &mut sent[3].1;
    let at = body.windows(8).rposition(|window| window == b"f9f59771").unwrap();
    body[at] = b'Z';
    let (matched, report) = serve("mini-std", &sent[..4], OnDrift::Fail);
    assert_eq!(matched[..3], [Some(Match::Identical); 3]);
    let [(4, Drift::Differs { due, at, cause })] = report.drifts.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!(due.ordinal(), 4);
    assert!(at.pointer.starts_with("/messages/"), "{at:?}");
    assert_eq!(*cause, Cause::ToolOutput);
}

#[test]
fn a_request_that_is_left_out_and_one_too_many_are_named() {
    let mut sent = requests("mini-std");
    let left_out = sent.remove(2);
    let (_, report) = serve("mini-std", &sent, OnDrift::Warn);
    let [(3, Drift::Skipped { due, found })] = report.drifts.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!((due.ordinal(), found.ordinal()), (3, 4));
    sent.insert(2, left_out);
    let one_more = (sent[0].0, br#"{"model":"m","messages":[]}"#.to_vec());
    sent.push(one_more);
    let (_, report) = serve("mini-std", &sent, OnDrift::Warn);
    assert_eq!(report.drifts, [(sent.len() as u64, Drift::Extra)]);
}

#[test]
fn a_client_that_stops_early_leaves_the_rest_unused() {
    let sent = requests("mini-std");
    let (_, report) = serve("mini-std", &sent[..4], OnDrift::Fail);
    assert!(report.drifts.is_empty());
    let unused: Vec<_> = report.unused.iter().map(|request| request.ordinal()).collect();
    assert_eq!(unused, (5..=sent.len() as u64).collect::<Vec<_>>());
    assert!(!report.is_same());
}

#[test]
fn a_request_that_is_sent_again_gets_its_answer_again() {
    let mut sent = requests("mini-std");
    sent.insert(1, sent[0].clone());
    let (matched, report) = serve("mini-std", &sent, OnDrift::Fail);
    assert_eq!(matched[1], Some(Match::Repeated));
    assert!(report.is_same());
    assert_eq!(report.repeated, 1);
}
