//! What the model's answers take from outputs of tools: the open-loop sign that it needed them.
//!
//! An anchor of an answer is a word of it (an identifier, a path, a number) or a whole line that
//! stands in an output which the model had been shown, and nowhere else that it had been shown. It
//! weighs more the fewer outputs have it. Paraphrase, arithmetic and what is concluded from absence
//! leave no anchor: what is found is a lower bound on use.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::Source;
use ledger::event::ItemKind;
use ledger::history::{Change, History, ListWalker};
use ledger::id::PartNo;
use ledger::wire::PartKind;

use super::outline::{Outline, TextNo, Voice};
use crate::fold::ProjectError;

/// Words of at least this many bytes are anchors.
pub const WORD_BYTES_MIN: usize = 12;
/// Words with a digit are anchors from this many bytes on.
pub const NUMBER_BYTES_MIN: usize = 6;
/// Lines of at least this many bytes, without white space at their ends, are anchors.
pub const LINE_BYTES_MIN: usize = 24;
/// A word that stands in outputs more often than this is no evidence of anything.
pub const OCCURRENCES_MAX: usize = 4096;

/// A place in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The output.
    pub text: TextNo,
    /// Bytes of it.
    pub range: Range<usize>,
}

/// A word of an answer that comes from an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Which word: equal words have equal numbers.
    pub word: u32,
    /// Thousandths of a bit.
    pub weight_millibits: u64,
    /// Where it stands in outputs that the conversation had before the answer.
    pub places: Vec<Place>,
    /// Requests since the newest of those outputs was first shown.
    pub age: u64,
}

/// The anchors of all answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// By request.
    pub anchors: Vec<Vec<Anchor>>,
    /// For each output, the last request whose answer uses it, by index.
    pub last_use: Vec<Option<usize>>,
    /// The words, by number.
    pub words: Vec<Vec<u8>>,
    /// By request, the outputs that no later answer uses.
    pub ends: Vec<Vec<TextNo>>,
}

/// Calls `found` with the range of each word of `text`. In JSON text, escapes end a word.
pub(crate) fn words<'t>(text: &'t [u8], json: bool, mut found: impl FnMut(Range<usize>, &'t [u8])) {
    let mut start = None;
    let mut at = 0;
    while at <= text.len() {
        let byte = text.get(at).copied();
        let inside = byte.is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_./-:@+#".contains(&byte)
        });
        if inside {
            start = start.or(Some(at));
        } else if let Some(from) = start.take() {
            let word = text.get(from..at).unwrap_or_default();
            let edge = |byte: &&u8| b"./-:@+#".contains(byte);
            let left = word.iter().take_while(edge).count();
            let right = word.iter().rev().take_while(edge).count();
            let inner = word.get(left..word.len().saturating_sub(right)).unwrap_or_default();
            if is_anchor(inner) {
                found(from + left..at - right, inner);
            }
        }
        let escape = json && byte == Some(b'\\');
        at += if !escape {
            1
        } else if text.get(at + 1) == Some(&b'u') {
            6
        } else {
            2
        };
    }
    if let Some(from) = start {
        // An escape went past the end of the text.
        let word = text.get(from..).unwrap_or_default();
        if is_anchor(word) {
            found(from..text.len(), word);
        }
    }
}

/// Calls `found` with each line that may be an anchor: its range, and its bytes. Escapes of JSON
/// text are undone; a line number that a tool has put before a line is no part of it.
pub(crate) fn spans(text: &[u8], json: bool, mut found: impl FnMut(Range<usize>, &[u8])) {
    if json {
        // Strings of arguments: what stands between two quotes that are not escaped.
        let plain = unescaped(text);
        for line in plain.split(|byte| matches!(byte, b'\n' | 0)) {
            span(line, 0, &mut found);
        }
        return;
    }
    let mut start = 0;
    for line in text.split(|byte| *byte == b'\n') {
        span(line, start, &mut found);
        start += line.len() + 1;
    }
}

fn span(line: &[u8], start: usize, found: &mut impl FnMut(Range<usize>, &[u8])) {
    let head = line.len() - line.trim_ascii_start().len();
    let rest = line.get(head..).unwrap_or_default();
    let number = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_numbered = number > 0 && matches!(rest.get(number), Some(b'\t' | b':' | b'|'));
    let head = head + if is_numbered { number + 1 } else { 0 };
    let rest = line.get(head..).unwrap_or_default();
    let lead = rest.len() - rest.trim_ascii_start().len();
    let inner = rest.trim_ascii();
    // A single word is found as such.
    if inner.len() >= LINE_BYTES_MIN && inner.contains(&b' ') {
        found(start + head + lead..start + head + lead + inner.len(), inner);
    }
}

/// The strings of a JSON text with their escapes undone, each ended by a byte 0. Escapes by number
/// are left as they are: they stand in no output.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => plain.push(0),
            b'\\' => match bytes.next() {
                Some(b'n') => plain.push(b'\n'),
                Some(b't') => plain.push(b'\t'),
                Some(b'r') => plain.push(b'\r'),
                Some(escaped @ (b'"' | b'\\' | b'/')) => plain.push(*escaped),
                Some(other) => plain.extend([b'\\', *other]),
                None => plain.push(b'\\'),
            },
            other => plain.push(*other),
        }
    }
    plain
}

/// Calls `found` with each word and each line that may be an anchor.
pub(crate) fn anchors(text: &[u8], json: bool, mut found: impl FnMut(Range<usize>, &[u8])) {
    words(text, json, &mut found);
    spans(text, json, found);
}

/// One, with 32 bits behind the point.
const ONE: u128 = 1 << 32;

fn is_anchor(word: &[u8]) -> bool {
    word.len() >= WORD_BYTES_MIN
        || (word.len() >= NUMBER_BYTES_MIN && word.iter().any(u8::is_ascii_digit))
}

/// `log2(numerator / denominator)` in thousandths, rounded down; 0 where it would be negative.
pub(crate) fn log2_millis(numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 || numerator <= denominator {
        return 0;
    }
    let mut ratio = (u128::from(numerator) << 32) / u128::from(denominator);
    let mut whole = 0_u64;
    while ratio >= 2 * ONE {
        ratio >>= 1;
        whole += 1;
    }
    let mut fraction = 0_u64;
    for _ in 0..16 {
        ratio = (ratio * ratio) >> 32;
        fraction <<= 1;
        if ratio >= 2 * ONE {
            ratio >>= 1;
            fraction |= 1;
        }
    }
    whole * 1000 + ((fraction * 1000) >> 16)
}

/// What is collected about the words of answers.
#[derive(Debug, Default)]
struct Words {
    numbers: BTreeMap<Vec<u8>, u32>,
    places: Vec<Vec<Place>>,
    /// How many outputs have it.
    outputs: Vec<u64>,
}

impl Words {
    fn number(&self, word: &[u8]) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    fn learn(&mut self, word: &[u8]) {
        if !self.numbers.contains_key(word) {
            let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
            self.numbers.insert(word.to_vec(), next);
            self.places.push(Vec::new());
            self.outputs.push(0);
        }
    }

    fn found(&mut self, word: u32, place: Place, is_copy: bool) {
        let index = word as usize;
        let (Some(places), Some(outputs)) =
            (self.places.get_mut(index), self.outputs.get_mut(index))
        else {
            return;
        };
        if !is_copy && places.last().is_none_or(|last| last.text != place.text) {
            *outputs += 1;
        }
        if places.len() <= OCCURRENCES_MAX {
            places.push(place);
        }
    }
}

impl Evidence {
    /// Reads all answers and outputs of a run, once.
    ///
    /// # Errors
    /// A text is missing or damaged, or a list change does not fit.
    pub fn new(
        history: &History,
        source: &dyn Source,
        outline: &Outline,
    ) -> Result<Self, ProjectError> {
        let mut words = Words::default();
        answers(history, source, |_request, word| words.learn(word))?;
        for (no, output) in (0..).zip(outline.outputs()) {
            let Some(text) = outline.text(history, no) else { continue };
            let bytes = text.read(source)?;
            anchors(&bytes, false, |range, word| {
                if let Some(word) = words.number(word) {
                    words.found(word, Place { text: no, range }, output.found);
                }
            });
        }
        let mut evidence = Timeline::new(history, source, outline, &words).run()?;
        evidence.words = alloc::vec![Vec::new(); words.numbers.len()];
        for (word, number) in words.numbers {
            if let Some(place) = evidence.words.get_mut(number as usize) {
                *place = word;
            }
        }
        Ok(evidence)
    }
}

/// Calls `found` with each word of each answer.
fn answers(
    history: &History,
    source: &dyn Source,
    mut found: impl FnMut(usize, &[u8]),
) -> Result<(), ProjectError> {
    for (request, info) in history.requests().iter().enumerate() {
        let items = info.answer.iter().flat_map(|(_, answer)| &answer.items);
        for item in items {
            let json = match item.kind {
                ItemKind::Text => false,
                ItemKind::ToolCall => true,
                ItemKind::Thinking | ItemKind::Opaque => continue,
            };
            let bytes = item.text.read(source)?;
            anchors(&bytes, json, |_range, word| found(request, word));
        }
    }
    Ok(())
}

/// Walks the requests in order and knows what each conversation has been shown.
struct Timeline<'t> {
    history: &'t History,
    source: &'t dyn Source,
    outline: &'t Outline,
    words: &'t Words,
    /// Words that a conversation has from elsewhere.
    elsewhere: BTreeSet<(u32, u32)>,
    /// Outputs that a conversation has been shown, with the request that was the first.
    shown: BTreeMap<(u32, TextNo), usize>,
    /// Whole outputs that were found beside the wire for what a conversation has been shown.
    copies: BTreeSet<(u32, TextNo)>,
    seen: BTreeSet<(u32, PartNo)>,
}

impl<'t> Timeline<'t> {
    fn new(
        history: &'t History,
        source: &'t dyn Source,
        outline: &'t Outline,
        words: &'t Words,
    ) -> Self {
        Self {
            history,
            source,
            outline,
            words,
            elsewhere: BTreeSet::new(),
            shown: BTreeMap::new(),
            copies: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }

    fn run(mut self) -> Result<Evidence, ProjectError> {
        let mut used: Vec<Vec<u32>> = alloc::vec![Vec::new(); self.history.requests().len()];
        answers(self.history, self.source, |request, word| {
            if let (Some(words), Some(word)) = (used.get_mut(request), self.words.number(word)) {
                words.push(word);
            }
        })?;
        let mut walker = ListWalker::new(self.history);
        let mut evidence = Evidence {
            anchors: Vec::with_capacity(used.len()),
            last_use: alloc::vec![None; self.outline.outputs().len()],
            words: Vec::new(),
            ends: alloc::vec![Vec::new(); used.len()],
        };
        for (request, mut words) in used.into_iter().enumerate() {
            let Some(info) = self.history.requests().get(request) else { continue };
            let lane = info.session().number();
            let ordinal = info.captured.request.ordinal();
            let lists = walker
                .lists(info.captured.request)
                .map_err(|_base| ProjectError::BadList { ordinal })?;
            let frame: Vec<PartNo> = lists.head.iter().chain(&lists.tail).copied().collect();
            for part in frame {
                self.part(lane, request, part)?;
            }
            for change in &info.changes {
                for part in parts(change) {
                    self.part(lane, request, part)?;
                }
            }
            words.sort_unstable();
            words.dedup();
            let mut anchors = Vec::new();
            for word in words {
                if self.elsewhere.insert((lane, word)) {
                    anchors.extend(self.anchor(lane, request, word));
                }
            }
            for place in anchors.iter().flat_map(|anchor| &anchor.places) {
                if let Some(last) = evidence.last_use.get_mut(place.text as usize) {
                    *last = Some(request);
                }
            }
            evidence.anchors.push(anchors);
        }
        for (text, last) in (0..).zip(&evidence.last_use) {
            if let Some(ends) = last.and_then(|last| evidence.ends.get_mut(last)) {
                ends.push(text);
            }
        }
        Ok(evidence)
    }

    fn anchor(&self, lane: u32, request: usize, word: u32) -> Option<Anchor> {
        let places = self.words.places.get(word as usize)?;
        if places.len() > OCCURRENCES_MAX {
            return None;
        }
        let since = |place: &Place| self.shown.get(&(lane, place.text)).copied();
        let known: Vec<Place> = places
            .iter()
            .filter(|place| since(place).is_some() || self.copies.contains(&(lane, place.text)))
            .cloned()
            .collect();
        // What was never sent is no evidence by itself.
        let newest = known.iter().filter_map(since).max()?;
        let all = self.outline.outputs().iter().filter(|output| !output.found).count() as u64;
        let with = self.words.outputs.get(word as usize).copied().unwrap_or(1);
        Some(Anchor {
            word,
            weight_millibits: log2_millis(all + 1, with),
            places: known,
            age: (request - newest) as u64,
        })
    }

    /// A conversation is shown a part.
    fn part(&mut self, lane: u32, request: usize, number: PartNo) -> Result<(), ProjectError> {
        if !self.seen.insert((lane, number)) {
            return Ok(());
        }
        let part = self.history.part(number);
        let known = self.outline.part(number);
        for (slot, hole) in known.slots.iter().zip(&part.holes) {
            if let Some((text, _)) = slot.output {
                self.shown.entry((lane, text)).or_insert(request);
                if let Some(found) = slot.found {
                    self.copies.insert((lane, found.text));
                }
            } else if matches!(slot.voice, Voice::System | Voice::User) {
                let bytes = self.history.text(hole).read(self.source)?;
                self.exclude(lane, &bytes, false);
            }
        }
        if matches!(known.kind, PartKind::Tools | PartKind::System) {
            let literal = self.history.skeleton(part).literal.read(self.source)?;
            self.exclude(lane, &literal, true);
        }
        Ok(())
    }

    fn exclude(&mut self, lane: u32, bytes: &[u8], json: bool) {
        anchors(bytes, json, |_range, word| {
            if let Some(word) = self.words.number(word) {
                self.elsewhere.insert((lane, word));
            }
        });
    }
}

/// The parts that a change brings.
pub(crate) fn parts(change: &Change) -> Vec<PartNo> {
    match change {
        Change::Appended(parts) => parts.iter().map(|(part, _)| *part).collect(),
        Change::Edited(splices) => {
            splices.iter().flat_map(|splice| splice.insert.iter().map(|(part, _)| *part)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_without_their_edges_and_escapes_end_them() {
        let check = |text: &str, json: bool, wanted: &[&str]| {
            let mut found = Vec::new();
            words(text.as_bytes(), json, |range, word| {
                assert_eq!(text[range.clone()].as_bytes(), word);
                found.push(&text[range]);
            });
            assert_eq!(found, wanted, "{text}");
        };
        check("see /usr/lib/long.rs: line 123456.", false, &["usr/lib/long.rs", "123456"]);
        check("short words only", false, &[]);
        check(r"a\nlong_identifier_1\tx", true, &["long_identifier_1"]);
        check(r"a\nlong_identifier_1", false, &["nlong_identifier_1"]);
        check("tail_of_the_text", false, &["tail_of_the_text"]);
        check(r"tail_of_the_text\", true, &["tail_of_the_text"]);
        check("", false, &[]);
    }

    #[test]
    fn lines_are_found_without_numbers_and_white_space_and_with_escapes_undone() {
        let check = |text: &str, json: bool, wanted: &[&str]| {
            let mut found = Vec::new();
            spans(text.as_bytes(), json, |range, line| {
                let line = core::str::from_utf8(line).unwrap();
                assert!(json || &text[range] == line);
                found.push(alloc::string::String::from(line));
            });
            assert_eq!(found, wanted, "{text}");
        };
        let line = "let total = first + second;";
        check(&[line, "\nshort line\n"].concat(), false, &[line]);
        check(&["  12\t    ", line, "  \r\n"].concat(), false, &[line]);
        check(&["7:", line].concat(), false, &[line]);
        check("one_word_that_is_long_enough_to_be_a_line", false, &[]);
        let json = r#"{"old":"    let total = first + second;\n\tsay(\"it is\", total, again);"}"#;
        check(json, true, &[line, "say(\"it is\", total, again);"]);
        check("", false, &[]);
    }

    #[test]
    fn logarithms_are_integers() {
        assert_eq!(log2_millis(8, 1), 3000);
        assert_eq!(log2_millis(3, 2), 584);
        assert_eq!(log2_millis(10, 1), 3321);
        assert_eq!(log2_millis(1, 1), 0);
        assert_eq!(log2_millis(1, 0), 0);
    }
}
