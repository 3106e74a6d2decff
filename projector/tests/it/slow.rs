//! The numbers of a request the slow way: everything written out, everything searched again.
//!
//! Shared with the tests of recorded runs; it uses nothing of the metrics but their results.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use artifacts::Source;
use ledger::event::{Dropped, Hole, HoleValue, ItemKind};
use ledger::history::{History, ListWalker};
use ledger::id::PartNo;
use ledger::wire::{PartKind, SlotKind};
use projector::memo::{Capped, Memo, MemoKey};
use projector::metrics::{Facts, Ground, Line, Scale, Terms, evaluate};
use projector::view::Segment;
use projector::{Policy, Projector, View};

/// A memo that forgets.
#[derive(Debug)]
struct Forget;

impl Memo for Forget {
    fn get(&self, _key: &MemoKey) -> Option<Option<std::sync::Arc<Capped>>> {
        None
    }

    fn put(&self, _key: MemoKey, _capped: Option<std::sync::Arc<Capped>>) {}
}

/// The lines of a policy, by the crate.
pub(crate) fn fast(
    history: &History,
    source: &dyn Source,
    policies: &[Policy],
) -> (Ground, Vec<Vec<Line>>) {
    let ground = Ground::new(history, source).unwrap();
    let terms = vec![Terms::default(); history.requests().len()];
    let scale = Scale::assumed();
    let facts = Facts {
        history,
        source,
        ground: &ground,
        memo: &Forget,
        counter: None,
        terms: &terms,
        scale,
    };
    let base = evaluate(facts, &Policy::recorded(), None).unwrap();
    let lines = policies.iter().map(|p| evaluate(facts, p, Some(&base)).unwrap()).collect();
    (ground, lines)
}

/// A request, written out.
struct Written {
    frame: Vec<u8>,
    items: Vec<u8>,
    /// Shown ranges of outputs, by the bytes of the whole output.
    shown: Vec<(Vec<u8>, Range<usize>)>,
}

fn written(history: &History, source: &dyn Source, view: &View) -> Written {
    let mut frame: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    let mut items = Vec::new();
    let mut shown = Vec::new();
    for segment in &view.segments {
        let one = View { segments: vec![segment.clone()] };
        let mut bytes = Vec::new();
        one.write(history, source, b"", &[], &mut bytes).unwrap();
        let kind = match segment {
            Segment::Literal { part, .. } | Segment::Text { part, .. } => {
                history.skeleton(history.part(*part)).kind
            }
            _ => PartKind::Item,
        };
        match kind {
            PartKind::Item => items.extend(bytes),
            PartKind::Tools => frame.entry(0).or_default().extend(bytes),
            PartKind::System => frame.entry(1).or_default().extend(bytes),
            PartKind::Verbatim => frame.entry(2).or_default().extend(bytes),
            PartKind::Options | PartKind::Glue => {}
        }
        if let Segment::Text { part, slot, range, found, .. } = segment {
            let part = history.part(*part);
            if history.skeleton(part).slots[*slot].kind == SlotKind::TOOL_OUTPUT {
                let hole = &part.holes[*slot];
                let text = copy(history, source, hole).filter(|_| *found);
                let sent = || history.text(hole).read(source).unwrap().to_vec();
                shown.push((text.unwrap_or_else(sent), range.clone()));
            }
        }
    }
    Written { frame: frame.into_values().flatten().collect(), items, shown }
}

/// The whole output that was found for a slot.
pub(crate) fn copy(history: &History, source: &dyn Source, hole: &Hole) -> Option<Vec<u8>> {
    let HoleValue::Output { call, index } = hole.value else { return None };
    let found = history.call(call)?.found(index)?;
    let whole = found.dropped == Dropped::Bytes(0);
    let piece = found.pieces.first().filter(|_| whole)?;
    Some(piece.text.read(source).unwrap().to_vec())
}

fn common(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Words, by splitting.
pub(crate) fn words(text: &[u8], json: bool) -> Vec<Range<usize>> {
    let mut plain = text.to_vec();
    let mut at = 0;
    while json && at < plain.len() {
        if plain[at] == b'\\' {
            let length = if plain.get(at + 1) == Some(&b'u') { 6 } else { 2 };
            let end = (at + length).min(plain.len());
            plain[at..end].fill(b' ');
            at = end;
        } else {
            at += 1;
        }
    }
    let inside =
        |byte: u8| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"_./-:@+#".contains(&byte);
    let mut out = Vec::new();
    let mut start = 0;
    for stretch in plain.split(|byte| !inside(*byte)) {
        let edge = |byte: &u8| b"./-:@+#".contains(byte);
        let left = stretch.iter().position(|byte| !edge(byte));
        let right = stretch.iter().rposition(|byte| !edge(byte));
        if let (Some(left), Some(right)) = (left, right) {
            let word = &stretch[left..=right];
            if word.len() >= 12 || (word.len() >= 6 && word.iter().any(u8::is_ascii_digit)) {
                out.push(start + left..start + right + 1);
            }
        }
        start += stretch.len() + 1;
    }
    out
}

/// Lines that may be anchors, by splitting; without their places.
fn lines(text: &[u8], json: bool) -> BTreeSet<Vec<u8>> {
    let text = String::from_utf8_lossy(text).into_owned();
    let texts: Vec<String> = if json {
        let marked = text.replace("\\\\", "\u{1}").replace("\\\"", "\u{2}");
        let undo = |piece: &str| {
            let plain = piece.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r");
            let plain = plain.replace("\\/", "/");
            plain.replace('\u{2}', "\"").replace('\u{1}', "\\")
        };
        marked.split('"').map(undo).collect()
    } else {
        vec![text]
    };
    let mut out = BTreeSet::new();
    for line in texts.iter().flat_map(|text| text.split('\n')) {
        out.extend(bare(line).map(|line| line.as_bytes().to_vec()));
    }
    out
}

/// A line without a number before it and white space around it, where it is long enough.
fn bare(line: &str) -> Option<&str> {
    let is_space = |c: char| c.is_ascii_whitespace();
    let line = line.trim_matches(is_space);
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let numbered = digits > 0 && line[digits..].starts_with(['\t', ':', '|']);
    let line = if numbered { &line[digits + 1..] } else { line };
    let line = line.trim_matches(is_space);
    (line.len() >= 24 && line.contains(' ')).then_some(line)
}

/// Where a word or a line stands in a text.
pub(crate) fn places(text: &[u8], anchor: &[u8]) -> Vec<Range<usize>> {
    let mut out: Vec<_> =
        words(text, false).into_iter().filter(|range| text[range.clone()] == *anchor).collect();
    let mut start = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let found = std::str::from_utf8(line).ok().and_then(bare);
        if let Some(found) = found.filter(|found| found.as_bytes() == anchor) {
            let at = start + (found.as_ptr() as usize - line.as_ptr() as usize);
            out.push(at..at + found.len());
        }
        start += line.len() + 1;
    }
    out
}

/// Words and lines of a text that may be anchors.
fn anchors(text: &[u8], json: bool) -> BTreeSet<Vec<u8>> {
    let mut out = lines(text, json);
    out.extend(words(text, json).into_iter().map(|range| text[range].to_vec()));
    out
}

/// The words of a request's answer.
fn answer(history: &History, source: &dyn Source, request: usize) -> BTreeSet<Vec<u8>> {
    let mut out = BTreeSet::new();
    for item in history.requests()[request].answer.iter().flat_map(|(_, a)| &a.items) {
        if matches!(item.kind, ItemKind::Text | ItemKind::ToolCall) {
            let text = item.text.read(source).unwrap();
            out.extend(anchors(&text, item.kind == ItemKind::ToolCall));
        }
    }
    out
}

/// A word of an answer, and the outputs that it may be from.
pub(crate) type Use = (Vec<u8>, Vec<Vec<u8>>);

/// Texts.
type Set = BTreeSet<Vec<u8>>;

/// What the answers use, by request.
pub(crate) fn uses(history: &History, source: &dyn Source) -> Vec<Vec<Use>> {
    let mut walker = ListWalker::new(history);
    let mut known: BTreeMap<u32, [Set; 3]> = BTreeMap::new();
    let mut out = Vec::new();
    for (number, request) in history.requests().iter().enumerate() {
        let [outputs, copies, elsewhere] = known.entry(request.session().number()).or_default();
        let lists = walker.lists(request.captured.request).unwrap().clone();
        // What an edit brings and another takes away again before a request is sent.
        let passing = request.changes.iter().flat_map(|change| match change {
            ledger::history::Change::Appended(parts) => parts.clone(),
            ledger::history::Change::Edited(splices) => {
                splices.iter().flat_map(|splice| splice.insert.clone()).collect()
            }
        });
        let passing: Vec<PartNo> = passing.map(|(part, _)| part).collect();
        for part in [lists.head, lists.items, lists.tail, passing].concat() {
            let part = history.part(part);
            let skeleton = history.skeleton(part);
            for (slot, hole) in skeleton.slots.iter().zip(&part.holes) {
                let text = history.text(hole).read(source).unwrap();
                let own = slot.kind == SlotKind::SYSTEM_TEXT
                    || slot.kind == SlotKind::USER_TEXT
                    || (slot.kind == SlotKind::OTHER
                        && matches!(
                            skeleton.role,
                            ledger::wire::Role::User | ledger::wire::Role::System
                        ));
                if slot.kind == SlotKind::TOOL_OUTPUT {
                    outputs.insert(text.to_vec());
                    copies.extend(copy(history, source, hole));
                } else if own {
                    elsewhere.extend(anchors(&text, false));
                }
            }
            if matches!(skeleton.kind, PartKind::Tools | PartKind::System) {
                let text = skeleton.literal.read(source).unwrap();
                elsewhere.extend(anchors(&text, true));
            }
        }
        let mut found = Vec::new();
        for word in answer(history, source, number) {
            if elsewhere.contains(&word) {
                continue;
            }
            let has = |text: &&Vec<u8>| !places(text, &word).is_empty();
            let sent = outputs.iter().any(|text| has(&text));
            let from = outputs.union(copies).filter(has).cloned().collect();
            elsewhere.insert(word.clone());
            if sent {
                found.push((word, from));
            }
        }
        out.push(found);
    }
    out
}

/// Checks the lines of policies against numbers that are worked out again for each request.
pub(crate) fn check(history: &History, source: &dyn Source, policies: &[Policy]) {
    let (_, all) = fast(history, source, policies);
    let uses = uses(history, source);
    for (policy, lines) in policies.iter().zip(&all) {
        let mut projector = Projector::new(history, source, policy);
        let mut before: BTreeMap<u32, Written> = BTreeMap::new();
        for (number, (request, line)) in history.requests().iter().zip(lines).enumerate() {
            let projection = projector.projection(request.captured.request).unwrap();
            let now = written(history, source, &projection.view);
            let place = format!("{} request {}", policy.name, number + 1);
            let bytes = now.frame.len() + now.items.len();
            assert_eq!(line.bytes(), bytes as u64, "bytes, {place}");
            assert_eq!(line.account, projection.account, "{place}");
            let lane = request.session().number();
            let (same, length) = before.get(&lane).map_or((0, 0), |last| {
                let frames = common(&last.frame, &now.frame);
                let is_same = last.frame == now.frame;
                let items = if is_same { common(&last.items, &now.items) } else { 0 };
                (frames + items, last.frame.len() + last.items.len())
            });
            assert_eq!(line.common_bytes, same as u64, "common, {place}");
            assert_eq!(line.before_bytes, length as u64, "before, {place}");
            outputs(&now, line, &uses, number, &place);
            before.insert(lane, now);
        }
    }
}

fn outputs(now: &Written, line: &Line, uses: &[Vec<Use>], number: usize, place: &str) {
    let shown: usize = now.shown.iter().map(|(_, range)| range.len()).sum();
    assert_eq!(line.outputs(), shown as u64, "outputs, {place}");
    let signs: usize = now.shown.iter().map(|(text, range)| signs(text, range)).sum();
    assert_eq!(line.signs.0, signs as u64, "signs, {place}");
    let later = |text: &[u8]| {
        uses[number..].iter().flatten().any(|(_, from)| from.iter().any(|other| other == text))
    };
    let dead: usize =
        now.shown.iter().filter(|(text, _)| !later(text)).map(|(_, range)| range.len()).sum();
    assert_eq!(line.dead_bytes, dead as u64, "dead, {place}");
    let missed = uses[number].iter().filter(|(word, from)| {
        let visible = |(text, range): &(Vec<u8>, Range<usize>)| {
            let held = |at: &Range<usize>| range.start <= at.start && at.end <= range.end;
            from.contains(text) && places(text, word).iter().any(held)
        };
        !now.shown.iter().any(visible)
    });
    let found = (uses[number].len() as u64, missed.count() as u64);
    assert_eq!((line.recall.anchors, line.recall.missed), found, "anchors, {place}");
}

/// Lines of a shown range that say how something went.
fn signs(text: &[u8], range: &Range<usize>) -> usize {
    let mut count = 0;
    let mut start = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let end = start + line.len();
        let line = String::from_utf8_lossy(line);
        let has = projector::metrics::signs::SIGNS.iter().any(|sign| line.contains(sign));
        count += usize::from(has && range.start <= start && end <= range.end);
        start = end + 1;
    }
    count
}
