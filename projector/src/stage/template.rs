//! Texts around an output: a form with names in braces, read from a recorded text.
//!
//! Writing is the business of [`crate::text`]; this is the way back.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ledger::wire::escape::unescape;

use crate::policy::op::TextEscape;

/// Names whose texts are those of the output; all others are values that come with it.
const OUTPUTS: [&str; 4] = ["text", "head", "tail", "preview"];
/// Names that stand for numbers, as markers count.
const NUMBERS: [&str; 12] = [
    "n",
    "total",
    "limit",
    "head_size",
    "tail_size",
    "total_bytes",
    "total_chars",
    "total_lines",
    "total_tokens",
    "hidden_bytes",
    "hidden_chars",
    "hidden_lines",
];
/// The name of a text that may have several lines.
const HINT: &str = "hint";
/// Longest value that comes with an output, in bytes.
const VALUE_BYTES_MAX: usize = 4096;

/// A form, in its pieces.
#[derive(Clone, Debug)]
pub struct Form<'f> {
    pieces: Vec<Piece<'f>>,
    escape: TextEscape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'f> {
    Literal(&'f str),
    Name(&'f str),
}

/// What stood in the places of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// By name; texts of the output as they were before they were written.
    pub values: BTreeMap<String, String>,
}

impl Filled {
    /// Takes one of them out.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }
}

/// Where a form stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins and ends, in bytes.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// What stands in it.
    pub filled: Filled,
}

/// A name without the way it is written.
fn bare(name: &str) -> &str {
    name.strip_suffix(":,").unwrap_or(name)
}

fn is_number(name: &str) -> bool {
    NUMBERS.contains(&bare(name))
}

impl<'f> Form<'f> {
    /// Takes a form apart. Braces around anything but a name stand for themselves.
    pub fn new(form: &'f str, escape: TextEscape) -> Self {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(open) = form.get(at..).and_then(|rest| rest.find('{')) {
            let open = at + open;
            at = open + 1;
            let inside = form.get(at..).unwrap_or_default();
            let part = |b: &u8| b.is_ascii_lowercase() || b"_:,".contains(b);
            let length = inside.bytes().take_while(part).count();
            if length == 0 || !inside.get(length..).is_some_and(|rest| rest.starts_with('}')) {
                continue;
            }
            if open > start {
                pieces.push(Piece::Literal(form.get(start..open).unwrap_or_default()));
            }
            pieces.push(Piece::Name(inside.get(..length).unwrap_or_default()));
            at += length + 1;
            start = at;
        }
        if let Some(rest) = form.get(start..).filter(|rest| !rest.is_empty()) {
            pieces.push(Piece::Literal(rest));
        }
        Self { pieces, escape }
    }

    /// True when it has a name that stands for a number.
    pub fn counts(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Name(name) if is_number(name)))
    }

    /// True when it has this name.
    pub fn has(&self, name: &str) -> bool {
        self.pieces.contains(&Piece::Name(name))
    }

    /// Reads a text by the form; `None` when it is not of this form.
    pub fn read(&self, text: &str) -> Option<Filled> {
        self.at(text, 0).find(|place| place.end == text.len()).map(|place| place.filled)
    }

    /// Reads the beginning of a text by the form.
    pub fn read_start(&self, text: &str) -> Option<Place> {
        self.at(text, 0).next()
    }

    /// Every place of a text that is of the form; a form that begins with a name has none.
    pub fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Place> + use<'t, 'f> {
        let first = match self.pieces.first() {
            Some(Piece::Literal(first)) => Some(*first),
            _ => None,
        };
        let starts = first.into_iter().flat_map(|first| text.match_indices(first));
        starts.filter_map(|(start, _)| self.at(text, start).next())
    }

    /// The ways to read the form from a place on.
    fn at<'t>(&'t self, text: &'t str, start: usize) -> impl Iterator<Item = Place> + use<'t, 'f> {
        let mut ends = Vec::new();
        self.read_from(0, text, start, &mut Vec::new(), &mut ends);
        ends.into_iter().map(move |(end, filled)| Place { start, end, filled })
    }

    fn read_from(
        &self,
        index: usize,
        text: &str,
        at: usize,
        found: &mut Vec<(&'f str, String)>,
        out: &mut Vec<(usize, Filled)>,
    ) {
        let rest = text.get(at..).unwrap_or_default();
        match self.pieces.get(index) {
            None => {
                let values = found.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
                out.push((at, Filled { values: values.collect() }));
            }
            Some(Piece::Literal(literal)) => {
                if rest.starts_with(literal) {
                    self.read_from(index + 1, text, at + literal.len(), found, out);
                }
            }
            Some(Piece::Name(name)) => {
                for end in self.ends(index, name, rest) {
                    let Some(value) = rest.get(..end).and_then(|it| self.value(name, it)) else {
                        continue;
                    };
                    found.push((bare(name), value));
                    self.read_from(index + 1, text, at + end, found, out);
                    found.pop();
                    if !out.is_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// Where the text of a name may end: before the next literal, or at the end.
    fn ends(&self, index: usize, name: &str, text: &str) -> Vec<usize> {
        if is_number(name) {
            let grouped = name != bare(name);
            return number_end(text, grouped).into_iter().collect();
        }
        let is_output = OUTPUTS.contains(&name);
        let line = match text.find('\n') {
            Some(end) if name != HINT && !is_output => end,
            _ => text.len(),
        };
        let Some(Piece::Literal(next)) = self.pieces.get(index + 1) else {
            return Vec::from([line]);
        };
        if is_output {
            if self.escape == TextEscape::None {
                // An output may hold anything, so that it ends where the form can go on last.
                return text.rfind(next).into_iter().collect();
            }
            // An escaped text ends at the first quote that is none of its own.
            return string_end(text).into_iter().collect();
        }
        let places = text.match_indices(next).map(|(at, _)| at);
        places.take_while(|at| *at <= line.min(VALUE_BYTES_MAX)).collect()
    }

    fn value(&self, name: &str, inside: &str) -> Option<String> {
        if !OUTPUTS.contains(&name) || self.escape == TextEscape::None {
            return Some(inside.to_owned());
        }
        Some(unescape(inside.as_bytes()).ok()?.into_owned())
    }
}

/// Where a number ends; one that is grouped may have its thousands apart.
fn number_end(text: &str, grouped: bool) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    while grouped && end > 0 {
        let group = text.get(end..).and_then(|rest| rest.strip_prefix(',')).map(digits);
        match group {
            Some(3) => end += 4,
            _ => break,
        }
    }
    (end > 0).then_some(end)
}

/// Where the inside of a JSON string ends.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests;
