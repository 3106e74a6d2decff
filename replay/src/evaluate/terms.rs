//! Under which rules and prices each request of a recording was sent.

use std::collections::BTreeSet;

use artifacts::ArtifactId;
use ledger::history::{ListWalker, Request};
use ledger::id::PartNo;
use ledger::wire::{Dialect, PartKind};
use projector::ProjectError;
use projector::metrics::Terms;

use crate::recording::Recording;
use crate::rulebook::Rates;

/// What the amounts of a recording rest on, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// Models that the requests name.
    pub models: BTreeSet<String>,
    /// Models whose prices count, where they are not the recorded ones.
    pub priced_as: BTreeSet<String>,
    /// Rulebooks.
    pub rulebooks: BTreeSet<String>,
    /// What those take for granted.
    pub assumes: BTreeSet<String>,
    /// Where the prices are from.
    pub prices: String,
    /// Their day.
    pub prices_date: String,
    /// Requests whose time is not on record: for them no lifetime ends.
    pub without_time: u64,
    /// Requests without rules or without a price.
    pub unpriced: u64,
}

/// The model that a request names, in its body or in its path.
pub fn model_of(recording: &Recording, request: &Request) -> Option<String> {
    let source = recording.as_source();
    let words = |content: &ledger::content::Content| {
        content.read(source).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    if let Some(model) = request.captured.model.as_ref().and_then(words) {
        return Some(model.trim_matches('"').trim_start_matches("models/").to_owned());
    }
    let url = words(&request.dispatched.as_ref()?.url)?;
    let (_, rest) = url.split_once("/models/")?;
    let name: String = rest.chars().take_while(|c| !matches!(c, ':' | '?' | '/')).collect();
    (!name.is_empty()).then_some(name)
}

/// `YYYY-MM-DD` of a time.
fn day(unix_ns: u64) -> String {
    // Days since 0000-03-01 in years that begin in March, so that a leap day is the last.
    let days = unix_ns / 86_400_000_000_000 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next)
}

/// What options of a body say about its cache.
#[derive(Debug, Default)]
struct Options {
    salt: u64,
    key: u64,
    automatic: Option<bool>,
    explicit_only: bool,
    long: bool,
}

fn word(bytes: &[u8; 32]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

impl Options {
    fn read(&mut self, recording: &Recording, dialect: Dialect, part: PartNo) -> Option<()> {
        let history = recording.history();
        let known = history.part(part);
        let skeleton = history.skeleton(known);
        if skeleton.kind != PartKind::Options {
            return None;
        }
        let literal = skeleton.literal.read(recording.as_source()).ok()?;
        let text = std::str::from_utf8(&literal).ok()?.trim_start().strip_prefix('"')?;
        let (key, value) = text.split_once('"')?;
        let mixed = |of: u64| of.rotate_left(7) ^ word(&known.digest);
        let long = value.contains("\"1h\"") || value.contains("\"12h\"") || value.contains("24h");
        match (dialect, key) {
            (Dialect::AnthropicMessages, "tool_choice" | "thinking" | "output_config") => {
                self.salt = mixed(self.salt);
            }
            (Dialect::AnthropicMessages, "cache_control") => self.automatic = Some(long),
            (_, "prompt_cache_key") => self.key = mixed(self.key),
            (_, "prompt_cache_options") => {
                self.explicit_only = value.contains("\"explicit\"");
                self.long |= long;
            }
            (_, "prompt_cache_retention") => self.long |= long,
            _ => {}
        }
        Some(())
    }
}

pub(super) fn terms<'r>(
    recording: &Recording,
    rates: &'r Rates,
    price_as: Option<&str>,
) -> Result<(Vec<Terms<'r>>, Basis), ProjectError> {
    let history = recording.history();
    let mut walker = ListWalker::new(history);
    let mut all = Vec::with_capacity(history.requests().len());
    let mut basis = Basis {
        prices: rates.prices.source.clone(),
        prices_date: rates.prices.date.clone(),
        ..Basis::default()
    };
    for request in history.requests() {
        let ordinal = request.captured.request.ordinal();
        let lists = walker
            .lists(request.captured.request)
            .map_err(|_base| ProjectError::BadList { ordinal })?;
        let mut options = Options::default();
        for part in lists.head.iter().chain(&lists.tail) {
            options.read(recording, request.dialect, *part);
        }
        let at_ns = request.dispatched.as_ref().and_then(|sent| sent.at_unix_ns);
        let took_us = request.answer.as_ref().and_then(|(_, answer)| answer.time_us);
        let at_ms = at_ns.map(|ns| ns / 1_000_000);
        let model = model_of(recording, request);
        let day = at_ns.map(day);
        let of = |name: &str| rates.of(name, day.as_deref()).filter(|rate| rate.price.is_some());
        let own = model.as_deref().and_then(of);
        let rate = own.or_else(|| price_as.and_then(|name| rates.of(name, None)));
        if own.is_none() && rate.is_some() {
            basis.priced_as.extend(price_as.map(str::to_owned));
        }
        if let Some(rate) = &rate {
            basis.rulebooks.insert(rate.book.id.clone());
            basis.assumes.extend(rate.book.assumes.iter().cloned());
        }
        basis.without_time += u64::from(at_ns.is_none());
        basis.unpriced += u64::from(rate.is_none());
        let name = model.unwrap_or_default();
        let scope = word(ArtifactId::of(name.as_bytes()).as_bytes()) ^ options.key.rotate_left(13);
        if !name.is_empty() {
            basis.models.insert(name);
        }
        all.push(Terms {
            book: rate.map(|rate| rate.book),
            price: rate.and_then(|rate| rate.price),
            scope,
            salt: options.salt,
            minimum_tokens: rate.map_or(0, |rate| rate.minimum_tokens),
            at_ms,
            readable_ms: at_ms.map(|ms| ms + took_us.unwrap_or(0) / 1000),
            automatic: options.automatic.map(u8::from),
            explicit_only: options.explicit_only,
            class: u8::from(options.long),
            output_tokens: 0,
        });
    }
    Ok((all, basis))
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_are_those_of_the_calendar() {
        let second = 1_000_000_000;
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400 * second), "2000-02-29");
        assert_eq!(day(1_796_083_199 * second), "2026-11-30");
        assert_eq!(day(1_704_067_200 * second), "2024-01-01");
    }
}
