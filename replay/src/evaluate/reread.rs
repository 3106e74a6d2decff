//! The risk that a model reads again what a policy hides: modelled on what the record itself hid.
//!
//! Where the recorded client took an output out of its requests, a later output may bring it back:
//! the share of those is the chance, by tool, with which an output that a policy hides and that an
//! answer needs is taken to be read again.

use std::collections::{BTreeMap, BTreeSet};

use artifacts::Source;
use projector::ProjectError;
use projector::metrics::outline::TextNo;
use projector::metrics::{Ground, Line};

/// Outputs of one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reread {
    /// Outputs that the policy hides though an answer uses them, once for each conversation.
    pub needed: u64,
    /// Outputs that the recorded client took out of its requests.
    pub hidden: u64,
    /// Those of them that a later output brought back.
    pub again: u64,
}

impl Reread {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.needed += other.needed;
        self.hidden += other.hidden;
        self.again += other.again;
    }
}

/// Share of the lines of an output that a later one has to have, in per cent.
pub const LINES_PERCENT: u64 = 50;
/// Lines with fewer bytes than this, without white space at their ends, tell nothing.
pub const LINE_BYTES_MIN: usize = 8;

/// By tool, what the record took away and what came back.
pub(super) fn recorded(
    ground: &Ground,
    history: &ledger::history::History,
    source: &dyn Source,
    base: &[Line],
) -> Result<BTreeMap<u32, Reread>, ProjectError> {
    let mut rereads: BTreeMap<u32, Reread> = BTreeMap::new();
    if base.iter().all(|line| line.left.is_empty()) {
        return Ok(rereads);
    }
    let tool = |text: TextNo| ground.outline.tool_of(text).unwrap_or(u32::MAX);
    // By conversation, lines that are gone and whose they were.
    let mut gone: BTreeMap<u32, Gone> = BTreeMap::new();
    for line in base {
        let gone = gone.entry(line.lane).or_default();
        for text in &line.entered {
            let lines = lines(&ground.outline.read(history, source, *text)?);
            for back in gone.back(*text, &lines) {
                rereads.entry(tool(back)).or_default().again += 1;
            }
        }
        for text in &line.left {
            rereads.entry(tool(*text)).or_default().hidden += 1;
            gone.add(*text, lines(&ground.outline.read(history, source, *text)?));
        }
    }
    Ok(rereads)
}

/// Lines of a text that tell something.
fn lines(text: &[u8]) -> BTreeSet<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| line.len() >= LINE_BYTES_MIN).map(<[u8]>::to_vec).collect()
}

/// What a conversation is no longer shown.
#[derive(Debug, Default)]
struct Gone {
    /// By line, whose it is.
    lines: BTreeMap<Vec<u8>, Vec<TextNo>>,
    /// How many lines each has.
    outputs: BTreeMap<TextNo, u64>,
}

impl Gone {
    fn add(&mut self, text: TextNo, lines: BTreeSet<Vec<u8>>) {
        self.outputs.insert(text, lines.len() as u64);
        for line in lines {
            self.lines.entry(line).or_default().push(text);
        }
    }

    /// Outputs that a new one brings back; they are gone no longer.
    fn back(&mut self, new: TextNo, lines: &BTreeSet<Vec<u8>>) -> Vec<TextNo> {
        let mut known: BTreeMap<TextNo, u64> = BTreeMap::new();
        for text in lines.iter().filter_map(|line| self.lines.get(line)).flatten() {
            *known.entry(*text).or_default() += 1;
        }
        let enough = |text: &TextNo, all: u64| {
            let found = known.get(text).copied().unwrap_or(0);
            *text == new || (all > 0 && found * 100 >= all * LINES_PERCENT)
        };
        let back: Vec<TextNo> = self
            .outputs
            .iter()
            .filter(|(text, all)| enough(text, **all))
            .map(|(t, _)| *t)
            .collect();
        for text in &back {
            self.outputs.remove(text);
        }
        for owners in self.lines.values_mut() {
            owners.retain(|text| !back.contains(text));
        }
        back
    }
}

/// By tool, outputs that lines hide though an answer uses them.
pub(super) fn needed(ground: &Ground, lines: &[Line]) -> BTreeMap<u32, u64> {
    let mut seen: BTreeSet<(u32, TextNo)> = BTreeSet::new();
    for line in lines {
        let anchors = ground.evidence.anchors.get(line.request);
        for nth in &line.missed {
            let anchor = anchors.and_then(|all| all.get(*nth as usize));
            // Of several that have the word, the newest is the one that would be read again.
            let newest =
                anchor.and_then(|anchor| anchor.places.iter().map(|place| place.text).max());
            seen.extend(newest.map(|text| (line.lane, text)));
        }
    }
    let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, text) in seen {
        let tool = ground.outline.tool_of(text).unwrap_or(u32::MAX);
        *needed.entry(tool).or_default() += 1;
    }
    needed
}
