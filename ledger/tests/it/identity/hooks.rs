//! Hooks, revisions, questions and what reading must not do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use artifacts::redact::Redactor;
use ledger::event::{
    AskOrigin, Assessment, Event, HookDecision, HookPhase, HookPublished, IdentityEvent,
    Inspection, Kind, Stamp, Verdict,
};
use ledger::fs::LogReader;
use ledger::id::{HookId, Job, Revision, SessionId, ToolCallId};
use ledger::identity::desk::{Desk, DeskError};
use ledger::identity::journal::{
    Asked, ContinueError, Continued, HookOutcome, Journal, JournalError, Review, restore,
};
use ledger::segment::Epoch;

use super::support::*;

fn note() -> HookOutcome<'static> {
    HookOutcome {
        phase: HookPhase::PreTool,
        decision: HookDecision::Info,
        message: None,
        arguments: None,
    }
}

fn looked() -> Review<'static> {
    Review {
        assessment: Assessment::Acceptable,
        inspection: Inspection::Complete,
        disposition: None,
        rule: None,
        reason: None,
        sources: &[],
    }
}

fn call_in(journal: &mut Journal<'_>) -> (SessionId, ToolCallId) {
    let session = journal.open_own_session(None).unwrap();
    let calls = [new_call(Some("a"))];
    (session, journal.accept_turn(session, &answer(&calls)).unwrap()[0])
}

fn question(call: ToolCallId, origin: SessionId) -> Asked<'static> {
    Asked {
        call,
        origin,
        delegation: None,
        review: None,
        asker: AskOrigin::Permission,
        options: &[],
        foreign_ask: None,
    }
}

#[test]
fn t12_every_outcome_that_is_published_is_a_record_of_its_own() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let (session, call) = call_in(&mut journal);
    let first = journal.publish(call, session, None, &note()).unwrap();
    let second = journal.publish(call, session, None, &note()).unwrap();
    assert_ne!(first.0, second.0);
}

#[test]
fn t13_a_hook_that_says_nothing_has_no_record() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    call_in(&mut recorder.journal());
    recorder.leave().unwrap();
    let hooks = events(&place.dir).into_iter().filter(|event| event.kind() == Kind::HookPublished);
    assert_eq!(hooks.count(), 0);
}

#[test]
fn t15_no_outcome_can_have_the_id_of_a_review() {
    for number in 0..64 {
        let outcome = HookId::Outcome(number);
        assert!(!outcome.is_review());
        for job in Job::ALL {
            let review = HookId::review(ToolCallId::new(number), job);
            assert!(review.is_review());
            assert_ne!(outcome, review);
            assert_ne!(outcome.to_string(), review.to_string());
            let stored = |id: &HookId| ledger::codec::encode(id).unwrap();
            assert_ne!(stored(&outcome)[..4], stored(&review)[..4]);
        }
    }
}

#[test]
fn t18_revisions_rise_over_all_sources_and_threads() {
    let place = place();
    let recorder = Arc::new(Mutex::new(recorder(&place.dir, 1)));
    let (session, call) = call_in(&mut recorder.lock().unwrap().journal());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let recorder = Arc::clone(&recorder);
            std::thread::spawn(move || {
                for turn in 0..50 {
                    let mut recorder = recorder.lock().unwrap();
                    let mut journal = recorder.journal();
                    // Outcomes and reviews are counted together.
                    if turn % 2 == 0 {
                        journal.publish(call, session, None, &note()).unwrap();
                    } else {
                        let job = Job::ALL[turn % 3];
                        journal.review((call, job), session, None, &looked()).unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let recorder = Arc::try_unwrap(recorder).unwrap().into_inner().unwrap();
    recorder.leave().unwrap();
    let revisions: Vec<_> = events(&place.dir)
        .iter()
        .filter_map(|event| match event {
            Event::Identity(IdentityEvent::HookPublished(event)) => event.stamp.revision(),
            Event::Identity(IdentityEvent::ReviewUpdated(event)) => event.stamp.revision(),
            _ => None,
        })
        .map(Revision::number)
        .collect();
    assert_eq!(revisions, (1..=200).collect::<Vec<_>>());
}

#[test]
fn t25_an_old_state_and_the_end_of_the_log_give_the_next_revision() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let (session, call) = call_in(&mut recorder.journal());
    recorder.journal().publish(call, session, None, &note()).unwrap();
    recorder.commit().unwrap();
    let mut stale = Desk::default();
    for (seq, event) in frames(&place.dir) {
        stale.observe(seq, &event.unwrap()).unwrap();
    }
    for _ in 0..3 {
        recorder.journal().publish(call, session, None, &note()).unwrap();
    }
    recorder.leave().unwrap();
    assert_eq!(stale.next_revision(session).unwrap().number(), 2);
    for (seq, event) in frames(&place.dir) {
        match event {
            Some(event) => stale.observe(seq, &event).unwrap(),
            None => stale.skip(seq).unwrap(),
        }
    }
    assert_eq!(stale.next_revision(session).unwrap().number(), 5);
    let mut continued = again(&place.dir, 2);
    let (_, revision) = continued.journal().publish(call, session, None, &note()).unwrap();
    assert_eq!(revision.number(), 5);
}

#[test]
fn t26_revisions_go_on_behind_a_gap() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let (session, call) = call_in(&mut recorder.journal());
    recorder.leave().unwrap();
    let events = frames(&place.dir);
    let published = |seq: u64, number: u32, revision: u64| {
        let hook = HookId::Outcome(number);
        let revision = Revision::new(revision).unwrap();
        let stamp = Stamp::Full { hook, call, origin: session, delegation: None, revision };
        let (phase, decision) = (HookPhase::PreTool, HookDecision::Info);
        let event = HookPublished { stamp, phase, decision, message: None, arguments: None };
        (seq, Event::from(event))
    };
    let mut desk = Desk::default();
    for (seq, event) in &events {
        match event {
            Some(event) => desk.observe(*seq, event).unwrap(),
            None => desk.skip(*seq).unwrap(),
        }
    }
    // The first one is above 1, and appends between were lost.
    for (revision, number) in [(7, 0), (1_000, 1), (1_001, 2)] {
        let (seq, event) = published(desk.seq() + 1, number, revision);
        desk.observe(seq, &event).unwrap();
        assert_eq!(desk.next_revision(session).unwrap().number(), revision + 1);
    }
}

#[test]
fn t27_without_the_end_of_the_log_nothing_is_published() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let (session, call) = call_in(&mut recorder.journal());
    recorder.journal().publish(call, session, None, &note()).unwrap();
    recorder.leave().unwrap();
    // A state that does not reach up to the first event that is left.
    let mut desk = Desk::default();
    let (seq, event) = frames(&place.dir).remove(2);
    let gap = desk.observe(seq, &event.unwrap());
    assert_eq!(gap, Err(DeskError::Gap { known: 0, found: 3 }));
    // A damaged frame: opening fails, and not a byte is changed.
    let log = std::fs::read_dir(place.dir.join("log")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&log).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let before = snapshot(&place.dir);
    let found = Continued::open(&place.dir, Redactor::core(), Epoch(2), 2);
    assert!(matches!(found, Err(ContinueError::Read(_) | ContinueError::Open(_))), "{found:?}");
    assert_eq!(snapshot(&place.dir), before);
}

#[test]
fn t28_t37_reading_changes_no_byte_and_no_time() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let (session, call) = call_in(&mut recorder.journal());
    recorder.journal().publish(call, session, None, &note()).unwrap();
    recorder.leave().unwrap();
    let before = snapshot(&place.dir);
    for _ in 0..3 {
        restore(&mut LogReader::open(&place.dir).unwrap()).unwrap();
        ledger::fs::history(&mut LogReader::open(&place.dir).unwrap()).unwrap();
    }
    assert_eq!(snapshot(&place.dir), before);
}

#[test]
fn t51_a_question_never_comes_again_and_a_late_verdict_is_refused() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let (session, call) = call_in(&mut journal);
    let first = journal.ask(&question(call, session)).unwrap();
    journal.retract(first, ledger::event::RetractReason::Replaced).unwrap();
    let second = journal.ask(&question(call, session)).unwrap();
    assert_ne!(first, second);
    let late = journal.answer((first, call, session, None), Verdict::AllowOnce, None);
    assert!(matches!(late, Err(JournalError::NotAsked { .. })));
    let other = journal.answer((second, call, SessionId::new(9), None), Verdict::AllowOnce, None);
    assert!(matches!(other, Err(JournalError::NotAsked { .. })));
    journal.answer((second, call, session, None), Verdict::AllowOnce, None).unwrap();
    let twice = journal.answer((second, call, session, None), Verdict::AllowOnce, None);
    assert!(matches!(twice, Err(JournalError::NotAsked { .. })));
}

#[test]
fn t56_a_damaged_record_is_an_error_with_its_place_and_not_folded_over() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    call_in(&mut recorder.journal());
    recorder.leave().unwrap();
    let log = std::fs::read_dir(place.dir.join("log")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&log).unwrap();
    let frames = frames(&place.dir).len();
    let mut bytes = whole.clone();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let error = match LogReader::open(&place.dir) {
        Err(error) => error.to_string(),
        Ok(mut reader) => {
            let read: Vec<_> = reader.frames().collect();
            let good = read.iter().filter(|frame| frame.is_ok()).count();
            assert!(good < frames);
            read.into_iter().find_map(Result::err).unwrap().to_string()
        }
    };
    assert!(error.contains("offset"), "{error}");
}

#[test]
fn t58_a_kind_that_may_be_skipped_is_skipped_and_another_is_refused() {
    let place = place();
    left_open(&place.dir);
    let mut log = ledger::fs::LogWriter::open(&place.dir, Epoch(2), 2).unwrap();
    log.append(0x8063, 1, 2, b"from the future").unwrap();
    log.write().unwrap();
    log.seal(&[]).unwrap();
    assert!(restore(&mut LogReader::open(&place.dir).unwrap()).is_ok());
    let mut log = ledger::fs::LogWriter::open(&place.dir, Epoch(3), 3).unwrap();
    log.append(99, 1, 3, b"critical").unwrap();
    log.write().unwrap();
    log.seal(&[]).unwrap();
    let found = restore(&mut LogReader::open(&place.dir).unwrap());
    assert!(matches!(found, Err(ContinueError::Event { .. })));
}

#[test]
fn t60_a_second_writer_is_refused_while_the_first_one_writes() {
    let place = place();
    left_open(&place.dir);
    let first = again(&place.dir, 2);
    let second = Continued::open(&place.dir, Redactor::core(), Epoch(3), 3);
    assert!(matches!(second, Err(ContinueError::Open(_))));
    // Reading goes on beside the writer.
    restore(&mut LogReader::open(&place.dir).unwrap()).unwrap();
    drop(first);
}

#[test]
fn t60_who_reads_beside_a_writer_sees_beginnings_of_what_it_wrote() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let (session, call) = call_in(&mut recorder.journal());
    recorder.commit().unwrap();
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut seen = Vec::new();
            loop {
                let last = done.load(Ordering::Acquire);
                let mut reader = LogReader::open(&place.dir).unwrap();
                let desk = restore(&mut reader).unwrap();
                seen.push((desk.seq(), desk.next_revision(session).unwrap().number()));
                if last {
                    return seen;
                }
            }
        });
        for _ in 0..200 {
            recorder.journal().publish(call, session, None, &note()).unwrap();
            recorder.commit().unwrap();
        }
        done.store(true, Ordering::Release);
        reading.join().unwrap()
    });
    // Two events stand before the first hook's, and a revision comes with each event behind them.
    let first = seen[0].0 + 1 - seen[0].1;
    assert!(seen.iter().all(|(seq, revision)| seq + 1 - revision == first), "{seen:?}");
    assert!(seen.is_sorted());
    assert_eq!(seen.last().unwrap().1, 201);
}
