//! What users do wrong, and what they are told.

use insta::assert_snapshot;

use crate::har;
use crate::program::Folder;

#[test]
fn an_unknown_recording_is_undecided_and_something_like_it_is_named() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["verify", "runs/tinny"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no such file or folder: runs/tinny
    hint: did you mean runs/tiny?
    "#);
    assert_snapshot!(folder.run(&["cat", "nowhere@1"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no such file or folder: nowhere
    hint: a recording is a folder that `counterfold import har` makes, or the HAR file itself
    "#);
}

#[test]
fn a_request_that_does_not_exist_is_told_how_many_there_are() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["project", "runs/tiny@99"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no request 99: runs/tiny has 8 requests
    hint: requests are numbered from 1 to 8
    "#);
    assert_eq!(folder.run(&["cat", "runs/tiny@0"]).code, 2);
    assert_eq!(folder.run(&["diff", "runs/tiny@99", "-p", "cap-2k"]).code, 2);
}

#[test]
fn a_request_has_to_be_named_with_its_number() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["project", "runs/tiny"]).shown(), @r#"
    exit code 2
    --- err ---
    error: invalid value 'runs/tiny' for '<REC@N>': a request is named REC@N, for example runs\
    /codex@3

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.run(&["cat", "runs/tiny"]).shown(), @r#"
    exit code 2
    --- err ---
    error: neither an artifact nor a request is named: a request is named REC@N, for example r\
    uns/codex@3
    hint: or name an artifact: `counterfold cat REC ARTIFACT`
    "#);
}

#[test]
fn an_artifact_that_does_not_exist_or_several_that_do_are_told() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["cat", "runs/tiny", "xyz"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no such artifact: xyz
    hint: `counterfold show REC SEQ` names the artifacts of an event; an id is 64 lowercase he\
    x digits, of which the first few are enough
    "#);
    assert_eq!(folder.run(&["cat", "runs/tiny", ""]).code, 2);
    // Of 17 ids, two at least begin with the same digit.
    folder.write("many.har", har::texts(17).as_bytes());
    folder.run(&["import", "har", "many.har", "--into", "runs"]);
    let ambiguous = |digit: char| {
        let ran = folder.run(&["cat", "runs/many", &digit.to_string()]);
        ran.code == 2 && ran.err.contains(&format!("artifacts start with \"{digit}\"\nhint: give "))
    };
    assert!("0123456789abcdef".chars().any(ambiguous));
}

#[test]
fn an_event_that_does_not_exist_is_told() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["show", "runs/tiny", "100000"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: no event 100000: runs/tiny has "), "{}", ran.err);
}

#[test]
fn an_empty_input_set_is_undecided_unless_it_is_allowed() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("empty")).unwrap();
    assert_snapshot!(folder.run(&["verify", "empty"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no recording in empty
    hint: a recording is a folder with a file FORMAT; make one with `counterfold import har FI\
    LE --into DIR`
    "#);
    for command in [["verify"].as_slice(), &["sweep"], &["stats"], &["import", "har", "--into=x"]] {
        let ran = folder.run(&[command, &["empty"]].concat());
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.err);
        let allowed = folder.run(&[command, &["empty", "--allow-empty"]].concat());
        assert_eq!((allowed.code, allowed.err.as_str()), (0, ""), "{command:?}");
        let none = folder.run(command);
        assert_eq!(none.code, 2, "{command:?}: {}", none.err);
    }
}

#[test]
fn several_recordings_where_one_is_meant_are_told_apart() {
    let folder = Folder::with_recording();
    folder.write("b.har", har::large().as_bytes());
    folder.run(&["import", "har", "b.har", "--into", "runs"]);
    assert_snapshot!(folder.run(&["log", "runs"]).shown(), @r#"
    exit code 2
    --- err ---
    error: 2 recordings instead of one: runs
    hint: name one of them, for example runs/b
    "#);
}

#[test]
fn misspelt_words_are_usage_errors() {
    let folder = Folder::new();
    assert_snapshot!(folder.run(&["verfy"]).shown(), @r#"
    exit code 2
    --- err ---
    error: unrecognized subcommand 'verfy'

      tip: a similar subcommand exists: 'verify'

    Usage: counterfold [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    assert_eq!(folder.run(&["verify", "x", "--levle", "all"]).code, 2);
    assert_eq!(folder.run(&["verify", "x", "--level", "every"]).code, 2);
    assert_eq!(folder.run(&["-q", "-v", "stats", "x"]).code, 2);
    assert_eq!(folder.run(&[]).code, 2);
    assert_eq!(folder.run(&["--version"]).code, 0);
}
