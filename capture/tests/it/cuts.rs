//! Goal: a file that is no HAR leaves nothing behind, and one that is cut keeps exactly what was
//! whole and says that it is cut. Method: files of other formats; a small HAR cut at every byte;
//! a recorded run cut at every fiftieth.

use capture::har::{HarError, NotHarReason};
use capture::import::ImportError;

use crate::support::{Exchange, Run, har, recorded, told};

#[track_caller]
fn refused(bytes: &[u8]) -> HarError {
    match Run::read(bytes) {
        Err(ImportError::Har { path, source, kept: None }) => {
            assert!(path.ends_with("run.har"));
            source
        }
        Err(error) => panic!("{}", told(&error)),
        Ok(run) => panic!("recorded {} requests", run.history.requests().len()),
    }
}

#[test]
fn a_file_that_is_no_har_is_refused_and_leaves_no_recording() {
    let reason = |bytes: &[u8]| match refused(bytes) {
        HarError::NotHar { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(reason(b""), NotHarReason::Empty);
    assert_eq!(reason(b" \n\t"), NotHarReason::Empty);
    assert_eq!(reason(b"\xff\xfe{\0}\0"), NotHarReason::Utf16);
    assert_eq!(reason(b"{}"), NotHarReason::NoLog);
    assert_eq!(reason(br#"{"log":{}}"#), NotHarReason::NoEntries);
    assert!(matches!(reason(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), NotHarReason::NotAnObject { .. }));
    assert!(matches!(reason(b"a text\n"), NotHarReason::NotAnObject { .. }));
    assert!(matches!(reason(b"[]"), NotHarReason::NotAnObject { .. }));
    assert!(matches!(reason(br#"{"log":[]}"#), NotHarReason::LogNotAnObject { .. }));
    assert!(matches!(reason(br#"{"log":{"entries":{}}}"#), NotHarReason::EntriesNotAnArray { .. }));
    assert!(matches!(reason(b"{ no json"), NotHarReason::NotJson { .. }));
    let record =
        br#"{"type":"user","message":{"role":"user","content":"sk-ant-0123456789abcdef"}}"#;
    let error = refused(&[record.as_slice(), b"\n", record].concat());
    assert!(!error.to_string().contains("sk-ant"), "{error}");
}

#[test]
fn a_damaged_archive_is_refused_or_keeps_what_was_whole() {
    assert!(matches!(refused(b"\x1f\x8b\x08\0garbage"), HarError::Coded { .. }));
    assert!(matches!(refused(b"\x28\xb5\x2f\xfdgarbage"), HarError::Coded { .. }));
    let packed = zstd::encode_all(recorded("mini-std").as_slice(), 3).unwrap();
    let whole = Run::of_file(&packed);
    let cut = Run::read(&packed[..packed.len() - 1]);
    let cut = cut.unwrap_or_else(|error| panic!("{}", told(&error)));
    let kept = cut.bodies.len();
    assert!(!cut.complete && (1..=11).contains(&kept));
    assert!(cut.bodies == whole.bodies[..kept]);
}

#[test]
fn a_har_without_entries_is_an_empty_recording() {
    let run = Run::of_file(br#"{"log":{"entries":[]}}"#);
    assert!(run.history.requests().is_empty() && run.history.records().is_empty());
    assert!(run.complete);
}

/// As short as a HAR with a call, a record and a result can be: each cut is an import.
fn small() -> String {
    let call = r#"{\"output\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\"}]}"#;
    let result =
        r#"{\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"o\"}]}"#;
    let post = |text: &str, more: &str| {
        format!(
            r#"{{"request":{{"method":"POST","url":"/responses",
                "postData":{{"text":"{text}"}}}}{more}}}"#
        )
    };
    let answer = format!(r#","response":{{"status":200,"content":{{"text":"{call}"}}}}"#);
    har(&[post(r#"{\"input\":\"a\"}"#, &answer), "{}".to_owned(), post(result, "")])
}

/// Offsets behind the closing brace of each entry.
fn ends(har: &str) -> Vec<usize> {
    let mut reader = capture::har::HarReader::new(har.as_bytes(), capture::har::Limits::STANDARD);
    let mut ends = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        ends.push(usize::try_from(entry.offset).unwrap() + entry.bytes.len());
    }
    ends
}

/// Imports the first bytes of a file and checks that exactly the whole entries are there.
#[track_caller]
fn cut(har: &str, whole: &Run, ends: &[usize], at: usize) {
    let kept = ends.iter().filter(|end| **end <= at).count();
    let run = match Run::read(&har.as_bytes()[..at]) {
        Ok(run) => run,
        Err(ImportError::Har { source, kept: None, .. }) => {
            assert_eq!(kept, 0, "cut at {at}: {source}");
            let expected = matches!(source, HarError::Truncated { .. } | HarError::NotHar { .. });
            assert!(expected, "cut at {at}: {source}");
            return;
        }
        Err(error) => panic!("cut at {at}: {}", told(&error)),
    };
    assert!(!run.complete, "cut at {at}");
    assert_eq!(run.history.closed().unwrap().source_records, kept as u64, "cut at {at}");
    let requests = run.history.requests().len();
    assert_eq!(requests + run.history.records().len(), kept, "cut at {at}");
    assert!(run.bodies == whole.bodies[..requests], "cut at {at}");
}

#[test]
fn a_small_file_cut_at_every_byte_keeps_its_whole_entries() {
    let har = small();
    let whole = Run::of_file(har.as_bytes());
    assert_eq!((whole.history.requests().len(), whole.history.records().len()), (2, 1));
    let ends = ends(&har);
    for at in 0..har.len() {
        cut(&har, &whole, &ends, at);
    }
}

#[test]
fn a_recorded_run_cut_at_every_fiftieth_keeps_its_whole_entries() {
    let har = String::from_utf8(recorded("codex-std")).unwrap();
    let whole = Run::of_file(har.as_bytes());
    assert_eq!(whole.history.requests().len(), 11);
    let ends = ends(&har);
    for fiftieth in 1..50 {
        cut(&har, &whole, &ends, har.len() * fiftieth / 50);
    }
}

#[test]
fn what_follows_the_har_makes_it_incomplete_and_costs_no_entry() {
    let run = Run::read((small() + "x").as_bytes());
    let run = run.unwrap_or_else(|error| panic!("{}", told(&error)));
    assert!(!run.complete);
    assert_eq!(run.history.requests().len(), 2);
}

#[test]
fn an_entry_that_is_too_deep_is_counted_wherever_it_stands() {
    let deep = "[".repeat(600) + &"]".repeat(600);
    let fine = Exchange::chat(&[r#"{"role":"user","content":"go"}"#]).json();
    for entries in [[deep.clone(), fine.clone()], [fine, deep]] {
        let run = Run::of_file(har(&entries).as_bytes());
        assert_eq!(run.history.requests().len(), 1);
        assert_eq!(run.notes, [(capture::import::NoteKind::TooLarge, 1)]);
        assert_eq!(run.history.closed().unwrap().source_records, 2);
    }
}
