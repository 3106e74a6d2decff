//! Brute-force twins, written from the rules and not from the code.

use std::collections::BTreeMap;

use projector::maka::event::Event;
use projector::maka::mid_turn::{self, Phase};
use projector::maka::retention::{self, Retention};
use projector::maka::ruler::UnitsPerToken;
use projector::maka::search::{self, Search};
use projector::maka::supersession::{self, Observation};
use projector::maka::tail_buffer::TailBuffer;
use projector::maka::text::Text;
use projector::maka::truncate::{self, Budget, Keep, Removed};
use proptest::prelude::*;
use serde_json::json;

use super::make::{answered, called, ids, json as ours, said, text, texts};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    /// The kept text is the longest run of whole lines at its end that fits, found by trying all.
    #[test]
    fn m06_cutting_is_the_longest_run_of_lines_that_fits(
        given in "[a\u{e9}\u{4e16}\u{1f642}\r\n]{0,40}", max_lines in 1_usize..8, max_bytes in 1_usize..40, tail: bool,
    ) {
        let keep = if tail { Keep::Tail } else { Keep::Head };
        let cut = truncate::truncate(&given, Budget { max_lines, max_bytes, keep }, &texts());
        let body = given.strip_suffix('\n').unwrap_or(&given);
        let lines: Vec<&str> = body.split('\n').collect();
        if lines.len() <= max_lines && given.len() <= max_bytes {
            prop_assert_eq!(cut, None);
            return Ok(());
        }
        let run = |count: usize| {
            let all = lines.len();
            if tail { lines[all - count..].join("\n") } else { lines[..count].join("\n") }
        };
        let most = (1..=lines.len().min(max_lines)).rev().find(|count| run(*count).len() <= max_bytes);
        let (kept, removed) = if let Some(count) = most {
            let kept = run(count);
            let all_lines = count == lines.len().min(max_lines);
            let removed = if all_lines { Removed::Lines((lines.len() - count) as u64) }
                else { Removed::Bytes((given.len() - kept.len()) as u64) };
            (kept, removed)
        } else {
            let line = if tail { lines[lines.len() - 1] } else { lines[0] };
            let parts = line.char_indices().map(|(at, _)| at).chain([line.len()])
                .map(|at| if tail { &line[at..] } else { &line[..at] });
            let best = parts.filter(|part| part.len() <= max_bytes).max_by_key(|part| part.len());
            let best = best.unwrap();
            (best.to_owned(), Removed::Bytes((given.len() - best.len()) as u64))
        };
        match cut {
            None => prop_assert!(matches!(removed, Removed::Lines(0) | Removed::Bytes(0))),
            Some(cut) => prop_assert_eq!((cut.kept, cut.removed), (kept, removed)),
        }
    }

    /// For any cutting into pieces: what is kept and what is dropped is what was fed.
    #[test]
    fn m08_kept_and_dropped_is_what_was_fed(
        chunks in prop::collection::vec("[ab\n\u{1f642}]{0,12}", 0..12), cap in 1_usize..20,
    ) {
        let mut buffer = TailBuffer::new(cap);
        for chunk in &chunks {
            buffer.push(&text(chunk));
        }
        let whole = text(&chunks.concat());
        let kept = buffer.value().clone();
        prop_assert!(kept.len() <= cap);
        let fed = whole.len() as u64;
        prop_assert_eq!(buffer.fed_units(), fed);
        prop_assert_eq!(buffer.dropped_units() + kept.len() as u64, fed);
        // What is kept is an end of the stream that starts with a line, unless nothing was cut.
        prop_assert!(whole.units().ends_with(kept.units()) || kept.is_empty());
        if buffer.dropped_units() > 0 && !kept.is_empty() {
            let before = whole.units()[whole.len() - kept.len() - 1];
            prop_assert_eq!(before, u16::from(b'\n'));
        }
        prop_assert_eq!(buffer.has_dropped_partial_line(), buffer.dropped_units() > 0);
    }

    /// The kept turns are the longest end of the list that is allowed, found by trying all.
    #[test]
    fn m56_retention_is_the_longest_end_that_is_allowed(
        sizes in prop::collection::vec(1_usize..60, 0..8), max_tokens in prop::option::of(1_u64..120),
        max_turns in prop::option::of(1_u64..6), min_recent_turns in 0_u64..4,
    ) {
        let events: Vec<Event> = sizes.iter().enumerate()
            .map(|(n, size)| said(&format!("e{n}"), &format!("t{n}"), &"x".repeat(*size))).collect();
        let policy = Retention { max_tokens, max_turns, min_recent_turns };
        let found = retention::keep(&events, policy, UnitsPerToken::units(1));
        let allowed = |count: usize| {
            let turns = &sizes[sizes.len() - count..];
            let sum: usize = turns.iter().sum();
            count as u64 <= min_recent_turns
                || (max_turns.is_none_or(|max| count as u64 <= max)
                    && (count == 1 || max_tokens.is_none_or(|max| sum as u64 <= max)))
        };
        // The walk ends at the first turn that is not allowed.
        let count = (1..=sizes.len()).take_while(|count| allowed(*count)).count();
        let wanted: Vec<String> = (sizes.len() - count..sizes.len()).map(|n| format!("e{n}")).collect();
        prop_assert_eq!(ids(&found), wanted);
    }

    /// A result is needless when any newer observation makes it so; the newest equal, or the
    /// newest that covers, is named.
    #[test]
    fn m56_supersession_is_what_trying_all_pairs_finds(
        seen in prop::collection::vec((0_u64..3, 0_u8..2, 0_u64..3, prop::option::of(1_u64..3), 0_u8..3, any::<bool>(), any::<bool>()), 0..9),
    ) {
        let mut step = 0;
        let observations: Vec<Observation> = seen.iter().enumerate().map(|(n, (gap, path, offset, limit, body, is_error, eligible))| {
            step += gap;
            Observation {
                call_id: text(&format!("c{n}")), tool: text("Read"),
                input: ours(&json!({"path": format!("f{path}"), "offset": offset, "limit": limit})),
                step, sha256: format!("{body}").repeat(64), is_error: *is_error, eligible: *eligible,
            }
        }).collect();
        let range = |n: usize| {
            let (_, path, offset, limit, ..) = seen[n];
            (path, offset, limit.map_or(u64::MAX, |limit| offset + limit))
        };
        let mut wanted = BTreeMap::new();
        for (n, old) in observations.iter().enumerate().filter(|(_, old)| old.eligible) {
            let newer: Vec<(usize, &Observation)> = observations.iter().enumerate().rev().filter(|(m, _)| *m > n).collect();
            let equal = |new: &Observation| new.input == old.input && new.is_error == old.is_error && new.sha256 == old.sha256;
            // Of equal ones only the newest counts, whatever its step.
            let exact = newer.iter().find(|(_, new)| equal(new)).filter(|(_, new)| new.step > old.step);
            let covers = |m: usize| {
                let ((path, from, to), (newer_path, newer_from, newer_to)) = (range(n), range(m));
                path == newer_path && newer_from <= from && newer_to >= to
            };
            let read = newer.iter().find(|(m, new)| new.step > old.step && !new.is_error && covers(*m));
            let reason = match (exact, read) {
                (Some((_, by)), _) => ("exact_duplicate", by.call_id.clone()),
                (None, Some((_, by))) if old.is_error => ("failure_resolved", by.call_id.clone()),
                (None, Some((_, by))) => ("newer_read_covers_range", by.call_id.clone()),
                (None, None) => continue,
            };
            wanted.insert(old.call_id.clone(), reason);
        }
        let found: BTreeMap<Text, (&str, Text)> = supersession::plan(&observations).into_iter()
            .map(|(call, by)| (call, (by.reason, by.by_call))).collect();
        prop_assert_eq!(found, wanted);
    }

    /// The cut is the largest that is allowed, found by trying all.
    #[test]
    fn m56_a_turn_is_cut_at_the_largest_safe_place(
        kinds in prop::collection::vec(0_u8..6, 0..10), reserve in 0_u64..4, pre: bool, at in 0_usize..4,
    ) {
        let mut events: Vec<Event> = kinds.iter().enumerate().map(|(n, kind)| {
            let (id, call) = (format!("e{n}"), format!("k{}", kind % 2));
            match kind {
                0 | 1 => called(&id, "t2", &call, "Read"),
                2 | 3 => answered(&id, "t2", &call, "Read", &json!(1)),
                4 => said(&id, "t1", "x"),
                _ => super::make::event(&json!({"id": id, "turnId": "t2", "partial": true, "role": "model",
                        "content": {"kind": "text", "text": "x"}})),
            }
        }).collect();
        events.insert(at.min(events.len()), said("ask", "t2", "q"));
        let anchor = at.min(kinds.len());
        let phase = if pre { Phase::PreTurn } else { Phase::MidTurn };
        let ids_of = |event: &Event| match event.content() {
            Some(projector::maka::event::Content::Call { id, .. }) => Some((id.clone(), true)),
            Some(projector::maka::event::Content::Response(it)) => Some((it.id.clone(), false)),
            _ => None,
        };
        // Of several calls or results with one id the source looks at the last of each.
        let place = |wanted: &(Text, bool)| events.iter().rposition(|event| ids_of(event).as_ref() == Some(wanted));
        let safe = |cut: usize| {
            let first = events.iter().position(|event| event.is_partial() || (pre && *event.id() == text("ask")));
            cut <= events.len() - usize::try_from(reserve).unwrap().min(events.len())
                && first.is_none_or(|first| cut <= first)
                && ["k0", "k1"].iter().all(|id| {
                    match (place(&(text(id), true)), place(&(text(id), false))) {
                        (Some(call), Some(response)) => (call < cut) == (response < cut),
                        (Some(call), None) => call >= cut,
                        (None, _) => true,
                    }
                })
        };
        let largest = (1..=events.len()).rev().find(|cut| safe(*cut));
        let wanted = largest.filter(|cut| if pre { *cut <= anchor } else { *cut > anchor && *cut >= 2 });
        let found = mid_turn::boundary(&events, &text("ask"), phase, reserve);
        prop_assert_eq!(found.ok(), wanted);
    }

    /// What comes back is every neighbor of a hit, in order, while it fits.
    #[test]
    fn m56_search_brings_back_all_neighbors(
        words in prop::collection::vec("[ab]{0,3}", 0..10), max_results in 1_u64..4, around in 0_u64..3, max_tokens in 0_u64..12,
    ) {
        let events: Vec<Event> = words.iter().enumerate().map(|(n, word)| said(&format!("e{n}"), "t", word)).collect();
        let limits = Search { max_results, around, max_tokens };
        let found = search::search(&events, &text("aa bb ab"), limits, UnitsPerToken::units(1));
        let score = |word: &str| ["aa", "bb", "ab"].iter().filter(|term| word.contains(**term)).count();
        let mut best: Vec<usize> = (0..words.len()).filter(|n| score(&words[*n]) > 0).collect();
        best.sort_by_key(|n| std::cmp::Reverse((score(&words[*n]), format!("e{n}"))));
        best.truncate(usize::try_from(max_results).unwrap());
        let near = |n: usize| best.iter().any(|hit| hit.abs_diff(n) as u64 <= around);
        let mut left = max_tokens;
        let mut wanted = Vec::new();
        for n in (0..words.len()).filter(|n| near(*n)) {
            let tokens = words[n].len() as u64;
            if tokens <= left {
                left -= tokens;
                wanted.push(format!("e{n}"));
            }
        }
        prop_assert_eq!(ids(&found.events), wanted);
    }
}
