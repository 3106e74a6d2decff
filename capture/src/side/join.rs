//! Finds the call of the recording that a source speaks of, and records what it says.

use std::collections::{HashMap, HashSet};

use ledger::recorder::{CallSeen, Found, FoundText, RawKey, Recorder};

use super::{Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, SideReport, Sink};

/// File names in sent texts that are remembered.
const MENTIONS_MAX: usize = 1 << 16;
/// Longest path that is taken for one, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Shortest file name that can name a spilled output, in bytes.
const NAME_BYTES_MIN: usize = 6;
/// Names that a mentioned path and a file must share at their ends.
const SHARED_NAMES_MIN: usize = 2;
/// Where likeness is looked for: so many bytes at either end.
const LIKENESS_BYTES: usize = 4096;
/// Stretch that has to be in both, in bytes; shorter texts say nothing.
const STRETCH_BYTES_MIN: usize = 8;
const STRETCH_BYTES_MAX: usize = 48;

/// Joins claims to calls.
#[derive(Debug)]
pub struct Joiner<'r> {
    recorder: &'r mut Recorder,
    calls: Vec<CallSeen>,
    by_id: HashMap<Vec<u8>, Vec<usize>>,
    /// Paths in sent texts by their last name, with the call whose text has them first.
    mentions: HashMap<String, Vec<(String, usize)>>,
    seen: HashSet<(usize, [u8; 16])>,
    best: Vec<Best>,
    source: &'static str,
    /// Texts that are no longer than what was sent are left out.
    only_more: bool,
    report: SideReport,
}

/// The best that was found of a call's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Best {
    Nothing,
    Ends,
    Whole,
}

impl<'r> Joiner<'r> {
    /// Looks at what the recorder has seen so far.
    ///
    /// # Errors
    /// A sent text cannot be read back.
    pub fn new(recorder: &'r mut Recorder) -> Result<Self, SideError> {
        let calls = recorder.calls_seen();
        let mut by_id: HashMap<_, Vec<usize>> = HashMap::new();
        let mut mentions: HashMap<String, Vec<(String, usize)>> = HashMap::new();
        let mut remembered = 0;
        for (index, call) in calls.iter().enumerate() {
            if let Some(id) = call.provider_id.as_ref().filter(|id| !id.is_empty()) {
                by_id.entry(id.clone()).or_default().push(index);
            }
            for content in &call.texts {
                let bytes = recorder.read(content).map_err(ledger::recorder::RecordError::from)?;
                for path in paths(&String::from_utf8_lossy(&bytes)) {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    if name.len() < NAME_BYTES_MIN || remembered >= MENTIONS_MAX {
                        continue;
                    }
                    let known = mentions.entry(name.to_owned()).or_default();
                    if known.iter().all(|(other, _)| other != path) {
                        known.push((path.to_owned(), index));
                        remembered += 1;
                    }
                }
            }
        }
        let report = SideReport { calls: calls.len() as u64, ..SideReport::default() };
        let best = vec![Best::Nothing; calls.len()];
        let (seen, source) = (HashSet::new(), "");
        let only_more = false;
        Ok(Self { recorder, calls, by_id, mentions, seen, best, source, only_more, report })
    }

    /// Leaves out from now on what says no more than what was sent.
    #[cfg(feature = "live")]
    pub(crate) fn only_more(mut self) -> Self {
        self.only_more = true;
        self
    }

    /// Says that a file of this format is read next.
    pub(crate) fn begin(&mut self, source: &'static str) {
        self.source = source;
        *self.report.formats.entry(source).or_default() += 1;
    }

    pub(super) fn count_file(&mut self) -> u64 {
        self.report.files += 1;
        self.report.files
    }

    /// What was found.
    pub fn finish(mut self) -> SideReport {
        let count = |wanted| self.best.iter().filter(|best| **best == wanted).count() as u64;
        self.report.whole = count(Best::Whole);
        self.report.ends = count(Best::Ends);
        self.report
    }

    /// The call whose sent text names this file, by at least its folder and its name.
    pub(super) fn mentioned(&self, path: &str) -> Option<usize> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let shared = |other: &str| {
            let pairs = path.rsplit('/').zip(other.rsplit('/'));
            pairs.take_while(|(own, other)| own == other).count()
        };
        let known = self.mentions.get(name)?;
        let best = known.iter().map(|(other, call)| (shared(other), *call));
        // The longest agreement; of equal ones the first, where the path came up.
        let (shared, call) = best.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        (shared >= SHARED_NAMES_MIN).then_some(call)
    }

    fn resolve(&self, file: &SideFile<'_>, named: Named<'_>) -> Result<usize, SideNoteKind> {
        match named {
            Named::Id { call, session } => self.by_id(call, session),
            Named::ToolAndId(id) => {
                let stripped = id.match_indices("__").find_map(|(at, glue)| {
                    let (tool, rest) = (id.get(..at)?, id.get(at + glue.len()..)?);
                    let call = self.by_id(rest, None).ok()?;
                    let same = self.calls.get(call)?.tool == tool.as_bytes();
                    same.then_some(call)
                });
                stripped.map_or_else(|| self.by_id(id, None), Ok)
            }
            Named::InFileName => self
                .mentioned(file.path)
                .map_or_else(|| self.by_name(file.path).ok_or(SideNoteKind::NotReferred), Ok),
            Named::ByPath => self.mentioned(file.path).ok_or(SideNoteKind::NotReferred),
        }
    }

    fn by_id(&self, id: &str, session: Option<&str>) -> Result<usize, SideNoteKind> {
        let known = self.by_id.get(id.as_bytes()).map(Vec::as_slice).unwrap_or_default();
        let of_session = |call: &&usize| {
            let own = self.calls.get(**call).and_then(|call| call.client_session.as_deref());
            let wanted = session.unwrap_or_default().as_bytes();
            !wanted.is_empty() && own.is_some_and(|own| memchr::memmem::find(own, wanted).is_some())
        };
        match known {
            [] => Err(SideNoteKind::NoSuchCall),
            [only] => Ok(*only),
            several => {
                let mut own = several.iter().filter(of_session);
                match (own.next(), own.next()) {
                    (Some(only), None) => Ok(*only),
                    _ => Err(SideNoteKind::SeveralCalls),
                }
            }
        }
    }

    /// The one call whose id stands in the file's name, between characters of no word.
    fn by_name(&self, path: &str) -> Option<usize> {
        let name = path.rsplit('/').next().unwrap_or(path).as_bytes();
        let stands = |id: &[u8]| {
            memchr::memmem::find_iter(name, id).any(|at| {
                let before = at.checked_sub(1).and_then(|at| name.get(at));
                let after = name.get(at + id.len());
                [before, after].into_iter().flatten().all(|byte| !byte.is_ascii_alphanumeric())
            })
        };
        let found = self.by_id.iter().filter(|(id, _)| stands(id));
        let (_, calls) = found.max_by_key(|(id, _)| id.len())?;
        match calls.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// True where the sent text has a stretch of the output's beginning or end, or where there is
    /// too little of it to tell.
    fn is_like(&self, call: usize, head: &str, tail: &str) -> Result<bool, SideError> {
        let Some([content]) = self.calls.get(call).map(|call| call.texts.as_slice()) else {
            return Ok(true);
        };
        let sent = self.recorder.read(content).map_err(ledger::recorder::RecordError::from)?;
        Ok(is_like(&sent, head, tail))
    }
}

/// True where a sent text has a stretch of an output's beginning or end, or where there is too
/// little of it to tell.
pub(crate) fn is_like(sent: &[u8], head: &str, tail: &str) -> bool {
    let first = head.get(..head.floor_char_boundary(LIKENESS_BYTES)).unwrap_or(head);
    let from = tail.ceil_char_boundary(tail.len().saturating_sub(LIKENESS_BYTES));
    let last = tail.get(from..).unwrap_or(tail);
    let stretches = [stretch(first), stretch(last)];
    let mut told = stretches.iter().filter(|it| it.len() >= STRETCH_BYTES_MIN).peekable();
    let nothing = told.peek().is_none();
    nothing || told.any(|it| memchr::memmem::find(sent, it.as_bytes()).is_some())
}

impl Sink for Joiner<'_> {
    fn claim(&mut self, file: &SideFile<'_>, claim: &Claim<'_>) -> Result<(), SideError> {
        let (head, tail, kind) = match claim.text {
            ClaimText::Whole(text) => (text, text, Best::Whole),
            ClaimText::Ends(head, tail) => (head, tail, Best::Ends),
        };
        let call = match self.resolve(file, claim.call) {
            Ok(call) => call,
            Err(kind) => {
                self.note(kind);
                return Ok(());
            }
        };
        let Some(seen) = self.calls.get(call) else { return Ok(()) };
        if seen.texts.len() > 1 {
            self.note(SideNoteKind::SeveralTexts);
            return Ok(());
        }
        let sent = seen.texts.iter().map(ledger::content::Content::len).sum::<u64>();
        if self.only_more && head.len().max(tail.len()) as u64 <= sent {
            return Ok(());
        }
        let key = [head, if kind == Best::Ends { tail } else { "" }].concat();
        if !self.seen.insert((call, *RawKey::of(key.as_bytes()).as_bytes())) {
            self.note(SideNoteKind::Again);
            return Ok(());
        }
        let text = match claim.text {
            ClaimText::Whole(text) => FoundText::Whole(text),
            ClaimText::Ends(head, tail) => FoundText::Ends { head, tail, gap_bytes: None },
        };
        let (source, record) = (self.source, claim.record);
        self.recorder.output_found(&Found { call: seen.call, index: 0, source, record, text })?;
        if let Some(best) = self.best.get_mut(call) {
            *best = (*best).max(kind);
        }
        if !self.is_like(call, head, tail)? {
            self.note(SideNoteKind::Unlike);
        }
        Ok(())
    }

    fn note(&mut self, kind: SideNoteKind) {
        self.report.note(kind);
    }
}

/// Path-like words of a text.
pub(crate) fn paths(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|".contains(c);
    let words = text.split(ends).filter(|word| word.len() <= PATH_BYTES_MAX);
    words.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| word.contains('/'))
}

/// The longest stretch of letters, digits and spaces, which no encoder escapes.
fn stretch(text: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    let longest = text.split(|c| !plain(c)).max_by_key(|word| word.len()).unwrap_or_default();
    longest.get(..STRETCH_BYTES_MAX.min(longest.len())).unwrap_or_default()
}
