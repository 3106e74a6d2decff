//! Texts around an output: a form with names in braces, read from a recorded text and filled again.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ledger::wire::escape::unescape;

use crate::policy::op::TextEscape;
use crate::text::escaped;

/// Names whose texts are those of the output; all others are values that come with it.
const OUTPUTS: [&str; 3] = ["text", "head", "tail"];
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

impl<'f> Form<'f> {
    /// Takes a form apart. Braces around anything but a name stand for themselves.
    pub fn new(form: &'f str, escape: TextEscape) -> Self {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(open) = form.get(at..).and_then(|rest| rest.find('{')) {
            let open = at + open;
            at = open + 1;
            let inside = form.get(at..).unwrap_or_default();
            let length =
                inside.bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'_').count();
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

    /// Reads a text by the form; `None` when it is not of this form.
    pub fn read(&self, text: &str) -> Option<Filled> {
        let mut found = Vec::new();
        self.read_from(0, text, &mut found).then(|| {
            let values = found.into_iter().map(|(name, value)| (name.to_owned(), value));
            Filled { values: values.collect() }
        })
    }

    fn read_from(&self, index: usize, text: &str, found: &mut Vec<(&'f str, String)>) -> bool {
        match self.pieces.get(index) {
            None => text.is_empty(),
            Some(Piece::Literal(literal)) => text
                .strip_prefix(literal)
                .is_some_and(|rest| self.read_from(index + 1, rest, found)),
            Some(Piece::Name(name)) => {
                let ends = self.ends(index, name, text);
                ends.into_iter().any(|end| {
                    let (Some(inside), Some(rest)) = (text.get(..end), text.get(end..)) else {
                        return false;
                    };
                    let Some(value) = self.value(name, inside) else { return false };
                    found.push((*name, value));
                    let read = self.read_from(index + 1, rest, found);
                    if !read {
                        found.pop();
                    }
                    read
                })
            }
        }
    }

    /// Where the text of a name may end: before the next literal, or at the end.
    fn ends(&self, index: usize, name: &str, text: &str) -> Vec<usize> {
        let Some(Piece::Literal(next)) = self.pieces.get(index + 1) else {
            return Vec::from([text.len()]);
        };
        if OUTPUTS.contains(&name) {
            if self.escape == TextEscape::None {
                // An output may hold anything, so that it ends where the form can go on last.
                return text.rfind(next).into_iter().collect();
            }
            // An escaped text ends at the first quote that is none of its own.
            return string_end(text).into_iter().collect();
        }
        let line = text.find('\n').unwrap_or(text.len()).min(VALUE_BYTES_MAX);
        let places = text.match_indices(next).map(|(at, _)| at);
        places.take_while(|at| *at <= line).collect()
    }

    fn value(&self, name: &str, inside: &str) -> Option<String> {
        if !OUTPUTS.contains(&name) || self.escape == TextEscape::None {
            return Some(inside.to_owned());
        }
        Some(unescape(inside.as_bytes()).ok()?.into_owned())
    }

    /// Fills the form: values as they are, texts as the form writes them.
    pub fn fill(&self, values: &BTreeMap<String, String>, texts: &[(&str, &str)]) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Name(name) => match texts.iter().find(|(of, _)| of == name) {
                    Some((_, text)) => self.write(text, &mut out),
                    None => {
                        out.push_str(values.get(*name).map(String::as_str).unwrap_or_default());
                    }
                },
            }
        }
        out
    }

    fn write(&self, text: &str, out: &mut String) {
        match self.escape {
            TextEscape::None => out.push_str(text),
            escape => out.push_str(&escaped(escape, text)),
        }
    }
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
