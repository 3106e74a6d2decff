//! Goal: every byte of a source is told exactly once, as the record that was meant. Method: each
//! malformed shape by hand, and every cut of a small source.

use std::io::{self, Cursor};

use super::*;

#[derive(Debug, Default)]
struct Told {
    pieces: Vec<(u64, String, Result<String, Unread>)>,
}

impl Take for Told {
    type Error = io::Error;

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        assert_eq!(row.index, self.pieces.len() as u64);
        let says = row.read.map(|json| json.str("type").unwrap_or("-").to_owned());
        self.pieces.push((row.offset, String::from_utf8_lossy(row.raw).into_owned(), says));
        Ok(())
    }
}

fn told(source: &[u8]) -> (Vec<Result<String, Unread>>, Repairs) {
    let (mut told, mut repairs, mut at) = (Told::default(), Repairs::default(), At::default());
    each(&mut Cursor::new(source), &mut at, &mut repairs, &mut told).unwrap();
    assert_eq!(at.offset, source.len() as u64);
    let white = |text: &str| text.split_ascii_whitespace().collect::<String>();
    let all: String = told.pieces.iter().map(|(_, raw, _)| white(raw)).collect();
    let text = String::from_utf8_lossy(source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source));
    assert_eq!(all, white(&text), "a byte is lost or told twice");
    for (offset, raw, _) in &told.pieces {
        let at = usize::try_from(*offset).unwrap();
        let there = String::from_utf8_lossy(&source[at..]).into_owned();
        assert!(there.starts_with(raw.as_str()), "offset {offset}");
    }
    (told.pieces.into_iter().map(|(_, _, says)| says).collect(), repairs)
}

fn ok(types: &[&str]) -> Vec<Result<String, Unread>> {
    types.iter().map(|says| Ok((*says).to_owned())).collect()
}

const A: &str = r#"{"type":"a","x":{"y":[1]}}"#;
const B: &str = r#"{"type":"b","text":"}{ \" {\"type\""}"#;

#[test]
fn lines_blank_lines_crlf_and_a_byte_order_mark_are_lines() {
    let source = format!("\u{feff}{A}\r\n\r\n{B}\r\n{A}");
    let (types, repairs) = told(source.as_bytes());
    assert_eq!(types, ok(&["a", "b", "a"]));
    assert!(repairs.byte_order_mark && repairs.no_final_newline);
}

#[test]
fn two_records_on_a_line_are_two_records() {
    for between in ["", " ", "\t"] {
        let (types, repairs) = told(format!("{A}{between}{B}\n{A}\n").as_bytes());
        assert_eq!(types, ok(&["a", "b", "a"]));
        assert_eq!(repairs.glued_lines, 1);
    }
}

#[test]
fn a_torn_record_does_not_take_the_next_one_with_it() {
    let stub = r#"{"type":"user","message":{"role":"user","content":"hel"#;
    let (types, _) = told(format!("{stub}{A}\n{B}\n").as_bytes());
    assert_eq!(types, [Err(Unread::Torn), Ok("a".into()), Ok("b".into())]);
    let (types, _) = told(format!("{stub}\n{A}\n").as_bytes());
    assert_eq!(types, [Err(Unread::Torn), Ok("a".into())]);
}

#[test]
fn a_half_written_last_line_is_a_torn_record() {
    let half = &B[..B.len() - 3];
    let (types, _) = told(format!("{A}\n{half}").as_bytes());
    assert_eq!(types, [Ok("a".into()), Err(Unread::Torn)]);
}

#[test]
fn nul_bytes_are_told_apart_from_records() {
    let nuls = "\0".repeat(4096);
    let (types, repairs) = told(format!("{A}\n{nuls}{B}\n{nuls}").as_bytes());
    assert_eq!(types, [Ok("a".into()), Err(Unread::Nul), Ok("b".into()), Err(Unread::Nul)]);
    assert_eq!(repairs.nul_lines, 2);
    let (types, _) = told(format!("{{\"type\":\"torn{nuls}{A}\n").as_bytes());
    assert_eq!(types, [Err(Unread::Torn), Err(Unread::Nul), Ok("a".into())]);
}

#[test]
fn line_separators_of_unicode_end_no_line() {
    let (types, repairs) = told("{\"type\":\"a\u{2028}b\u{85}c\"}\n".as_bytes());
    assert_eq!(types, ok(&["a\u{2028}b\u{85}c"]));
    assert_eq!(repairs.records, 0);
}

#[test]
fn lone_surrogates_and_bytes_that_are_no_utf_8_are_repaired() {
    let (types, repairs) = told(b"{\"type\":\"a\\ud83d\"}\n");
    assert_eq!(types, ok(&["a\u{fffd}"]));
    assert_eq!(repairs.records, 1);
}

#[test]
fn a_record_with_raw_line_feeds_is_put_together() {
    let (types, repairs) = told(b"{\"type\":\"a\nb\"}\n{\"type\":\"c\"}\n");
    assert_eq!(types, ok(&["a\nb", "c"]));
    assert_eq!(repairs.records, 1);
    let (types, repairs) = told(b"{\"type\":\"a\nb\n\n}c\"}\n{\"type\":\"d\"}\n");
    assert_eq!(types, ok(&["a\nb\n\n}c", "d"]));
    assert_eq!(repairs.records, 1);
}

#[test]
fn lines_behind_a_torn_record_that_are_no_part_of_it_are_told_one_by_one() {
    let (types, _) = told(b"{\"type\":\"a\nhello\nthere\n{\"type\":\"b\"}\n");
    let torn = Err(Unread::Torn);
    assert_eq!(types, [torn.clone(), Err(Unread::NotJson), Err(Unread::NotJson), Ok("b".into())]);
    let spread = format!("{{\"type\":\"{}\n", "x\n".repeat(200));
    let (types, _) = told(spread.as_bytes());
    assert_eq!(types.len(), 200);
    assert_eq!(types.first(), Some(&torn));
}

#[test]
fn text_that_is_no_json_is_told_as_such() {
    let (types, _) = told(b"hello there\n{\"type\":\"a\"}\n<html>\n");
    assert_eq!(types, [Err(Unread::NotJson), Ok("a".into()), Err(Unread::NotJson)]);
}

#[test]
fn a_line_of_twenty_megabytes_is_a_record() {
    let big = format!("{{\"type\":\"big\",\"text\":\"{}\"}}", "x\\n".repeat(7 << 20));
    let (types, _) = told(format!("{A}\n{big}\n{B}\n").as_bytes());
    assert_eq!(types, ok(&["a", "big", "b"]));
}

#[test]
fn a_line_of_beginnings_costs_no_square() {
    let line = "{\"a".repeat(1 << 20);
    let (types, _) = told(line.as_bytes());
    assert_eq!(types, [Err(Unread::NotJson)]);
}

#[test]
fn every_cut_and_every_join_is_told_whole() {
    let source = format!("\u{feff}{A}\r\n{B}{A}\n\0\0{B}\n");
    let bytes = source.as_bytes();
    for cut in 0..=bytes.len() {
        told(&bytes[..cut]);
        told(&bytes[cut..]);
        let joined = [&bytes[..cut], &bytes[cut / 2..]].concat();
        told(&joined);
    }
}
