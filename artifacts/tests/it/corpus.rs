//! Goal: secrets of every kind are found wherever they stand, and what only looks like one stays.
//! Method: a corpus of texts with made-up secrets (`fixtures/redact`, which see), each text a run
//! of its own.

use artifacts::redact::Redactor;
use serde_json::Value;

const CORPUS: &str = include_str!("../../../fixtures/redact/corpus.ndjson");

struct Row {
    id: String,
    kind: String,
    text: String,
    secrets: Vec<String>,
    known: Vec<String>,
}

fn rows() -> Vec<Row> {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let all = value.and_then(Value::as_array).into_iter().flatten();
        all.map(|text| text.as_str().expect("a text").to_owned()).collect()
    };
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("a line is JSON");
        let text = |name: &str| row.get(name).and_then(Value::as_str).expect("a text").to_owned();
        let (secrets, known) = (texts(row.get("secrets")), texts(row.get("known")));
        Row { id: text("id"), kind: text("kind"), text: text("x"), secrets, known }
    };
    CORPUS.lines().map(row).collect()
}

fn redacted(redactor: &Redactor, row: &Row) -> String {
    let redactor = redactor.for_new_run();
    for value in &row.known {
        assert!(redactor.know(value.as_bytes()), "{}", row.id);
    }
    let redacted = redactor.redact(row.text.as_bytes());
    String::from_utf8(redacted.as_bytes().to_vec()).expect("redaction keeps UTF-8")
}

/// Rows of a kind, and the ids of those that keep a secret.
fn leaks(redactor: &Redactor, kinds: &[&str]) -> (usize, Vec<String>) {
    let rows: Vec<_> =
        rows().into_iter().filter(|row| kinds.contains(&row.kind.as_str())).collect();
    let leaks = rows.iter().filter(|row| {
        let text = redacted(redactor, row);
        row.secrets.iter().any(|secret| text.contains(secret.as_str()))
    });
    (rows.len(), leaks.map(|row| row.id.clone()).collect())
}

#[test]
fn every_bare_shape_is_found_in_every_container() {
    let (count, leaks) = leaks(&Redactor::core(), &["shape"]);
    assert!(count >= 250 && leaks.is_empty(), "{} of {count}: {leaks:#?}", leaks.len());
}

#[test]
fn values_behind_names_and_in_headers_are_found() {
    let (count, leaks) = leaks(&Redactor::core(), &["context", "header"]);
    assert!(
        count >= 150 && leaks.len() * 100 <= count * 3,
        "{} of {count}: {leaks:#?}",
        leaks.len()
    );
}

#[test]
fn known_values_are_found_in_every_encoding() {
    let (count, leaks) = leaks(&Redactor::core(), &["known"]);
    assert!(
        count >= 60 && leaks.len() * 100 <= count * 5,
        "{} of {count}: {leaks:#?}",
        leaks.len()
    );
}

#[test]
fn what_only_looks_like_a_secret_stays_as_it_is() {
    for redactor in [Redactor::core(), Redactor::extended()] {
        let rows = rows().into_iter().filter(|row| row.kind == "alike");
        let changed: Vec<_> = rows
            .map(|row| (redacted(&redactor, &row), row))
            .filter(|(text, row)| *text != row.text)
            .map(|(text, row)| format!("{}: {text}", row.id))
            .collect();
        assert!(changed.is_empty(), "{}: {changed:#?}", changed.len());
    }
}

#[test]
fn m15_m52_the_corpus_gives_the_same_twice_and_in_pieces() {
    let redactor = Redactor::extended();
    for row in rows() {
        let run = redactor.for_new_run();
        let whole = run.redact(row.text.as_bytes());
        let second = redactor.for_new_run();
        let again = second.redact(whole.as_bytes());
        assert_eq!(again.as_bytes(), whole.as_bytes(), "{}", row.id);
        for length in [1, 7, 61] {
            let run = redactor.for_new_run();
            let (mut stream, mut out) = (run.stream(), Vec::new());
            for piece in row.text.as_bytes().chunks(length) {
                stream.push(piece, &mut out);
            }
            let redactions = stream.finish(&mut out);
            assert_eq!(out, whole.as_bytes(), "{} by {length}", row.id);
            assert_eq!(redactions, whole.redactions(), "{} by {length}", row.id);
        }
    }
}
