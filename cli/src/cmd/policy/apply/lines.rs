//! Cases in, answers out, one JSON object a line, so that other programs can ask.

use std::fmt::Write as _;
use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Applied;
use crate::error::{Ended, Failure, Kind, Outcome};
use crate::ui::Ui;

/// Longest line that is read.
const LINE_BYTES_MAX: u64 = 256 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: Value,
    x: String,
    tool: Option<String>,
}

#[derive(Serialize)]
struct Answer {
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    utf16: Option<String>,
    hidden: u64,
    fidelity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(applied: &Applied<'_>, mut from: Box<dyn BufRead>, ui: &mut Ui) -> Ended {
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let failed =
            |reason: String| Failure::new(Kind::Format, format!("line {number}: {reason}"));
        let mut bounded = from.by_ref().take(LINE_BYTES_MAX + 1);
        let count =
            bounded.read_until(b'\n', &mut line).map_err(|error| failed(error.to_string()))?;
        if count == 0 {
            break;
        }
        if count as u64 > LINE_BYTES_MAX {
            return Err(failed(format!("more than {LINE_BYTES_MAX} bytes")).into());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let case: Case = serde_json::from_slice(&line)
            .map_err(|error| failed(format!("column {}: not a case", error.column())))?;
        let answer = serde_json::to_string(&answer(applied, case))
            .map_err(|error| failed(error.to_string()))?;
        ui.bytes(answer.as_bytes())?;
        ui.bytes(b"\n")?;
    }
    Ok(Outcome::Fine)
}

fn answer(applied: &Applied<'_>, case: Case) -> Answer {
    let refused = |id, reason: String| Answer {
        id,
        y: None,
        utf16: None,
        hidden: 0,
        fidelity: "refused",
        error: Some(reason),
    };
    let Some(text) = unhex(&case.x).and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return refused(case.id, "x is not the hexadecimal form of UTF-8 text".to_owned());
    };
    let shown = match applied.results(case.tool.as_deref(), &text) {
        Ok(shown) => shown,
        Err(reason) => return refused(case.id, reason),
    };
    let fidelity = if applied.policy.unknown.is_empty() { "derived" } else { "assumed" };
    let (y, utf16, hidden) = match shown {
        None => (hex(text.as_bytes()), None, 0),
        Some(shown) => {
            let halves = !shown.is_well_formed(&text);
            let units = halves.then(|| {
                let units = shown.utf16(&text);
                units.iter().fold(String::new(), |mut out, unit| {
                    write!(out, "{unit:04x}").expect("writing to a string cannot fail");
                    out
                })
            });
            (hex(shown.lossy(&text).as_bytes()), units, shown.hidden_bytes)
        }
    };
    Answer { id: case.id, y: Some(y), utf16, hidden, fidelity, error: None }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}
