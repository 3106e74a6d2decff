//! Goal: every known failure of storage has an answer that is tested. Method: the table of
//! failures is held against the sources; and the commands over files are run on real ones.

use std::fs;
use std::path::Path;

use crate::program::Folder;
use crate::tidy::sources;

const FAILURES: &str = include_str!("../../../docs/design/storage-failures.md");
const ROWS: usize = 40;

#[test]
fn every_known_failure_of_storage_has_a_test_or_a_reason() {
    let all: String = sources().into_iter().map(|(_, text)| text).collect();
    let rows: Vec<Vec<&str>> = FAILURES
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .map(|line| line.trim_end_matches('|').split(" | ").map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells[0].parse::<usize>().is_ok())
        .collect();
    assert_eq!(rows.len(), ROWS);
    for (cells, number) in rows.iter().zip(1..) {
        let [row, _, _, shown] = cells.as_slice() else { panic!("{cells:?}") };
        assert_eq!(*row, number.to_string());
        if let Some(test) = shown.strip_prefix('`') {
            let test = test.trim_end_matches('`');
            assert!(all.contains(&format!("fn {test}()")), "row {row}: no test {test}");
            assert!(
                test.contains(&format!("s{number:02}_")),
                "row {row}: {test} has another number"
            );
        } else {
            assert!(shown.starts_with("reason: "), "row {row}: {shown}");
        }
    }
}

fn head(folder: &Folder, recording: &str) -> String {
    let ran = folder.run(&["fsck", recording, "--full", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    ran.json()["recordings"][0]["head"].as_str().unwrap().to_owned()
}

fn segment(folder: &Folder, recording: &str) -> std::path::PathBuf {
    let log = folder.path(recording).join("log");
    fs::read_dir(log).unwrap().next().unwrap().unwrap().path()
}

/// Flips a bit in the middle of the log.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn fsck_finds_what_was_changed_and_demands_the_head_that_was_kept() {
    let folder = Folder::with_recording();
    let kept = head(&folder, "runs/tiny");
    let demand = ["fsck", "runs/tiny", "--full", "--expect-head"];
    assert_eq!(folder.run(&[&demand[..], &[&kept]].concat()).code, 0);
    let other = kept.replacen(':', "1:", 1);
    assert_eq!(folder.run(&[&demand[..], &[&other]].concat()).code, 1);
    assert_eq!(folder.run(&["fsck", "runs"]).code, 0);
    damage(&segment(&folder, "runs/tiny"));
    let ran = folder.run(&["fsck", "runs", "--full"]);
    assert_eq!(ran.code, 1);
    assert!(ran.text().contains("log is damaged at frame"), "{}", ran.shown());
    assert_eq!(folder.run(&["fsck", "nowhere"]).code, 2);
}

#[test]
fn fsck_misses_the_artifacts_of_a_pack_that_is_gone() {
    let folder = Folder::with_recording();
    let art = folder.path("runs/tiny/art");
    for entry in fs::read_dir(art).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let ran = folder.run(&["fsck", "runs", "--full"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.text().contains(", named by event "), "{}", ran.shown());
}

#[test]
fn a_repaired_recording_says_what_is_missing_wherever_it_is_read() {
    let folder = Folder::with_recording();
    damage(&segment(&folder, "runs/tiny"));
    let repair = ["repair", "runs/tiny", "--into", "repaired"];
    assert_eq!(folder.run(&repair).code, 1);
    let again = folder.run(&repair);
    assert_eq!(again.code, 2, "{}", again.shown());
    assert_eq!(folder.run(&["fsck", "repaired", "--full"]).code, 0);
    let log = folder.run(&["log", "repaired"]);
    assert_eq!(log.code, 0, "{}", log.shown());
    assert!(log.text().contains("log_gap"), "{}", log.shown());
    let verified = folder.run(&["verify", "repaired"]);
    assert_ne!(verified.code, 0);
    assert!(verified.shown().contains("a repair left a gap"), "{}", verified.shown());
}

#[test]
fn an_export_verifies_and_lines_of_json_make_the_same_recording() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["export", "runs/tiny", "--into", "exported"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(folder.run(&["verify", "exported"]).code, 0);
    let lines = folder.run(&["export", "runs/tiny", "--jsonl"]);
    assert_eq!(lines.code, 0);
    folder.write("tiny.jsonl", &lines.out);
    let back = folder.run(&["import", "jsonl", "tiny.jsonl", "--into", "back"]);
    assert_eq!(back.code, 0, "{}", back.shown());
    assert_eq!(head(&folder, "back"), head(&folder, "exported"));
    folder.write("cut.jsonl", &lines.out[..lines.out.len() / 2]);
    let cut = folder.run(&["import", "jsonl", "cut.jsonl", "--into", "cut"]);
    assert_eq!(cut.code, 2);
    assert!(cut.err.contains("the lines end early"), "{}", cut.shown());
}

#[test]
fn a_sealed_log_is_followed_to_its_end() {
    let folder = Folder::with_recording();
    let followed = folder.run(&["log", "runs/tiny", "--follow"]);
    assert_eq!(followed.out, folder.run(&["log", "runs/tiny"]).out);
    assert_eq!(followed.code, 0);
}

#[test]
fn a_collection_of_a_recording_without_waste_has_nothing_to_do() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["gc", "runs/tiny", "--yes", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(ran.json()["packs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_compacted_recording_has_its_head_and_its_artifacts() {
    let folder = Folder::with_recording();
    let kept = head(&folder, "runs/tiny");
    let ran = folder.run(&["compact", "runs/tiny", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.json()["after_bytes"].as_u64() <= ran.json()["before_bytes"].as_u64());
    assert_eq!(head(&folder, "runs/tiny"), kept);
    assert_eq!(folder.run(&["verify", "runs/tiny"]).code, 0);
    assert_eq!(folder.run(&["compact", "nowhere"]).code, 2);
}

#[test]
fn some_bytes_of_an_artifact_are_those_of_the_whole() {
    let folder = Folder::with_recording();
    let shown = folder.run(&["export", "runs/tiny", "--jsonl"]);
    let lines = shown.text();
    let line = lines.lines().find(|line| line.starts_with("{\"artifact\":")).unwrap();
    let id = &line["{\"artifact\":\"".len()..][..64];
    let whole = folder.run(&["cat", "runs/tiny", id]).out;
    for (range, expected) in [("3..9", &whole[3..9]), ("..2", &whole[..2]), ("5..", &whole[5..])] {
        assert_eq!(folder.run(&["cat", "runs/tiny", id, "--bytes", range]).out, expected);
    }
    for wrong in ["9..3", "3", "a..b"] {
        assert_eq!(folder.run(&["cat", "runs/tiny", id, "--bytes", wrong]).code, 2);
    }
}

/// Bytes of all segments of a recording; 0 before there is one.
fn log_bytes(recording: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(recording.join("log")) else { return 0 };
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
}

#[test]
fn an_import_that_is_killed_anywhere_leaves_a_log_that_can_be_read() {
    let har = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/har/codex-long.har.zst");
    let har = har.to_str().unwrap();
    let mut unfinished = 0;
    for round in 0..12 {
        let folder = Folder::new();
        let recording = folder.path("runs/codex-long");
        let mut child = folder.command(&["import", "har", har, "--into", "runs"]).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && log_bytes(&recording) == 0 {
            std::thread::yield_now();
        }
        // Further and further into the import, as far as the machine likes.
        for _ in 0..round * 200 {
            log_bytes(&recording);
        }
        // It may have ended by itself.
        drop(child.kill());
        child.wait().unwrap();
        if !recording.join("FORMAT").exists() {
            continue;
        }
        let checked = folder.run(&["fsck", "runs", "--full", "--format", "json"]);
        assert_eq!(checked.code, 0, "{}", checked.shown());
        let tail = &checked.json()["recordings"][0]["tail"];
        unfinished += u32::from(!tail.is_null());
        assert_eq!(folder.run(&["log", "runs/codex-long"]).code, 0);
    }
    assert!(unfinished > 0, "no import was killed before its end");
}
