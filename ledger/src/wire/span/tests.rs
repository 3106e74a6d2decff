//! Goal: the scanner accepts what `serde_json` accepts and reports where it stands. Method:
//! differential tests against `IgnoredAny` and `RawValue` over random texts and their mutations,
//! and a table of the places where the two are meant to differ.
//!
//! Meant to differ: raw control characters inside strings are let through (bodies with them
//! exist, and whoever unescapes decides), and more than [`NESTING_MAX`] levels are refused.
//! Bytes that are not UTF-8 are let through by both.

use core::fmt;

use proptest::prelude::*;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::*;

/// Scans a text that must be one value and white space.
fn scan(text: &[u8]) -> Result<Value, ScanError> {
    let mut cursor = Cursor::new(text, 0);
    let value = cursor.skip_value()?;
    cursor.skip_space();
    if cursor.pos() == text.len() { Ok(value) } else { cursor.unexpected() }
}

/// The text with the raw control characters inside its strings replaced, found by a byte loop of
/// its own: what `serde_json` has to accept when the scanner accepts the text itself.
fn without_raw_controls(text: &[u8]) -> Vec<u8> {
    let (mut inside, mut escaped) = (false, false);
    let replace = |byte: u8| {
        let plain = inside && !escaped;
        escaped = plain && byte == b'\\';
        inside ^= (plain || !inside) && byte == b'"';
        if plain && byte < 0x20 { b'x' } else { byte }
    };
    text.iter().copied().map(replace).collect()
}

fn serde_accepts(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(&without_raw_controls(text)).is_ok()
}

fn check(text: &[u8]) {
    let found = scan(text);
    assert_eq!(found.is_ok(), serde_accepts(text), "{:?}: {found:?}", text.escape_ascii());
    if let Err(ScanError::Truncated { offset } | ScanError::Unexpected { offset }) = found {
        assert!(offset <= text.len());
    }
}

/// The members of an object as `serde_json` finds them.
fn members(object: &str) -> Vec<(&RawValue, &RawValue)> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(&'de RawValue, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(member) = map.next_entry()? {
                all.push(member);
            }
            Ok(all)
        }
    }

    serde_json::Deserializer::from_str(object).deserialize_map(Members).unwrap()
}

/// Walks a valid text side by side with `serde_json`; returns how many values it saw.
fn walk(cursor: &mut Cursor<'_>, expected: &RawValue) -> usize {
    let text = expected.get();
    let kind = cursor.kind().unwrap();
    let start = cursor.pos();
    let value = cursor.clone().skip_value().unwrap();
    assert_eq!(value.kind, kind);
    assert_eq!(value.span.start, start);
    assert_eq!(&cursor.bytes()[value.span.clone()], text.as_bytes());
    assert_eq!(cursor.bytes()[start..].as_ptr(), text.as_ptr());
    let mut seen = 1;
    match kind {
        ValueKind::Object => {
            cursor.expect(b'{').unwrap();
            let mut expected = members(text).into_iter();
            let mut first = true;
            while let Some(key) = cursor.next_key(first).unwrap() {
                let (name, value) = expected.next().unwrap();
                assert_eq!(&cursor.bytes()[key], name.get().as_bytes());
                seen += walk(cursor, value);
                first = false;
            }
            assert!(expected.next().is_none());
        }
        ValueKind::Array => {
            cursor.expect(b'[').unwrap();
            let mut expected = serde_json::from_str::<Vec<&RawValue>>(text).unwrap().into_iter();
            let mut first = true;
            while cursor.next_element(first).unwrap() {
                seen += walk(cursor, expected.next().unwrap());
                first = false;
            }
            assert!(expected.next().is_none());
        }
        _ => {
            let value = cursor.skip_value().unwrap();
            assert!(!value.span.is_empty());
        }
    }
    assert_eq!(cursor.pos(), value.span.end);
    seen
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![5 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

fn string() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        "[ -!#-\\[\\]-~]{0,6}",
        r#"\\["\\/bfnrt]"#,
        "\\\\u[0-9a-fA-F]{4}",
        "\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}",
        "[\u{7f}-\u{10ffff}]{0,2}",
    ];
    prop::collection::vec(plain, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// JSON texts, white space and all, nested up to five levels.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["true", "false", "null", "[]", "{}", "0", "-0", "1E400"])
            .prop_map(str::to_owned),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        string(),
    ];
    let padded = |text: BoxedStrategy<String>| {
        (space(), text, space()).prop_map(|(before, text, after)| before + &text + &after)
    };
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let value = padded(inner.boxed()).boxed();
        let member = (padded(string().boxed()), value.clone())
            .prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(value, 0..6).prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec(member, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
}

/// One change of a text: what a damaged or hostile body does to the scanner.
#[derive(Clone, Debug)]
enum Mutation {
    Cut(prop::sample::Index),
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Self> {
        let byte = prop_oneof![
            4 => prop::sample::select(b"{}[]\",:\\ue+-.0129tfn \n\0\x1f\xc3\xff".to_vec()),
            1 => any::<u8>(),
        ];
        let index = any::<prop::sample::Index>;
        prop_oneof![
            index().prop_map(Self::Cut),
            (index(), byte.clone()).prop_map(|(at, byte)| Self::Replace(at, byte)),
            (index(), byte).prop_map(|(at, byte)| Self::Insert(at, byte)),
            index().prop_map(Self::Remove),
            (index(), index()).prop_map(|(from, to)| Self::Repeat(from, to)),
        ]
    }

    fn apply(&self, text: &mut Vec<u8>) {
        let length = text.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Cut(at) => text.truncate(at.index(length)),
            Self::Replace(at, byte) => text[at.index(length)] = *byte,
            Self::Insert(at, byte) => text.insert(at.index(length + 1), *byte),
            Self::Remove(at) => {
                text.remove(at.index(length));
            }
            Self::Repeat(from, to) => {
                let (from, to) = (from.index(length), to.index(length + 1));
                let again = text.get(from..to).unwrap_or_default().to_vec();
                text.splice(to..to, again);
            }
        }
    }
}

proptest! {
    #[test]
    fn spans_are_those_of_serde_json(text in json(), before in space(), after in space()) {
        let text = before + &text + &after;
        check(text.as_bytes());
        let expected = serde_json::from_str::<&RawValue>(&text).unwrap();
        prop_assert!(walk(&mut Cursor::new(text.as_bytes(), 0), expected) > 0);
    }

    #[test]
    fn mutations_are_accepted_exactly_when_serde_json_accepts_them(
        text in json(),
        mutations in prop::collection::vec(prop::collection::vec(Mutation::any(), 1..4), 16),
    ) {
        for mutation in mutations {
            let mut mutated = text.clone().into_bytes();
            for step in mutation {
                step.apply(&mut mutated);
            }
            check(&mutated);
        }
    }

    #[test]
    fn text_of_json_bytes_without_structure_is_judged_as_by_serde_json(
        text in prop::collection::vec(
            prop::sample::select(b"{}[]\",:\\u0a1eE+-. tru\nfalse".to_vec()), 0..12),
    ) {
        check(&text);
    }
}

#[test]
fn every_text_of_up_to_four_json_bytes_is_judged_as_by_serde_json() {
    let alphabet = b"{}[]\",:\\01e.- \n\0";
    let mut texts = vec![Vec::new()];
    for _length in 0..4 {
        let longer = |text: &Vec<u8>| {
            alphabet.iter().map(|byte| [text.as_slice(), &[*byte]].concat()).collect::<Vec<_>>()
        };
        texts = texts.iter().flat_map(longer).collect();
        for text in &texts {
            check(text);
        }
    }
    assert_eq!(texts.len(), alphabet.len().pow(4));
}

#[test]
fn values_that_other_readers_lose_are_kept() {
    let huge = "9".repeat(5000);
    let cases: &[(&[u8], ValueKind)] = &[
        (b"1e400", ValueKind::Number),
        (b"-1E-4000", ValueKind::Number),
        (huge.as_bytes(), ValueKind::Number),
        (b"-0.00", ValueKind::Number),
        (b"\"\\ud800\"", ValueKind::String),
        (b"\"\\udc00\\ud800\"", ValueKind::String),
        (b"\"\\u0000\"", ValueKind::String),
        (b"\"\xff\xc3\xed\xa0\x80\"", ValueKind::String),
        (b"\"raw \0 \n \r\n \x1f\"", ValueKind::String),
        (b"{\"a\":1,\"a\":2}", ValueKind::Object),
        (b"[1,\r\n2\r\n]", ValueKind::Array),
        (b"null", ValueKind::Literal),
    ];
    for (text, kind) in cases {
        let span = 0..text.len();
        assert_eq!(scan(text), Ok(Value { kind: *kind, span }), "{:?}", text.escape_ascii());
        check(text);
        let padded = [b"\r\n\t ", *text, b" \r\n"].concat();
        let span = 4..4 + text.len();
        assert_eq!(scan(&padded), Ok(Value { kind: *kind, span }));
    }
}

#[test]
fn what_is_not_json_is_refused_where_it_breaks() {
    let unexpected = |text: &[u8], offset| {
        let found = scan(text);
        assert_eq!(found, Err(ScanError::Unexpected { offset }), "{:?}", text.escape_ascii());
        check(text);
    };
    unexpected(b"\0", 0);
    unexpected(b"\xef\xbb\xbf{}", 0);
    unexpected(b"[1,]", 3);
    unexpected(b"[,1]", 1);
    unexpected(b"[1 2]", 3);
    unexpected(b"{\"a\":1,}", 7);
    unexpected(b"{,}", 1);
    unexpected(b"{a:1}", 1);
    unexpected(b"{\"a\" 1}", 5);
    unexpected(b"{\"a\":}", 5);
    unexpected(b"[}", 1);
    unexpected(b"{]", 1);
    unexpected(b"[[1}]", 3);
    unexpected(b"01", 1);
    unexpected(b"+1", 0);
    unexpected(b".5", 0);
    unexpected(b"1.e5", 2);
    unexpected(b"-x", 1);
    unexpected(b"1e+", 3);
    unexpected(b"nul ", 0);
    unexpected(b"True", 0);
    unexpected(b"\"\\x\"", 2);
    unexpected(b"\"\\u12g4\"", 2);
    unexpected(b"\"\\\n\"", 2);
    unexpected(b"1\0", 1);
    unexpected(b"{} {}", 3);
    unexpected(b"'a'", 0);
    unexpected(b"[1\x0b]", 2);
}

#[test]
fn every_cut_of_a_document_is_an_error_at_or_before_the_cut() {
    let text =
        b"\r\n{ \"k\\u00e9\" : [ -1.5e+3 , true, \"a\\\"\\ud83d\\ude00\" , {} , [] ],\"x\":null}";
    assert!(scan(text).is_ok());
    for cut in 0..text.len() {
        let found = scan(&text[..cut]).unwrap_err();
        let (ScanError::Truncated { offset } | ScanError::Unexpected { offset }) = found else {
            panic!("cut {cut}: {found}");
        };
        assert!(offset <= cut, "cut {cut}: {found}");
    }
}

#[test]
fn nesting_ends_at_the_limit_and_costs_no_stack() {
    let nested =
        |open: &str, close: &str, levels: usize| open.repeat(levels) + "1" + &close.repeat(levels);
    let small_stack = std::thread::Builder::new().stack_size(64 << 10);
    let run = move || {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"\":", "}]")] {
            let levels = NESTING_MAX / open.matches(['[', '{']).count();
            let deepest = nested(open, close, levels);
            assert_eq!(scan(deepest.as_bytes()).unwrap().span, 0..deepest.len());
            let first_too_deep = Err(ScanError::TooDeep { offset: open.len() * levels });
            for levels in [levels + 1, 100_000] {
                let text = nested(open, close, levels);
                assert_eq!(scan(text.as_bytes()), first_too_deep);
                assert_eq!(scan(&text.as_bytes()[..open.len() * levels]), first_too_deep);
            }
        }
    };
    small_stack.spawn(run).unwrap().join().unwrap();
}

#[test]
fn siblings_do_not_add_up_to_depth() {
    let wide = format!("[{}]", vec!["[{\"a\":[]}]"; 2 * NESTING_MAX].join(","));
    assert_eq!(scan(wide.as_bytes()).unwrap().span, 0..wide.len());
}

#[test]
fn a_cursor_past_the_end_reports_truncation() {
    for pos in [2, 3, usize::MAX] {
        let mut cursor = Cursor::new(b"[]", pos);
        let truncated = Err(ScanError::Truncated { offset: pos });
        assert_eq!(cursor.skip_value(), truncated);
        assert_eq!(cursor.expect(b']'), Err(ScanError::Truncated { offset: pos }));
        assert_eq!(cursor.pos(), pos);
    }
}
