//! Reads a recorded text by the forms of a policy: the values that came with an output, and what
//! is shown of it.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::spread::Ends;
use crate::policy::op::{CapText, Template, TextEscape};
use crate::policy::{Count, Op, Shape, Unit};
use crate::stage::template::{Filled, Form};

/// A recorded text, read.
pub(super) struct ShownText {
    pub(super) values: BTreeMap<String, String>,
    pub(super) body: Body,
}

/// What it shows of the output.
pub(super) enum Body {
    Whole(String),
    Cut(Ends),
    /// Nothing that could be told from the words around it.
    Gone,
}

/// The words of a step.
struct Words<'o> {
    header: &'o str,
    markers: Vec<(&'o str, bool)>,
    shape: Shape,
    /// Stands where a line at either end was cut.
    line_marker: &'o str,
    /// Stands where nothing is left.
    empty: &'o str,
}

impl<'o> Words<'o> {
    /// Markers come with whether `{n}` counts characters, or units that are taken for them.
    fn of(op: &'o Op) -> Option<Self> {
        let words = match op {
            Op::CapText(cap) => {
                let mut markers = Vec::from([(cap.marker.as_str(), counts_chars(cap, cap.unit))]);
                if let Some(other) = &cap.ceiling {
                    let counts = matches!(
                        other.marker_count,
                        Count::RemovedBytes | Count::RemovedChars | Count::RemovedUtf16
                    );
                    markers.push((&other.marker, counts));
                }
                Self { header: &cap.header, markers, shape: cap.shape, line_marker: "", empty: "" }
            }
            Op::CapLines(cap) => Self {
                header: &cap.header,
                markers: Vec::from([(cap.marker.as_str(), false)]),
                shape: cap.shape,
                line_marker: cap.shared.as_ref().map_or("", |shared| &shared.line_marker),
                empty: &cap.empty,
            },
            _ => return None,
        };
        Some(words)
    }
}

fn counts_chars(cap: &CapText, unit: Unit) -> bool {
    match cap.marker_count {
        Count::RemovedUnits | Count::NominalUnits | Count::FirstLayout => {
            matches!(unit, Unit::Bytes | Unit::Chars | Unit::Utf16)
        }
        Count::RemovedBytes | Count::RemovedChars | Count::RemovedUtf16 => true,
        Count::RemovedLines | Count::NominalTokens => false,
    }
}

/// True when the words of a step have a number.
pub(super) fn counts(op: &Op) -> bool {
    let counts = |form: &str| Form::new(form, TextEscape::None).counts();
    let template = match op {
        Op::CapText(cap) => cap.template.as_ref().is_some_and(|it| counts(&it.cut)),
        _ => false,
    };
    let words = Words::of(op);
    template
        || words.is_some_and(|words| {
            counts(words.header) || words.markers.iter().any(|(marker, _)| counts(marker))
        })
}

/// Reads a text by the forms of some steps.
pub(super) fn read(steps: &[&Op], sent: &str) -> Option<ShownText> {
    let template = steps.iter().rev().find_map(|op| match op {
        Op::CapText(cap) => cap.template.as_ref(),
        _ => None,
    });
    let Some(template) = template else {
        let (body, values) = body(steps, sent);
        return Some(ShownText { values, body });
    };
    let by = |form: &str| Form::new(form, template.escape).read(sent);
    let split = template.cut.contains("{head}") || template.cut.contains("{tail}");
    if split && let Some(filled) = by(&template.cut) {
        return split_body(filled);
    }
    let mut filled = whole(template, sent)?;
    let text = filled.take("text")?;
    let (body, more) =
        if split { (Body::Whole(text), BTreeMap::new()) } else { body(steps, &text) };
    filled.values.extend(more);
    Some(ShownText { values: filled.values, body })
}

fn whole(template: &Template, sent: &str) -> Option<Filled> {
    let by = |form: &str| Form::new(form, template.escape).read(sent);
    by(&template.whole).or_else(|| by(&template.cut))
}

/// A cut output whose two ends stand apart.
fn split_body(mut filled: Filled) -> Option<ShownText> {
    let head = filled.take("head").unwrap_or_default();
    let tail = filled.take("tail").unwrap_or_default();
    let hidden_chars = match filled.take("n") {
        Some(n) => Some(number(&n)?),
        None => None,
    };
    let ends = Ends { head, tail, hidden_chars, ..Ends::default() };
    Some(ShownText { values: filled.values, body: Body::Cut(ends) })
}

/// Finds out whether the steps have cut a text, and where.
fn body(steps: &[&Op], text: &str) -> (Body, BTreeMap<String, String>) {
    let all = (0..steps.len()).rev();
    let found = all.filter_map(|index| {
        let (before, op) = (steps.get(..index)?, steps.get(index)?);
        Words::of(op)?.find(before, text)
    });
    let mut found = found;
    found.next().unwrap_or_else(|| (Body::Whole(text.to_owned()), BTreeMap::new()))
}

impl Words<'_> {
    /// A text that begins with the header, where there is one, and has a marker.
    fn find(&self, before: &[&Op], text: &str) -> Option<(Body, BTreeMap<String, String>)> {
        let mut ends = Ends::default();
        let mut values = BTreeMap::new();
        let mut rest = text;
        if !self.header.is_empty() {
            let length = header(self.header, text, before, &mut ends, &mut values)?;
            rest = text.get(length..)?;
        }
        if self.shape == Shape::Replace {
            let (marker, _) = self.markers.first()?;
            let filled = Form::new(marker, TextEscape::None).read(rest)?;
            values.extend(filled.values);
            return Some((Body::Gone, values));
        }
        let found = self.markers.iter().find_map(|(marker, counts)| {
            let form = Form::new(marker, TextEscape::None);
            let places = form.places(rest).filter(|place| place.start < place.end);
            // Of several places that look like the marker, the one that the shape asks for.
            let place = match self.shape {
                Shape::Head => places.filter(|place| place.end == rest.len()).last(),
                Shape::Tail => places.filter(|place| place.start == 0).last(),
                _ => places.min_by_key(|place| place.start.abs_diff(rest.len() - place.end)),
            };
            place.map(|place| (place, *counts))
        });
        match found {
            Some((place, counts)) => {
                let (head, tail) = (rest.get(..place.start)?, rest.get(place.end..)?);
                head.strip_suffix(self.line_marker).unwrap_or(head).clone_into(&mut ends.head);
                tail.strip_prefix(self.line_marker).unwrap_or(tail).clone_into(&mut ends.tail);
                let told = place.filled.values;
                let get = |name: &str| told.get(name).and_then(|value| number(value));
                ends.hidden_chars =
                    get("hidden_chars").or(get("hidden_bytes")).or(get("n").filter(|_| counts));
                ends.total_chars = ends.total_chars.or(get("total_chars")).or(get("total_bytes"));
                ends.lines = ends.lines.or(get("total_lines"));
                values.extend(told);
            }
            // Under a header, one end of the text is all that is left.
            None if !self.header.is_empty() && self.markers.iter().all(|(it, _)| it.is_empty()) => {
                match self.shape {
                    _ if !self.empty.is_empty() && rest == self.empty => {}
                    Shape::Head => rest.clone_into(&mut ends.head),
                    Shape::Tail => rest.clone_into(&mut ends.tail),
                    _ => return None,
                }
            }
            None => return None,
        }
        Some((Body::Cut(ends), values))
    }
}

/// Reads a header, line by line, and returns its length. A line that counts lines may have given
/// way to the marker of an earlier step.
fn header(
    form: &str,
    text: &str,
    before: &[&Op],
    ends: &mut Ends,
    values: &mut BTreeMap<String, String>,
) -> Option<usize> {
    let mut rest = text;
    for line in form.split_inclusive('\n') {
        if let Some(place) = Form::new(line, TextEscape::None).read_start(rest) {
            rest = rest.get(place.end..)?;
            values.extend(place.filled.values);
            continue;
        }
        if !line.contains("{total_lines}") {
            return None;
        }
        let (marker, hidden, length) = before.iter().rev().find_map(|op| {
            let Op::CapText(cap) = op else { return None };
            let form = [cap.marker.trim_matches('\n'), "\n"].concat();
            let place = Form::new(&form, TextEscape::None).read_start(rest)?;
            let hidden = number(place.filled.values.get("n")?)?;
            Some((cap.marker.replace("{n}", &hidden.to_string()), hidden, place.end))
        })?;
        rest = rest.get(length..)?;
        ends.hidden_before = hidden;
        ends.marker_chars = marker.chars().count() as u64;
    }
    let get = |name: &str| values.get(name).and_then(|value| number(value));
    ends.tokens = get("total_tokens");
    ends.lines = get("total_lines");
    ends.total_chars = get("total_chars").or(get("total_bytes")).or(get("total"));
    Some(text.len() - rest.len())
}

/// A number, perhaps with its thousands apart.
fn number(digits: &str) -> Option<u64> {
    if digits.contains(',') {
        return digits.replace(',', "").parse().ok();
    }
    digits.parse().ok()
}
