//! `diff` and `project`.

use insta::assert_snapshot;

use crate::program::{Folder, without_ids};

#[test]
fn a_diff_shows_what_a_cap_hides() {
    let folder = Folder::with_recording();
    let words = ["diff", "runs/tiny@2", "--policy", "cap-2k", "--context", "1"];
    assert_snapshot!(folder.run(&words).shown(), @r#"
    exit code 1
    --- out ---
    recorded: exact, 3.2 kB, about 800 tokens (b4ceil)
    cap-2k: assumed (the output as sent is taken for the whole output), 2.5 kB, about 621 toke\
    ns (b4ceil)
      730 B hidden, 1 result capped

    message  role  what         tool  how     before   after  hidden  range       tokens
          3  user  tool output  bash  capped  2.7 kB  2.0 kB   730 B  1000..1730    -179

    message 3 (user): tool output of bash capped, 2.7 kB -> 2.0 kB
    --- recorded
    +++ cap-2k
    @@ -22,19 +22,5 @@
     line 021 of the output of a tool, as it came
    -line 022 of the output of a tool, as it came
    -line 023 of the output of a tool, as it came
    -line 024 of the output of a tool, as it came
    -    ... 11 more lines, 495 B (-v shows them) ...
    -line 036 of the output of a tool, as it came
    -line 037 of the output of a tool, as it came
    -line 038 of the output of a tool, as it came
    +line 022 of the output of
    +[... 730 bytes hidden ...]
    +s it came
     line 039 of the output of a tool, as it came
    "#);
}

#[test]
fn a_diff_between_two_policies_goes_from_the_first_to_the_second() {
    let folder = Folder::with_recording();
    folder.write("none.toml", NOTHING_KEPT.as_bytes());
    let words = ["diff", "runs/tiny@4", "-p", "none.toml", "-p", "cap-16k", "--format", "json"];
    let ran = folder.run(&words);
    assert_eq!(ran.code, 1);
    let json = ran.json();
    let sides = [&json["left"], &json["right"]];
    assert_eq!(sides.map(|side| side["policy"].as_str().unwrap()), ["none", "cap-16k"]);
    assert_eq!(sides.map(|side| side["fidelity"].as_str().unwrap()), ["derived", "assumed"]);
    assert_eq!(sides.map(|side| side["account"]["hidden_bytes"].as_u64().unwrap()), [2730, 0]);
    let shown = serde_json::to_string_pretty(&json["changes"]).unwrap();
    assert_snapshot!(without_ids(&shown), @r#"
    [
      {
        "artifact": "[id]",
        "hidden": [],
        "hidden_bytes": 0,
        "how": "restored",
        "left": {
          "bytes": 6,
          "tokens": 2
        },
        "message": 4,
        "part": 16,
        "right": {
          "bytes": 2730,
          "tokens": 701
        },
        "role": "tool",
        "slot": 0,
        "tool": "bash",
        "what": "tool output"
      }
    ]
    "#);
}

const NOTHING_KEPT: &str = "\
name = \"none\"
estimator = \"b4ceil\"
[[step]]
op = \"clear_results\"
keep = 0
replacement = \"[gone]\"
sticky = false
";

#[test]
fn a_policy_that_changes_nothing_is_the_same() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["diff", "runs/tiny@1", "--policy", "cap-2k"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.text().ends_with("\nthe request is the same\n"), "{}", ran.text());
}

#[test]
fn left_out_messages_are_listed() {
    let folder = Folder::with_recording();
    folder.write("window.toml", WINDOW.as_bytes());
    let ran = folder.run(&["diff", "runs/tiny@4", "-p", "window.toml", "--format", "json"]);
    assert_eq!(ran.code, 1);
    let json = ran.json();
    let changes = json["changes"].as_array().unwrap();
    let found: Vec<_> = changes.iter().map(|c| (&c["message"], &c["how"])).collect();
    assert_eq!(found, [(&3.into(), &"left out".into())]);
    assert_eq!(json["right"]["account"]["dropped_messages"], 1);
}

const WINDOW: &str = "\
name = \"window\"
estimator = \"b4ceil\"
[[step]]
op = \"window\"
protect_head = 2
keep = 1
boundary = \"any\"
";

#[test]
fn the_recorded_projection_is_the_body_and_the_account_goes_to_standard_error() {
    let folder = Folder::with_recording();
    let projected = folder.run(&["project", "runs/tiny@2"]);
    assert_eq!(projected.out, folder.run(&["cat", "runs/tiny@2"]).out);
    assert!(projected.err.starts_with("request 2 under recorded: exact\n"), "{}", projected.err);
    let quiet = folder.run(&["project", "runs/tiny@2", "--quiet"]);
    assert_eq!((quiet.out, quiet.err.as_str()), (projected.out, ""));
}

#[test]
fn a_projection_can_be_written_to_a_file_and_explained() {
    let folder = Folder::with_recording();
    let words = ["project", "runs/tiny@2", "-p", "cap-2k", "--out", "b.json", "--format", "json"];
    let ran = folder.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let body = std::fs::read(folder.path("b.json")).unwrap();
    let json = ran.json();
    assert_eq!(json["schema"], "counterfold.project/1");
    assert_eq!(json["account"]["body_bytes"], body.len());
    assert_eq!(json["fidelity"], "assumed");
    let segments = json["segments"].as_array().unwrap();
    let inserted = segments.iter().find(|segment| segment["kind"] == "inserted").unwrap();
    assert_eq!(inserted["step"], 0);
    let text = inserted["text"].as_str().unwrap();
    assert!(text.contains(" bytes hidden ...]"), "{text}");
    let whole: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let shown = whole["messages"][2]["content"][0]["content"].as_str().unwrap();
    assert!(shown.contains(text), "{shown}");
}

#[test]
fn the_recorded_policy_has_no_effective_view() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["project", "runs/tiny@2", "--view", "effective"]);
    assert_snapshot!(ran.shown(), @r#"
    exit code 2
    --- err ---
    error: no effective view: edits made by the provider are not recorded
    hint: a policy with steps at "server" says which edits the provider makes
    "#);
}

#[test]
fn texts_can_stand_beside_each_other() {
    let folder = Folder::with_recording();
    let words = ["diff", "runs/tiny@2", "--policy", "cap-2k"];
    let unified = folder.run(&words).text();
    let beside = folder.run(&[&words[..], &["--side-by-side"]].concat());
    assert_eq!(beside.code, 1);
    let text = beside.text();
    // The same hunks, with both sides on a line.
    let hunks = |text: &str| text.lines().filter(|line| line.starts_with("@@")).count();
    assert!(hunks(&text) > 0 && hunks(&text) == hunks(&unified), "{text}");
    assert!(text.lines().any(|line| line.contains(" | ") || line.contains(" < ")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 170), "{text}");
}

/// Both ends of a terminal.
#[cfg(target_os = "linux")]
fn terminal() -> (std::fs::File, std::fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = std::fs::File::options().read(true).write(true).open(name).unwrap();
    (master.into(), slave)
}

#[test]
#[cfg(target_os = "linux")]
fn a_pager_gets_what_goes_to_a_terminal_and_nothing_else_does() {
    use std::io::Read as _;
    let folder = Folder::with_recording();
    let words = ["diff", "runs/tiny@2", "-p", "cap-2k", "-y"];
    // What the program writes to a terminal, and to its pager.
    let run = |more: &[&str], pager: &str| {
        let (mut master, slave) = terminal();
        let _left = std::fs::remove_file(folder.path("paged"));
        let mut command = folder.command(&[&words[..], more].concat());
        let code = command.env("PAGER", pager).stdout(slave).status().unwrap().code().unwrap();
        drop(command);
        let mut shown = vec![0; 65536];
        // An ended terminal is an error once it is empty.
        let length = master.read(&mut shown).unwrap_or(0);
        let shown = String::from_utf8_lossy(&shown[..length]).into_owned();
        (code, shown, std::fs::read_to_string(folder.path("paged")).unwrap_or_default())
    };
    let (code, shown, paged) = run(&[], "cat > paged");
    assert_eq!((code, shown.as_str()), (1, ""));
    // The columns of a terminal of this width cut the marker.
    assert!(paged.contains("[... 730 bytes hid") && paged.contains('\u{1b}'), "{paged}");
    for (more, pager) in [(&["--no-pager"][..], "cat > paged"), (&[], ""), (&[], "cat")] {
        let (code, shown, paged) = run(more, pager);
        assert_eq!((code, paged.as_str()), (1, ""), "{pager}");
        assert!(shown.contains("730 B hidden"), "{pager}: {shown}");
    }
    // A pager that has seen enough is no failure.
    let seen = run(&[], "true").0;
    assert!(seen == 0 || seen == 1, "{seen}");
    // A pipe has none, and neither has JSON.
    let piped = folder.run(&words);
    assert!(piped.text().contains("730 B hidden"));
    let (_, shown, paged) = run(&["--format", "json"], "cat > paged");
    assert!(shown.contains("counterfold.diff/1") && paged.is_empty());
}
