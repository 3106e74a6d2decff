//! Why something that was kept is not read again.

use super::lane::{Ends, Lane};
use super::places::Places;
use super::{Ask, Charge, Scheme, Section, Simulator};

/// What made a prefix useless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Another model, or another account.
    ModelSwitch,
    /// Another choice of tools, or other settings of thinking.
    Parameter,
    /// Tool definitions are others, or in another order.
    Tools,
    /// The system text is another.
    System,
    /// The client changed messages that it had sent.
    ClientRewrite,
    /// The policy changed messages that it had shown.
    PolicyRewrite,
    /// Its lifetime had ended.
    Lifetime,
    /// Its end is too far before the mark.
    Lookback,
    /// No mark stands where it could be found.
    NoMark,
    /// It is smaller than what is kept.
    BelowMinimum,
    /// The answer that wrote it had not begun.
    NotYetReadable,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 11] = [
        Self::ModelSwitch,
        Self::Parameter,
        Self::Tools,
        Self::System,
        Self::ClientRewrite,
        Self::PolicyRewrite,
        Self::Lifetime,
        Self::Lookback,
        Self::NoMark,
        Self::BelowMinimum,
        Self::NotYetReadable,
    ];

    /// The word used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ModelSwitch => "model-switch",
            Self::Parameter => "parameter",
            Self::Tools => "tools",
            Self::System => "system",
            Self::ClientRewrite => "client-rewrite",
            Self::PolicyRewrite => "policy-rewrite",
            Self::Lifetime => "lifetime",
            Self::Lookback => "lookback",
            Self::NoMark => "no-mark",
            Self::BelowMinimum => "below-minimum",
            Self::NotYetReadable => "not-yet-readable",
        }
    }
}

/// A break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// What made it.
    pub cause: Cause,
    /// Tokens that were read in spite of it.
    pub depth_tokens: u64,
    /// Tokens that had been kept and are not read.
    pub lost_tokens: u64,
    /// The first block that differs, from 0; `None`: all that was kept is there.
    pub block: Option<usize>,
}

pub(super) fn find(
    cache: &Simulator<'_>,
    ask: &Ask<'_>,
    lane: &Lane,
    before: &Ends,
    charge: &Charge,
    places: &Places,
) -> Option<Break> {
    before.hash?;
    let kept = match cache.book.scheme {
        Scheme::Breakpoints => before.held,
        Scheme::Prefix | Scheme::Units if before.tokens < ask.minimum_tokens => 0,
        // What is no whole step is never read, which is no break.
        Scheme::Prefix | Scheme::Units => {
            before.tokens / cache.book.step_tokens * cache.book.step_tokens
        }
    };
    let lost = kept.saturating_sub(charge.read);
    if lost == 0 {
        return None;
    }
    let block = (ask.kept < before.blocks).then_some(ask.kept);
    let cause = cause(cache, ask, lane, before, places, block);
    Some(Break { cause, depth_tokens: charge.read, lost_tokens: lost, block })
}

fn cause(
    cache: &Simulator<'_>,
    ask: &Ask<'_>,
    lane: &Lane,
    before: &Ends,
    places: &Places,
    block: Option<usize>,
) -> Cause {
    if before.scope != ask.scope {
        return Cause::ModelSwitch;
    }
    if let Some(at) = block {
        return match ask.blocks.get(at).map(|block| block.section) {
            Some(Section::Tools) => Cause::Tools,
            Some(Section::System) => Cause::System,
            _ if before.salt != ask.salt => Cause::Parameter,
            _ if ask.changed => Cause::PolicyRewrite,
            _ => Cause::ClientRewrite,
        };
    }
    if before.salt != ask.salt {
        return Cause::Parameter;
    }
    if lane.total() < ask.minimum_tokens {
        return Cause::BelowMinimum;
    }
    let entry = before.hash.and_then(|hash| cache.kept.get(&hash));
    if let (Some(entry), Some(now)) = (entry, ask.at_ms)
        && entry.readable_ms.is_some_and(|readable| now < readable)
    {
        return Cause::NotYetReadable;
    }
    match cache.book.scheme {
        Scheme::Breakpoints if places.writes.is_empty() => Cause::NoMark,
        Scheme::Breakpoints => {
            // What was kept may have ended, or stand too far before a mark.
            let place = (1..=before.blocks).rev().find_map(|blocks| {
                let entry = cache.kept.get(&lane.hash(blocks))?;
                (entry.tokens <= before.held).then_some(blocks)
            });
            let looked = places.looked_at(cache.book, ask, lane);
            match place {
                Some(blocks) if looked.contains(&lane.hash(blocks)) => Cause::Lifetime,
                Some(_) => Cause::Lookback,
                None => Cause::NoMark,
            }
        }
        Scheme::Prefix | Scheme::Units => Cause::Lifetime,
    }
}
