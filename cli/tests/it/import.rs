//! `import har`.

use std::io::Write as _;

use insta::assert_snapshot;

use crate::har;
use crate::program::Folder;

fn import(folder: &Folder, words: &[&str]) -> String {
    folder.run(&[&["import", "har"], words].concat()).shown()
}

#[test]
fn an_import_tells_what_became_of_each_file() {
    let folder = Folder::new();
    folder.write("tiny.har", har::tiny().as_bytes());
    assert_snapshot!(import(&folder, &["tiny.har", "--into", "runs"]), @r#"
    exit code 0
    --- out ---
    recording  entries  requests  conversations  other records   bodies  result
    runs/tiny        9         8              4              1  13.1 kB  imported

    tiny:
      1 x exchange that is not a model request kept as a record (first: entry 1)
    "#);
}

#[test]
fn the_same_file_again_is_skipped_and_another_one_of_its_name_is_refused() {
    let folder = Folder::with_recording();
    assert_snapshot!(import(&folder, &["tiny.har", "--into", "runs"]), @r#"
    exit code 0
    --- out ---
    recording  entries  requests  conversations  other records  bodies  result
    runs/tiny        -         8              -              -       -  skipped: the same file\
     is there already
    "#);
    folder.write("tiny.har", har::large().as_bytes());
    assert_snapshot!(import(&folder, &["tiny.har", "--into", "runs"]), @r#"
    exit code 2
    --- out ---
    recording  entries  requests  conversations  other records  bodies  result
    tiny.har         -         -              -              -       -  failed
    --- err ---
    error: name is taken by another recording: runs/tiny
    hint: choose another --into, or remove runs/tiny if you do not need it
    "#);
}

#[test]
fn a_folder_stands_for_its_files_and_one_failure_does_not_stop_the_others() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/a-text.har", b"hello");
    folder.write("in/b-cut.har", har::tiny().get(..9_000).unwrap().as_bytes());
    folder.write("in/c-empty.har", b"");
    folder.write("in/d-other.har", b"{\"entries\": []}");
    folder.write("in/ignored.txt", b"no HAR by its name");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(har::tiny().as_bytes()).unwrap();
    folder.write("in/e-packed.har.gz", &packed.finish().unwrap());
    assert_snapshot!(import(&folder, &["in", "nowhere.har", "--into", "runs"]), @r#"
    exit code 2
    --- out ---
    recording       entries  requests  conversations  other records   bodies  result
    in/a-text.har         -         -              -              -        -  failed
    runs/b-cut            4         3              2              1   3.5 kB  imported up to t\
    he damage
    in/c-empty.har        -         -              -              -        -  failed
    in/d-other.har        -         -              -              -        -  failed
    runs/e-packed         9         8              4              1  13.1 kB  imported
    nowhere.har           -         -              -              -        -  failed

    b-cut:
      1 x exchange that is not a model request kept as a record (first: entry 1)

    e-packed:
      1 x exchange that is not a model request kept as a record (first: entry 1)
    --- err ---
    error: in/a-text.har: byte 0: not a HAR file: a number or word instead of an object with a\
     member "log"
    hint: a HAR is a JSON object with "log": {"entries": [...]}, plain or compressed with gzip\
     or zstd; mitmproxy (`hardump`) and browsers write it
    warning: in/b-cut.har: byte 9000: file ends inside the HAR after 4 entries
    hint: the entries before that place are recorded; for the rest, get the whole file and imp\
    ort it with another --into
    error: in/c-empty.har: byte 0: not a HAR file: the file is empty
    hint: a HAR is a JSON object with "log": {"entries": [...]}, plain or compressed with gzip\
     or zstd; mitmproxy (`hardump`) and browsers write it
    error: in/d-other.har: byte 15: not a HAR file: the object has no member "log"
    hint: a HAR is a JSON object with "log": {"entries": [...]}, plain or compressed with gzip\
     or zstd; mitmproxy (`hardump`) and browsers write it
    error: no such file or folder: nowhere.har
    hint: check the path; relative paths start at the current folder
    "#);
}

#[test]
fn an_import_as_json_has_a_schema_and_numbers_entries_from_one() {
    let folder = Folder::new();
    folder.write("tiny.har", har::tiny().as_bytes());
    assert_snapshot!(import(&folder, &["tiny.har", "--into", "runs", "--format", "json"]), @r#"
    exit code 0
    --- out ---
    {
      "schema": "counterfold.import/1",
      "ok": true,
      "into": "runs",
      "files": [
        {
          "file": "tiny.har",
          "name": "tiny",
          "path": "runs/tiny",
          "skipped": false,
          "complete": true,
          "entries": 9,
          "requests": 8,
          "conversations": 4,
          "records": 1,
          "request_bytes": 13091,
          "head": "48:[id]",
          "notes": [
            {
              "what": "exchange that is not a model request kept as a record",
              "count": 1,
              "first_entry": 1
            }
          ],
          "session": null,
          "error": null,
          "error_kind": null
        }
      ]
    }
    "#);
}

#[test]
fn a_recording_of_a_file_that_was_cut_is_told_to_be_incomplete() {
    let folder = Folder::new();
    let whole = har::tiny();
    folder.write("tiny.har", whole.get(..9_000).unwrap().as_bytes());
    assert_eq!(folder.run(&["import", "har", "tiny.har", "--into", "runs"]).code, 2);
    for text in [whole.get(..9_000).unwrap(), &whole] {
        folder.write("tiny.har", text.as_bytes());
        let again = folder.run(&["import", "har", "tiny.har", "--into", "runs"]);
        assert_eq!(again.code, 2);
        let words = "error: recording of this name is incomplete: runs/tiny\nhint: runs/tiny has ";
        assert!(again.err.starts_with(words), "{}", again.err);
    }
    folder.write("other.har", whole.as_bytes());
    assert_eq!(folder.run(&["import", "har", "other.har", "--into", "runs"]).code, 0);
}
