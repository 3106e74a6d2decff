//! Recorded runs of real clients, sent again through the proxy: what arrives upstream, what comes
//! back and what is recorded are the bytes that were sent.

use std::path::Path;
use std::time::Duration;

use capture::har::{Body, Decoding, parse_entry};
use capture::live::answering::{Given, Piece};
use ledger::event::Rung;
use ledger::history::End;

use crate::client::ask;
use crate::stage::Stage;

/// A request of a recorded run, as it is sent again, with its answer.
struct Sent {
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    status: u16,
    mime: Vec<u8>,
    answer: Vec<u8>,
    cut: bool,
}

fn requests(case: &str) -> Vec<Sent> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/har");
    let mut reader = capture::har::open(&folder.join(format!("{case}.har.zst"))).unwrap();
    let mut out = Vec::new();
    while let Some(raw) = reader.next_entry().unwrap() {
        let entry = parse_entry(raw.bytes, raw.index, raw.offset).unwrap();
        let Body::Present(body) = entry.request.body else { continue };
        let answer = match entry.response.body {
            Body::Present(answer) => answer.bytes,
            Body::Absent | Body::Unread(_) => Vec::new(),
        };
        // What was undone when the file was read is done again.
        let body = match body.decoding {
            Decoding::Undone => zstd::encode_all(body.bytes.as_slice(), 1).unwrap(),
            _ => body.bytes,
        };
        let passed = |name: &str| {
            !["host", "content-length", "connection", "accept-encoding"].contains(&name)
        };
        let headers = entry.request.headers.iter().filter_map(|header| {
            let name = header.name.to_ascii_lowercase();
            let value = String::from_utf8(header.value.clone()).unwrap();
            passed(&name).then_some((name, value))
        });
        let path = entry.request.url.split_once("://").unwrap().1;
        out.push(Sent {
            target: path[path.find('/').unwrap()..].to_owned(),
            headers: headers.collect(),
            body,
            status: entry.response.status,
            mime: entry.response.mime.unwrap_or_default().into_bytes(),
            answer,
            cut: entry.cut == Some(true),
        });
    }
    out
}

fn check(case: &str) {
    let sent = requests(case);
    let answers: Vec<Given> = sent
        .iter()
        .map(|one| Given {
            status: one.status,
            headers: vec![("content-type".to_owned(), one.mime.clone())],
            // Pieces that end inside events and inside characters.
            body: one
                .answer
                .chunks(1013)
                .map(|bytes| Piece { after: Duration::ZERO, bytes: bytes.to_vec() })
                .collect(),
            cut: one.cut,
        })
        .collect();
    let stage = Stage::new(move |index, _asked| answers[index].clone());
    for one in &sent {
        let headers: Vec<_> =
            one.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = ask(stage.addr(), &one.target, &headers, &one.body);
        assert_eq!((answer.status, answer.whole), (one.status, !one.cut), "{case}");
        assert!(answer.body == one.answer, "{case}");
    }
    let asked = stage.upstream.asked.lock().unwrap().clone();
    assert!(asked.iter().map(|asked| &asked.body).eq(sent.iter().map(|one| &one.body)), "{case}");
    let run = stage.end();
    assert_eq!(run.report.requests, sent.len() as u64, "{case}");
    for (index, one) in sent.iter().enumerate() {
        let request = &run.history.requests()[index];
        let coded = one.headers.iter().any(|(name, _)| name == "content-encoding");
        let plain =
            if coded { zstd::decode_all(one.body.as_slice()).unwrap() } else { one.body.clone() };
        assert!(run.body(index) == plain, "{case} request {}", index + 1);
        let rung = if coded { Rung::BodyExact } else { Rung::WireExact };
        assert_eq!(request.captured.rung, rung, "{case} request {}", index + 1);
        assert!(request.dispatched.is_some());
        let end = request.answer.as_ref().unwrap().0;
        let expected = match (one.status, one.cut) {
            (200, false) => End::Received,
            (200, true) => End::Aborted,
            _ => End::Failed,
        };
        assert_eq!(end, expected, "{case} request {}", index + 1);
    }
}

#[test]
fn runs_of_all_four_dialects_pass_and_are_recorded_byte_for_byte() {
    for case in ["codex-std", "mini-std", "pi-anthropic-std", "pi-gemini-std", "codex-subagents"] {
        check(case);
    }
}

#[test]
fn a_run_with_coded_bodies_passes_coded_and_is_recorded_plain() {
    check("codex-acp-zstd");
}

#[test]
fn a_run_with_failures_and_a_cut_stream_passes_them_on() {
    check("codex-faults");
}
