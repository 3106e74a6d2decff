//! Short conversations, with where the part begins that stays.

use alloc::vec::Vec;

use super::{
    Item, Speaker, behind_share, cut_turn, newest_messages, newest_that_fit, newest_to_reach,
    newest_within, oldest_within, safe_group,
};

/// `s`, `u`, `a`: a message of 10; `c1`: a message that calls 1; `r1`: its result.
fn items(words: &str) -> Vec<Item<u32>> {
    let item = |word: &str| {
        let keys: Vec<u32> = word.chars().skip(1).filter_map(|digit| digit.to_digit(10)).collect();
        let (speaker, calls, results) = match word.chars().next() {
            Some('s') => (Speaker::System, Vec::new(), Vec::new()),
            Some('u') => (Speaker::User, Vec::new(), Vec::new()),
            Some('r') => (Speaker::Tool, Vec::new(), keys),
            _ => (Speaker::Assistant, keys, Vec::new()),
        };
        Item { speaker, size: 10, calls, results }
    };
    words.split_whitespace().map(item).collect()
}

#[test]
fn what_reaches_the_number_stays_but_no_result_begins() {
    let chat = items("u c1 r1 u c2 r2 a");
    for (tokens, begin) in [(0, 6), (10, 6), (11, 6), (20, 6), (21, 4), (40, 3), (70, 0), (71, 0)] {
        assert_eq!(newest_to_reach(&chat, tokens), begin, "{tokens}");
    }
    assert_eq!(newest_to_reach(&items("r1 r2 a"), 99), 2);
    assert_eq!(newest_to_reach(&items("r1 r2"), 1), 0);
    assert_eq!(newest_to_reach(&items("a r1 r2"), 1), 0);
}

#[test]
fn a_turn_is_cut_where_it_does_not_begin_with_the_user() {
    let chat = items("a u c1 r1 a");
    assert_eq!([0, 1, 2, 4, 5].map(|at| cut_turn(&chat, at)), [None, None, Some(1), Some(1), None]);
}

#[test]
fn a_share_goes_up_to_a_message_of_the_user() {
    let chat = items("u a u a u a u a u a");
    assert_eq!([700, 500, 990].map(|gone| behind_share(&chat, gone)), [8, 6, 10]);
    assert_eq!(behind_share(&items("u a u c1"), 990), 2);
    assert_eq!(behind_share(&items("u c1 r1 u"), 750), 3);
    assert_eq!(behind_share(&items("u c1 r1 u"), 751), 3);
    assert_eq!(behind_share(&items(""), 500), 0);
}

#[test]
fn groups_of_calls_and_results_stay_together() {
    let chat = items("r9 c1 r1 r8 a");
    assert_eq!([0, 1, 2, 3, 4, 5].map(|at| safe_group(&chat, at)), [1, 1, 1, 4, 4, 5]);
    assert_eq!(newest_messages(&chat, 3), 1);
    assert_eq!(newest_messages(&chat, 5), 0);
    assert_eq!(newest_messages(&chat, 0), 5);
}

#[test]
fn what_fits_stays_and_the_last_message_always() {
    let chat = items("u c1 r1 a");
    for (tokens, begin) in [(0, 3), (9, 3), (10, 3), (20, 1), (30, 1), (39, 1), (40, 0)] {
        assert_eq!(newest_that_fit(&chat, tokens), begin, "{tokens}");
    }
    assert_eq!(newest_that_fit(&items("r1"), 1), 0);
    assert_eq!(newest_that_fit(&items("u r1"), 1), 2);
}

#[test]
fn both_ends_are_as_long_as_they_may_be() {
    let chat = items("u c1 r1 a");
    for (tokens, begin, end) in [(0, 4, 0), (9, 4, 0), (10, 3, 1), (39, 1, 3), (40, 0, 4)] {
        assert_eq!(newest_within(&chat, tokens), begin, "{tokens}");
        assert_eq!(oldest_within(&chat, tokens), end, "{tokens}");
    }
}
