//! Principals: opaque, bound once, never guessed.

use ledger::content::Content;
use ledger::event::{
    Continues, Event, IdentityEvent, MintReason, PrincipalBound, PrincipalMinted, StopReason,
};
use ledger::fs::LogReader;
use ledger::id::PrincipalId;
use ledger::identity::desk::Desk;
use ledger::identity::journal::{Journal, JournalError, restore};
use ledger::identity::principals::{BindError, Lookup, Principals};

use super::support::*;

fn mint(journal: &mut Journal<'_>, reason: MintReason) -> PrincipalId {
    journal.mint_principal(reason, Continues::New).unwrap()
}

fn bound(journal: &mut Journal<'_>, name: &str, process: &str) -> PrincipalId {
    let principal = mint(journal, MintReason::Launch);
    assert!(journal.bind_principal(principal, name.as_bytes(), Some(process.as_bytes())).unwrap());
    principal
}

fn words(content: &Content) -> String {
    String::from_utf8(content.as_inline().unwrap().to_vec()).unwrap()
}

/// `name/process/session`, or the kind of failure with the name that is on record.
fn shown(lookup: &Lookup) -> String {
    match lookup {
        Lookup::Resolved { binding, session, .. } => format!(
            "{}/{}/{}",
            words(&binding.instance),
            binding.process.as_ref().map(words).unwrap_or_default(),
            session.as_ref().map(words).unwrap_or_default()
        ),
        Lookup::Unresolved { recorded } => {
            format!("unresolved {}", recorded.as_ref().map(words).unwrap_or_default())
        }
        Lookup::MissingBinding { claims } => {
            format!("missing {}", claims.iter().map(words).collect::<Vec<_>>().join(","))
        }
        Lookup::Unknown => "unknown".to_owned(),
    }
}

fn lookup(journal: &Journal<'_>, principal: PrincipalId) -> String {
    shown(&journal.desk().principals().lookup(principal))
}

macro_rules! in_journal {
    ($place:ident, $journal:ident) => {
        let $place = place();
        let mut recorder = recorder(&$place.dir, 1);
        let mut $journal = recorder.journal();
        let _ = &mut $journal;
    };
}

#[test]
fn h01_a_principal_is_random_and_bound_once() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let other = mint(&mut journal, MintReason::Launch);
    assert_ne!(luna, other);
    assert_eq!(luna.as_bytes().len() * 8, 128);
    let again = journal.bind_principal(luna, b"nova", Some(b"p1"));
    let elsewhere = BindError::BoundElsewhere { principal: luna };
    assert!(matches!(again, Err(JournalError::Bind(error)) if error == elsewhere));
    let held = journal.bind_principal(other, b"luna", Some(b"p2"));
    let holder = BindError::InstanceHeld { holder: luna };
    assert!(matches!(held, Err(JournalError::Bind(error)) if error == holder));
    let empty = journal.bind_principal(other, b"", None);
    assert!(matches!(empty, Err(JournalError::Bind(BindError::NoName))));
    let unknown = journal.bind_principal(PrincipalId::from_bytes([9; 16]), b"x", None);
    assert!(matches!(unknown, Err(JournalError::Bind(BindError::Unknown { .. }))));
    assert_eq!(lookup(&journal, luna), "luna/p1/");
}

#[test]
fn h02_principal_process_and_tool_session_are_three_fields() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "process-1");
    journal.observe_principal(luna, Some(b"tool-session-1"), 5).unwrap();
    let known = journal.desk().principals().get(luna).unwrap();
    let binding = &known.bindings[0];
    assert_eq!(words(binding.process.as_ref().unwrap()), "process-1");
    assert_eq!(words(&known.sessions[0]), "tool-session-1");
    assert_eq!(luna.to_string().len(), 32);
}

#[test]
fn h03_a_tool_session_that_changes_leaves_the_mapping_and_both_ids_can_be_asked_for() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    journal.observe_principal(luna, Some(b"s-1"), 1).unwrap();
    journal.observe_principal(luna, Some(b"s-2"), 2).unwrap();
    assert_eq!(lookup(&journal, luna), "luna/p1/s-2");
    let sessions = &journal.desk().principals().get(luna).unwrap().sessions;
    assert_eq!(sessions.iter().map(words).collect::<Vec<_>>(), ["s-1", "s-2"]);
}

#[test]
fn h04_every_way_to_begin_makes_exactly_one_principal() {
    use MintReason as M;
    let ways = [M::Launch, M::BareStart, M::Reclaim, M::Adoption, M::Fork, M::Orphan];
    for way in ways {
        let place = place();
        let mut recorder = recorder(&place.dir, 1);
        let mut journal = recorder.journal();
        let principal = match way {
            M::Fork => {
                let parent = mint(&mut journal, M::Launch);
                journal.fork_principal(parent).unwrap()
            }
            _ => mint(&mut journal, way),
        };
        recorder.leave().unwrap();
        let minted: Vec<_> = events(&place.dir)
            .into_iter()
            .filter_map(|event| match event {
                Event::Identity(IdentityEvent::PrincipalMinted(event)) => Some(event),
                _ => None,
            })
            .collect();
        assert_eq!(minted.len(), if way == M::Fork { 2 } else { 1 }, "{way:?}");
        let last = minted.last().unwrap();
        let told = (last.principal, last.reason, last.continues);
        assert_eq!(told, (principal, way, Continues::New));
    }
}

#[test]
fn h06_a_lookup_has_four_answers_and_none_of_them_is_a_guess() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let unbound = mint(&mut journal, MintReason::Launch);
    let gone = bound(&mut journal, "nova", "p2");
    journal.stop_principal(gone, StopReason::Ended).unwrap();
    assert_eq!(lookup(&journal, luna), "luna/p1/");
    assert_eq!(lookup(&journal, unbound), "unresolved ");
    assert_eq!(lookup(&journal, gone), "unresolved nova");
    assert_eq!(lookup(&journal, PrincipalId::from_bytes([7; 16])), "unknown");
    // A binding whose minting is not on record is a claim and no route.
    let mut principals = Principals::default();
    let claim = PrincipalBound {
        principal: luna,
        instance: journal.desk().principals().get(luna).unwrap().bindings[0].instance.clone(),
        process: None,
    };
    principals.observe(&IdentityEvent::PrincipalBound(claim));
    assert_eq!(shown(&principals.lookup(luna)), "missing luna");
}

#[test]
fn h07_observations_do_not_rotate_a_principal() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    for time in 0..100 {
        journal.observe_principal(luna, Some(b"s-1"), time).unwrap();
    }
    assert_eq!(journal.desk().principals().iter().count(), 1);
    assert_eq!(lookup(&journal, luna), "luna/p1/s-1");
}

#[test]
fn h08_a_fork_an_adoption_and_a_reclaimed_name_are_new_principals() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let fork = journal.fork_principal(luna).unwrap();
    let adopted = mint(&mut journal, MintReason::Adoption);
    journal.stop_principal(luna, StopReason::Ended).unwrap();
    let reclaimed = mint(&mut journal, MintReason::Reclaim);
    assert!(journal.bind_principal(reclaimed, b"luna", Some(b"p2")).unwrap());
    let mut ids = vec![luna, fork, adopted, reclaimed];
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert_eq!(lookup(&journal, luna), "unresolved luna");
    assert_eq!(lookup(&journal, reclaimed), "luna/p2/");
}

/// Two lifecycles of one name, a fork, and session ids that change.
fn scenario(journal: &mut Journal<'_>) -> Vec<PrincipalId> {
    let first = bound(journal, "luna", "p1");
    journal.observe_principal(first, Some(b"s-1"), 1).unwrap();
    let fork = journal.fork_principal(first).unwrap();
    assert!(journal.bind_principal(fork, b"nova", Some(b"p2")).unwrap());
    journal.observe_principal(first, Some(b"s-2"), 2).unwrap();
    journal.stop_principal(first, StopReason::Ended).unwrap();
    let second = bound(journal, "luna", "p3");
    journal.observe_principal(second, Some(b"s-3"), 3).unwrap();
    vec![first, fork, second]
}

#[test]
fn h09_a_record_that_is_lost_never_leads_to_somebody_else() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let ids = scenario(&mut recorder.journal());
    recorder.leave().unwrap();
    let events: Vec<Event> = events(&place.dir);
    let own = ["luna/p1/", "nova/p2/", "luna/p3/"];
    let right: Vec<_> = {
        let mut principals = Principals::default();
        identity(&events).for_each(|event| principals.observe(event));
        ids.iter().map(|id| shown(&principals.lookup(*id))).collect()
    };
    assert_eq!(right, ["unresolved luna", "nova/p2/", "luna/p3/s-3"]);
    for lost in 0..events.len() {
        // Without the sequence: the fold alone must not lead to another one's instance.
        let mut principals = Principals::default();
        let rest: Vec<_> = events
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != lost)
            .map(|(_, e)| e.clone())
            .collect();
        identity(&rest).for_each(|event| principals.observe(event));
        for (id, own) in ids.iter().zip(own) {
            let found = principals.lookup(*id);
            let leads = matches!(found, Lookup::Resolved { .. });
            assert!(!leads || shown(&found).starts_with(own), "{lost}: {}", shown(&found));
        }
        // With it: the gap is seen.
        let mut desk = Desk::default();
        let seen = (1..)
            .zip(&events)
            .filter(|(seq, _)| *seq != lost as u64 + 1)
            .try_for_each(|(seq, event)| desk.observe(seq, event));
        assert_eq!(seen.is_err(), lost + 1 < events.len());
    }
    // A log that ends early: what it says was so at that point, of the same principal.
    for end in 0..events.len() {
        let mut principals = Principals::default();
        identity(&events[..end]).for_each(|event| principals.observe(event));
        for (id, own) in ids.iter().zip(own) {
            let found = principals.lookup(*id);
            let leads = matches!(found, Lookup::Resolved { .. });
            assert!(!leads || shown(&found).starts_with(own), "{end}: {}", shown(&found));
        }
    }
}

#[test]
fn h09_a_flipped_byte_anywhere_never_leads_to_somebody_else() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let ids = scenario(&mut recorder.journal());
    recorder.leave().unwrap();
    let log = std::fs::read_dir(place.dir.join("log")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&log).unwrap();
    let own = ["luna/p1/", "nova/p2/", "luna/p3/"];
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&log, &bytes).unwrap();
        let restored =
            LogReader::open(&place.dir).ok().and_then(|mut reader| restore(&mut reader).ok());
        let Some(desk) = restored else {
            refused += 1;
            continue;
        };
        for (id, own) in ids.iter().zip(own) {
            let found = desk.principals().lookup(*id);
            let leads = matches!(found, Lookup::Resolved { .. });
            assert!(!leads || shown(&found).starts_with(own), "{at}: {}", shown(&found));
        }
    }
    assert!(refused > whole.len() * 9 / 10, "{refused} of {}", whole.len());
}

#[test]
fn h19_damaged_records_resolve_to_nobody_and_take_nothing_more() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let mut principals = journal.desk().principals().clone();
    principals.set_damaged();
    assert_eq!(shown(&principals.lookup(luna)), "unresolved luna");
    assert_eq!(shown(&principals.lookup(PrincipalId::from_bytes([1; 16]))), "unresolved ");
    let wanted = PrincipalBound {
        principal: luna,
        instance: principals.get(luna).unwrap().bindings[0].instance.clone(),
        process: None,
    };
    assert_eq!(principals.check_bind(&wanted), Err(BindError::Damaged));
}

#[test]
fn h10_uniqueness() {
    in_journal!(place, journal);
    let ids: std::collections::BTreeSet<_> =
        (0..500).map(|_| mint(&mut journal, MintReason::Launch)).collect();
    assert_eq!(ids.len(), 500);
}

#[test]
fn h10_idempotence() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let before = journal.desk().principals().clone();
    for _ in 0..3 {
        assert!(!journal.bind_principal(luna, b"luna", Some(b"p1")).unwrap());
        assert_eq!(journal.desk().principals(), &before);
    }
}

#[test]
fn h10_fork() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let fork = journal.fork_principal(luna).unwrap();
    assert!(journal.bind_principal(fork, b"nova", Some(b"p2")).unwrap());
    // What happens to the one does not happen to the other.
    journal.observe_principal(luna, Some(b"s-1"), 1).unwrap();
    assert_eq!(lookup(&journal, fork), "nova/p2/");
    journal.stop_principal(luna, StopReason::Ended).unwrap();
    assert_eq!(lookup(&journal, fork), "nova/p2/");
    assert_eq!(lookup(&journal, luna), "unresolved luna");
}

#[test]
fn h10_reclaim() {
    in_journal!(place, journal);
    let first = bound(&mut journal, "luna", "p1");
    journal.stop_principal(first, StopReason::Ended).unwrap();
    let second = mint(&mut journal, MintReason::Reclaim);
    assert!(journal.bind_principal(second, b"luna", Some(b"p1")).unwrap());
    // Word for word the same instance, and still another principal.
    assert_ne!(first, second);
    assert_eq!(lookup(&journal, first), "unresolved luna");
    assert_eq!(lookup(&journal, second), "luna/p1/");
}

#[test]
fn h10_stale_mapping() {
    // A writer that does not check binds a name that is held: the older mapping is stale.
    let (old, new) = (PrincipalId::from_bytes([1; 16]), PrincipalId::from_bytes([2; 16]));
    let mut principals = Principals::default();
    for principal in [old, new] {
        principals.observe(&minted(principal));
        principals.observe(&bound_to(principal, "luna", 1));
    }
    assert_eq!(shown(&principals.lookup(old)), "unresolved luna");
    assert_eq!(shown(&principals.lookup(new)), "luna/1/");
}

pub(super) fn minted(principal: PrincipalId) -> IdentityEvent {
    let (reason, continues) = (MintReason::Launch, Continues::New);
    IdentityEvent::PrincipalMinted(PrincipalMinted { principal, reason, continues })
}

pub(super) fn bound_to(principal: PrincipalId, name: &str, process: u8) -> IdentityEvent {
    let (instance, process) = (inline(name), Some(inline(&process.to_string())));
    IdentityEvent::PrincipalBound(PrincipalBound { principal, instance, process })
}

#[test]
fn h11_a_principal_is_on_record_before_the_first_event_that_carries_it() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    scenario(&mut recorder.journal());
    recorder.leave().unwrap();
    let mut minted = Vec::new();
    for event in events(&place.dir) {
        let Event::Identity(event) = event else { continue };
        match event {
            IdentityEvent::PrincipalMinted(event) => minted.push(event.principal),
            IdentityEvent::PrincipalBound(event) => assert!(minted.contains(&event.principal)),
            IdentityEvent::PrincipalObserved(event) => assert!(minted.contains(&event.principal)),
            IdentityEvent::PrincipalStopped(event) => assert!(minted.contains(&event.principal)),
            IdentityEvent::PrincipalForked(event) => {
                assert!(minted.contains(&event.principal) && minted.contains(&event.parent));
            }
            _ => {}
        }
    }
    assert_eq!(minted.len(), 3);
}

#[test]
fn h12_hooks_and_compactions_change_the_tools_session_and_nothing_else() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let before = journal.desk().principals().get(luna).unwrap().clone();
    journal.observe_principal(luna, Some(b"after compaction"), 9).unwrap();
    let after = journal.desk().principals().get(luna).unwrap();
    assert_eq!((&before.minted, &before.bindings), (&after.minted, &after.bindings));
    assert_eq!(after.sessions.len(), 1);
}

#[test]
fn h13_h15_a_restart_without_proof_is_a_new_principal_that_continues_nothing_known() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let luna = bound(&mut recorder.journal(), "luna", "p1");
    recorder.journal().stop_principal(luna, StopReason::Ended).unwrap();
    recorder.leave().unwrap();
    let mut continued = again(&place.dir, 2);
    let mut journal = continued.journal();
    let resumed = journal.mint_principal(MintReason::BareStart, Continues::Unknown).unwrap();
    assert_ne!(resumed, luna);
    assert!(journal.bind_principal(resumed, b"luna", Some(b"p2")).unwrap());
    let known = journal.desk().principals().get(resumed).unwrap();
    assert_eq!(known.minted.unwrap().1, Continues::Unknown);
    assert_eq!(lookup(&journal, luna), "unresolved luna");
}

#[test]
fn h14_a_fork_has_its_parent_as_a_relation() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    let fork = journal.fork_principal(luna).unwrap();
    assert_ne!(fork, luna);
    assert_eq!(journal.desk().principals().get(fork).unwrap().parent, Some(luna));
    assert_eq!(lookup(&journal, fork), "unresolved ");
    let nobody = journal.fork_principal(PrincipalId::from_bytes([3; 16]));
    assert!(matches!(nobody, Err(JournalError::Bind(BindError::Unknown { .. }))));
}

#[test]
fn h16_an_equal_name_inherits_nothing() {
    in_journal!(place, journal);
    let first = bound(&mut journal, "luna", "p1");
    journal.observe_principal(first, Some(b"s-1"), 1).unwrap();
    journal.stop_principal(first, StopReason::Ended).unwrap();
    let second = bound(&mut journal, "luna", "p2");
    assert_eq!(lookup(&journal, second), "luna/p2/");
    assert!(journal.desk().principals().get(second).unwrap().sessions.is_empty());
}

#[test]
fn h17_a_principal_that_is_presented_and_was_never_minted_is_refused() {
    in_journal!(place, journal);
    let spoofed = PrincipalId::parse("00112233445566778899aabbccddeeff").unwrap();
    let bind = journal.bind_principal(spoofed, b"luna", Some(b"p1"));
    assert!(matches!(bind, Err(JournalError::Bind(BindError::Unknown { .. }))));
    let observe = journal.observe_principal(spoofed, Some(b"s"), 1);
    assert!(matches!(observe, Err(JournalError::Bind(BindError::Unknown { .. }))));
    assert!(PrincipalId::parse("0011").is_none());
    assert!(PrincipalId::parse("+0112233445566778899aabbccddeeff").is_none());
}

#[test]
fn h18_a_mapping_says_when_it_was_seen_last() {
    in_journal!(place, journal);
    let luna = bound(&mut journal, "luna", "p1");
    journal.observe_principal(luna, None, 1_000).unwrap();
    journal.observe_principal(luna, None, 2_000).unwrap();
    let Lookup::Resolved { last_observed_unix_ns, .. } = journal.desk().principals().lookup(luna)
    else {
        panic!()
    };
    assert_eq!(last_observed_unix_ns, Some(2_000));
}

#[test]
fn h21_restoring_the_log_restores_the_principals() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let ids = scenario(&mut recorder.journal());
    let expected = recorder.journal().desk().principals().clone();
    recorder.leave().unwrap();
    let copy = super::support::place();
    copy_folder(&place.dir, &copy.dir);
    let desk = restore(&mut LogReader::open(&copy.dir).unwrap()).unwrap();
    assert_eq!(desk.principals(), &expected);
    assert_eq!(desk.principals().iter().count(), ids.len());
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn h22_principals_are_minted_in_one_place() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = folder.parent().unwrap();
    let mut minting = Vec::new();
    for name in ["artifacts", "capture", "cli", "ledger", "projector", "replay"] {
        let mut folders = vec![workspace.join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read_to_string(&path)
                    .is_ok_and(|text| text.contains("PrincipalMinted { principal"))
                {
                    minting.push(path.strip_prefix(workspace).unwrap().to_path_buf());
                }
            }
        }
    }
    minting.retain(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    let one = std::path::Path::new("ledger/src/identity/journal/principals.rs");
    assert_eq!(minting, [one]);
}

#[test]
fn h24_luna_and_nova() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let p_a = bound(&mut journal, "luna", "p1");
    journal.observe_principal(p_a, Some(b"s-1"), 1).unwrap();
    journal.observe_principal(p_a, Some(b"s-2"), 2).unwrap();
    let p_b = journal.fork_principal(p_a).unwrap();
    journal.bind_principal(p_b, b"nova", Some(b"p2")).unwrap();
    assert_eq!(lookup(&journal, p_a), "luna/p1/s-2");
    assert_eq!(lookup(&journal, p_b), "nova/p2/");
    journal.stop_principal(p_a, StopReason::Ended).unwrap();
    recorder.leave().unwrap();
    let mut continued = again(&place.dir, 2);
    let mut journal = continued.journal();
    assert_eq!(lookup(&journal, p_a), "unresolved luna");
    let p_c = bound(&mut journal, "luna", "p3");
    assert_eq!(lookup(&journal, p_a), "unresolved luna");
    assert_eq!(lookup(&journal, p_c), "luna/p3/");
}

#[test]
fn h27_a_binding_that_is_made_twice_is_one() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let luna = bound(&mut journal, "luna", "p1");
    assert!(!journal.bind_principal(luna, b"luna", Some(b"p1")).unwrap());
    recorder.leave().unwrap();
    let bound = events(&place.dir)
        .into_iter()
        .filter(|event| event.kind() == ledger::event::Kind::PrincipalBound);
    assert_eq!(bound.count(), 1);
    // A log that ends inside of the binding does not have it.
    let log = std::fs::read_dir(place.dir.join("log")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&log).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&log, &whole[..cut]).unwrap();
        let restored =
            LogReader::open(&place.dir).ok().and_then(|mut reader| restore(&mut reader).ok());
        let found = restored.map(|desk| shown(&desk.principals().lookup(luna)));
        let fine = ["unknown", "unresolved ", "luna/p1/"];
        assert!(found.as_deref().is_none_or(|found| fine.contains(&found)), "{cut}: {found:?}");
    }
}

#[test]
fn h28_a_recording_without_principals_has_none() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let turn = journal.start_turn(session).unwrap();
    let call = journal.accept_turn(session, &answer(&[new_call(Some("a"))])).unwrap()[0];
    journal.ended(call, ledger::event::Outcome::Completed, None, None).unwrap();
    journal.end_turn(session, turn, ledger::event::Stop::EndTurn, None).unwrap();
    recorder.leave().unwrap();
    let desk = restore(&mut LogReader::open(&place.dir).unwrap()).unwrap();
    assert_eq!(desk.principals(), &Principals::default());
}

#[test]
fn h29_a_record_of_a_known_kind_that_does_not_decode_is_refused_and_left_as_it_is() {
    let place = place();
    left_open(&place.dir);
    let mut log = ledger::fs::LogWriter::open(&place.dir, ledger::segment::Epoch(2), 2).unwrap();
    log.append(ledger::event::Kind::PrincipalBound.tag(), 1, 2, b"not a binding").unwrap();
    log.write().unwrap();
    log.seal(&[]).unwrap();
    let before = snapshot(&place.dir);
    let found = ledger::identity::journal::Continued::open(
        &place.dir,
        artifacts::redact::Redactor::core(),
        ledger::segment::Epoch(3),
        3,
    );
    assert!(matches!(found, Err(ledger::identity::journal::ContinueError::Event { .. })));
    assert_eq!(snapshot(&place.dir), before);
}

#[test]
fn h31_a_binding_that_dangles_is_unresolved_and_a_new_principal_can_be_bound() {
    in_journal!(place, journal);
    let old = bound(&mut journal, "luna", "p1");
    journal.stop_principal(old, StopReason::Removed).unwrap();
    assert_eq!(lookup(&journal, old), "unresolved luna");
    let again = journal.bind_principal(old, b"luna", Some(b"p1"));
    assert!(matches!(again, Err(JournalError::Bind(BindError::Stopped { .. }))));
    let new = bound(&mut journal, "luna", "p1");
    assert_eq!(lookup(&journal, new), "luna/p1/");
    assert_eq!(lookup(&journal, old), "unresolved luna");
}

fn identity(events: &[Event]) -> impl Iterator<Item = &IdentityEvent> {
    events.iter().filter_map(|event| match event {
        Event::Identity(event) => Some(event),
        _ => None,
    })
}
