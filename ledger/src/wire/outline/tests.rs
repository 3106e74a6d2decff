//! Goal: an outline is the body, cut: head, items with the separator between them, and tail are
//! the body again, and a body that cannot be cut so is refused. Method: one body per dialect and
//! layout with its parts named, every cut of each, every kind of refusal, and random bodies.

use proptest::prelude::*;

use super::*;
use crate::wire::span::NESTING_MAX;
use PartKind::{Glue, Options, System, Tools};

/// Outlines a body and asserts that the outline is the body again.
#[track_caller]
fn outlined(dialect: Dialect, body: &[u8]) -> Outline {
    let outline = outline(dialect, body).unwrap();
    let mut rebuilt = Vec::new();
    let mut at = 0;
    let mut push = |span: &Range<usize>| {
        assert_eq!(span.start, at, "spans follow each other");
        assert!(!span.is_empty());
        rebuilt.extend_from_slice(&body[span.clone()]);
        at = span.end;
    };
    outline.head.iter().for_each(|piece| push(&piece.span));
    for (index, item) in outline.items.iter().enumerate() {
        if index > 0 {
            let between = outline.items[index - 1].end..item.start;
            assert_eq!(body[between.clone()], body[outline.separator.clone()]);
            push(&between);
        }
        push(item);
    }
    outline.tail.iter().for_each(|piece| push(&piece.span));
    assert_eq!(rebuilt, body);
    assert!(outline.items.len() > 1 || outline.separator.is_empty());
    outline
}

/// The text of each part with its kind; items are `None`.
fn parts<'b>(outline: &Outline, body: &'b str) -> Vec<(Option<PartKind>, &'b str)> {
    let pieces = |pieces: &[Piece]| {
        let text = |piece: &Piece| (Some(piece.kind), &body[piece.span.clone()]);
        pieces.iter().map(text).collect::<Vec<_>>()
    };
    let mut all = pieces(&outline.head);
    all.extend(outline.items.iter().map(|item| (None, &body[item.clone()])));
    all.extend(pieces(&outline.tail));
    all
}

#[track_caller]
fn check(dialect: Dialect, body: &str, expected: &[(Option<PartKind>, &str)]) {
    let outline = outlined(dialect, body.as_bytes());
    assert_eq!(parts(&outline, body), expected, "{body}");
}

/// One compact body per dialect.
fn bodies() -> [(Dialect, String); 4] {
    let compact = |body: &str| body.lines().map(str::trim_start).collect();
    BODIES.map(|(dialect, body)| (dialect, compact(body)))
}

const BODIES: [(Dialect, &str); 4] = [
    (
        Dialect::AnthropicMessages,
        r#"{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user",
        "content":"a"},{"role":"assistant","content":[]}],"tools":[{"name":"t"}],
        "max_tokens":9}"#,
    ),
    (
        Dialect::OpenAiChat,
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],
        "model":"m","stream":true,"tools":[]}"#,
    ),
    (
        Dialect::OpenAiResponses,
        r#"{"model":"m","instructions":"s","input":[{"role":"user"},{"type":"reasoning"}],
        "tools":[{}],"store":false}"#,
    ),
    (
        Dialect::GeminiGenerate,
        r#"{"contents":[{"role":"user","parts":[]},{"role":"model","parts":[]}],
        "systemInstruction":{"parts":[]},"tools":[{}],"generationConfig":{"topP":1}}"#,
    ),
];

/// The body as other writers lay it out.
fn layouts(body: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(body).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let python = body.replace(',', ", ").replace(':', ": ");
    vec![
        body.to_owned(),
        pretty.replace('\n', "\r\n"),
        format!("\u{feff}{pretty}\n"),
        format!(" \t\r\n{python}\r\n\r\n"),
        python,
        pretty,
    ]
}

#[test]
fn the_parts_of_each_dialect_are_named() {
    let [anthropic, chat, responses, gemini] = &bodies();
    check(
        anthropic.0,
        &anthropic.1,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""model":"m""#),
            (Some(Glue), ","),
            (Some(System), r#""system":[{"type":"text","text":"s"}]"#),
            (Some(Glue), r#","messages":["#),
            (None, r#"{"role":"user","content":"a"}"#),
            (None, r#"{"role":"assistant","content":[]}"#),
            (Some(Glue), "],"),
            (Some(Tools), r#""tools":[{"name":"t"}]"#),
            (Some(Glue), ","),
            (Some(Options), r#""max_tokens":9"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        chat.0,
        &chat.1,
        &[
            (Some(Glue), r#"{"messages":["#),
            (None, r#"{"role":"system","content":"s"}"#),
            (None, r#"{"role":"user","content":"a"}"#),
            (Some(Glue), "],"),
            (Some(Options), r#""model":"m""#),
            (Some(Glue), ","),
            (Some(Options), r#""stream":true"#),
            (Some(Glue), ","),
            (Some(Tools), r#""tools":[]"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        responses.0,
        &responses.1,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""model":"m""#),
            (Some(Glue), ","),
            (Some(System), r#""instructions":"s""#),
            (Some(Glue), r#","input":["#),
            (None, r#"{"role":"user"}"#),
            (None, r#"{"type":"reasoning"}"#),
            (Some(Glue), "],"),
            (Some(Tools), r#""tools":[{}]"#),
            (Some(Glue), ","),
            (Some(Options), r#""store":false"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        gemini.0,
        &gemini.1,
        &[
            (Some(Glue), r#"{"contents":["#),
            (None, r#"{"role":"user","parts":[]}"#),
            (None, r#"{"role":"model","parts":[]}"#),
            (Some(Glue), "],"),
            (Some(System), r#""systemInstruction":{"parts":[]}"#),
            (Some(Glue), ","),
            (Some(Tools), r#""tools":[{}]"#),
            (Some(Glue), ","),
            (Some(Options), r#""generationConfig":{"topP":1}"#),
            (Some(Glue), "}"),
        ],
    );
}

#[test]
fn white_space_belongs_to_the_glue_and_the_separator() {
    let body = "\u{feff}\r\n{\r\n \"model\" : \"m\" ,\r\n\"tools\": [ ] ,\r\n \
                \"input\" : [\r\n  1 ,\r\n  2 ,\r\n  3\r\n ]\r\n , \"a\" : [ 1 ]\r\n}\r\n";
    check(
        Dialect::OpenAiResponses,
        body,
        &[
            (Some(Glue), "\u{feff}\r\n{\r\n "),
            (Some(Options), "\"model\" : \"m\""),
            (Some(Glue), " ,\r\n"),
            (Some(Tools), "\"tools\": [ ]"),
            (Some(Glue), " ,\r\n \"input\" : [\r\n  "),
            (None, "1"),
            (None, "2"),
            (None, "3"),
            (Some(Glue), "\r\n ]\r\n , "),
            (Some(Options), "\"a\" : [ 1 ]"),
            (Some(Glue), "\r\n}\r\n"),
        ],
    );
    let outline = outlined(Dialect::OpenAiResponses, body.as_bytes());
    assert_eq!(&body[outline.separator], " ,\r\n  ");
}

#[test]
fn every_layout_is_rebuilt_with_the_same_parts() {
    for (dialect, body) in bodies() {
        let compact = outlined(dialect, body.as_bytes());
        assert_eq!(&body[compact.separator.clone()], ",");
        for layout in layouts(&body) {
            let outline = outlined(dialect, layout.as_bytes());
            assert_eq!(outline.items.len(), 2, "{layout}");
            let count = |outline: &Outline| {
                let pieces = outline.head.iter().chain(&outline.tail);
                let mut kinds: Vec<_> = pieces.map(|piece| piece.kind).collect();
                kinds.retain(|kind| *kind != Glue);
                kinds.sort();
                kinds
            };
            assert_eq!(count(&outline), count(&compact), "{layout}");
            let model = outline.model.map(|span| &layout[span]);
            assert_eq!(model, (dialect != Dialect::GeminiGenerate).then_some("\"m\""));
        }
    }
}

#[test]
fn every_cut_of_every_layout_is_refused() {
    for (dialect, body) in bodies() {
        for layout in layouts(&body) {
            let end = layout.trim_end().len();
            for cut in 0..end {
                let found = outline(dialect, &layout.as_bytes()[..cut]);
                assert!(matches!(found, Err(OutlineError::Scan(_))), "cut {cut}: {found:?}");
            }
            for cut in end..=layout.len() {
                outlined(dialect, &layout.as_bytes()[..cut]);
            }
        }
    }
}

#[test]
fn the_list_may_stand_first_or_last_be_empty_or_be_missing() {
    let chat = Dialect::OpenAiChat;
    check(
        chat,
        r#"{"messages":[1],"a":2}"#,
        &[
            (Some(Glue), r#"{"messages":["#),
            (None, "1"),
            (Some(Glue), "],"),
            (Some(Options), r#""a":2"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        chat,
        r#"{"a":2,"messages":[1]}"#,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""a":2"#),
            (Some(Glue), r#","messages":["#),
            (None, "1"),
            (Some(Glue), "]}"),
        ],
    );
    check(
        chat,
        r#"{"a":2,"messages":[ ] ,"b":3}"#,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""a":2"#),
            (Some(Glue), r#","messages":[ "#),
            (Some(Glue), "] ,"),
            (Some(Options), r#""b":3"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        chat,
        r#"{"a":2,"messages":[]}"#,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""a":2"#),
            (Some(Glue), r#","messages":["#),
            (Some(Glue), "]}"),
        ],
    );
    check(chat, r#"{"a":2}"#, &[(Some(Glue), "{"), (Some(Options), r#""a":2"#), (Some(Glue), "}")]);
    check(chat, "{}", &[(Some(Glue), "{}")]);
    let other = r#"{"contents":[1],"input":[2]}"#;
    assert!(outlined(chat, other.as_bytes()).items.is_empty());
}

#[test]
fn an_input_that_is_a_string_is_one_item_and_other_values_are_options() {
    let responses = Dialect::OpenAiResponses;
    check(
        responses,
        r#"{"input" : "a\"]" ,"b":1}"#,
        &[
            (Some(Glue), r#"{"input" : "#),
            (None, r#""a\"]""#),
            (Some(Glue), " ,"),
            (Some(Options), r#""b":1"#),
            (Some(Glue), "}"),
        ],
    );
    check(
        responses,
        r#"{"input":null,"input":{"a":1},"input":["b"]}"#,
        &[
            (Some(Glue), "{"),
            (Some(Options), r#""input":null"#),
            (Some(Glue), ","),
            (Some(Options), r#""input":{"a":1}"#),
            (Some(Glue), r#","input":["#),
            (None, r#""b""#),
            (Some(Glue), "]}"),
        ],
    );
}

#[test]
fn a_second_list_is_refused_where_it_begins() {
    for (body, offset) in [
        (r#"{"messages":[1],"messages":[2]}"#, 27),
        (r#"{"messages":[],"messages": []}"#, 27),
        (r#"{"messages":"a","messages":"b"}"#, 27),
        (r#"{"messages":[1,2],"a":1,"messages":"b"}"#, 35),
    ] {
        let found = outline(Dialect::OpenAiChat, body.as_bytes());
        assert_eq!(found, Err(OutlineError::TwoLists { offset }), "{body}");
    }
    // Below the top level the key is any key.
    outlined(Dialect::OpenAiChat, br#"{"a":{"messages":[1]},"messages":[{"messages":[2]}]}"#);
}

#[test]
fn uneven_separators_are_refused_where_they_differ() {
    for (body, offset) in [
        (r#"{"messages":[1,2, 3]}"#, 16),
        (r#"{"messages":[1, 2,3]}"#, 17),
        (r#"{"messages":[1,2 ,3]}"#, 16),
        ("{\"messages\":[1,\n2,\r\n3]}", 17),
        (r#"{"messages":[1,2,3, 4,5]}"#, 18),
    ] {
        let found = outline(Dialect::OpenAiChat, body.as_bytes());
        assert_eq!(found, Err(OutlineError::UnevenSeparator { offset }), "{body}");
    }
    // Space inside the brackets is no separator.
    let outline = outlined(Dialect::OpenAiChat, br#"{"messages":[  1,2  ]}"#);
    assert_eq!(outline.separator, 16..17);
}

#[test]
fn what_is_not_one_object_is_refused() {
    let trailing = |body: &str, offset| {
        let found = outline(Dialect::OpenAiChat, body.as_bytes());
        assert_eq!(found, Err(OutlineError::Trailing { offset }), "{body}");
    };
    trailing("{}x", 2);
    trailing("{} {}", 3);
    trailing("{}\u{feff}", 2);
    trailing("{\"messages\":[1]}\r\n\0", 18);
    let scan = |body: &[u8], error| {
        let found = outline(Dialect::OpenAiChat, body);
        assert_eq!(found, Err(OutlineError::Scan(error)), "{}", body.escape_ascii());
    };
    scan(b"", ScanError::Truncated { offset: 0 });
    scan(b"\xef\xbb\xbf", ScanError::Truncated { offset: 3 });
    scan(b"\xef\xbb{}", ScanError::Unexpected { offset: 0 });
    scan(b"[]", ScanError::Unexpected { offset: 0 });
    scan(b"\"messages\"", ScanError::Unexpected { offset: 0 });
    scan(b"{\"messages\":[1 2]}", ScanError::Unexpected { offset: 15 });
    scan(b"{\"messages\":[1,]}", ScanError::Unexpected { offset: 15 });
    let deep = format!("{{\"messages\":[{}", "[".repeat(100_000));
    scan(deep.as_bytes(), ScanError::TooDeep { offset: 13 + NESTING_MAX });
}

#[test]
fn a_large_options_object_is_split_into_its_members() {
    let id = "x".repeat(OPTIONS_SPLIT_BYTES);
    let meta = format!(r#""metadata":{{"id":"{id}" , "tools":[1],"system":{{"a":{{}}}}}}"#);
    let body = format!(r#"{{{meta},"messages":[1],{meta}}}"#);
    let id = format!(r#""id":"{id}""#);
    check(
        Dialect::AnthropicMessages,
        &body,
        &[
            (Some(Glue), r#"{"metadata":{"#),
            (Some(Options), &id),
            (Some(Glue), " , "),
            (Some(Options), r#""tools":[1]"#),
            (Some(Glue), ","),
            (Some(Options), r#""system":{"a":{}}"#),
            (Some(Glue), r#"},"messages":["#),
            (None, "1"),
            (Some(Glue), r#"],"metadata":{"#),
            (Some(Options), &id),
            (Some(Glue), " , "),
            (Some(Options), r#""tools":[1]"#),
            (Some(Glue), ","),
            (Some(Options), r#""system":{"a":{}}"#),
            (Some(Glue), "}}"),
        ],
    );
}

#[test]
fn objects_up_to_the_limit_arrays_and_objects_inside_are_not_split() {
    // An object of two members: three pieces with it whole, five with it split.
    let object = |bytes: usize| format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(bytes - 14));
    let pieces = |value: &str| {
        let body = format!(r#"{{"o":{value}}}"#);
        outlined(Dialect::OpenAiChat, body.as_bytes()).head.len()
    };
    let (whole, split) = (object(OPTIONS_SPLIT_BYTES), object(OPTIONS_SPLIT_BYTES + 1));
    assert_eq!(whole.len(), OPTIONS_SPLIT_BYTES);
    assert_eq!((pieces(&whole), pieces(&split)), (3, 5));
    assert_eq!(pieces(&format!(r#"{{"a":{split},"b":{split}}}"#)), 5);
    assert_eq!(pieces(&format!("[{split},{split}]")), 3);
    for key in ["tools", "functions"] {
        let body = format!(r#"{{"{key}":{split}}}"#);
        assert_eq!(outlined(Dialect::OpenAiChat, body.as_bytes()).head.len(), 3);
    }
}

#[test]
fn more_members_than_one_event_can_tell_of_are_refused() {
    let member = r#""a":1"#;
    let most = PIECES_BYTES_MAX / (2 * PIECE_BYTES + member.len());
    let body = |before: usize, after: usize| {
        let members = |count| vec![member; count];
        let all = [members(before), vec![r#""input":[]"#], members(after)].concat();
        format!("{{{}}}", all.join(","))
    };
    for before in [0, 1, most] {
        let body = body(before, most - before);
        assert_eq!(outlined(Dialect::OpenAiResponses, body.as_bytes()).items.len(), 0);
    }
    for before in [0, 1, most + 1] {
        let body = body(before, most + 1 - before);
        let refused = outline(Dialect::OpenAiResponses, body.as_bytes());
        let after_list = body.len() - 1 - member.len();
        let offset = if before > most { 1 + most * (member.len() + 1) } else { after_list };
        assert_eq!(refused, Err(OutlineError::TooManyMembers { offset }));
    }
    // A long member counts only with what an event tells of it.
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(PIECES_BYTES_MAX));
    assert_eq!(outlined(Dialect::OpenAiResponses, long.as_bytes()).head.len(), 3);
}

#[test]
fn more_items_than_the_limit_are_refused() {
    let body = |items: usize| format!(r#"{{"input":[{}1]}}"#, "1,".repeat(items - 1));
    let found = outlined(Dialect::OpenAiResponses, body(ITEMS_MAX).as_bytes());
    assert_eq!(found.items.len(), ITEMS_MAX);
    let found = outline(Dialect::OpenAiResponses, body(ITEMS_MAX + 1).as_bytes());
    assert_eq!(found, Err(OutlineError::TooManyItems));
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => prop::sample::select(vec![" ", "\r\n", "\n    ", "\t"])]
}

fn value() -> impl Strategy<Value = String> {
    let known = [
        "null",
        "true",
        "-1.5e400",
        "[]",
        "{ }",
        "[ 1, [2] ]",
        r#""a""#,
        r#""\"]},{[""#,
        r#"{"messages":[1, 2],"k":"v"}"#,
        "\"\u{e9}\\ud800\"",
    ];
    let long = (240..270_usize).prop_map(|bytes| format!(r#"{{"k":"{}"}}"#, "x".repeat(bytes)));
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => long]
}

fn list() -> impl Strategy<Value = String> {
    let array = (prop::collection::vec(value(), 0..5), space(), space(), space(), space());
    array.prop_map(|(items, open, close, before, after)| {
        let separator = format!("{before},{after}");
        format!("[{open}{}{close}]", items.join(&separator))
    })
}

proptest! {
    #[test]
    fn random_bodies_are_rebuilt(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        members in prop::collection::vec(
            (prop::sample::select(vec!["model", "system", "instructions", "systemInstruction",
                "tools", "functions", "a", "", "\\u0061"]), value()), 0..6),
        list in prop::option::of((list(), any::<prop::sample::Index>())),
        spaces in prop::collection::vec(space(), 24),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
    ) {
        let mut spaces = spaces.iter().cycle();
        let mut space = || *spaces.next().unwrap();
        let mut all: Vec<_> = members
            .iter()
            .map(|(key, value)| format!("{}\"{key}\"{}:{}{value}", space(), space(), space()))
            .collect();
        if let Some((list, at)) = &list {
            let key = std::str::from_utf8(dialect.list_key()).unwrap();
            let member = format!("{}{key}{}:{}{list}", space(), space(), space());
            all.insert(at.index(all.len() + 1), member);
        }
        let body = format!("{mark}{}{{{}{}}}{}", space(), all.join(","), space(), space());
        let outline = outlined(dialect, body.as_bytes());
        let listed = list.map_or(0, |(list, _)| {
            serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&list).unwrap().len()
        });
        prop_assert_eq!(outline.items.len(), listed);
        for item in &outline.items {
            prop_assert_eq!(body[item.clone()].trim(), &body[item.clone()]);
        }
    }
}
