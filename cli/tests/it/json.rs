//! Every JSON document begins with its schema, and is described in the reference.

use crate::program::Folder;

const REFERENCE: &str = include_str!("../../../docs/reference/json.md");

/// Commands that write JSON, with the schema of each.
const DOCUMENTS: [(&str, &[&str]); 25] = [
    ("import", &["import", "har", "tiny.har", "--into", "runs"]),
    ("verify", &["verify", "runs"]),
    ("accept", &["accept", "runs", "--baseline", "b.json", "--yes"]),
    ("selftest", &["selftest", "runs"]),
    ("project", &["project", "runs/tiny@2"]),
    ("diff", &["diff", "runs/tiny@2", "-p", "cap-2k"]),
    ("sweep", &["sweep", "runs"]),
    ("report", &["report", "runs"]),
    ("rules", &["rules", "list"]),
    ("log", &["log", "runs"]),
    ("event", &["show", "runs", "1"]),
    ("stats", &["stats", "runs"]),
    ("sessions", &["sessions", "runs/tiny"]),
    ("calls", &["calls", "runs/tiny"]),
    ("call", &["show", "runs/tiny", "call-1"]),
    ("hooks", &["hooks", "runs/tiny"]),
    ("principals", &["principals", "runs/tiny"]),
    ("import-acp", &["import", "acp", "log.jsonl", "--into", "acp"]),
    ("fsck", &["fsck", "runs", "--full"]),
    ("repair", &["repair", "runs/tiny", "--into", "repaired"]),
    ("gc", &["gc", "runs/tiny"]),
    ("compact", &["compact", "runs/tiny"]),
    ("policies", &["policy", "list"]),
    ("policy", &["policy", "show", "cap-2k"]),
    ("policy-check", &["policy", "check", "p.toml"]),
];

#[test]
fn every_document_begins_with_its_schema_and_is_described() {
    let folder = Folder::with_recording();
    folder.write("log.jsonl", br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    folder.write("p.toml", &folder.run(&["policy", "show", "cap-2k"]).out);
    for (name, words) in DOCUMENTS {
        let ran = folder.run(&[words, &["--format", "json"]].concat());
        let schema = format!("{{\n  \"schema\": \"counterfold.{name}/1\",\n");
        assert!(ran.text().starts_with(&schema), "{name}: {}", ran.shown());
        let heading = format!("\n## counterfold.{name}/1\n");
        let (_, section) = REFERENCE.split_once(&heading).unwrap_or_else(|| panic!("{heading}"));
        let section = section.split("\n## ").next().unwrap();
        for member in ran.json().as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{member}`")), "{name}: {member} is not described");
        }
    }
}

#[test]
fn no_string_of_a_document_can_steer_a_terminal() {
    let folder = Folder::with_recording();
    for (name, words) in DOCUMENTS {
        let text = folder.run(&[words, &["--format", "json"]].concat()).text();
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(steers), "{name}");
    }
}
