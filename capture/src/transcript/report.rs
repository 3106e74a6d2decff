//! What an import of a transcript brought, and what it could not use.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ledger::event::Rung;
use ledger::fs::Head;
use ledger::wire::answer::{Answer, AnswerItem};

use super::json::Json;
use super::rows::Repairs;
use super::scribe::Fate;
use crate::side::SideReport;

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records of the source.
    pub rows: u64,
    /// Records that are on record as what they say.
    pub used: u64,
    /// Records that are understood and kept as bytes, by reason.
    pub aside: BTreeMap<&'static str, u64>,
    /// Records that are not understood and kept as bytes, by reason.
    pub unknown: BTreeMap<&'static str, u64>,
    /// Parts of used records that are kept as bytes beside, by reason.
    pub parts: BTreeMap<&'static str, u64>,
    /// Conversations.
    pub conversations: u64,
    /// Requests, by rung.
    pub requests: BTreeMap<&'static str, u64>,
    /// Bytes of their bodies.
    pub request_bytes: u64,
    /// Requests that could not be put together.
    pub unasked: u64,
    /// Answers.
    pub answers: u64,
    /// Calls that answers ask for.
    pub calls: u64,
    /// Outputs that the source also has whole.
    pub whole_outputs: u64,
    /// Outputs whose call is not in the source.
    pub outputs_without_call: u64,
    /// Compactions that the source tells of.
    pub compactions: u64,
    /// Tokens that answers report.
    pub tokens: Tokens,
    /// Tokens that the source counts for requests that are not in it.
    pub tokens_elsewhere: Tokens,
    /// Cost that the source tells, in millionths of a dollar.
    pub cost_microdollars: Option<u64>,
    /// Versions of the program that wrote it: the first and the last in order of appearance.
    pub versions: Option<(String, String)>,
    /// What was repaired while reading.
    pub repairs: Repairs,
}

/// Sums of token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input, by the provider's own definition.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Read from the prompt cache.
    pub cache_read: u64,
    /// Written to the prompt cache.
    pub cache_write: u64,
}

impl Tokens {
    pub(crate) fn add(
        &mut self,
        input: Option<u64>,
        output: Option<u64>,
        cache_read: Option<u64>,
        cache_write: Option<u64>,
    ) {
        let add = |sum: &mut u64, count: Option<u64>| *sum = sum.saturating_add(count.unwrap_or(0));
        add(&mut self.input, input);
        add(&mut self.output, output);
        add(&mut self.cache_read, cache_read);
        add(&mut self.cache_write, cache_write);
    }
}

impl Tally {
    /// Records that are understood and kept as bytes.
    pub fn aside_total(&self) -> u64 {
        self.aside.values().sum()
    }

    /// Records that are not understood.
    pub fn unknown_total(&self) -> u64 {
        self.unknown.values().sum()
    }

    /// Requests of all rungs.
    pub fn requests_total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// True when every record of the source is accounted for.
    pub fn is_accounted(&self) -> bool {
        self.rows == self.used + self.aside_total() + self.unknown_total()
    }

    pub(crate) fn row(&mut self, fate: Fate) {
        self.rows += 1;
        match fate {
            Fate::Used => self.used += 1,
            Fate::Aside(reason) => *self.aside.entry(reason).or_default() += 1,
            Fate::Unknown(reason) => *self.unknown.entry(reason).or_default() += 1,
        }
    }

    pub(crate) fn beside(&mut self, reason: &'static str) {
        *self.parts.entry(reason).or_default() += 1;
    }

    pub(crate) fn request(&mut self, rung: Rung, body_bytes: u64) {
        *self.requests.entry(rung.name()).or_default() += 1;
        self.request_bytes += body_bytes;
    }

    pub(crate) fn answer(&mut self, answer: &Answer) {
        self.answers += 1;
        let is_call = |item: &&AnswerItem| matches!(item, AnswerItem::ToolCall { .. });
        self.calls += answer.items.iter().filter(is_call).count() as u64;
        let Some(usage) = answer.usage else { return };
        self.tokens.add(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        );
    }

    pub(crate) fn version(&mut self, version: &str) {
        match &mut self.versions {
            None => self.versions = Some((version.to_owned(), version.to_owned())),
            Some((_, last)) if last != version => version.clone_into(last),
            Some(_) => {}
        }
    }

    /// Adds a cost as a source tells it, in dollars; what is no number counts as nothing.
    pub(crate) fn cost_of(&mut self, dollars: &Json<'_>) {
        let dollars = std::str::from_utf8(dollars.raw).ok().and_then(|text| text.parse().ok());
        self.cost(dollars.unwrap_or(0.0));
    }

    fn cost(&mut self, dollars: f64) {
        if dollars.is_finite() && dollars >= 0.0 {
            // Rounded to the millionth by its decimal text: no cast can be lossy in silence.
            let text = format!("{:.0}", dollars * 1e6);
            let sum = self.cost_microdollars.unwrap_or(0);
            self.cost_microdollars = Some(sum.saturating_add(text.parse().unwrap_or(0)));
        }
    }

    pub(crate) fn repaired(&mut self, found: Repairs) {
        let own = &mut self.repairs;
        own.glued_lines += found.glued_lines;
        own.records += found.records;
        own.nul_lines += found.nul_lines;
        own.byte_order_mark |= found.byte_order_mark;
        own.no_final_newline |= found.no_final_newline;
    }
}

/// What became of a source.
#[derive(Clone, Debug)]
pub struct TranscriptReport {
    /// Its format.
    pub format: &'static str,
    /// Its recording.
    pub recording: PathBuf,
    /// Its digest, redacted.
    pub source_digest: Option<[u8; 32]>,
    /// It was read to its end.
    pub complete: bool,
    /// Counts.
    pub tally: Tally,
    /// What was found beside it.
    pub side: Option<SideReport>,
    /// Head of the log.
    pub head: Option<Head>,
}
