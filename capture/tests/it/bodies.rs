//! Goal: whatever a request body is, it is recorded byte for byte, cut into parts where it has
//! the shape of its dialect and whole where it has not. Method: one hostile body each, rebuilt
//! from its parts and compared.

use std::fmt::Write as _;
use std::io::Write as _;

use capture::import::NoteKind;
use flate2::Compression;
use flate2::write::GzEncoder;
use ledger::event::Rung;

use crate::support::{ANTHROPIC, CHAT, Exchange, GEMINI, RESPONSES, Run, Stands};

#[track_caller]
fn exact(url: &str, body: impl Into<Vec<u8>>, split: bool) -> Run {
    let body = body.into();
    let run = Run::of(&[Exchange::post(url, body.clone())]);
    assert_eq!(run.bodies.len(), 1);
    run.assert_exact(0, &body, split);
    let unsplit = if split { vec![] } else { vec![(NoteKind::Unsplit, 1)] };
    assert_eq!(run.notes, unsplit);
    run
}

/// A Chat body with this JSON string, given with its quotes, as what the user says.
fn saying(string: &[u8]) -> Vec<u8> {
    let before: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"#;
    [before, string, br#"},{"role":"user","content":"second"}],"stream":true}"#].concat()
}

#[test]
fn a_body_that_is_cut_or_no_json_is_kept_whole() {
    let whole = saying(b"\"go\"");
    for end in 1..whole.len() {
        let part = &whole[..end];
        // A request per cut in one run would repeat itself; the shape decides nothing here.
        if end % 7 == 0 {
            exact(CHAT, part, false);
        }
    }
    exact(CHAT, "", false);
    exact(CHAT, "null", false);
    exact(CHAT, "[]", false);
    exact(CHAT, "plain text \" with a quote", false);
    exact(ANTHROPIC, [whole.as_slice(), b"x"].concat(), false);
    exact(GEMINI, [0xff, 0xfe, 0x00, b'"', 0xff], false);
}

#[test]
fn deep_nesting_is_kept_whole() {
    for open in ["[", r#"{"a":"#] {
        let mut body = r#"{"model":"m","messages":["#.to_owned();
        body.push_str(&open.repeat(100_000));
        exact(CHAT, body.clone(), false);
        let close = if open == "[" { "]" } else { "}" };
        body.push('1');
        body.push_str(&close.repeat(100_000));
        body.push_str("]}");
        exact(CHAT, body, false);
    }
    // Just below and above the limit of 512, three levels being the body, its list, its item.
    for (levels, split) in [(509, true), (513, false)] {
        let item = "[".repeat(levels) + &"]".repeat(levels);
        exact(CHAT, format!(r#"{{"messages":[{{"content":{item}}}]}}"#), split);
    }
}

#[test]
fn two_message_lists_are_kept_whole_and_other_repetitions_are_split() {
    let user = r#"{"role":"user","content":"go"}"#;
    exact(CHAT, format!(r#"{{"messages":[{user}],"messages":[{user}]}}"#), false);
    exact(RESPONSES, r#"{"input":"a","input":"b"}"#, false);
    exact(
        CHAT,
        format!(r#"{{"model":"a","messages":[{user}],"model":"b","tools":[],"tools":[]}}"#),
        true,
    );
    exact(
        CHAT,
        r#"{"messages":[{"role":"user","role":"tool","content":"a","content":"b"}]}"#,
        true,
    );
    exact(ANTHROPIC, r#"{"system":"a","messages":[],"system":[{"type":"text","text":"b"}]}"#, true);
}

#[test]
fn half_a_surrogate_in_a_body_stays_in_the_literal() {
    for string in [
        r#""a \ud83d b""#,
        r#""\udc00""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\ude00\ud83d""#,
        r#""\uD83D""#,
    ] {
        let body = saying(string.as_bytes());
        let run = exact(CHAT, body, true);
        let parts = run.history.parts();
        let holes = |text: &str| {
            let part = parts.iter().find(|part| {
                let literal = &run.history.skeleton(part).literal;
                literal.as_inline().is_some_and(|bytes| {
                    std::str::from_utf8(bytes).is_ok_and(|literal| literal.contains(text))
                })
            });
            part.map(|part| part.holes.len())
        };
        assert_eq!(holes(string), Some(0), "{string}");
    }
    // A whole pair is text.
    let run = exact(CHAT, saying(br#""a \ud83d\ude00 b""#), true);
    assert!(run.history.parts().iter().any(|part| {
        part.holes
            .iter()
            .any(|hole| run.history.text(hole).as_inline() == Some("a \u{1f600} b".as_bytes()))
    }));
}

#[test]
fn strings_with_escapes_of_every_kind_come_back() {
    let mixed = r#""\u00e9\u00E9 \/ / \b\u0008 \u007f \u2028 \u003c < \"\\ \u0041""#;
    exact(CHAT, saying(mixed.as_bytes()), true);
    exact(CHAT, saying(b"\"raw \0 \x01 \x1f \x7f control\n\r\t\""), true);
    exact(CHAT, saying(b"\"\\u0000\\u0001\""), true);
    exact(CHAT, saying(b"\"no utf-8: \xff\xc3\x28\xed\xa0\x80\""), true);
    exact(CHAT, saying(b"\"bad \\x escape\""), false);
    exact(CHAT, saying(b"\"\""), true);
}

#[test]
fn numbers_beyond_every_type_come_back() {
    let numbers = "1e400,-1E-400,18446744073709551616,0.1000000000000000055511151231257827,-0";
    exact(CHAT, format!(r#"{{"n":[{numbers}],"messages":[{{"content":[{numbers}]}}]}}"#), true);
    exact(
        ANTHROPIC,
        format!(
            r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"a",
                "name":"f","input":{{"n":[{numbers}]}}}}]}}]}}"#
        ),
        true,
    );
    exact(CHAT, r#"{"n":01,"messages":[]}"#, false);
}

#[test]
fn line_ends_blanks_and_byte_order_marks_come_back() {
    let pretty = "{\r\n  \"model\" : \"m\",\r\n  \"messages\" : [\
                  \r\n    {\"role\":\"user\",\"content\":\"a\"},\
                  \r\n    {\"role\":\"user\",\"content\":\"b\"},\
                  \r\n    {\"role\":\"user\",\"content\":\"c\"}\
                  \r\n  ]\r\n}\r\n";
    exact(CHAT, pretty, true);
    exact(CHAT, pretty.replace("\r\n    {\"role\":\"user\",\"content\":\"c\"}", "{}"), false);
    let marked = format!("\u{feff}{pretty}");
    exact(CHAT, marked.clone(), true);
    let file = crate::support::har_of(&[Exchange::post(CHAT, marked.clone())]);
    let run = Run::of_file(format!("\u{feff}\r\n{file}\r\n").as_bytes());
    run.assert_exact(0, marked.as_bytes(), true);
}

#[test]
fn odd_lists_come_back() {
    exact(CHAT, r#"{"messages":[]}"#, true);
    exact(CHAT, r#"{"messages":[ ] , "a":1}"#, true);
    exact(CHAT, r#"{"messages":null}"#, true);
    exact(CHAT, r#"{"messages":{"0":{"role":"user"}}}"#, true);
    exact(CHAT, r#"{"messages":[null,7,"text",[],{}]}"#, true);
    exact(CHAT, "{}", true);
    exact(RESPONSES, r#"{"model":"m","input":"plain \"text\"","stream":true}"#, true);
    exact(
        RESPONSES,
        r#"{"input":[{"role":"alien","content":"a"},{"type":"alien","x":[{}]}]}"#,
        true,
    );
    exact(CHAT, r#"{"messages":[{"role":"alien","content":"a"},{"role":7},{"role":null}]}"#, true);
    exact(
        GEMINI,
        r#"{"contents":[{"role":"alien","parts":[{"alien":1},7]},{"parts":null}]}"#,
        true,
    );
}

#[test]
fn plain_text_as_input_is_one_message() {
    let run = Run::of(&[
        Exchange::post(RESPONSES, r#"{"input":"a \u00e9"}"#),
        Exchange::post(RESPONSES, r#"{"input":"a \u00e9"}"#),
        Exchange::post(RESPONSES, r#"{"input":"b"}"#),
    ]);
    assert_eq!(run.lanes(), [vec![1, 2], vec![3]]);
    assert_eq!(run.causes(0), [ledger::event::Cause::UserInput]);
}

#[test]
fn bodies_as_base64_come_back_and_may_be_coded() {
    let body = saying(b"\"go\"");
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let entry = |coding: &str, bytes: Vec<u8>| {
        let entry = Exchange::new("POST", CHAT).body(Stands::Base64(bytes));
        if coding.is_empty() { entry } else { entry.header("content-encoding", coding) }
    };
    let run = Run::of(&[
        entry("", body.clone()),
        entry("gzip", gzip(&body)),
        entry("zstd", zstd(&body)),
        entry("gzip, zstd", zstd(&gzip(&body))),
        entry("gzip", body.clone()),
    ]);
    let told = |index: usize| {
        let captured = &run.request(index).captured;
        (captured.rung, captured.transfer.content_coding.as_deref(), captured.transfer.sent_bytes)
    };
    let bytes = |coded: &[u8]| coded.len() as u64;
    assert_eq!(told(0), (Rung::BodyExact, None, bytes(&body)));
    assert_eq!(told(1), (Rung::BodyExact, Some("gzip"), bytes(&gzip(&body))));
    assert_eq!(told(2), (Rung::BodyExact, Some("zstd"), bytes(&zstd(&body))));
    assert_eq!(told(3), (Rung::BodyExact, Some("several"), bytes(&zstd(&gzip(&body)))));
    assert_eq!(told(4), (Rung::Reconstructed, None, bytes(&body)));
    assert!(run.bodies.iter().all(|rebuilt| *rebuilt == body));
    // Retries of one request: nothing about it changed.
    assert_eq!(run.lanes(), [vec![1, 2, 3, 4, 5]]);
}

#[test]
fn a_body_that_cannot_be_searched_for_secrets_is_left_out_and_said_so() {
    let zstd = zstd::encode_all(saying(b"\"go\"").as_slice(), 1).unwrap();
    let cut = &zstd[..zstd.len() - 1];
    for (coding, bytes) in [("zstd", cut), ("br", b"\x0b\x02\x80hel\xff"), ("made-up", b"{}")] {
        let entry = Exchange::new("POST", CHAT).body(Stands::Base64(bytes.to_vec()));
        let run = Run::of(&[entry.header("content-encoding", coding)]);
        assert!(run.bodies.is_empty(), "{coding}");
        assert_eq!(run.notes, [(NoteKind::Coded, 1)], "{coding}");
    }
}

#[test]
fn a_bomb_grows_to_the_limit_and_is_left_out() {
    // 1 GiB and one byte of zeros, of which the decoder makes no more than the limit. The frame
    // is one block that repeats a byte, again and again.
    let mut bomb = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
    let blocks = capture::har::BODY_BYTES_MAX / (128 << 10);
    let repeat = |last: u32| ((128_u32 << 10) << 3 | 1 << 1 | last).to_le_bytes();
    for _ in 0..blocks {
        bomb.extend_from_slice(&repeat(0)[..3]);
        bomb.push(0);
    }
    bomb.extend_from_slice(&repeat(1)[..3]);
    bomb.push(0);
    assert!(bomb.len() < 64 << 10);
    let entry = Exchange::new("POST", CHAT).body(Stands::Base64(bomb.clone()));
    let run = Run::of(&[entry.header("content-encoding", "zstd")]);
    assert!(run.bodies.is_empty());
    assert_eq!(run.notes, [(NoteKind::Coded, 1)]);
}

#[test]
fn ten_thousand_messages_come_back_and_grow_by_what_is_new() {
    let mut messages: Vec<String> = (0..10_000)
        .map(|number| format!(r#"{{"role":"user","content":"message {number}"}}"#))
        .collect();
    let body = |messages: &[String]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
    let first = body(&messages);
    messages.push(r#"{"role":"user","content":"one more"}"#.to_owned());
    let second = body(&messages);
    let run = Run::of(&[Exchange::post(CHAT, first.clone()), Exchange::post(CHAT, second.clone())]);
    run.assert_exact(0, first.as_bytes(), true);
    run.assert_exact(1, second.as_bytes(), true);
    assert_eq!(run.lanes(), [vec![1, 2]]);
    assert_eq!(run.causes(1).len(), 1);
}

#[test]
fn more_messages_than_one_event_can_hold_come_back() {
    // Some 600 bytes each in an event, which is more than a frame; appended, then replaced.
    let text = "x".repeat(480);
    let mut all: Vec<_> = (0..30_000)
        .map(|number| format!(r#"{{"role":"user","content":"{number} {text}"}}"#))
        .collect();
    let first = format!(r#"{{"messages":[{}]}}"#, all.join(","));
    for message in &mut all[1..] {
        *message = message.replacen("xx", "yy", 1);
    }
    let second = format!(r#"{{"messages":[{}]}}"#, all.join(","));
    let exchanges = [first.as_str(), &second].map(|body| Exchange::post(CHAT, body));
    let run = Run::of(&exchanges);
    run.assert_exact(0, first.as_bytes(), true);
    run.assert_exact(1, second.as_bytes(), true);
    assert_eq!(run.lanes(), [vec![1, 2]]);
}

#[test]
fn more_edits_than_one_event_can_hold_come_back() {
    let small = |number: u32| format!(r#"{{"role":"user","content":"{number}"}}"#);
    // A megabyte in an event: two thousand texts that are short enough to stand in it.
    let large = |number: u32| {
        let text = format!(r#"{{"type":"text","text":"{number} {}"}}"#, "x".repeat(480));
        format!(r#"{{"role":"user","content":[{}]}}"#, vec![text; 2_000].join(","))
    };
    let body = |messages: Vec<String>| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
    let first = body((0..30).map(small).collect());
    // Every second message is replaced by two.
    let edited = |number: u32| match number % 2 {
        0 => vec![small(number)],
        _ => vec![large(number), large(number + 100)],
    };
    let second = body((0..30).flat_map(edited).collect());
    let exchanges = [first.as_str(), &second].map(|body| Exchange::post(CHAT, body));
    let run = Run::of(&exchanges);
    run.assert_exact(1, second.as_bytes(), true);
    assert_eq!(run.lanes(), [vec![1, 2]]);
    assert!(run.request(1).changes.len() > 1);
}

#[test]
fn more_options_than_one_event_can_hold_are_kept_whole() {
    let body = |count: u32, length: usize| {
        let mut body = r#"{"messages":[]"#.to_owned();
        for number in 0..count {
            write!(body, r#","option {number}":"{}""#, "x".repeat(length)).unwrap();
        }
        body + "}"
    };
    exact(CHAT, body(1_000, 240), true);
    exact(CHAT, body(60_000, 240), false);
    exact(CHAT, body(200_000, 1), false);
    // A few long ones are stored apart, however long they are.
    exact(CHAT, body(2, 5 << 20), true);
}

#[test]
fn more_marks_than_one_event_can_hold_stay_in_their_messages() {
    for (count, split_marks) in [(4, 4), (60_000, 0)] {
        let mark = format!(r#""cache_control":{{"type":"{}"}}"#, "x".repeat(400));
        let message = |number| format!(r#"{{"role":"user",{mark},"content":"{number}"}}"#);
        let messages: Vec<_> = (0..count).map(message).collect();
        let run = exact(ANTHROPIC, format!(r#"{{"messages":[{}]}}"#, messages.join(",")), true);
        assert_eq!(run.request(0).overlays().len(), split_marks);
    }
}

#[test]
fn a_list_in_which_every_second_message_changes_comes_back() {
    let body = |odd: &str| {
        let items: Vec<_> =
            (0..500_000).map(|number| if number % 2 == 0 { "1" } else { odd }).collect();
        format!(r#"{{"input":[{}]}}"#, items.join(","))
    };
    let (first, second) = (body("2"), body("3"));
    let run = Run::of(&[
        Exchange::post(RESPONSES, first.clone()).header("session_id", "s"),
        Exchange::post(RESPONSES, second.clone()).header("session_id", "s"),
    ]);
    run.assert_exact(0, first.as_bytes(), true);
    run.assert_exact(1, second.as_bytes(), true);
    // The difference would be longer than the list.
    assert!(run.request(1).captured.base.is_none());
    assert_eq!(run.lanes(), [vec![1, 2]]);
}

#[test]
fn ten_thousand_long_headers_are_recorded() {
    let mut entry = Exchange::post(CHAT, r#"{"messages":[]}"#);
    for number in 0..10_000 {
        let name = format!("{} {number}", "n".repeat(400));
        entry = entry.header(&name, &"v".repeat(500)).answer_header(&name, &"v".repeat(500));
    }
    Run::of(&[entry]).assert_exact(0, br#"{"messages":[]}"#, true);
}

#[test]
fn a_part_with_more_slots_than_are_cut_comes_back() {
    let blocks: Vec<_> = (0..70_000)
        .map(|number| {
            format!(r#"{{"type":"tool_result","tool_use_id":"t{number}","content":"o"}}"#)
        })
        .collect();
    let body = format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, blocks.join(","));
    exact(ANTHROPIC, body, true);
}
