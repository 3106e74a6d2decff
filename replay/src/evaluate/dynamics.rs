//! Rewrites of a conversation, and whether they pay: what is read anew now against what is saved
//! at each request that is left.

use std::collections::BTreeMap;

use projector::metrics::{Line, Scale, Terms};

/// A request that does not begin as the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The request that was the first to be sent with it, from 1.
    pub request: u64,
    /// Tokens that the prompt has lost by it.
    pub saved_tokens: u64,
    /// Tokens behind the place, which have to be read anew.
    pub suffix_tokens: u64,
    /// Requests of the conversation from it on.
    pub requests_left: u64,
    /// Requests that it takes to pay, without a request that wrote a summary; `None`: no price, or
    /// nothing was saved.
    pub pays_after: Option<u64>,
    /// Requests of the run since the rewrite before.
    pub since_last: Option<u64>,
    /// It came before the one before had paid.
    pub thrash: bool,
    /// The model has a price, so that `pays_after` is known where something was saved.
    pub priced: bool,
}

impl Rewrite {
    /// True when enough requests are left for it to pay; `None`: no price.
    pub fn paid(&self) -> Option<bool> {
        self.priced.then(|| self.pays_after.is_some_and(|pays| self.requests_left > pays))
    }
}

/// Rewrites of a run, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dynamics {
    /// Rewrites of the policy's own.
    pub rewrites: u64,
    /// Those that do not pay; of those with a price.
    pub unpaid: u64,
    /// Those that come before the one before has paid.
    pub thrash: u64,
    /// Tokens that prompts have lost by them.
    pub saved_tokens: u64,
}

/// Finds the rewrites among lines. `is_one` says whether a line that does not begin as the one
/// before counts, and how many bytes the request brings that were not in the one before, where
/// that is known.
pub(super) fn rewrites(
    lines: &[Line],
    terms: &[Terms<'_>],
    scale: Scale,
    is_one: impl Fn(&Line) -> Option<u64>,
) -> Vec<Rewrite> {
    let mut left: BTreeMap<u32, u64> = BTreeMap::new();
    for line in lines {
        *left.entry(line.lane).or_default() += 1;
    }
    let mut last: BTreeMap<u32, (usize, Option<u64>)> = BTreeMap::new();
    let mut found = Vec::new();
    for (line, terms) in lines.iter().zip(terms) {
        let requests_left = left.get_mut(&line.lane);
        let requests_left = requests_left.map_or(0, |left| std::mem::replace(left, *left - 1));
        if line.common_bytes >= line.before_bytes {
            continue;
        }
        let Some(brought) = is_one(line) else { continue };
        let saved_tokens = scale.tokens((line.before_bytes + brought).saturating_sub(line.bytes()));
        let suffix_tokens = scale.tokens(line.bytes().saturating_sub(line.common_bytes));
        let pays_after = (saved_tokens > 0)
            .then(|| pays_after(terms, line.tokens, saved_tokens, suffix_tokens))
            .flatten();
        let before = last.insert(line.lane, (line.request, pays_after));
        let since_last = before.map(|(at, _)| (line.request - at) as u64);
        let must = before.and_then(|(_, pays)| pays);
        found.push(Rewrite {
            request: line.request as u64 + 1,
            saved_tokens,
            suffix_tokens,
            requests_left,
            pays_after,
            since_last,
            thrash: since_last.zip(must).is_some_and(|(since, pays)| since < pays),
            priced: terms.price.is_some() && terms.book.is_some(),
        });
    }
    found
}

/// `(write - read) x suffix / (read x saved)`, rounded up.
fn pays_after(terms: &Terms<'_>, tokens: u64, saved: u64, suffix: u64) -> Option<u64> {
    let unit = terms.price?.unit(terms.book?, tokens);
    let [write, _] = unit.write;
    let more = u128::from(write.0.saturating_sub(unit.read.0)) * u128::from(suffix);
    let less = (u128::from(unit.read.0) * u128::from(saved)).max(1);
    Some(u64::try_from(more.div_ceil(less)).unwrap_or(u64::MAX))
}

impl Dynamics {
    /// Of a policy's lines: rewrites where the record goes on as it was.
    pub(super) fn of(lines: &[Line], base: &[Line], terms: &[Terms<'_>], scale: Scale) -> Self {
        let own = |line: &Line| {
            let recorded = base.get(line.request)?;
            let goes_on = recorded.common_bytes == recorded.before_bytes;
            goes_on.then(|| recorded.bytes() - recorded.before_bytes)
        };
        let mut dynamics = Self::default();
        for rewrite in rewrites(lines, terms, scale, own) {
            dynamics.rewrites += 1;
            dynamics.unpaid += u64::from(rewrite.paid() == Some(false));
            dynamics.thrash += u64::from(rewrite.thrash);
            dynamics.saved_tokens += rewrite.saved_tokens;
        }
        dynamics
    }
}
