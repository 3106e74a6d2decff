//! Goal: no file, however it is cut, coded or broken, makes the reader lose a complete entry,
//! invent one, or panic. Method: small files, exhausted, and each hostile shape by hand.

mod bodies;
mod coded;
mod entries;
mod framing;
mod hostile;

use std::io::{self, Read};

use super::{HarError, HarReader, Limits};

/// What a reader made of a file: its entries as (offset, bytes), and how it ended.
pub(super) struct Outcome {
    pub(super) entries: Vec<(u64, Vec<u8>)>,
    pub(super) end: Result<(), HarError>,
}

impl Outcome {
    pub(super) fn texts(&self) -> Vec<&str> {
        self.entries.iter().map(|(_, bytes)| std::str::from_utf8(bytes).unwrap()).collect()
    }
}

/// Reads until the end or the first error.
pub(super) fn drain<R: Read>(reader: &mut HarReader<R>) -> Outcome {
    let mut entries = Vec::new();
    let end = loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                assert_eq!(entry.index, entries.len() as u64);
                entries.push((entry.offset, entry.bytes.to_vec()));
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    Outcome { entries, end }
}

pub(super) fn read(file: &[u8]) -> Outcome {
    drain(&mut HarReader::new(file, Limits::STANDARD))
}

/// A reader that gives `chunk_bytes` at a time.
pub(super) struct Dripping<'a> {
    pub(super) rest: &'a [u8],
    pub(super) chunk_bytes: usize,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.chunk_bytes.min(buffer.len()).min(self.rest.len());
        let (now, later) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.rest = later;
        Ok(count)
    }
}

/// A small HAR with everything that the known recordings have, in both layouts.
pub(super) fn small_har() -> String {
    let entries = [
        r#"{"startedDateTime":"2026-11-30T16:09:33.035Z","time":28.6,"request":{"method":"POST",
            "url":"http://127.0.0.1:1/v1/responses","httpVersion":"HTTP/1.1","cookies":[],
            "headers":[{"name":"Accept","value":"a, b"},{"name":"accept","value":"\"c\\"}],
            "queryString":[],"headersSize":-1,"bodySize":15,
            "postData":{"mimeType":"application/json","text":"{\"a\":\"\\u00e9]}\"}"}},
            "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],
            "headers":[],"content":{"size":9,"mimeType":"text/event-stream","text":"data: x\n\n"},
            "redirectURL":"","headersSize":-1,"bodySize":9},"cache":{},
            "timings":{"send":0,"wait":28.6,"receive":0},"_sequence":1,"_connection":2,
            "_nthOnConnection":3,"_closedByClient":true,"_cut":false}"#,
        r#"{"startedDateTime":"2026-11-30T17:09:33+01:00","time":0,"request":{"method":"GET",
            "url":"http://127.0.0.1:1/v1/responses","headers":[],"bodySize":0},
            "response":{"status":101,"content":{"size":0,"mimeType":"","text":""}},
            "_webSocketMessages":[{"type":"send","opcode":"text","data":"{\"]\":1}"}]}"#,
    ];
    format!(
        "{{\"log\": {{\"version\": \"1.2\",\r\n\"creator\": {{\"name\": \"server\", \"version\": \
         \"1\"}},\n\"browser\": {{\"name\": \"client\", \"version\": \"0.1\"}}, \"pages\": [],\n\
         \"entries\": [\n{} ,\n{}\n], \"comment\": \"why\"}}}}\n",
        entries[0], entries[1]
    )
}
