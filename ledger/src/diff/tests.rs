//! Goal: splices rebuild the new list from the old one, whatever the lists. Method: every pair of
//! lists up to five entries over three symbols, and random long ones through both code paths.

use proptest::prelude::*;

use super::{apply, splices};

fn check(old: &[u8], new: &[u8]) {
    let changes = splices(old, new);
    let mut list = old.to_vec();
    apply(&mut list, &changes).unwrap();
    assert_eq!(list, new, "from {old:?} by {changes:?}");
    assert_eq!(changes.is_empty(), old == new);
}

fn lists(length: usize) -> Vec<Vec<u8>> {
    (0..3_u32.pow(u32::try_from(length).unwrap()))
        .map(|mut code| {
            (0..length)
                .map(|_| {
                    let symbol = u8::try_from(code % 3).unwrap();
                    code /= 3;
                    symbol
                })
                .collect()
        })
        .collect()
}

#[test]
fn every_small_pair_is_rebuilt() {
    let all: Vec<_> = (0..=5).flat_map(lists).collect();
    for old in &all {
        for new in &all {
            check(old, new);
        }
    }
}

#[test]
fn an_append_is_one_splice_at_the_end() {
    let changes = splices(&[1, 2], &[1, 2, 3, 4]);
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].at, changes[0].remove), (2, 0));
    assert_eq!(changes[0].insert, [3, 4]);
}

#[test]
fn splices_out_of_range_are_refused() {
    for (at, remove) in [(3, 0), (2, 1), (0, 3), (u32::MAX, u32::MAX)] {
        let bad = crate::event::Splice { at, remove, insert: vec![9_u8] };
        assert!(apply(&mut vec![1_u8, 2], &[bad]).is_err(), "{at} {remove}");
    }
}

proptest! {
    #[test]
    fn long_lists_are_rebuilt(
        old in proptest::collection::vec(any::<u32>(), 0..6000),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 0..50),
    ) {
        let mut new = old.clone();
        for (index, value) in edits {
            if new.is_empty() {
                new.push(value);
            } else {
                let at = index.index(new.len());
                new[at] = value;
            }
        }
        let changes = splices(&old, &new);
        let mut list = old.clone();
        apply(&mut list, &changes).unwrap();
        prop_assert_eq!(list, new);
    }
}
