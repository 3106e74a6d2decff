//! Reports for other programs, validated against the schemas that those programs publish.
//!
//! Goal: what a build server shows is what `verify` found, and it can read it. Method: recordings
//! that are green, forged, damaged and not as accepted; every file is validated, and every
//! validator is shown to refuse something.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::program::{Folder, Ran, folded, without_ids};

const JUNIT: &str = include_str!("../schemas/junit-10.xsd");
const SARIF: &str = include_str!("../schemas/sarif-schema-2.1.0.json");

/// Faults that the `JUnit` schema finds.
fn junit_faults(xml: &str) -> Vec<String> {
    let schema = uppsala::parse(JUNIT).unwrap();
    let document = match uppsala::parse(xml) {
        Ok(document) => document,
        Err(error) => return vec![error.to_string()],
    };
    let validator = uppsala::XsdValidator::from_schema(&schema).unwrap();
    validator.validate(&document).iter().map(ToString::to_string).collect()
}

/// Faults that the SARIF schema finds.
fn sarif_faults(document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SARIF).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(document).map(|error| error.to_string()).collect()
}

/// What all reports of one run say.
struct Reports {
    ran: Ran,
    junit: String,
    sarif: Value,
    markdown: String,
    folder: Folder,
}

/// Runs `verify` with every report, and validates them.
fn reports(folder: Folder, words: &[&str]) -> Reports {
    let all = [
        "verify",
        "--junit=j.xml",
        "--sarif=s.json",
        "--markdown=m.md",
        "--diff-dir=d",
        "--github",
    ];
    let ran = folder.run(&[&all, words].concat());
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    let (junit, markdown) = (read("j.xml"), read("m.md"));
    let sarif: Value = serde_json::from_str(&read("s.json")).unwrap();
    assert_eq!(junit_faults(&junit), Vec::<String>::new(), "{junit}");
    assert_eq!(sarif_faults(&sarif), Vec::<String>::new(), "{sarif}");
    Reports { ran, junit, sarif, markdown, folder }
}

impl Reports {
    fn rules(&self) -> Vec<&str> {
        let results = self.sarif["runs"][0]["results"].as_array().unwrap();
        results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect()
    }

    fn commands(&self) -> Vec<String> {
        let is_command = |line: &&str| line.trim_start().starts_with("::");
        self.ran.text().lines().filter(is_command).map(str::to_owned).collect()
    }

    fn diffs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path("d")).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn the_validators_refuse_what_is_not_valid() {
    let junit = reports(Folder::with_recording(), &["runs"]);
    for (from, to) in [
        (" failures=", " failure="),
        ("<testcase classname=", "<testcase skipped=\"1\" classname="),
        ("<testcase ", "<case "),
        ("</testsuites>", ""),
        ("<properties>", "<properties><failure/>"),
    ] {
        let broken = junit.junit.replacen(from, to, 1);
        assert_ne!(broken, junit.junit);
        assert_ne!(junit_faults(&broken), Vec::<String>::new(), "{to}");
    }
    let mut sarif = junit.sarif;
    sarif["runs"][0]["tool"]["driver"]["name"] = Value::Null;
    assert_ne!(sarif_faults(&sarif), Vec::<String>::new());
}

#[test]
fn green_reports_have_every_request_and_no_finding() {
    let reports = reports(Folder::with_recording(), &["runs"]);
    assert_eq!(reports.ran.code, 0);
    assert_snapshot!(folded(&without_ids(&reports.junit)), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="counterfold verify" tests="8" failures="0" errors="0">
      <testsuite name="tiny" tests="8" failures="0" errors="0" skipped="0">
        <properties>
          <property name="run" value="[id]"/>
          <property name="head" value="48:[id]"/>
          <property name="client" value="tiny/1.0 (test)"/>
          <property name="coverage_per_mille" value="40950"/>
        </properties>
        <testcase classname="tiny" name="request 1"/>
        <testcase classname="tiny" name="request 2"/>
        <testcase classname="tiny" name="request 3"/>
        <testcase classname="tiny" name="request 4"/>
        <testcase classname="tiny" name="request 5"/>
        <testcase classname="tiny" name="request 6"/>
        <testcase classname="tiny" name="request 7"/>
        <testcase classname="tiny" name="request 8"/>
      </testsuite>
    </testsuites>
    "#);
    assert_snapshot!(reports.markdown, @r#"
    ## counterfold verify: every request is identical

    | recording | requests | identical | diverged | unverifiable | coverage | baseline |
    |---|--:|--:|--:|--:|--:|---|
    | tiny | 8 | 8 | 0 | 0 | 4095.0 % | not asked |
    "#);
    assert_eq!(reports.rules(), Vec::<&str>::new());
    assert_eq!(reports.sarif["runs"][0]["invocations"][0]["executionSuccessful"], true);
    assert_eq!(reports.commands(), Vec::<String>::new());
    assert_eq!(reports.diffs(), Vec::<String>::new());
}

#[test]
fn a_divergence_of_the_fold_is_told_with_place_and_diff() {
    let reports = reports(Folder::with_forgeries(), &["forged/untold"]);
    assert_eq!(reports.ran.code, 1);
    assert_eq!(reports.rules(), ["counterfold/diverged"]);
    let location = &reports.sarif["runs"][0]["results"][0]["locations"][0];
    let uri = &location["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "forged/untold/FORMAT");
    assert_eq!(reports.diffs(), ["untold@2.diff"]);
    let diff = fs::read_to_string(reports.folder.path("d/untold@2.diff")).unwrap();
    assert_snapshot!(folded(&without_ids(&diff)), @r#"
    recording:  untold
    request:    2
    rung:       body-exact
    hash:       identical
    reassembly: identical
    projection: diverged
    offset:     40
    pointer:    /messages/0/content
    part:       message part 0 (chunk 3)
    expected:   "Look around.","role":"user"},{"content":[{"text
    found:      [{"text":"I look.","type":"text"},{"id":"toolu_1
    body:       sha256 [id]

    --- parts (as recorded)
    +++ fold
    @@ -2,10 +2,6 @@
       "max_tokens": 64,
       "messages": [
         {
    -      "content": "Look around.",
    -      "role": "user"
    -    },
    -    {
           "content": [
             {
               "text": "I look.",
    "#);
    assert_snapshot!(folded(&reports.commands().join("\n")), @r#"
    ::error file=forged/untold/FORMAT,title=counterfold/diverged untold@2::untold@2: projectio\
    n diverged, at byte 40, /messages/0/content
    "#);
    assert!(reports.junit.contains("<failure type=\"counterfold/diverged\" message=\""));
    assert!(reports.junit.contains("\n+++ fold\n"), "{}", reports.junit);
}

#[test]
fn the_summary_lists_findings_and_what_differs() {
    let reports = reports(Folder::with_forgeries(), &["forged/untold"]);
    assert_snapshot!(folded(&without_ids(&reports.markdown)), @r#"
    ## counterfold verify: something differs

    | recording | requests | identical | diverged | unverifiable | coverage | baseline |
    |---|--:|--:|--:|--:|--:|---|
    | untold | 8 | 7 | 1 | 0 | 4095.0 % | not asked |

    ### 1 finding

    - **untold&#64;2** (counterfold/diverged): projection diverged, at byte 40, /messages/0/co\
    ntent

    <details><summary>untold@2</summary>

    ```diff
    request:    2
    rung:       body-exact
    hash:       identical
    reassembly: identical
    projection: diverged
    offset:     40
    pointer:    /messages/0/content
    part:       message part 0 (chunk 3)
    expected:   "Look around.","role":"user"},{"content":[{"text
    found:      [{"text":"I look.","type":"text"},{"id":"toolu_1
    body:       sha256 [id]

    --- parts (as recorded)
    +++ fold
    @@ -2,10 +2,6 @@
       "max_tokens": 64,
       "messages": [
         {
    -      "content": "Look around.",
    -      "role": "user"
    -    },
    -    {
           "content": [
             {
               "text": "I look.",
    ```

    </details>
    "#);
}

#[test]
fn forged_digests_are_told_apart() {
    let digest = reports(Folder::with_forgeries(), &["forged/digest"]);
    assert_eq!(digest.ran.code, 1);
    assert_eq!(digest.rules(), ["counterfold/diverged"]);
    let diff = fs::read_to_string(digest.folder.path("d/digest@2.diff")).unwrap();
    assert!(diff.contains("\nreassembly: diverged\n"), "{diff}");
    assert!(diff.contains("\nhash:       identical\n"), "{diff}");
    let component = reports(Folder::with_forgeries(), &["forged/component", "--level", "hash"]);
    assert_eq!(component.ran.code, 1);
    let message = &component.sarif["runs"][0]["results"][0]["message"]["text"];
    assert_eq!(message, "component@2: hash diverged, first in the messages");
}

#[test]
fn damage_is_an_error_and_no_failure() {
    let folder = Folder::with_recording();
    let art = folder.path("runs/tiny/art");
    let files = fs::read_dir(&art).unwrap().map(|file| file.unwrap().path());
    let pack = files.filter(|file| file.extension() == Some("pack".as_ref())).last().unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let reports = reports(folder, &["runs"]);
    assert_eq!(reports.ran.code, 2);
    let rules = reports.rules();
    assert!(rules.contains(&"counterfold/damage"), "{rules:?}");
    assert!(rules.contains(&"counterfold/unverifiable"), "{rules:?}");
    assert!(reports.junit.contains("<error type=\"counterfold/unverifiable\""));
    assert!(reports.junit.contains("failures=\"0\""), "{}", reports.junit);
    assert!(!reports.diffs().is_empty());
    assert_eq!(reports.sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn a_recording_that_does_not_open_and_an_empty_input_are_errors() {
    let missing = reports(Folder::with_recording(), &["runs", "nowhere"]);
    assert_eq!(missing.ran.code, 2);
    assert_eq!(missing.rules(), ["counterfold/unverifiable"]);
    let empty = Folder::new();
    fs::create_dir(empty.path("runs")).unwrap();
    let allowed = reports(empty, &["runs", "--allow-empty"]);
    assert_eq!((allowed.ran.code, allowed.rules().len()), (0, 0));
    let empty = Folder::new();
    empty.write("none.har", crate::har::har(&[]).as_bytes());
    let nothing = reports(empty, &["none.har"]);
    assert_eq!((nothing.ran.code, nothing.rules().len()), (2, 1));
    assert!(nothing.junit.contains("name=\"counterfold\""), "{}", nothing.junit);
}

#[test]
fn demands_are_findings_of_their_own() {
    let rung = reports(Folder::with_forgeries(), &["forged/rung", "--min-rung", "body-exact"]);
    assert_eq!((rung.ran.code, rung.rules()), (1, vec!["counterfold/below-rung"]));
    let words =
        "<failure type=\"counterfold/below-rung\" message=\"rung lossy is below body-exact\">";
    assert!(rung.junit.contains(words), "{}", rung.junit);
    let covered = reports(Folder::with_recording(), &["runs", "--min-coverage", "1000000"]);
    assert_eq!((covered.ran.code, covered.rules()), (1, vec!["counterfold/coverage"]));
}

#[test]
fn a_baseline_that_does_not_fit_is_a_finding() {
    let folder = Folder::with_forgeries();
    assert_eq!(folder.run(&["accept", "runs", "--baseline=b.json", "--yes"]).code, 0);
    fs::rename(folder.path("runs/tiny"), folder.path("first")).unwrap();
    fs::rename(folder.path("forged/same"), folder.path("runs/tiny")).unwrap();
    let reports = reports(folder, &["runs", "--baseline=b.json"]);
    assert_eq!((reports.ran.code, reports.rules()), (1, vec!["counterfold/baseline"]));
    assert!(reports.junit.contains("name=\"baseline\""), "{}", reports.junit);
    assert!(reports.markdown.contains("| different |"), "{}", reports.markdown);
}

#[test]
fn a_recording_cannot_smuggle_in_a_command_or_markup() {
    // The name of a recording begins most lines, and the text of a divergence is its content.
    let folder = Folder::with_forgeries();
    let name = "::error file=x::##[error]a|b<i>\n";
    fs::create_dir(folder.path("evil")).unwrap();
    fs::rename(folder.path("forged/untold"), folder.path("evil").join(name)).unwrap();
    let reports = reports(folder, &["evil", "nowhere##[error]x"]);
    assert_eq!(reports.ran.code, 1);
    assert_snapshot!(folded(&reports.commands().join("\n")), @r#"
    ::error file=evil/%3A%3Aerror file=x%3A%3A##[error]a|b<i>^J/FORMAT,title=counterfold/diver\
    ged %3A%3Aerror file=x%3A%3A##[error]a|b<i>^J@2::::error file=x::##[error]a|b<i>^J@2: proj\
    ection diverged, at byte 40, /messages/0/content
    ::error file=nowhere##[error]x,title=counterfold/unverifiable nowhere##[error]x::nowhere##\
    [error]x: no such file or folder: nowhere##[error]x
    "#);
    let all = [reports.ran.text(), reports.ran.err.clone()].concat();
    for line in all.lines().filter(|line| !line.starts_with("::error file=")) {
        assert!(!line.contains("##["), "{line}");
    }
    assert!(!reports.markdown.contains("<i>"), "{}", reports.markdown);
}

#[test]
fn commands_do_not_go_together_with_json_and_a_file_that_cannot_be_written_is_undecided() {
    let folder = Folder::with_recording();
    let both = folder.run(&["verify", "runs", "--github", "--format", "json"]);
    assert_eq!((both.code, both.text().as_str()), (2, ""));
    let unwritten =
        folder.run(&["verify", "runs", "--junit", "nowhere/j.xml", "--sarif", "s.json"]);
    assert_eq!(unwritten.code, 2);
    assert!(unwritten.err.starts_with("error: "), "{}", unwritten.err);
    assert!(folder.path("s.json").exists());
}
