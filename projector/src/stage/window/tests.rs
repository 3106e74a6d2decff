//! Goal: a window keeps what it says, and a safe one keeps both sides of a call or none. Method:
//! every small list with every graph of calls, against a search for the first start and then the
//! first end of the head that hold; the questions asked are counted.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::dropped;
use crate::policy::{Boundary, Window};

/// Messages of the largest list that is tried with every graph.
const COUNT_MAX: usize = 5;

fn window(protect_head: u32, keep: u64, boundary: Boundary) -> Window {
    Window::plain(protect_head, keep, boundary)
}

/// For each message the earlier ones that it needs, one bit for each pair.
fn graph(count: usize, mut bits: u32) -> Vec<Vec<usize>> {
    let mut needs = Vec::new();
    for message in 0..count {
        let mut calls = Vec::new();
        for call in 0..message {
            if bits & 1 == 1 {
                calls.push(call);
            }
            bits >>= 1;
        }
        needs.push(calls);
    }
    needs
}

/// The start of the smallest window, not smaller than asked for, that keeps every call it needs.
fn first_safe(needs: &[Vec<usize>], head: usize, start: usize) -> usize {
    let safe = |start: &usize| {
        let mut calls = needs[*start..].iter().flatten();
        calls.all(|call| *call < head || call >= start)
    };
    (head..=start).rev().find(safe).unwrap()
}

/// The shortest head, not shorter than asked for, that keeps the results of its calls.
fn first_whole(needs: &[Vec<usize>], head: usize, start: usize) -> usize {
    let whole = |head: &usize| needs[*head..start].iter().flatten().all(|call| call >= head);
    (head..=start).find(whole).unwrap()
}

#[test]
fn an_unsafe_window_keeps_the_first_and_the_newest_and_asks_nothing() {
    for count in 0..8 {
        for head in 0..10 {
            for keep in 0..10 {
                let asked = RefCell::new(0);
                let gone = dropped(&window(head, keep, Boundary::Any), count, |_| {
                    *asked.borrow_mut() += 1;
                    None
                });
                let (head, keep) = (head as usize, usize::try_from(keep).unwrap());
                for position in 0..count {
                    let kept = position < head || position + keep >= count;
                    assert_eq!(gone.contains(&position), !kept, "{head} {keep} {count}");
                }
                assert!(gone.start <= gone.end && gone.end <= count);
                assert_eq!(asked.into_inner(), 0);
            }
        }
    }
}

#[test]
fn a_safe_window_is_the_smallest_that_tears_no_call_from_its_result() {
    for count in 0..=COUNT_MAX {
        for bits in 0..1 << (count * count.saturating_sub(1) / 2) {
            let needs = graph(count, bits);
            for head in 0..=count + 1 {
                for keep in 0..=count + 1 {
                    check(&needs, head, keep);
                }
            }
        }
    }
}

fn pairs(needs: &[Vec<usize>]) -> impl Iterator<Item = (usize, usize)> {
    let of = |(result, calls): (usize, &Vec<usize>)| {
        calls.iter().map(move |call| (result, *call)).collect::<Vec<_>>()
    };
    needs.iter().enumerate().flat_map(of)
}

fn check(needs: &[Vec<usize>], head: usize, keep: usize) {
    let count = needs.len();
    let narrow = |n: usize| u32::try_from(n).unwrap();
    let asked = RefCell::new(Vec::new());
    let gone =
        dropped(&window(narrow(head), u64::from(narrow(keep)), Boundary::SafeGroup), count, |n| {
            asked.borrow_mut().push(n);
            needs[n].iter().copied()
        });
    let head = head.min(count);
    let start = count.saturating_sub(keep).max(head);
    let start = first_safe(needs, head, start);
    assert_eq!(gone, first_whole(needs, head, start)..start, "{needs:?} {head} {keep}");
    for (result, call) in pairs(needs) {
        assert_eq!(gone.contains(&result), gone.contains(&call), "{needs:?} {head} {keep}");
    }
    let behind: Vec<_> = (head..count).rev().collect();
    assert_eq!(asked.into_inner(), behind, "every message behind the head is asked once");
}

#[test]
fn a_chain_of_calls_costs_one_question_for_each_message() {
    let count = 10_000;
    let asked = RefCell::new(0);
    let gone = dropped(&window(1, 1, Boundary::SafeGroup), count, |n| {
        *asked.borrow_mut() += 1;
        n.checked_sub(1)
    });
    assert_eq!(gone, 1..1);
    assert_eq!(asked.into_inner(), count - 1);
}

#[test]
fn a_chain_behind_the_head_costs_one_question_for_each_message_too() {
    let count = 10_000;
    let asked = RefCell::new(0);
    let gone = dropped(&window(1, 3, Boundary::SafeGroup), count, |n| {
        *asked.borrow_mut() += 1;
        // The chain hangs on the head and ends before the window, with a message between.
        n.checked_sub(1).filter(|_| n < count - 4)
    });
    assert_eq!(gone, count - 4..count - 3);
    assert_eq!(asked.into_inner(), count - 1);
}

#[test]
fn counts_beyond_every_list_keep_everything() {
    for boundary in [Boundary::Any, Boundary::SafeGroup] {
        assert!(dropped(&window(u32::MAX, 0, boundary), 3, |_| None).is_empty());
        assert!(dropped(&window(0, u64::MAX, boundary), 3, |_| None).is_empty());
    }
}
