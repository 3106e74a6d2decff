//! Small logs, with what stays of them and where they may be cut.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{Link, Rules, cuts, kept};

type Log = Vec<Link<u32, u32>>;

fn call(call: u32, batch: u32) -> Link<u32, u32> {
    Link::Call { call, batch, thinking: false }
}

fn thinking(call: u32, batch: u32) -> Link<u32, u32> {
    Link::Call { call, batch, thinking: true }
}

fn result(call: u32) -> Link<u32, u32> {
    Link::Result { call }
}

fn log(links: impl IntoIterator<Item = Link<u32, u32>>) -> Log {
    links.into_iter().collect()
}

#[track_caller]
fn check(all: &Log, shown: &[usize], rules: Rules, left: &[usize]) {
    assert_eq!(kept(all, shown.iter().copied(), rules), left);
}

#[test]
fn of_two_results_the_first_stays() {
    let all = log([call(1, 1), result(1), result(1), Link::Other]);
    check(&all, &[0, 1, 2, 3], Rules::ALL, &[0, 1, 3]);
    let none = Rules { unique_output: false, ..Rules::ALL };
    check(&all, &[0, 1, 2, 3], none, &[0, 1, 2, 3]);
}

#[test]
fn a_batch_that_lost_a_call_goes_with_its_results() {
    let all = log([call(1, 9), call(2, 9), result(1), result(2)]);
    check(&all, &[0, 2, 3], Rules::ALL, &[]);
    let torn = Rules { batch_atomic: false, ..Rules::ALL };
    check(&all, &[0, 2, 3], torn, &[0, 2]);
}

#[test]
fn a_result_that_goes_takes_its_batch_with_it() {
    let all = log([Link::Other, call(1, 9), call(2, 9), result(1), result(2)]);
    check(&all, &[0, 1, 2, 3], Rules::ALL, &[0]);
    let keep_calls = Rules { drop_calls: false, ..Rules::ALL };
    check(&all, &[0, 1, 2, 3], keep_calls, &[0, 1, 2, 3]);
}

#[test]
fn a_loop_that_began_with_reasoning_goes_as_a_whole() {
    let all = log([thinking(1, 1), result(1), call(2, 2), result(2), Link::Other, call(3, 3)]);
    check(&all, &[0, 1, 4], Rules::ALL, &[4]);
    let apart = Rules { thinking_loop_atomic: false, ..Rules::ALL };
    check(&all, &[0, 1, 4], apart, &[0, 1, 4]);
}

#[test]
fn a_log_is_cut_where_no_rule_forbids_it() {
    let all = log([Link::Other, call(1, 1), call(2, 1), result(1), result(2), Link::Other]);
    assert_eq!(cuts(&all), BTreeSet::from([0, 1, 5, 6]));
    let all = log([thinking(1, 1), result(1), call(2, 2), result(2), Link::Other]);
    assert_eq!(cuts(&all), BTreeSet::from([0, 4, 5]));
    let all = log([call(1, 1), result(1), call(2, 2), result(2)]);
    assert_eq!(cuts(&all), BTreeSet::from([0, 2, 4]));
    assert_eq!(cuts(&log([])), BTreeSet::from([0]));
}
