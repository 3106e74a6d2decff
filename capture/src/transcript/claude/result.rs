//! The second copy of a result: what the client kept of an output beside what the model saw.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::transcript::json::{self, Json, Value};

/// Largest file of an output that is read, in bytes.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;

/// What the client writes into an output that it has cut itself.
const CUT: [&str; 2] = [" lines truncated] ...", " characters truncated] ..."];

/// What the second copy says.
#[derive(Debug, Default)]
pub(super) struct SecondCopy {
    /// The whole output, where the copy has more than what the model saw.
    pub(super) whole: Option<String>,
    /// The file that holds it.
    pub(super) file: Option<String>,
    /// The sub-agent whose result it is.
    pub(super) agent: Option<String>,
    /// It says more than the text does: its bytes are worth keeping.
    pub(super) more: bool,
}

/// Compares the copy with the text that the model saw.
pub(super) fn second_copy(copy: &Json<'_>, seen: &str) -> SecondCopy {
    let longer = |text: &str| text.len() > seen.len() && !CUT.iter().any(|cut| text.contains(cut));
    let mut found = SecondCopy::default();
    match &copy.value {
        Value::Null => {}
        Value::Text(text) => {
            found.more = text.as_ref() != seen;
            found.whole = Some(text.to_string()).filter(|text| longer(text));
        }
        Value::Object(_) => {
            found.more = true;
            found.agent = copy.name("agentId").map(str::to_owned);
            found.file = copy.name("persistedOutputPath").map(str::to_owned);
            let stdout = copy.str("stdout").unwrap_or_default();
            let stderr = copy.str("stderr").unwrap_or_default();
            let whole = match (stdout.is_empty(), stderr.is_empty()) {
                (_, true) => stdout.to_owned(),
                (true, false) => stderr.to_owned(),
                (false, false) => format!("{stdout}\n{stderr}"),
            };
            if found.file.is_none() {
                found.whole = Some(whole).filter(|text| longer(text));
            }
        }
        _ => found.more = true,
    }
    if found.file.is_none() {
        found.file = named_file(seen).map(str::to_owned);
    }
    found
}

/// Texts from this length on are not kept twice, in bytes.
const TWICE_BYTES_MIN: usize = 256;
/// What stands in the copy in the place of a text that the model saw as well.
const SAME: &[u8] = b"{\"same_as\":\"what the model saw\"}";

/// The JSON of the copy where long texts that are on record as what the model saw are left out;
/// `None` where there is none.
pub(super) fn without(copy: &Json<'_>, seen: &[&str]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_without(copy, seen, &mut out).then_some(out)
}

/// Writes the value; true where something was left out. How deep values are nested was bounded
/// when they were read.
fn write_without(json: &Json<'_>, seen: &[&str], out: &mut Vec<u8>) -> bool {
    let mut left = false;
    match &json.value {
        Value::Text(text) if text.len() >= TWICE_BYTES_MIN && seen.contains(&text.as_ref()) => {
            out.extend_from_slice(SAME);
            return true;
        }
        Value::List(list) => {
            json::write_list(list, out, |value, out| left |= write_without(value, seen, out));
        }
        Value::Object(members) => {
            json::write_object(members, out, |value, out| left |= write_without(value, seen, out));
        }
        _ => out.extend_from_slice(json.raw),
    }
    left
}

/// The file that a preview names.
fn named_file(seen: &str) -> Option<&str> {
    let preview = seen.strip_prefix("<persisted-output>")?;
    let (_, rest) = preview.split_once("saved to: ")?;
    rest.lines().next().map(str::trim).filter(|path| !path.is_empty())
}

/// The part of the session that has the name of this path, where there is one.
pub(super) fn part_named<'p>(parts: &'p [PathBuf], path: &str) -> Option<&'p Path> {
    let name = path.rsplit(['/', '\\']).next()?;
    let found = parts.iter().find(|part| part.file_name().is_some_and(|own| own == name));
    found.map(PathBuf::as_path)
}

/// The text of an output's file; `None` when it cannot be read or is too large.
pub(super) fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > OUTPUT_BYTES_MAX {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}
