//! Goal: a FORMAT file is read in one spelling, and a refusal says what to do.
//! Method: one good text, one change at a time.

use super::*;

const GOOD: &str = "counterfold recording
format 1.0
ledger 00112233445566778899aabbccddeeff
incompat
ro_compat
compat
";

fn decode(text: &str) -> Result<FormatFile, FormatError> {
    FormatFile::decode(text.as_bytes())
}

#[test]
fn a_new_file_is_the_golden_text_and_reads_back() {
    let id = LedgerId::parse("00112233445566778899aabbccddeeff").unwrap();
    let format = FormatFile::new(id);
    assert_eq!(format.to_string(), GOOD);
    assert_eq!(decode(GOOD), Ok(format));
}

#[test]
fn features_are_kept_or_refused_by_their_list() {
    let text = GOOD
        .replace("\nro_compat", "\nro_compat one two-2")
        .replace("\ncompat", "\ncompat three_3");
    let format = decode(&text).unwrap();
    assert_eq!((format.ro_compat.len(), format.compat.len()), (2, 1));
    assert_eq!(format.to_string(), text);
    assert_eq!(format.check_writable(), Err(FormatError::ReadOnly { feature: "one".to_owned() }));
    assert_eq!(decode(GOOD).unwrap().check_writable(), Ok(()));

    let refusal = decode(&GOOD.replace("\nincompat", "\nincompat delta")).unwrap_err();
    assert_eq!(refusal, FormatError::Incompat { feature: "delta".to_owned() });
    assert!(refusal.to_string().contains("open it with a newer version"), "{refusal}");
}

#[test]
fn another_major_is_refused_before_anything_else_is_read() {
    let refusal = decode("counterfold recording\nformat 2.0\nwhatever comes then\n").unwrap_err();
    assert_eq!(refusal, FormatError::Major { found: 2, expected: 1 });
}

#[test]
fn a_later_minor_may_add_lines_and_this_one_may_not() {
    let longer = format!("{GOOD}something new\n");
    assert_eq!(decode(&longer), Err(FormatError::Line { line: 7 }));
    assert_eq!(decode(&longer.replace("1.0", "1.1")).unwrap().minor, 1);
}

#[test]
fn every_cut_is_refused() {
    for cut in 0..GOOD.len() {
        assert!(decode(&GOOD[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn line_ends_of_another_system_do_not_matter() {
    assert_eq!(decode(&GOOD.replace('\n', "\r\n")), decode(GOOD));
}

#[test]
fn other_spellings_are_refused_by_line() {
    let check = |from: &str, to: &str, line: u32| {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD);
        assert_eq!(decode(&text), Err(FormatError::Line { line }), "{to:?}");
    };
    check("format 1.0", "format 1", 2);
    check("format 1.0", "format 01.0", 2);
    check("format 1.0", "format +1.0", 2);
    check("format 1.0", "format  1.0", 2);
    check("ledger 00", "ledger ", 3);
    check("ee", "EE", 3);
    check("\nincompat", "\n incompat", 4);
    check("\nincompat", "\nincompat ", 4);
    check("\nincompat", "\nincompats", 4);
    check("\nro_compat", "\nro_compat a  b", 5);
    check("\nro_compat", "\nro_compat \u{1b}[31m", 5);
    check("\ncompat", "\ncompat Upper", 6);
    assert_eq!(decode(""), Err(FormatError::NotARecording));
    assert!(matches!(FormatFile::decode(b"\xff"), Err(FormatError::NotText { .. })));
    let long = "x".repeat(FORMAT_BYTES_MAX + 1);
    let max = FORMAT_BYTES_MAX;
    assert_eq!(decode(&long), Err(FormatError::TooLong { found: max + 1, max }));
}
