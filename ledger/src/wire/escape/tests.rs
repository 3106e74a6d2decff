//! Goal: a text comes back from its escaped form and goes into it again byte for byte, as the
//! encoders of real clients write it. Method: every Unicode scalar value through every named
//! encoder, digests of what Python, Node, Go and PHP make of them, random texts under every
//! combination of switches, and a byte loop beside the word-at-a-time search.

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::*;

const NAMED: [Escape; 4] = [Escape::JSON, Escape::PYTHON_ASCII, Escape::GO_HTML, Escape::PHP];
/// All switches but the one that turns escaping off.
const SWITCHES: u8 = !RAW;

fn escaped(escape: Escape, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    escape.escape_into(text, &mut out);
    assert_eq!(out.len() as u64, escape.escaped_bytes(text), "{escape:?}");
    out
}

fn every_scalar() -> String {
    ('\0'..=char::MAX).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[test]
fn every_scalar_value_comes_back_from_every_named_encoder() {
    let all = every_scalar();
    assert_eq!(all.chars().count(), 1_112_064);
    for escape in NAMED {
        let written = escaped(escape, &all);
        assert!(written.len() > all.len());
        assert!(unescape(&written).unwrap() == all, "{escape:?}");
    }
    assert_eq!(escaped(Escape::VERBATIM, &all), all.as_bytes());
}

/// Digests of `json.dumps(s)` (Python 3), `JSON.stringify(s)` (Node, and Python with
/// `ensure_ascii=False`), and of Go's and PHP's documented rules, for the string of all scalar
/// values in order, quotes taken off.
#[test]
fn every_scalar_value_is_written_as_the_real_encoders_write_it() {
    let all = every_scalar();
    let check = |escape, bytes: usize, digest: &str| {
        let written = escaped(escape, &all);
        assert_eq!((written.len(), hex(&written).as_str()), (bytes, digest), "{escape:?}");
    };
    check(
        Escape::PYTHON_ASCII,
        12_963_347,
        "a25934b598bca174ecc3ae5828dd0f0dd160f8add34157a2a940bdc482ecb058",
    );
    check(
        Escape::JSON,
        4_382_734,
        "403ea709a3562b48b2bbc94f0debffdb2d3887cdf9791a8cce8fa8ad78817fcf",
    );
    check(
        Escape::GO_HTML,
        4_382_755,
        "ff0d3370b1ca0f34de6f3a458cbc6095eb5600b04110f84574d23823a66566b6",
    );
    check(
        Escape::PHP,
        12_963_343,
        "5c1d700a40497d74b3f78aba4d1401a8301e574ccd8db09e8cc18d59288c22ee",
    );
    let ours = escaped(Escape::JSON, &all);
    assert!(serde_json::to_string(&all).unwrap().as_bytes()[1..][..ours.len()] == ours);
}

#[test]
fn the_characters_that_encoders_disagree_on_are_written_as_listed() {
    // Character, JSON.stringify, Python, Go, PHP.
    let rows: &[(&str, [&str; 4])] = &[
        ("\0", ["\\u0000"; 4]),
        ("\u{8}", ["\\b"; 4]),
        ("\t", ["\\t"; 4]),
        ("\n", ["\\n"; 4]),
        ("\u{b}", ["\\u000b"; 4]),
        ("\u{c}", ["\\f"; 4]),
        ("\r", ["\\r"; 4]),
        ("\u{1b}", ["\\u001b"; 4]),
        ("\"", ["\\\""; 4]),
        ("\\", ["\\\\"; 4]),
        ("/", ["/", "/", "/", "\\/"]),
        ("<", ["<", "<", "\\u003c", "<"]),
        (">", [">", ">", "\\u003e", ">"]),
        ("&", ["&", "&", "\\u0026", "&"]),
        ("\u{7f}", ["\u{7f}", "\\u007f", "\u{7f}", "\u{7f}"]),
        ("\u{e9}", ["\u{e9}", "\\u00e9", "\u{e9}", "\\u00e9"]),
        ("\u{2027}", ["\u{2027}", "\\u2027", "\u{2027}", "\\u2027"]),
        ("\u{2028}", ["\u{2028}", "\\u2028", "\\u2028", "\\u2028"]),
        ("\u{2029}", ["\u{2029}", "\\u2029", "\\u2029", "\\u2029"]),
        ("\u{ffff}", ["\u{ffff}", "\\uffff", "\u{ffff}", "\\uffff"]),
        ("\u{10000}", ["\u{10000}", "\\ud800\\udc00", "\u{10000}", "\\ud800\\udc00"]),
        ("\u{1f600}", ["\u{1f600}", "\\ud83d\\ude00", "\u{1f600}", "\\ud83d\\ude00"]),
        ("\u{10ffff}", ["\u{10ffff}", "\\udbff\\udfff", "\u{10ffff}", "\\udbff\\udfff"]),
    ];
    for (text, expected) in rows {
        for (escape, expected) in NAMED.into_iter().zip(expected) {
            assert_eq!(escaped(escape, text), expected.as_bytes(), "{text:?} {escape:?}");
        }
    }
    let upper = Escape(UPPER_HEX | NON_ASCII | LONG_BF);
    assert_eq!(escaped(upper, "\u{8}\u{c}\u{1f600}\u{b}"), b"\\u0008\\u000C\\uD83D\\uDE00\\u000B");
}

#[test]
fn the_switches_are_read_off_the_strings_that_show_them() {
    let cases: &[(&str, u8)] = &[
        ("", 0),
        ("plain, \\n\\r\\t\\b\\f\\\" and \\\\", 0),
        ("\u{e9}\u{2028}<&/\u{7f}", 0),
        ("\\/", SOLIDUS),
        ("\\\\/", 0),
        ("\\\\\\/", SOLIDUS),
        ("\\u0026", HTML),
        ("\\u003c", HTML),
        ("\\u003E", HTML | UPPER_HEX),
        ("\\\\u003c", 0),
        ("\\u007f", DELETE),
        ("\\u2028", LINE_SEPARATORS),
        ("\\u2029", LINE_SEPARATORS),
        ("\\u0080", NON_ASCII),
        ("\\u00e9", NON_ASCII),
        ("\\u00E9", NON_ASCII | UPPER_HEX),
        ("\\ud83d\\ude00", NON_ASCII),
        ("\\uD83D\\uDE00", NON_ASCII | UPPER_HEX),
        ("\\u0008", LONG_BF),
        ("\\u000c", LONG_BF),
        ("\\u001b", 0),
        ("\\u001B", UPPER_HEX),
        ("\\u00e9\\u007f\\/", NON_ASCII | DELETE | SOLIDUS),
        // What is no escape shows nothing and is no panic either.
        ("\\u", 0),
        ("\\u12", 0),
        ("\\uzzzz", 0),
        ("\\", 0),
    ];
    for (string, switches) in cases {
        assert_eq!(Escape::detect(string.as_bytes()), Escape(*switches), "{string}");
    }
    let both = Escape::detect(b"\\u00e9").union(Escape::detect(b"\\u007f"));
    assert_eq!((both, both.bits()), (Escape::PYTHON_ASCII, NON_ASCII | DELETE));
    let both = Escape::detect(b"\\u003c").union(Escape::detect(b"\\u2028"));
    assert_eq!(both, Escape::GO_HTML);
}

#[test]
fn broken_escapes_are_refused_at_their_offset() {
    let lone = |offset| UnescapeError::LoneSurrogate { offset };
    let bad = |offset| UnescapeError::BadEscape { offset };
    let cases: &[(&[u8], UnescapeError)] = &[
        (b"\\ud800", lone(0)),
        (b"a\\ud800b", lone(1)),
        (b"\\ud800\\n", lone(0)),
        (b"\\udc00", lone(0)),
        (b"\\udfff\\udfff", lone(0)),
        (b"\\ud83d\\ud83d\\ude00", lone(0)),
        (b"\\ud83d\\ude00\\ud83d", lone(12)),
        (b"\\ud83d\\u0041", lone(0)),
        (b"\\ud83d\\ue000", lone(0)),
        (b"\\ud83d\\u12", bad(0)),
        (b"\\ud83d\\uzzzz", bad(0)),
        (b"abc\\", bad(3)),
        (b"\\x41", bad(0)),
        (b"\\U0041", bad(0)),
        (b"\\0", bad(0)),
        (b"\\u", bad(0)),
        (b"\\u004", bad(0)),
        (b"\\u+041", bad(0)),
        (b"\\u 041", bad(0)),
        (b"\\u00g1", bad(0)),
        (b"\\\n", bad(0)),
        (b"\xff", UnescapeError::NotUtf8),
        (b"\\n\xed\xa0\x80", UnescapeError::NotUtf8),
        ("\\u00\u{e9}".as_bytes(), bad(0)),
    ];
    for (string, error) in cases {
        assert_eq!(unescape(string), Err(*error), "{}", string.escape_ascii());
    }
}

#[test]
fn strings_that_no_encoder_writes_are_read_but_not_reproduced() {
    let read = |string: &str| unescape(string.as_bytes()).unwrap().into_owned();
    let mut scratch = b"left over".to_vec();
    for (string, text) in [
        ("raw \n", "raw \n"),
        ("\\u0041", "A"),
        ("\\u000A", "\n"),
        ("\\u0022", "\""),
        ("\\u00e9\u{e9}", "\u{e9}\u{e9}"),
        ("\\u00e9\\u00EA", "\u{e9}\u{ea}"),
        ("\\//", "//"),
    ] {
        assert_eq!(read(string), text);
        for switches in 0..=SWITCHES {
            assert!(!Escape(switches).reproduces(text, string.as_bytes(), &mut scratch), "{text}");
        }
    }
}

#[test]
fn a_string_without_escapes_is_borrowed() {
    assert!(matches!(unescape("caf\u{e9}".as_bytes()), Ok(Cow::Borrowed("caf\u{e9}"))));
    assert!(matches!(unescape(b"a\\nb"), Ok(Cow::Owned(text)) if text == "a\nb"));
}

fn text() -> impl Strategy<Value = String> {
    let any = any::<char>();
    let told_apart = "[\0-\u{1f}\"\\\\/<>&\u{7f}\u{80}\u{2027}-\u{202a}\u{d7ff}\u{e000}\u{10000}u]";
    let told_apart = told_apart.prop_map(|text: String| text.chars().next().unwrap());
    let plain = prop::char::range(' ', '~');
    let char = prop_oneof![4 => plain, 2 => told_apart, 1 => any];
    prop::collection::vec(char, 0..40).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn what_is_detected_reproduces_the_string_under_every_combination_of_switches(text in text()) {
        let mut scratch = Vec::new();
        for switches in 0..=SWITCHES {
            let escape = Escape(switches);
            let string = escaped(escape, &text);
            prop_assert_eq!(unescape(&string).unwrap(), text.as_str());
            let seen = Escape::detect(&string);
            prop_assert!(seen.reproduces(&text, &string, &mut scratch), "{escape:?} {seen:?}");
            prop_assert!(escape.union(seen).reproduces(&text, &string, &mut scratch));
        }
    }

    #[test]
    fn any_bytes_are_unescaped_as_by_serde_json_or_refused(
        bytes in prop_oneof![
            "[\\\\u0-9a-fDn\"]{0,14}".prop_map(String::into_bytes),
            "(\\\\u[dD][89a-cA-C]00|\\\\n|\\\\|x|\u{e9}){0,5}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..20),
        ],
    ) {
        let quoted = [b"\"", bytes.as_slice(), b"\""].concat();
        let expected = serde_json::from_slice::<String>(&quoted);
        match (unescape(&bytes), expected) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(_), Err(_)) => {}
            // Quotes and raw control characters are the caller's and the proof's business.
            (Ok(_), Err(_)) => {
                prop_assert!(bytes.iter().any(|byte| *byte == b'"' || *byte < 0x20));
            }
            (Err(error), Ok(_)) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn the_fast_search_finds_what_a_byte_loop_finds(
        bytes in prop::collection::vec(
            prop_oneof![6 => 0x20..=0x7f_u8, 1 => any::<u8>(), 1 => 0..0x20_u8], 0..48),
    ) {
        for table in [&TABLE_JSON, &TABLE_ASCII, &TABLE_ALL] {
            for from in 0..=bytes.len() + 1 {
                let naive = (from..bytes.len()).find(|at| table[usize::from(bytes[*at])]);
                prop_assert_eq!(next_special(&bytes, from, table), naive, "from {}", from);
            }
        }
    }
}

#[test]
fn the_fast_search_finds_every_byte_at_every_place_between_all_neighbors() {
    let neighbors = [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff];
    for byte in 0..=u8::MAX {
        for fill in neighbors {
            for at in 0..17 {
                let mut bytes = [fill; 24];
                bytes[at] = byte;
                let json = byte < 0x20 || byte == b'"' || byte == b'\\';
                for from in 0..17 {
                    let found = next_special(&bytes, from, &TABLE_JSON);
                    assert_eq!(found, (json && from <= at).then_some(at), "{byte} {fill} {from}");
                }
            }
        }
    }
}
