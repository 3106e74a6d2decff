//! Tool output within a budget of lines and bytes (F1), strings within a budget of units (F3),
//! and the texts of failures (F4).

use alloc::string::String;
use alloc::vec::Vec;

use super::json::Json;
use super::text::Text;
use super::texts::{self, Texts};

/// Which end is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    Head,
    /// The end.
    Tail,
}

/// What was left out, counted in lines or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// So many lines.
    Lines(u64),
    /// So many bytes.
    Bytes(u64),
}

/// A text that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What is kept, without a line feed at its end.
    pub kept: String,
    /// What is not.
    pub removed: Removed,
    /// What is shown: the kept text and the marker.
    pub shown: String,
}

/// The budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Lines at most. One line feed at the end is no line.
    pub max_lines: usize,
    /// UTF-8 bytes at most.
    pub max_bytes: usize,
    /// Which end is kept.
    pub keep: Keep,
}

impl Budget {
    /// 2,000 lines, 51,200 bytes, the beginning.
    pub const DEFAULT: Self = Self { max_lines: 2_000, max_bytes: 51_200, keep: Keep::Head };
}

/// Cuts a text; `None` when it stays whole.
pub fn truncate(text: &str, budget: Budget, texts: &Texts) -> Option<Cut> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<&str> = body.split('\n').collect();
    if lines.len() <= budget.max_lines && text.len() <= budget.max_bytes {
        return None;
    }
    let (count, bytes, full) = match budget.keep {
        Keep::Head => fit(lines.iter(), budget),
        Keep::Tail => fit(lines.iter().rev(), budget),
    };
    let (kept, removed) = if count == 0 {
        let line = match budget.keep {
            Keep::Head => slice(lines.first().copied().unwrap_or_default(), budget),
            Keep::Tail => slice(lines.last().copied().unwrap_or_default(), budget),
        };
        (line, Removed::Bytes(text.len().saturating_sub(line.len()) as u64))
    } else {
        let kept = match budget.keep {
            Keep::Head => body.get(..bytes),
            Keep::Tail => body.get(body.len() - bytes..),
        };
        let removed = if full {
            Removed::Bytes(text.len().saturating_sub(bytes) as u64)
        } else {
            Removed::Lines((lines.len() - count) as u64)
        };
        (kept.unwrap_or_default(), removed)
    };
    let (number, unit) = match removed {
        Removed::Lines(0) | Removed::Bytes(0) => return None,
        Removed::Lines(number) => (number, "lines"),
        Removed::Bytes(number) => (number, "bytes"),
    };
    let values = [("removed", &texts::number(number)), ("unit", &Text::from(unit))];
    let marker = texts::fill(&texts.truncated, &values).to_utf8();
    let shown = match budget.keep {
        Keep::Head => alloc::format!("{kept}\n\n{marker}"),
        Keep::Tail => alloc::format!("{marker}\n\n{kept}"),
    };
    Some(Cut { kept: kept.into(), removed, shown })
}

/// How many lines fit, their bytes with the line feeds between them, and whether the bytes ran
/// out.
fn fit<'l>(lines: impl Iterator<Item = &'l &'l str>, budget: Budget) -> (usize, usize, bool) {
    let (mut count, mut bytes) = (0, 0);
    for line in lines.take(budget.max_lines) {
        let size = line.len() + usize::from(count > 0);
        if bytes + size > budget.max_bytes {
            return (count, bytes, true);
        }
        count += 1;
        bytes += size;
    }
    (count, bytes, false)
}

/// As many whole characters of one line as fit.
fn slice(line: &str, budget: Budget) -> &str {
    if line.len() <= budget.max_bytes {
        return line;
    }
    match budget.keep {
        Keep::Head => line.get(..line.floor_char_boundary(budget.max_bytes)).unwrap_or_default(),
        Keep::Tail => {
            let start = line.ceil_char_boundary(line.len() - budget.max_bytes);
            line.get(start..).unwrap_or_default()
        }
    }
}

/// Cuts a result that is a bare string to so many units. Any other result stays whole, however
/// large a string inside of it is.
pub fn cap_bare_string(result: &Json, max: usize) -> Json {
    match result {
        Json::String(text) if text.len() > max => Json::String(text.head(max)),
        other => other.clone(),
    }
}

/// Cuts the text of a failure to so many units, the marker among them.
pub fn cap_error(message: &Text, max: usize, texts: &Texts) -> Text {
    if message.len() <= max {
        return message.clone();
    }
    let marker = Text::from(texts.error_cut.as_str());
    let mut out = message.head(max.saturating_sub(marker.len()));
    out.push(&marker);
    out
}
