//! SARIF 2.1.0: a result per finding.

use std::path::{Component, Path};

use serde::Serialize;

use super::super::Checked;
use super::super::finding::{Finding, Rule};
use crate::error::Outcome;
use crate::text;

#[derive(Serialize)]
struct Log<'f> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'f>; 1],
}

#[derive(Serialize)]
struct Run<'f> {
    tool: Tool,
    invocations: [Invocation; 1],
    results: Vec<Entry<'f>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<RuleEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleEntry {
    id: &'static str,
    short_description: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'f> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location<'f>; 1],
    partial_fingerprints: Fingerprints,
}

/// What makes a finding of one run the same as one of the next.
#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "counterfold/v1")]
    place: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'f> {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation<'f>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'f> {
    name: String,
    fully_qualified_name: String,
    kind: &'f str,
}

/// The file.
pub(super) fn document(checked: &Checked, findings: &[Finding<'_>]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let rule = |rule: Rule| RuleEntry {
        id: rule.id(),
        short_description: Message { text: rule.words().to_owned() },
        default_configuration: Configuration { level: "error" },
    };
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "counterfold",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: Rule::ALL.map(rule).into(),
                },
            },
            invocations: [Invocation {
                execution_successful: checked.outcome != Outcome::Undecided,
            }],
            results: findings.iter().map(|finding| result(finding, &here)).collect(),
        }],
    };
    let json = serde_json::to_string_pretty(&log).expect("strings and numbers always serialize");
    text::json(json) + "\n"
}

fn result<'f>(finding: &Finding<'_>, here: &Path) -> Entry<'f> {
    let place = finding.place();
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    Entry {
        rule_id: finding.rule.id(),
        rule_index: index.expect("the list has all rules"),
        level: "error",
        message: Message { text: format!("{place}: {}", finding.message) },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri(&finding.file, here) },
                region: Region { start_line: 1 },
            },
            logical_locations: [LogicalLocation {
                name: place.clone(),
                fully_qualified_name: place.clone(),
                kind: if finding.request.is_some() { "object" } else { "resource" },
            }],
        }],
        partial_fingerprints: Fingerprints { place: format!("{} {place}", finding.rule.id()) },
    }
}

/// A reference relative to the current folder where the file is below it, else as it is.
fn uri(file: &Path, here: &Path) -> String {
    let relative = file.strip_prefix(here).unwrap_or(file);
    let mut out = String::new();
    for component in relative.components() {
        match component {
            Component::Prefix(_) | Component::CurDir => {}
            Component::RootDir => out.push_str("file://"),
            Component::ParentDir | Component::Normal(_) => {
                let is_first = out.is_empty();
                out.push_str(if is_first { "" } else { "/" });
                encode(&component.as_os_str().to_string_lossy(), &mut out);
            }
        }
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

/// Everything but unreserved characters becomes `%XX`.
fn encode(segment: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
            continue;
        }
        let digits = [byte >> 4, byte & 15].map(|digit| HEX.get(usize::from(digit)).copied());
        out.push('%');
        out.extend(digits.into_iter().flatten().map(char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_references_relative_to_the_current_folder() {
        let of = |file: &str| uri(Path::new(file), Path::new("/home/me"));
        assert_eq!(of("./runs/a b/FORMAT"), "runs/a%20b/FORMAT");
        assert_eq!(of("/home/me/runs/\u{e9}:#"), "runs/%C3%A9%3A%23");
        assert_eq!(of("../x"), "../x");
        assert_eq!(of("/tmp/x%"), "file:///tmp/x%25");
        assert_eq!(of(""), ".");
    }
}
