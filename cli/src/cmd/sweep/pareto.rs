//! Which policies no other one beats: at most as much money, at least as much shown evidence.

use super::row::RowEntry;

/// What a row costs: money where every request has a price, else tokens.
pub(super) fn price(row: &RowEntry, priced: bool) -> u64 {
    if priced { row.cost.total } else { row.prompt_tokens }
}

/// For each row, whether it is on the front. Rows without numbers, those with a refused request,
/// and those of runs whose answers have no anchor are not: what is not known is not compared.
pub(super) fn front(rows: &[&RowEntry]) -> Vec<bool> {
    let priced = rows.iter().all(|row| row.is_priced() || !row.is_known());
    let takes_part = |row: &RowEntry| row.is_known() && row.recall().is_some();
    let point = |row: &RowEntry| (price(row, priced), row.recall().unwrap_or(0));
    // Cheapest first; of the same price, those that show most.
    let mut order: Vec<usize> =
        rows.iter().enumerate().filter(|(_, row)| takes_part(row)).map(|(at, _)| at).collect();
    order.sort_by_key(|at| {
        rows.get(*at).map(|row| {
            let (price, recall) = point(row);
            (price, u64::MAX - recall)
        })
    });
    let mut front = vec![false; rows.len()];
    let mut best: Option<(u64, u64)> = None;
    for at in order {
        let Some((price, recall)) = rows.get(at).map(|row| point(row)) else { continue };
        let is_best =
            best.is_none_or(|(of, most)| recall > most || (recall == most && price == of));
        if is_best {
            best = Some((price, recall));
            if let Some(place) = front.get_mut(at) {
                *place = true;
            }
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tokens: u64, shown: u64, refused: u64) -> RowEntry {
        let mut row = RowEntry { requests: 1, prompt_tokens: tokens, ..RowEntry::default() };
        row.evidence.weight = 1000;
        row.evidence.shown = shown;
        row.fidelity.refused = refused;
        row
    }

    #[test]
    fn a_row_is_on_the_front_unless_another_is_better_in_both() {
        let rows = [
            row(100, 1000, 0),
            row(50, 900, 0),
            row(60, 900, 0),
            row(50, 900, 0),
            row(10, 100, 0),
            row(20, 50, 0),
            row(1, 1000, 1),
        ];
        let rows: Vec<_> = rows.iter().collect();
        assert_eq!(front(&rows), [true, true, false, true, true, false, false]);
        // The same by brute force.
        let better = |a: &RowEntry, b: &RowEntry| {
            let (a, b) = ((a.prompt_tokens, a.evidence.shown), (b.prompt_tokens, b.evidence.shown));
            a != b && a.0 <= b.0 && a.1 >= b.1
        };
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.fidelity.refused == 0) {
            let others = rows.iter().filter(|other| other.fidelity.refused == 0);
            assert_eq!(front(&rows)[at], !others.into_iter().any(|other| better(other, row)));
        }
    }
}
