//! How fast secrets are looked for, against an automaton over keywords in any case, the way in
//! which scanners of repositories filter text. Code is the sources of this workspace, a log is a
//! listing with build output made from their names, JSON is a recorded session (codex-long).
//!
//! Hostile texts repeat one anchor, or are a single line: their rates have to hold when the text
//! gets longer. A text with a secret in its first line is searched for that secret to its end.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use artifacts::redact::Redactor;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Texts come in pieces of this length.
const PIECE_BYTES: usize = 64 << 10;
/// Length of a text.
const TEXT_BYTES: usize = 8 << 20;
/// Keywords of the automaton.
const KEYWORDS: usize = 244;

/// The keywords of the rules of gitleaks, filled up with names of variables.
fn keywords() -> Vec<String> {
    let rules = include_str!("../../artifacts/src/redact/rules/gitleaks.rs");
    let mut words = BTreeSet::new();
    for line in rules.lines().filter(|line| line.trim_start().starts_with("pattern(")) {
        let list = line.split_once("&[").and_then(|(_, rest)| rest.split_once(']'));
        let listed = list.map_or("", |(list, _)| list).split(',');
        words.extend(listed.map(|word| word.trim().trim_matches('"').to_owned()));
    }
    words.extend((0..).map(|n| format!("keyword_{n:03}")).take(KEYWORDS - words.len()));
    words.into_iter().collect()
}

/// Sources below a folder, in the order of their names.
fn sources(folder: &Path, text: &mut Vec<u8>, names: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with(".git") {
                sources(&path, text, names);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = fs::read(&path).unwrap_or_default();
            // Tests of redaction are full of secrets.
            if !path.components().any(|part| part.as_os_str() == "redact") {
                text.extend(&source);
            }
            writeln!(
                names,
                "-rw-r--r-- 1 dev dev {:7} Dec  1 10:00 {}",
                source.len(),
                path.display()
            )
            .expect("writing into a string");
            writeln!(names, "   Compiling {} v0.1.0 (12.5s)", path.display())
                .expect("writing into a string");
        }
    }
}

fn filled(text: &[u8]) -> Vec<u8> {
    text.iter().copied().cycle().take(TEXT_BYTES).collect()
}

fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let (mut code, mut names) = (Vec::new(), String::new());
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut code, &mut names);
    let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
    let har = benches::plain_har("codex-long", &folder).expect("the fixture can be unpacked");
    let json = fs::read(har).expect("it was just written");
    let secret =
        format!("token ghp_{}\n", "q7W8e9R0t1Y2u3I4o5P6".repeat(2).get(..36).unwrap_or(""));
    let known = [secret.as_bytes(), &filled(&code)].concat();
    vec![
        ("code", filled(&code)),
        ("log", filled(names.as_bytes())),
        ("json", filled(&json)),
        ("code-after-a-secret", known),
    ]
}

fn redact(redactor: &Redactor, text: &[u8]) -> usize {
    let redactor = redactor.for_new_run();
    let (mut stream, mut out, mut bytes) = (redactor.stream(), Vec::new(), 0);
    for piece in text.chunks(PIECE_BYTES) {
        stream.push(piece, &mut out);
        bytes += out.len();
        out.clear();
    }
    stream.finish(&mut out);
    bytes + out.len()
}

fn ordinary(criterion: &mut Criterion) {
    let dfa = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(keywords())
        .expect("a few hundred words fit an automaton");
    let (core, extended) = (Redactor::core(), Redactor::extended());
    let mut group = criterion.benchmark_group("redact");
    group.sample_size(10);
    for (name, text) in texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("keywords", name), |bencher| {
            bencher.iter(|| {
                let pieces = text.chunks(PIECE_BYTES);
                black_box(pieces.map(|piece| dfa.find_iter(piece).count()).sum::<usize>())
            });
        });
        for (rules, redactor) in [("core", &core), ("extended", &extended)] {
            group.bench_function(BenchmarkId::new(rules, name), |bencher| {
                bencher.iter(|| black_box(redact(redactor, &text)));
            });
        }
    }
    group.finish();
}

fn hostile(criterion: &mut Criterion) {
    let redactor = Redactor::extended();
    let mut group = criterion.benchmark_group("redact-hostile");
    group.sample_size(10);
    let nested = "{\"password\":[".to_owned();
    for (name, piece) in [
        ("A", "A"),
        ("eyJ0", "eyJ0"),
        ("ghp", "ghp_"),
        ("sk", "sk-"),
        ("password", "password="),
        ("password-lines", "password=\n"),
        ("url", "a://b:"),
        ("pem", "-----BEGIN RSA PRIVATE KEY-----\n"),
        ("pem-base64", "LS0tLS1CRUdJTi"),
        ("authorization", "Authorization: Bearer "),
        ("cookie", "Cookie: a=b; "),
        ("curl", "curl -u "),
        ("nested", nested.as_str()),
        ("zeros", "\0"),
        ("utf-16", "s\0k\0-\0"),
    ] {
        for megabytes in [1, 2] {
            let text: Vec<u8> = piece.bytes().cycle().take(megabytes << 20).collect();
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new(name, megabytes), &text, |bencher, text| {
                bencher.iter(|| black_box(redact(&redactor, text)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, ordinary, hostile);
criterion_main!(benches);
