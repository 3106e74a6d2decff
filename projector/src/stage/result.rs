//! What the `result` steps of a policy make of one output of a tool, in its wrapping.
//!
//! A client writes an output into a text of its own: a header with an exit code before it, JSON
//! around it. The template of a cap says how. The recorded text is read by it, which gives the
//! values that came with the output; the output itself is the one that was found beside the wire,
//! or, where there is none, what the recorded text shows of it. Then the caps are applied, and the
//! template is filled again.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::cap;
use super::template::{Filled, Form};
use crate::policy::op::{CapText, Template};

/// Stands for text that is not on record, so that nobody can show it unnoticed.
const GAP: char = '\u{1}';
/// Longest stretch that is stood in for, in bytes.
const GAP_BYTES_MAX: u64 = 256 << 20;
/// Bytes that headers count as one token, rounded up.
const TOKEN_BYTES: u64 = 4;

/// An output as another record of the run has it.
#[derive(Clone, Copy, Debug)]
pub enum Known<'t> {
    /// All of it.
    Whole(&'t str),
    /// Beginning and end.
    Ends(&'t str, &'t str),
}

/// What the shown text rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The whole output is on record, or all of it that is shown.
    Known,
    /// What the client sent is taken for all there is.
    Sent,
}

/// What the caps make of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// This text.
    Text(String, Basis),
    /// A text with stretches that are not on record.
    Gap,
    /// The recorded text is not of the form that the policy describes.
    Unread,
}

/// True when a cap describes more of a text than the cut: then it is for this module.
pub fn is_wrapped(cap: &CapText) -> bool {
    cap.template.is_some() || !cap.header.is_empty()
}

/// Applies the caps, in order, to the output that `sent` shows.
pub fn make(caps: &[&CapText], sent: &str, known: Option<Known<'_>>) -> Made {
    let template = caps.iter().rev().find_map(|cap| cap.template.as_ref());
    let Some(shown) = read(caps, template, sent) else { return Made::Unread };
    let (output, basis) = match (known, &shown.body) {
        (Some(Known::Whole(whole)), body) if body.may_be_of(whole) => {
            (whole.to_owned(), Basis::Known)
        }
        (Some(Known::Whole(_)), _) => return Made::Unread,
        (_, Body::Whole(text)) => {
            let same = matches!(known, Some(Known::Ends(head, tail))
                if text.starts_with(head) || text.ends_with(tail));
            if known.is_some() && !same {
                return Made::Unread;
            }
            (text.clone(), Basis::Sent)
        }
        (Some(Known::Ends(head, tail)), Body::Cut(cut)) => {
            let head = longer(head, &cut.head, str::starts_with);
            let tail = longer(tail, &cut.tail, str::ends_with);
            match head.zip(tail).and_then(|(head, tail)| cut.spread(head, tail)) {
                Some(text) => (text, Basis::Known),
                None => return Made::Unread,
            }
        }
        (None, Body::Cut(cut)) => match cut.spread(&cut.head, &cut.tail) {
            Some(text) => (text, Basis::Sent),
            None => return Made::Unread,
        },
    };
    let made = apply(caps, template, &shown.values, &output);
    if made.contains(GAP) && !sent.contains(GAP) {
        return Made::Gap;
    }
    Made::Text(made, basis)
}

/// The known text, where it agrees with the shown one and says more.
fn longer<'t>(
    known: &'t str,
    shown: &'t str,
    holds: impl Fn(&'t str, &'t str) -> bool,
) -> Option<&'t str> {
    if holds(known, shown) {
        return Some(known);
    }
    holds(shown, known).then_some(shown)
}

/// A recorded text, read by the forms of a policy.
struct ShownText {
    values: BTreeMap<String, String>,
    body: Body,
}

/// What it shows of the output.
enum Body {
    Whole(String),
    Cut(Ends),
}

/// Both ends, and what the text says of what is between them.
#[derive(Debug)]
struct Ends {
    head: String,
    tail: String,
    /// Code points that are gone, as the marker counts.
    hidden_chars: u64,
    /// Code points that an earlier cap put in the place of what it hid.
    marker_chars: u64,
    /// Bytes that an earlier cap hid.
    hidden_before: u64,
    /// Of the whole output, where the header says it.
    tokens: Option<u64>,
    lines: Option<u64>,
}

impl Body {
    /// False when `whole` cannot be what is shown in part.
    fn may_be_of(&self, whole: &str) -> bool {
        match self {
            Self::Whole(text) => text == whole,
            Self::Cut(ends) => whole.starts_with(&ends.head) && whole.ends_with(&ends.tail),
        }
    }
}

impl Ends {
    /// A text of the right size with these ends; `None` where what is told of it does not add up.
    fn spread(&self, head: &str, tail: &str) -> Option<String> {
        let chars = |text: &str| text.chars().count() as u64;
        let cut =
            self.hidden_chars.checked_add(chars(&self.head))?.checked_add(chars(&self.tail))?;
        let total = cut.checked_sub(self.marker_chars)?.checked_add(self.hidden_before)?;
        let gap = total.checked_sub(chars(head))?.checked_sub(chars(tail))?;
        if gap > GAP_BYTES_MAX {
            return None;
        }
        // What is not on record counts as one byte a character, unless the text says otherwise.
        let bytes = (head.len() + tail.len()) as u64 + gap;
        if self.tokens.is_some_and(|tokens| tokens != bytes.div_ceil(TOKEN_BYTES)) {
            return None;
        }
        let feeds = match self.lines {
            None => 0,
            Some(lines) => {
                let shown = head.matches('\n').count() + tail.matches('\n').count();
                let ended = u64::from(!tail.is_empty() && !tail.ends_with('\n'));
                lines.checked_sub(shown as u64)?.checked_sub(ended)?
            }
        };
        let plain = gap.checked_sub(feeds)?;
        // Line feeds in the middle, so that what stands beside the ends is no text.
        let (before, feeds) = (usize::try_from(plain / 2).ok()?, usize::try_from(feeds).ok()?);
        let behind = usize::try_from(plain).ok()? - before;
        if gap > 0 && (before == 0 || behind == 0) {
            return None;
        }
        let mut out = head.to_owned();
        out.extend(core::iter::repeat_n(GAP, before));
        out.extend(core::iter::repeat_n('\n', feeds));
        out.extend(core::iter::repeat_n(GAP, behind));
        out.push_str(tail);
        Some(out)
    }
}

fn read(caps: &[&CapText], template: Option<&Template>, sent: &str) -> Option<ShownText> {
    let Some(template) = template else {
        return Some(ShownText { values: BTreeMap::new(), body: body(caps, sent) });
    };
    let by = |form: &str| Form::new(form, template.escape).read(sent);
    let whole = by(&template.whole);
    let split = template.cut.contains("{head}");
    if split && let Some(mut filled) = by(&template.cut) {
        let (head, tail) = (filled.take("head")?, filled.take("tail").unwrap_or_default());
        let hidden_chars = number(&filled.take("n")?)?;
        let ends = Ends {
            head,
            tail,
            hidden_chars,
            marker_chars: 0,
            hidden_before: 0,
            tokens: None,
            lines: None,
        };
        return Some(ShownText { values: filled.values, body: Body::Cut(ends) });
    }
    let mut filled: Filled = whole.or_else(|| by(&template.cut))?;
    let text = filled.take("text")?;
    let body = if split { Body::Whole(text) } else { body(caps, &text) };
    Some(ShownText { values: filled.values, body })
}

/// Finds out whether the caps have cut a text, and where.
fn body(caps: &[&CapText], text: &str) -> Body {
    caps.iter()
        .rev()
        .find_map(|cap| ends(caps, cap, text))
        .map_or_else(|| Body::Whole(text.to_owned()), Body::Cut)
}

/// A text that begins with the cap's header, where it has one, and has its marker.
fn ends(caps: &[&CapText], cap: &CapText, text: &str) -> Option<Ends> {
    let before: Vec<&CapText> =
        caps.iter().take_while(|it| !core::ptr::eq(**it, cap)).copied().collect();
    let (mut tokens, mut lines, mut rest) = (None, None, text);
    let (mut hidden_before, mut marker_chars) = (0, 0);
    if !cap.header.is_empty() {
        let (told, length) = header(&cap.header, text, &before)?;
        rest = text.get(length..)?;
        (tokens, lines) = (told.tokens, told.lines);
        if let Some((hidden, chars)) = told.before {
            (hidden_before, marker_chars) = (hidden, chars);
        }
    }
    let (open, close) = cap.marker.split_once("{n}")?;
    if open.is_empty() && close.is_empty() {
        return None;
    }
    // Of several places that look like the marker, the one nearest to the middle.
    let places = rest.match_indices(open).filter_map(|(at, _)| {
        let behind = rest.get(at + open.len()..)?;
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let hidden = number(behind.get(..digits)?)?;
        let tail = behind.get(digits..)?.strip_prefix(close)?;
        Some((at, hidden, tail))
    });
    let (at, hidden_chars, tail) = places.min_by_key(|(at, _, tail)| at.abs_diff(tail.len()))?;
    let head = rest.get(..at)?.to_owned();
    let tail = tail.to_owned();
    Some(Ends { head, tail, hidden_chars, marker_chars, hidden_before, tokens, lines })
}

/// What a header says.
#[derive(Default)]
struct Told {
    tokens: Option<u64>,
    lines: Option<u64>,
    /// Bytes that an earlier cap hid, and the length of its marker in code points.
    before: Option<(u64, u64)>,
}

/// Reads a header and returns its length.
fn header(form: &str, text: &str, before: &[&CapText]) -> Option<(Told, usize)> {
    let mut told = Told::default();
    let mut rest = text;
    for line in form.split_inclusive('\n') {
        let line_told = match read_line(line, rest) {
            Some((values, length)) => {
                rest = rest.get(length..)?;
                values
            }
            None if line.contains("{total_lines}") => {
                let (marker, hidden) = before.iter().rev().find_map(|cap| {
                    let marker = cap.marker.trim_matches('\n');
                    let (values, length) = read_line(&format!("{marker}\n"), rest)?;
                    let hidden = values.get("n").copied()?;
                    rest = rest.get(length..)?;
                    Some((cap.marker.replace("{n}", &hidden.to_string()), hidden))
                })?;
                told.before = Some((hidden, marker.chars().count() as u64));
                continue;
            }
            None => return None,
        };
        told.tokens = line_told.get("total_tokens").copied().or(told.tokens);
        told.lines = line_told.get("total_lines").copied().or(told.lines);
    }
    Some((told, text.len() - rest.len()))
}

/// Reads one line by a form whose names stand for numbers.
fn read_line(form: &str, text: &str) -> Option<(BTreeMap<String, u64>, usize)> {
    let mut values = BTreeMap::new();
    let (mut form, mut rest) = (form, text);
    while let Some((literal, more)) = form.split_once('{') {
        rest = rest.strip_prefix(literal)?;
        let (name, behind) = more.split_once('}')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        values.insert(name.to_owned(), number(rest.get(..digits)?)?);
        (rest, form) = (rest.get(digits..)?, behind);
    }
    rest = rest.strip_prefix(form)?;
    Some((values, text.len() - rest.len()))
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok()
}

/// Applies the caps and fills the template.
fn apply(
    caps: &[&CapText],
    template: Option<&Template>,
    values: &BTreeMap<String, String>,
    output: &str,
) -> String {
    let mut text = output.to_owned();
    let mut ends = None;
    let mut before: Option<String> = None;
    for cap in caps {
        let bare = CapText { header: String::new(), template: None, ..(*cap).clone() };
        let Some(cut) = cap::cut(&bare, &text) else { continue };
        let counted = CapText { marker: "{n}".to_owned(), ..bare.clone() };
        let hidden = cap::cut(&counted, &text).map(|cut| cut.marker).unwrap_or_default();
        let head = text.get(cut.head.clone()).unwrap_or_default().to_owned();
        let tail = text.get(cut.tail.clone()).unwrap_or_default().to_owned();
        let header = filled_header(&cap.header, output, &text, before.as_deref());
        before = Some(cut.marker.trim_matches('\n').to_owned());
        text = [header.as_str(), &head, &cut.marker, &tail].concat();
        ends = Some((head, tail, hidden));
    }
    let Some(template) = template else { return text };
    let mut values = values.clone();
    let form = match ends {
        Some((head, tail, hidden)) => {
            values.insert("n".to_owned(), hidden);
            let form = Form::new(&template.cut, template.escape);
            return form.fill(&values, &[("text", &text), ("head", &head), ("tail", &tail)]);
        }
        None => Form::new(&template.whole, template.escape),
    };
    form.fill(&values, &[("text", &text)])
}

/// The header over a text that is cut. A line of it that counts lines gives way to the marker of
/// an earlier cut: then nobody knows how many there were.
fn filled_header(form: &str, output: &str, text: &str, before: Option<&str>) -> String {
    let tokens = (output.len() as u64).div_ceil(TOKEN_BYTES).to_string();
    let mut out = String::new();
    for line in form.split_inclusive('\n') {
        match before {
            Some(marker) if line.contains("{total_lines}") => {
                out.push_str(marker);
                out.push('\n');
            }
            _ => {
                let lines = crate::text::size(crate::policy::Unit::Lines, text).to_string();
                let line = line.replace("{total_tokens}", &tokens);
                out.push_str(&line.replace("{total_lines}", &lines));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
