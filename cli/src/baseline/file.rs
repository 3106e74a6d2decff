//! The file of a baseline: `counterfold.baseline/1`, sorted, one line per recording.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use super::Entry;
use crate::error::{Failure, Kind, file};
use crate::text;

/// Longest baseline that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;

const SCHEMA: &str = "counterfold.baseline/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "schema")]
    _schema: String,
    recordings: Vec<Entry>,
}

/// The first member alone, so that another version is told from a broken file.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The text of a baseline: a change of one recording changes one line.
pub(crate) fn text(entries: &[Entry]) -> String {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut out = format!("{{\n\"schema\": \"{SCHEMA}\",\n\"recordings\": [\n");
    for (index, entry) in sorted.iter().enumerate() {
        let line = serde_json::to_string(entry).expect("strings and numbers always serialize");
        let comma = if index + 1 < sorted.len() { "," } else { "" };
        writeln!(out, "{}{comma}", text::json(line)).expect("a string takes everything");
    }
    out.push_str("]\n}\n");
    out
}

/// Reads a baseline; its entries are sorted by name, and no name is there twice.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let failed = |error| file("read", path, &error);
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(failed)?;
    opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let words = format!("more than {FILE_BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words).hint("is it a baseline?"));
    }
    decode(&bytes).map_err(|failure| Failure {
        message: format!("{}: {}", path.display(), failure.message),
        ..failure
    })
}

fn decode(bytes: &[u8]) -> Result<Vec<Entry>, Failure> {
    let broken = |error: serde_json::Error| {
        // The message of serde_json may quote the file; its place is enough.
        let words = format!("no baseline: line {}, column {}", error.line(), error.column());
        Failure::new(Kind::Format, words).hint("`counterfold accept` writes a baseline")
    };
    let head: Head = serde_json::from_slice(bytes).map_err(broken)?;
    if head.schema != SCHEMA {
        return Err(Failure::new(Kind::Version, format!("schema is not {SCHEMA}"))
            .hint("use the version of counterfold that wrote it, or accept anew"));
    }
    let document: Document = serde_json::from_slice(bytes).map_err(broken)?;
    let mut entries = document.recordings;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let twice = entries.windows(2).any(|pair| match pair {
        [a, b] => a.name == b.name,
        _ => false,
    });
    if twice {
        return Err(Failure::new(Kind::Format, "a recording is listed twice")
            .hint("remove one of the lines, or accept anew"));
    }
    Ok(entries)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn entry(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            run: "r".to_owned(),
            head: "1:a".to_owned(),
            requests: 1,
            bodies: "b".to_owned(),
            rung: "body-exact".to_owned(),
        }
    }

    #[test]
    fn a_baseline_is_sorted_and_has_one_line_per_recording() {
        let text = text(&[entry("b\u{9b}"), entry("a")]);
        let expected = "{\n\"schema\": \"counterfold.baseline/1\",\n\"recordings\": [\n\
            {\"name\":\"a\",\"run\":\"r\",\"head\":\"1:a\",\"requests\":1,\"bodies\":\"b\",\
            \"rung\":\"body-exact\"},\n\
            {\"name\":\"b\\u009b\",\"run\":\"r\",\"head\":\"1:a\",\"requests\":1,\"bodies\":\"b\",\
            \"rung\":\"body-exact\"}\n]\n}\n";
        assert_eq!(text, expected);
        assert_eq!(decode(text.as_bytes()).unwrap(), [entry("a"), entry("b\u{9b}")]);
        assert_eq!(decode(super::text(&[]).as_bytes()).unwrap(), []);
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let kind = |text: &str| decode(text.as_bytes()).unwrap_err().kind;
        let twice = text(&[entry("a"), entry("a")]);
        assert_eq!(kind(&twice), Kind::Format);
        assert_eq!(kind(&twice.replace("baseline/1", "baseline/2")), Kind::Version);
        let one = text(&[entry("a")]);
        assert_eq!(kind(&one.replace("\"run\"", "\"walk\"")), Kind::Format);
        for length in 0..one.trim_end().len() {
            assert_eq!(kind(&one[..length]), Kind::Format, "{length}");
        }
    }
}
