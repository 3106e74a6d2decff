//! The columns of rows and of requests, with their types: what CSV and Parquet have in common.

use super::requests::RequestEntry;
use super::row::RowEntry;
use crate::report::money;

/// What stands in a column, and how it is got from an entry. A value may be unknown.
#[derive(Clone, Copy)]
pub(super) enum Get<T> {
    Text(fn(&T) -> Option<&str>),
    Count(fn(&T) -> Option<u64>),
    Flag(fn(&T) -> Option<bool>),
    /// Picodollars, which are written as dollars with twelve digits behind the point.
    Dollars(fn(&T) -> Option<u64>),
}

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Field<T> {
    pub(super) name: &'static str,
    pub(super) get: Get<T>,
}

impl<T> Field<T> {
    const fn text(name: &'static str, get: fn(&T) -> Option<&str>) -> Self {
        Self { name, get: Get::Text(get) }
    }

    const fn count(name: &'static str, get: fn(&T) -> Option<u64>) -> Self {
        Self { name, get: Get::Count(get) }
    }

    const fn flag(name: &'static str, get: fn(&T) -> Option<bool>) -> Self {
        Self { name, get: Get::Flag(get) }
    }

    const fn dollars(name: &'static str, get: fn(&T) -> Option<u64>) -> Self {
        Self { name, get: Get::Dollars(get) }
    }

    /// The value as CSV has it: nothing where it is unknown.
    pub(super) fn words(&self, entry: &T) -> String {
        let words = match self.get {
            Get::Text(get) => get(entry).map(str::to_owned),
            Get::Count(get) => get(entry).map(|count| count.to_string()),
            Get::Flag(get) => get(entry).map(|flag| flag.to_string()),
            Get::Dollars(get) => get(entry).map(money::exact),
        };
        words.unwrap_or_default()
    }
}

/// A value that a row has only where every request could be projected.
fn known<T>(row: &RowEntry, value: T) -> Option<T> {
    row.is_known().then_some(value)
}

/// The id of the run: a partition of its own in folders, a column elsewhere.
pub(super) const RUN: Field<RowEntry> = Field::text("run", |row| row.run.as_deref());

/// A row.
pub(super) const ROW: &[Field<RowEntry>] = &[
    Field::text("recording", |row| row.recording.as_deref()),
    Field::text("policy", |row| Some(&row.policy)),
    Field::count("never_fires", |row| known(row, row.never_fires)),
    Field::count("requests", |row| Some(row.requests)),
    Field::count("exact", |row| Some(row.fidelity.exact)),
    Field::count("derived", |row| Some(row.fidelity.derived)),
    Field::count("assumed", |row| Some(row.fidelity.assumed)),
    Field::count("refused", |row| Some(row.fidelity.refused)),
    Field::count("changed", |row| known(row, row.changed)),
    Field::count("frontier", |row| known(row, row.frontier).flatten()),
    Field::count("measured", |row| known(row, row.measured)),
    Field::count("same", |row| known(row, row.classes.same)),
    Field::count("cosmetic", |row| known(row, row.classes.cosmetic)),
    Field::count("evidence", |row| known(row, row.classes.evidence)),
    Field::count("overflow", |row| known(row, row.classes.overflow)),
    Field::count("tokens_total", |row| known(row, row.tokens_total)),
    Field::count("tokens_max", |row| known(row, row.tokens_max)),
    Field::count("tokens_recorded", |row| known(row, row.tokens_recorded)),
    Field::count("prompt_tokens", |row| known(row, row.prompt_tokens)),
    Field::count("prompt_tokens_max", |row| known(row, row.prompt_tokens_max)),
    Field::count("overflow_possible", |row| known(row, row.overflow_possible)),
    Field::count("overflow_certain", |row| known(row, row.overflow_certain)),
    Field::count("headroom_min", |row| known(row, row.headroom_min).flatten()),
    Field::count("hidden_bytes", |row| known(row, row.hidden_bytes)),
    Field::count("notices", |row| known(row, row.notices.all)),
    Field::count("notices_wrong", |row| known(row, row.notices.wrong)),
    Field::count("silent_outputs", |row| known(row, row.notices.silent)),
    Field::count("broken_pairs", |row| known(row, row.broken_pairs)),
    Field::count("user_turns_lost", |row| known(row, row.user_turns_lost)),
    Field::count("signs_shown", |row| known(row, row.signs.shown)),
    Field::count("signs_all", |row| known(row, row.signs.all)),
    Field::count("dead_bytes", |row| known(row, row.dead_bytes)),
    Field::count("anchors", |row| known(row, row.evidence.anchors)),
    Field::count("anchors_missed", |row| known(row, row.evidence.missed)),
    Field::count("recall_per_mille", |row| known(row, row.recall()).flatten()),
    Field::count("random_recall_per_mille", |row| known(row, row.random_recall()).flatten()),
    Field::count("cache_read", |row| known(row, row.cache.read)),
    Field::count("cache_write", |row| known(row, row.cache.write)),
    Field::count("cache_uncached", |row| known(row, row.cache.uncached)),
    Field::count("cache_rewrites", |row| known(row, row.cache.rewrites)),
    Field::count("rewrites_unpaid", |row| known(row, row.dynamics.unpaid)),
    Field::count("rewrites_thrash", |row| known(row, row.dynamics.thrash)),
    Field::count("priced_requests", |row| known(row, row.cost.requests)),
    Field::dollars("cost_dollars", |row| known(row, row.cost.total)),
    Field::dollars("cost_measured_dollars", |row| known(row, row.cost.measured)),
    Field::dollars("cost_recorded_dollars", |row| Some(row.cost.recorded)),
    Field::dollars("regret_at_least_dollars", |row| known(row, row.cost.regret_at_least).flatten()),
    Field::dollars("regret_at_most_dollars", |row| known(row, row.cost.regret_at_most).flatten()),
    Field::count("reread_turns_per_mille", |row| {
        known(row, row.rereads.expected_turns_per_mille).flatten()
    }),
    Field::dollars("reread_cost_dollars", |row| known(row, row.rereads.expected_cost).flatten()),
    Field::count("cost_error_per_mille", |row| known(row, row.cost.error_per_mille).flatten()),
    Field::flag("within_error", |row| known(row, row.cost.within_error)),
    Field::text("error", |row| row.error.as_deref()),
];

/// A value that a request has only where it could be projected.
fn seen<T>(request: &RequestEntry, value: T) -> Option<T> {
    (request.fidelity != "refused").then_some(value)
}

/// A request.
pub(super) const REQUEST: &[Field<RequestEntry>] = &[
    Field::text("recording", |it| Some(&it.recording)),
    Field::text("policy", |it| Some(&it.policy)),
    Field::count("request", |it| Some(it.request)),
    Field::count("conversation", |it| Some(it.conversation)),
    Field::text("fidelity", |it| Some(it.fidelity)),
    Field::text("reason", |it| it.reason),
    Field::text("class", |it| seen(it, it.class)),
    Field::count("tokens", |it| seen(it, it.tokens)),
    Field::count("tokens_low", |it| seen(it, it.tokens_low)),
    Field::count("tokens_high", |it| seen(it, it.tokens_high)),
    Field::count("window", |it| it.window),
    Field::count("tools_bytes", |it| seen(it, it.voices.tools)),
    Field::count("system_bytes", |it| seen(it, it.voices.system)),
    Field::count("user_bytes", |it| seen(it, it.voices.user)),
    Field::count("assistant_bytes", |it| seen(it, it.voices.assistant)),
    Field::count("reasoning_bytes", |it| seen(it, it.voices.reasoning)),
    Field::count("calls_bytes", |it| seen(it, it.voices.calls)),
    Field::count("results_bytes", |it| seen(it, it.voices.results)),
    Field::count("markers_bytes", |it| seen(it, it.voices.markers)),
    Field::count("framing_bytes", |it| seen(it, it.voices.framing)),
    Field::count("hidden_bytes", |it| seen(it, it.hidden_bytes)),
    Field::count("common_bytes", |it| seen(it, it.common_bytes)),
    Field::count("before_bytes", |it| seen(it, it.before_bytes)),
    Field::count("cache_read", |it| seen(it, it.cache_read).flatten()),
    Field::count("cache_write", |it| seen(it, it.cache_write).flatten()),
    Field::count("cache_uncached", |it| seen(it, it.cache_uncached).flatten()),
    Field::dollars("cost_dollars", |it| seen(it, it.cost_picodollars).flatten()),
    Field::text("broke", |it| seen(it, it.broke).flatten()),
    Field::count("broke_lost_tokens", |it| seen(it, it.broke_lost_tokens).flatten()),
    Field::count("anchors", |it| seen(it, it.anchors)),
    Field::count("missed", |it| seen(it, it.missed)),
    Field::count("signs_shown", |it| seen(it, it.signs_shown)),
    Field::count("signs_all", |it| seen(it, it.signs_all)),
    Field::count("dead_bytes", |it| seen(it, it.dead_bytes)),
    Field::count("notices", |it| seen(it, it.notices)),
    Field::count("notices_wrong", |it| seen(it, it.notices_wrong)),
    Field::count("silent_outputs", |it| seen(it, it.silent_outputs)),
    Field::count("broken_pairs", |it| seen(it, it.broken_pairs)),
];
