//! The rest of a request's numbers the slow way: whose words, notices, weights, controls, what
//! comes and goes. Texts are compared as bytes, byte by byte.
//!
//! Shared with the tests of recorded runs, as `slow` is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use artifacts::Source;
use ledger::history::{Change, History};
use ledger::id::PartNo;
use ledger::wire::{PartKind, Role, SlotKind};
use projector::metrics::evaluate::{RANDOM_BYTES, coin};
use projector::metrics::line::SEEDS;
use projector::metrics::outline::TextNo;
use projector::metrics::{Class, Ground, Line, Notices, Voice};
use projector::view::Segment;
use projector::{Policy, Projector, View};

use crate::slow::{self, Use};

/// Outputs by their bytes.
struct Outputs {
    numbers: BTreeMap<Vec<u8>, TextNo>,
    texts: Vec<Vec<u8>>,
    /// Those that were sent.
    sent: BTreeSet<Vec<u8>>,
    /// How many of those have a word, looked for once.
    with: RefCell<BTreeMap<Vec<u8>, usize>>,
}

impl Outputs {
    fn new(ground: &Ground, history: &History, source: &dyn Source) -> Self {
        let mut texts = Vec::new();
        while ground.outline.tool_of(u32::try_from(texts.len()).unwrap()).is_some() {
            let number = u32::try_from(texts.len()).unwrap();
            texts.push(ground.outline.read(history, source, number).unwrap().to_vec());
        }
        let numbers = (0..).zip(&texts).map(|(number, text)| (text.clone(), number)).collect();
        let mut sent = BTreeSet::new();
        for part in history.parts() {
            let skeleton = history.skeleton(part);
            for (slot, hole) in skeleton.slots.iter().zip(&part.holes) {
                if slot.kind == SlotKind::TOOL_OUTPUT {
                    sent.insert(history.text(hole).read(source).unwrap().to_vec());
                }
            }
        }
        Self { numbers, texts, sent, with: RefCell::default() }
    }

    fn with(&self, word: &[u8]) -> usize {
        let look = || self.sent.iter().filter(|text| survives(text, word, |_| true)).count();
        *self.with.borrow_mut().entry(word.to_vec()).or_insert_with(look)
    }
}

/// An output of a message: what is shown of it, and what the policy writes beside it.
struct Cut {
    text: Vec<u8>,
    is_shown: Vec<bool>,
    notice: String,
    has_segment: bool,
}

/// A request, segment by segment.
#[derive(Default)]
struct Shown {
    voices: [u64; Voice::COUNT],
    cuts: Vec<Cut>,
    parts: BTreeSet<u32>,
    by_tool: BTreeMap<u32, u64>,
}

fn add(shown: &mut Shown, voice: Voice, bytes: usize) {
    shown.voices[Voice::ALL.iter().position(|it| *it == voice).unwrap()] += bytes as u64;
}

fn voice(kind: SlotKind, role: Role) -> Voice {
    let by_kind = [
        (SlotKind::SYSTEM_TEXT, Voice::System),
        (SlotKind::USER_TEXT, Voice::User),
        (SlotKind::ASSISTANT_TEXT, Voice::Assistant),
        (SlotKind::THINKING, Voice::Reasoning),
        (SlotKind::OPAQUE, Voice::Reasoning),
        (SlotKind::TOOL_OUTPUT, Voice::Results),
        (SlotKind::ARGUMENTS, Voice::Calls),
    ];
    let by_role = [
        (Role::User, Voice::User),
        (Role::System, Voice::System),
        (Role::Assistant, Voice::Assistant),
    ];
    let known = by_kind.into_iter().find(|(of, _)| *of == kind).map(|(_, voice)| voice);
    let other = || by_role.into_iter().find(|(of, _)| *of == role).map(|(_, voice)| voice);
    known.or_else(|| (kind == SlotKind::OTHER).then(other).flatten()).unwrap_or(Voice::Framing)
}

fn shown(ground: &Ground, history: &History, source: &dyn Source, view: &View) -> Shown {
    let mut shown = Shown::default();
    // The message that is being read, with the cuts of its slots.
    let mut message: Option<(PartNo, BTreeMap<usize, Cut>, usize)> = None;
    let close = |shown: &mut Shown, message: Option<(PartNo, BTreeMap<usize, Cut>, usize)>| {
        shown.cuts.extend(message.into_iter().flat_map(|(_, cuts, _)| cuts.into_values()));
    };
    for segment in &view.segments {
        let mut bytes = Vec::new();
        let one = View { segments: vec![segment.clone()] };
        one.write(history, source, b"", &[], &mut bytes).unwrap();
        let part = match segment {
            Segment::Literal { part, .. } | Segment::Text { part, .. } => Some(*part),
            Segment::Separator => {
                close(&mut shown, message.take());
                continue;
            }
            _ => None,
        };
        let Some(part) = part else {
            add(&mut shown, Voice::Markers, bytes.len());
            if let (Segment::Inserted { text, .. }, Some((part, cuts, at))) =
                (segment, &mut message)
            {
                let slots = &history.skeleton(history.part(*part)).slots;
                let slot = slots.iter().position(|slot| slot.offset as usize == *at);
                if let Some(slot) = slot.filter(|slot| slots[*slot].kind == SlotKind::TOOL_OUTPUT) {
                    cut(history, source, cuts, (*part, slot), false).notice.push_str(text);
                }
            }
            continue;
        };
        let skeleton = history.skeleton(history.part(part));
        match skeleton.kind {
            PartKind::Options | PartKind::Glue => continue,
            PartKind::Tools => add(&mut shown, Voice::Tools, bytes.len()),
            PartKind::System => add(&mut shown, Voice::System, bytes.len()),
            PartKind::Item | PartKind::Verbatim => match segment {
                Segment::Text { slot, .. } => {
                    add(&mut shown, voice(skeleton.slots[*slot].kind, skeleton.role), bytes.len());
                }
                _ => add(&mut shown, Voice::Framing, bytes.len()),
            },
        }
        if skeleton.kind != PartKind::Item {
            continue;
        }
        shown.parts.insert(part.number());
        if message.as_ref().is_none_or(|(of, ..)| *of != part) {
            close(&mut shown, message.take());
            message = Some((part, BTreeMap::new(), 0));
        }
        let (_, cuts, at) = message.as_mut().unwrap();
        match segment {
            Segment::Literal { range, .. } => *at = range.end,
            Segment::Text { slot, range, found, .. }
                if skeleton.slots[*slot].kind == SlotKind::TOOL_OUTPUT =>
            {
                let cut = cut(history, source, cuts, (part, *slot), *found);
                cut.is_shown[range.clone()].fill(true);
                cut.has_segment = true;
                let (_, tool) = ground.outline.output_of(part, *slot).unwrap();
                *shown.by_tool.entry(tool).or_default() += range.len() as u64;
            }
            _ => {}
        }
    }
    close(&mut shown, message);
    shown
}

fn cut<'c>(
    history: &History,
    source: &dyn Source,
    cuts: &'c mut BTreeMap<usize, Cut>,
    (part, slot): (PartNo, usize),
    found: bool,
) -> &'c mut Cut {
    let hole = &history.part(part).holes[slot];
    let text = || {
        let copy = slow::copy(history, source, hole).filter(|_| found);
        copy.unwrap_or_else(|| history.text(hole).read(source).unwrap().to_vec())
    };
    let make = || {
        let text = text();
        Cut { is_shown: vec![false; text.len()], text, notice: String::new(), has_segment: false }
    };
    let cut = cuts.entry(slot).or_insert_with(make);
    if found && !cut.has_segment {
        // A notice that stands before the first range did not know which text it is of.
        let notice = std::mem::take(&mut cut.notice);
        *cut = Cut { notice, ..make() };
    }
    cut
}

/// The first amount in words such as `12 bytes hidden`, by looking at every place.
fn stated(notice: &str) -> Option<(u64, String)> {
    let clean: String = notice
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == ',' { c.to_ascii_lowercase() } else { ' ' })
        .collect();
    let words: Vec<&str> =
        clean.split(' ').map(|word| word.trim_matches(',')).filter(|w| !w.is_empty()).collect();
    let gone = "hidden omitted truncated removed elided skipped cut cleared more";
    let is_gone = |at: usize| words.get(at).is_some_and(|word| gone.split(' ').any(|g| g == *word));
    for at in 0..words.len() {
        let digits = words[at].replace(',', "");
        let starts = words[at].starts_with(|c: char| c.is_ascii_digit());
        if !starts || digits.chars().any(|c| !c.is_ascii_digit()) {
            continue;
        }
        let unit_at = if is_gone(at + 1) { at + 2 } else { at + 1 };
        let unit = match words.get(unit_at).copied() {
            Some("byte" | "bytes") => "bytes",
            Some("character" | "characters" | "char" | "chars") => "characters",
            Some("line" | "lines") => "lines",
            _ => continue,
        };
        if (at > 0 && is_gone(at - 1)) || (at + 1..at + 5).any(is_gone) {
            return Some((digits.parse().ok()?, unit.to_owned()));
        }
    }
    None
}

fn notices(cuts: &[Cut]) -> Notices {
    let mut notices = Notices::default();
    for cut in cuts {
        let hidden = cut.is_shown.iter().filter(|shown| !**shown).count() as u64;
        if hidden == 0 {
            continue;
        }
        if cut.notice.is_empty() {
            notices.silent += 1;
            notices.silent_bytes += hidden;
            continue;
        }
        notices.all += 1;
        let Some((amount, unit)) = stated(&cut.notice) else { continue };
        notices.stated += 1;
        let text = String::from_utf8(cut.text.clone()).unwrap();
        let gone = |at: usize| !cut.is_shown[at];
        let (least, most) = match unit.as_str() {
            "bytes" => (hidden, hidden),
            "characters" => {
                let chars = text.char_indices().filter(|(at, _)| gone(*at)).map(|(_, c)| c);
                let units: usize = chars.clone().map(char::len_utf16).sum();
                (chars.count() as u64, units as u64)
            }
            _ => lines(&text, gone),
        };
        let off = if amount < least { least - amount } else { amount.saturating_sub(most) };
        notices.wrong += u64::from(off > 0);
        *match unit.as_str() {
            "bytes" => &mut notices.off_bytes,
            "characters" => &mut notices.off_characters,
            _ => &mut notices.off_lines,
        } += off;
    }
    notices
}

/// Lines of which nothing is shown that can be read, and lines of which something is hidden.
fn lines(text: &str, gone: impl Fn(usize) -> bool) -> (u64, u64) {
    let (mut whole, mut touched, mut start) = (0, 0, 0);
    while start < text.len() {
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
        let hidden = (start..end).filter(|at| gone(*at)).count();
        let content = text[start..end].trim_end_matches(['\n', '\r']).len();
        touched += u64::from(hidden > 0);
        whole += u64::from(hidden > 0 && hidden >= content);
        start = end;
    }
    (whole, touched)
}

/// The newest message of a person that a conversation was ever sent.
fn newest_turn(history: &History, number: usize, lane: u32) -> Option<PartNo> {
    let mut newest = None;
    for request in &history.requests()[..=number] {
        if request.session().number() != lane {
            continue;
        }
        for change in &request.changes {
            let parts: Vec<PartNo> = match change {
                Change::Appended(parts) => parts.iter().map(|(part, _)| *part).collect(),
                Change::Edited(splices) => {
                    splices.iter().flat_map(|s| s.insert.iter().map(|(part, _)| *part)).collect()
                }
            };
            let is_turn = |part: &PartNo| {
                let skeleton = history.skeleton(history.part(*part));
                skeleton.role == Role::User
                    && !skeleton.slots.iter().any(|slot| {
                        slot.kind == SlotKind::TOOL_OUTPUT || slot.kind == SlotKind::RESULT_CALL_ID
                    })
            };
            newest = parts.into_iter().rfind(is_turn).or(newest);
        }
    }
    newest
}

/// Checks the lines of policies against numbers that are worked out again for each request.
pub(crate) fn check(history: &History, source: &dyn Source, policies: &[Policy]) {
    let (ground, all) = slow::fast(history, source, policies);
    let (_, base) = slow::fast(history, source, &[Policy::recorded()]);
    let uses = slow::uses(history, source);
    let outputs = Outputs::new(&ground, history, source);
    for (policy, lines) in policies.iter().zip(&all) {
        let mut projector = Projector::new(history, source, policy);
        let mut before: BTreeMap<u32, BTreeSet<TextNo>> = BTreeMap::new();
        for (number, (request, line)) in history.requests().iter().zip(lines).enumerate() {
            let place = format!("{} request {}", policy.name, number + 1);
            let projection = projector.projection(request.captured.request).unwrap();
            let now = shown(&ground, history, source, &projection.view);
            assert_eq!(line.voices, now.voices, "voices, {place}");
            sizes(line, &place);
            assert_eq!(line.notices, notices(&now.cuts), "notices, {place}");
            for (tool, bytes) in (0..).zip(&line.output_bytes) {
                let wanted = now.by_tool.get(&tool).copied().unwrap_or(0);
                assert_eq!(*bytes, wanted, "tool {tool}, {place}");
            }
            let texts =
                now.cuts.iter().filter(|cut| cut.has_segment).map(|cut| outputs.numbers[&cut.text]);
            let texts: BTreeSet<TextNo> = texts.collect();
            let old = before.insert(line.lane, texts.clone()).unwrap_or_default();
            let minus = |a: &BTreeSet<u32>, b: &BTreeSet<u32>| a.difference(b).copied().collect();
            let wanted: [Vec<u32>; 2] = [minus(&old, &texts), minus(&texts, &old)];
            assert_eq!([&line.left, &line.entered], wanted.each_ref(), "come and gone, {place}");
            let newest = newest_turn(history, number, line.lane);
            let lost = newest.is_some_and(|part| !now.parts.contains(&part.number()));
            assert_eq!(line.user_turn_lost, lost, "user turn, {place}");
            recall(&ground, &outputs, &uses[number], line, &base[0][number], &place);
        }
    }
}

fn sizes(line: &Line, place: &str) {
    let bytes: u64 = line.voices.iter().sum();
    assert_eq!(line.tokens, bytes.div_ceil(4), "tokens, {place}");
    let band = ((bytes * 17).div_ceil(100), (bytes * 42).div_ceil(100));
    assert_eq!(line.band, band, "band, {place}");
    let class = match (line.account.changed, line.recall.missed) {
        (false, _) => Class::Same,
        (true, 0) => Class::Cosmetic,
        (true, _) => Class::Evidence,
    };
    assert_eq!(line.class, class, "class, {place}");
}

/// Whether a word stands in a text with all its bytes where `kept` says yes.
fn survives(text: &[u8], word: &[u8], kept: impl Fn(usize) -> bool) -> bool {
    slow::places(text, word).into_iter().any(|mut at| at.all(&kept))
}

fn recall(ground: &Ground, outputs: &Outputs, uses: &[Use], line: &Line, base: &Line, place: &str) {
    let anchors = &ground.evidence.anchors[line.request];
    let all: u64 = base.output_bytes.iter().sum();
    let hidden = all.saturating_sub(line.output_bytes.iter().sum());
    let share =
        u64::try_from((u128::from(hidden) * 65536).checked_div(u128::from(all)).unwrap_or(0));
    let share = share.unwrap();
    let mut wanted = [0_u64; 4];
    let mut missed = Vec::new();
    let is_missed: BTreeSet<usize> = line.missed.iter().map(|nth| *nth as usize).collect();
    for (nth, anchor) in anchors.iter().enumerate() {
        let word = &ground.evidence.words[anchor.word as usize];
        let (_, from) = uses.iter().find(|(of, _)| of == word).unwrap();
        let with = outputs.with(word);
        // Eighths of a bit: 2^(w / 1000) to the eighth power is not above the share's, and near it.
        let share8 = (outputs.sent.len() as u128 + 1).pow(8);
        let with8 = (with as u128).pow(8);
        let eighths = u32::try_from(anchor.weight_millibits * 8 / 1000).unwrap();
        let fits = with8 << eighths <= share8 && share8 < with8 << (eighths + 2);
        assert!(fits, "weight {}, {with}, {place}", anchor.weight_millibits);
        let weight = anchor.weight_millibits;
        wanted[0] += if is_missed.contains(&nth) { 0 } else { weight };
        if is_missed.contains(&nth) {
            missed.push(word.clone());
        }
        let any = |kept: &dyn Fn(TextNo, usize, usize) -> bool| {
            from.iter().any(|text| {
                let number = outputs.numbers[text];
                survives(text, word, |at| kept(number, at, text.len()))
            })
        };
        for seed in 0..SEEDS {
            let kept = |text, at: usize, _: usize| coin(seed, text, at / RANDOM_BYTES) >= share;
            wanted[1] += if any(&kept) { weight } else { 0 };
        }
        let cut =
            |length: usize| usize::try_from((length as u128 * u128::from(share)) >> 16).unwrap();
        wanted[2] += if any(&|_, at, length| at < length - cut(length)) { weight } else { 0 };
        wanted[3] += if any(&|_, at, length| at >= cut(length)) { weight } else { 0 };
    }
    let recall = line.recall;
    let found = [recall.shown, recall.random, recall.heads, recall.tails];
    assert_eq!(found, wanted, "shown, random, heads, tails, {place}");
    assert_eq!(recall.missed, missed.len() as u64, "missed, {place}");
    let weight: u64 = anchors.iter().map(|anchor| anchor.weight_millibits).sum();
    assert_eq!(recall.weight, weight, "weight, {place}");
    assert!(outputs.texts.len() >= outputs.sent.len());
}
