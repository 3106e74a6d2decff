//! The lines of a policy over a run, summed up.

use std::collections::BTreeMap;

use projector::metrics::rulebook::Scheme;
use projector::metrics::{Cause, Class, Cost, Line, Notices, Picodollars, Recall, Terms};

use super::dynamics::Dynamics;
use super::reread::Reread;
use crate::sweep::Row;

/// Breaks of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaks {
    /// How many.
    pub count: u64,
    /// Tokens that had been kept and were not read.
    pub lost_tokens: u64,
    /// What they cost more than reading them.
    pub cost: Picodollars,
}

/// A policy over a run. Sums are over requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvaluatedRow {
    /// Requests, fidelity, frontier, sizes.
    pub sums: Row,
    /// Requests by [`Class`].
    pub classes: [u64; Class::COUNT],
    /// Requests before the frontier: what is said of them is measured.
    pub measured: u64,
    /// Tokens of all prompts, by the run's ratio.
    pub tokens: u64,
    /// Of the largest one.
    pub tokens_max: u64,
    /// Requests that may be more than the model takes.
    pub overflow_possible: u64,
    /// Requests that are, whatever the estimate's error.
    pub overflow_certain: u64,
    /// Fewest tokens that are left of what the model takes.
    pub headroom_min: Option<u64>,
    /// Requests with a rulebook.
    pub simulated: u64,
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to it.
    pub write: u64,
    /// All other tokens of input, of those requests.
    pub uncached: u64,
    /// Requests with a price.
    pub priced: u64,
    /// What they cost.
    pub cost: Cost,
    /// The part of it before the frontier.
    pub cost_measured: Picodollars,
    /// Requests that the provider would have refused for their marks.
    pub refused_marks: u64,
    /// By cause.
    pub breaks: BTreeMap<Cause, Breaks>,
    /// Requests that do not begin as the one before.
    pub rewrites: u64,
    /// Bytes of the request before that such requests do not begin with.
    pub rewritten_bytes: u64,
    /// Bytes in common with the request before.
    pub common_bytes: u64,
    /// Bytes of the request before.
    pub before_bytes: u64,
    /// What answers need and are shown.
    pub recall: Recall,
    /// Bytes of outputs that the record shows and the policy does not, by tool.
    pub hidden_by_tool: BTreeMap<String, u64>,
    /// Lines that say how something went: shown, and all.
    pub signs: (u64, u64),
    /// The first request in which one is lost, from 1.
    pub sign_lost: Option<u64>,
    /// Bytes of outputs that are shown though no later answer uses them.
    pub dead_bytes: u64,
    /// Requests without the newest message of a person.
    pub user_turns_lost: u64,
    /// What the policy says of what it leaves out of outputs.
    pub notices: Notices,
    /// Rewrites of the policy's own.
    pub dynamics: Dynamics,
    /// By tool, what is hidden though it is needed, and what the record hid.
    pub rereads: BTreeMap<String, Reread>,
}

impl EvaluatedRow {
    pub(super) fn of(
        lines: &[Line],
        base: &[Line],
        terms: &[Terms<'_>],
        tools: &[Vec<u8>],
    ) -> Self {
        let mut row = Self::default();
        for ((line, base), terms) in lines.iter().zip(base).zip(terms) {
            row.add(line, base, terms, tools);
        }
        row
    }

    fn add(&mut self, line: &Line, base: &Line, terms: &Terms<'_>, tools: &[Vec<u8>]) {
        let ordinal = line.request as u64 + 1;
        self.sums.add(ordinal, &line.fidelity, &line.account);
        let is_measured = self.sums.frontier.is_none();
        self.measured += u64::from(is_measured);
        let class = Class::ALL.iter().position(|class| *class == line.class);
        if let Some(count) = class.and_then(|class| self.classes.get_mut(class)) {
            *count += 1;
        }
        self.tokens = self.tokens.saturating_add(line.tokens);
        self.tokens_max = self.tokens_max.max(line.tokens);
        if let Some(window) = line.window {
            let (low, high) = line.band;
            self.overflow_certain += u64::from(low > window);
            self.overflow_possible += u64::from(high > window);
            let left = window.saturating_sub(line.tokens);
            self.headroom_min = Some(self.headroom_min.map_or(left, |least| least.min(left)));
        }
        self.cache(line, terms);
        if let Some(cost) = &line.cost {
            self.priced += 1;
            self.cost = self.cost.plus(cost);
            if is_measured {
                self.cost_measured = self.cost_measured.plus(cost.total());
            }
        }
        self.common_bytes += line.common_bytes;
        self.before_bytes += line.before_bytes;
        self.rewrites += u64::from(line.common_bytes < line.before_bytes);
        self.rewritten_bytes += line.before_bytes.saturating_sub(line.common_bytes);
        self.recall.add(&line.recall);
        for ((tool, shown), all) in tools.iter().zip(&line.output_bytes).zip(&base.output_bytes) {
            if shown < all {
                let name = String::from_utf8_lossy(tool).into_owned();
                *self.hidden_by_tool.entry(name).or_default() += all - shown;
            }
        }
        let (shown, all) = line.signs;
        self.signs = (self.signs.0 + shown, self.signs.1 + all);
        if shown < all {
            self.sign_lost.get_or_insert(ordinal);
        }
        self.dead_bytes += line.dead_bytes;
        self.notices.add(&line.notices);
        self.user_turns_lost += u64::from(line.user_turn_lost && !base.user_turn_lost);
    }

    fn cache(&mut self, line: &Line, terms: &Terms<'_>) {
        let Some(charge) = &line.charge else { return };
        let [short, long] = charge.write;
        self.simulated += 1;
        self.read += charge.read;
        self.write += short + long;
        self.uncached += charge.uncached;
        self.refused_marks += u64::from(charge.refused);
        let Some(broke) = charge.broke else { return };
        let breaks = self.breaks.entry(broke.cause).or_default();
        breaks.count += 1;
        breaks.lost_tokens += broke.lost_tokens;
        if let (Some(price), Some(book)) = (terms.price, terms.book) {
            let unit = price.unit(book, charge.input());
            let [write, _] = unit.write;
            let paid = if book.scheme == Scheme::Breakpoints { write } else { unit.input };
            let more = Picodollars(paid.0.saturating_sub(unit.read.0));
            breaks.cost = breaks.cost.plus(more.times(broke.lost_tokens));
        }
    }

    /// Bytes in common with the request before, per thousand bytes of it.
    pub fn prefix_per_mille(&self) -> Option<u64> {
        projector::metrics::line::ratio(self.common_bytes, self.before_bytes)
    }
}
