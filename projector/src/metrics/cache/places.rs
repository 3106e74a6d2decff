//! Where a request with marks writes, and where it looks.

use alloc::vec::Vec;

use super::lane::Lane;
use super::{Ask, Rulebook, Said, Section, Trait};

/// A place that is written: behind so many blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) blocks: usize,
    pub(super) class: u8,
}

/// The places of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// What is written, in order.
    pub(super) writes: Vec<Place>,
    /// The provider would refuse the request.
    pub(super) refused: bool,
}

impl Places {
    pub(super) fn of(book: &Rulebook, ask: &Ask<'_>) -> Self {
        let marked = ask
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| Some(Place { blocks: at + 1, class: block.mark? }));
        let mut marks: Vec<Place> = marked.collect();
        let mut places = Self::default();
        let end = Place { blocks: ask.blocks.len(), class: ask.class };
        if book.has(Trait::ImplicitPlace) {
            // The newest marks count; the end of the prompt is one of the places.
            let room = book.writes_max.saturating_sub(usize::from(!ask.explicit_only));
            let old = marks.len().saturating_sub(room);
            marks.drain(..old);
            if !ask.explicit_only && end.blocks > 0 && !marks.iter().any(|m| m.blocks == end.blocks)
            {
                marks.push(end);
            }
            places.writes = marks;
            return places;
        }
        if let Some(class) = ask.automatic.filter(|_| end.blocks > 0) {
            match marks.last() {
                Some(last) if last.blocks == end.blocks => places.refused |= last.class != class,
                _ => marks.push(Place { blocks: end.blocks, class }),
            }
        }
        places.refused |= book.has(Trait::RefusesMoreMarks) && marks.len() > book.writes_max;
        marks.truncate(book.writes_max);
        // A longer lifetime has to stand before a shorter one.
        let ordered = marks.windows(2).all(|pair| match pair {
            [first, second] => first.class >= second.class,
            _ => true,
        });
        places.refused |= !ordered;
        places.writes = marks;
        places
    }

    /// Hashes of the prefixes at which this request may find something.
    pub(super) fn looked_at(&self, book: &Rulebook, ask: &Ask<'_>, lane: &Lane) -> Vec<u64> {
        let Some(lookback) = book.lookback_blocks else {
            // No limit: wherever something was written.
            return (1..=lane.len()).rev().map(|blocks| lane.hash(blocks)).collect();
        };
        let mut hashes = Vec::new();
        for place in &self.writes {
            let mut left = lookback;
            let mut at = place.blocks;
            while at > 0 && left > 0 {
                hashes.push(lane.hash(at));
                if !(book.has(Trait::RunsCountOnce) && is_inside_a_run(ask, at)) {
                    left -= 1;
                }
                at -= 1;
            }
        }
        hashes
    }
}

/// True when the block before this place goes on with the run of calls or results that ends here.
fn is_inside_a_run(ask: &Ask<'_>, blocks: usize) -> bool {
    let said = |at: usize| {
        let block = ask.blocks.get(at)?;
        (block.section == Section::Messages).then_some(block.said)
    };
    let here = blocks.checked_sub(1).and_then(said);
    let earlier = blocks.checked_sub(2).and_then(said);
    here == earlier && matches!(here, Some(Said::Call | Said::Result))
}
