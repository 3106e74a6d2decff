//! Writes HAR files of any shape, imports them, and reads recordings back with the ledger's own
//! readers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use artifacts::fs::StoreReader;
use artifacts::redact::Redactor;
use base64::Engine as _;
use capture::import::{ImportError, ImportOptions, ImportReport, NoteKind, import_har};
use ledger::event::{AnswerItem, Cause, Rung, Splice};
use ledger::fs::LogReader;
use ledger::history::{Caused, Change, End, History, ListWalker, Request};
use ledger::id::RunId;
use ledger::recorder::Identity;
use ledger::render;
use ledger::segment::{Epoch, LedgerId};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) const CHAT: &str = "http://h/v1/chat/completions";
pub(crate) const RESPONSES: &str = "http://h/v1/responses";
pub(crate) const ANTHROPIC: &str = "http://h/v1/messages";
pub(crate) const GEMINI: &str = "http://h/v1beta/models/m:streamGenerateContent?alt=sse";

/// A body as it stands in a HAR.
#[derive(Clone)]
pub(crate) enum Stands {
    Nowhere,
    /// As text, or as base64 where it is none.
    Bytes(Vec<u8>),
    Base64(Vec<u8>),
    /// As this text between the quotes of the HAR.
    Escaped(String),
}

/// One exchange, to be written as an entry.
#[derive(Clone)]
pub(crate) struct Exchange {
    method: &'static str,
    url: String,
    sent: Vec<(String, String)>,
    pub(crate) body: Stands,
    status: u16,
    got: Vec<(String, String)>,
    mime: &'static str,
    reply: Stands,
    more: String,
}

impl Exchange {
    pub(crate) fn new(method: &'static str, url: &str) -> Self {
        Self {
            method,
            url: url.to_owned(),
            sent: Vec::new(),
            body: Stands::Nowhere,
            status: 200,
            got: Vec::new(),
            mime: "application/json",
            reply: Stands::Nowhere,
            more: String::new(),
        }
    }

    pub(crate) fn post(url: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", url).body(Stands::Bytes(body.into()))
    }

    pub(crate) fn chat(messages: &[&str]) -> Self {
        Self::post(CHAT, format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(",")))
    }

    pub(crate) fn body(mut self, body: Stands) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.sent.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn answer_header(mut self, name: &str, value: &str) -> Self {
        self.got.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The answer, a document.
    pub(crate) fn answer(self, reply: impl Into<Vec<u8>>) -> Self {
        self.answer_as("application/json", Stands::Bytes(reply.into()))
    }

    /// The answer, an event stream of these events.
    pub(crate) fn stream(self, events: &[&str]) -> Self {
        self.answer_as("text/event-stream", Stands::Bytes(sse(events).into_bytes()))
    }

    pub(crate) fn answer_as(mut self, mime: &'static str, reply: Stands) -> Self {
        self.mime = mime;
        self.reply = reply;
        self
    }

    /// Further members of the entry, each with a comma in front.
    pub(crate) fn more(mut self, members: &str) -> Self {
        members.clone_into(&mut self.more);
        self
    }

    /// The entry.
    pub(crate) fn json(&self) -> String {
        let mut out = format!(
            r#"{{"startedDateTime":"2026-11-30T10:00:00Z","time":1,"request":{{"method":"{}",
                "url":{},"headers":{}"#,
            self.method,
            quoted(&self.url),
            headers(&self.sent)
        );
        if let Some(text) = standing(&self.body) {
            write!(out, r#","postData":{{"mimeType":"application/json",{text}}}"#).unwrap();
        }
        let content = standing(&self.reply).map_or(String::new(), |text| format!(",{text}"));
        write!(
            out,
            r#"}},"response":{{"status":{},"headers":{},
                "content":{{"mimeType":"{}"{content}}}}}{}}}"#,
            self.status,
            headers(&self.got),
            self.mime,
            self.more
        )
        .unwrap();
        out
    }
}

/// An event stream, each event on one line.
pub(crate) fn sse(events: &[&str]) -> String {
    let event = |event: &&str| format!("data: {}\n\n", event.replace('\n', " "));
    events.iter().map(event).collect::<Vec<_>>().concat()
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn headers(fields: &[(String, String)]) -> String {
    let field = |(name, value): &(String, String)| {
        format!(r#"{{"name":{},"value":{}}}"#, quoted(name), quoted(value))
    };
    format!("[{}]", fields.iter().map(field).collect::<Vec<_>>().join(","))
}

fn standing(body: &Stands) -> Option<String> {
    let base64 = |bytes: &[u8]| {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        Some(format!(r#""text":"{text}","encoding":"base64""#))
    };
    match body {
        Stands::Nowhere => None,
        Stands::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Some(format!(r#""text":{}"#, quoted(text))),
            Err(_) => base64(bytes),
        },
        Stands::Base64(bytes) => base64(bytes),
        Stands::Escaped(text) => Some(format!(r#""text":"{text}""#)),
    }
}

pub(crate) fn har(entries: &[String]) -> String {
    format!(r#"{{"log":{{"version":"1.2","entries":[{}]}}}}"#, entries.join(","))
}

pub(crate) fn har_of(exchanges: &[Exchange]) -> String {
    har(&exchanges.iter().map(Exchange::json).collect::<Vec<_>>())
}

/// A recorded run of a real client, without its compression.
pub(crate) fn recorded(case: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/har");
    let packed = fs::File::open(folder.join(format!("{case}.har.zst"))).unwrap();
    let mut plain = Vec::new();
    let mut source = capture::har::sniff(packed).unwrap();
    std::io::Read::read_to_end(&mut source, &mut plain).unwrap();
    plain
}

/// Imports with fixed identities.
pub(crate) fn import(file: &Path, into: &Path) -> Result<ImportReport, ImportError> {
    let identity = Identity {
        ledger: LedgerId(*b"counterfold-test"),
        epoch: Epoch(1),
        run: RunId::from_bytes(*b"counterfold-run1"),
        created_unix_ns: 1_764_547_200_000_000_000,
    };
    import_har(
        file,
        into,
        &mut ImportOptions {
            name: None,
            session: None,
            recorder: "test",
            now_unix_ns: identity.created_unix_ns,
            identity: Some(identity),
            redactor: Redactor::core(),
            progress: &mut |_entries, _bytes| {},
        },
    )
}

/// A recording that was read back and whose requests all came back by their digests.
pub(crate) struct Run {
    _folder: TempDir,
    pub(crate) recording: PathBuf,
    pub(crate) history: History,
    pub(crate) store: StoreReader,
    pub(crate) bodies: Vec<Vec<u8>>,
    pub(crate) notes: Vec<(NoteKind, u64)>,
    /// The import came to the end of its file.
    pub(crate) complete: bool,
}

impl Run {
    #[track_caller]
    pub(crate) fn of(exchanges: &[Exchange]) -> Self {
        Self::of_file(har_of(exchanges).as_bytes())
    }

    /// Imports a file that is a HAR up to its end.
    #[track_caller]
    pub(crate) fn of_file(bytes: &[u8]) -> Self {
        match Self::read(bytes) {
            Ok(run) => run,
            Err(error) => panic!("{}", told(&error)),
        }
    }

    /// Imports a file; an error only where nothing was recorded.
    #[track_caller]
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImportError> {
        let folder = folder_for(bytes.len());
        let file = folder.path().join("run.har");
        fs::write(&file, bytes).unwrap();
        let (report, complete) = match import(&file, &folder.path().join("out")) {
            Ok(report) => (report, true),
            Err(ImportError::Har { kept: Some(report), .. }) => (*report, false),
            Err(error) => {
                let left = folder.path().join("out").join("run");
                assert!(!left.exists(), "a recording of nothing was left behind");
                return Err(error);
            }
        };
        assert_eq!(report.complete, complete);
        let notes = report.notes().iter().map(|note| (note.kind, note.count)).collect();
        let run = Self::open(folder, &report.recording, notes, complete);
        assert_eq!(run.history.requests().len() as u64, report.requests);
        let records = run.history.records().iter().filter(|record| !record.is_note());
        assert_eq!(records.count() as u64, report.records);
        assert_eq!(run.history.sessions().len() as u64, report.conversations);
        let closed = run.history.closed().unwrap();
        assert_eq!((closed.complete, closed.source_digest.is_some()), (complete, complete));
        assert_eq!(
            (closed.source_records, closed.source_unknown),
            (report.entries, report.records)
        );
        Ok(run)
    }

    #[track_caller]
    fn open(
        folder: TempDir,
        recording: &Path,
        notes: Vec<(NoteKind, u64)>,
        complete: bool,
    ) -> Self {
        let history = match ledger::fs::history(&mut LogReader::open(recording).unwrap()) {
            Ok(history) => history,
            Err(error) => panic!("{}", told(&error)),
        };
        let store = StoreReader::open(&recording.join("art")).unwrap();
        assert_changes_make_lists(&history);
        let bodies = bodies(&history, &store);
        for (request, body) in history.requests().iter().zip(&bodies) {
            let captured = &request.captured;
            let digest: [u8; 32] = Sha256::digest(body).into();
            assert_eq!(captured.body_digest, digest, "request {}", captured.request.ordinal());
            assert_eq!(captured.body_bytes, body.len() as u64);
        }
        let recording = recording.to_path_buf();
        Self { _folder: folder, recording, history, store, bodies, notes, complete }
    }

    pub(crate) fn request(&self, index: usize) -> &Request {
        &self.history.requests()[index]
    }

    /// The causes of everything that entered the conversation before a request.
    pub(crate) fn causes(&self, index: usize) -> Vec<Cause> {
        let mut causes = Vec::new();
        for change in &self.request(index).changes {
            match change {
                Change::Appended(parts) => causes.extend(parts.iter().map(|(_, cause)| *cause)),
                Change::Edited(splices) => {
                    let parts = splices.iter().flat_map(|splice| &splice.insert);
                    causes.extend(parts.map(|(_, cause)| *cause));
                }
            }
        }
        causes
    }

    pub(crate) fn end(&self, index: usize) -> End {
        self.request(index).answer.as_ref().unwrap().0
    }

    pub(crate) fn items(&self, index: usize) -> &[AnswerItem] {
        &self.request(index).answer.as_ref().unwrap().1.items
    }

    pub(crate) fn text(&self, content: &ledger::content::Content) -> String {
        String::from_utf8(content.read(&self.store).unwrap().to_vec()).unwrap()
    }

    /// What the calls returned, by call.
    pub(crate) fn outputs(&self) -> Vec<Option<Vec<String>>> {
        let texts = |call: &ledger::history::Call| {
            let output = call.output.as_ref()?;
            Some(output.iter().map(|returned| self.text(&returned.text)).collect())
        };
        self.history.calls().iter().map(texts).collect()
    }

    /// Ordinals of the requests of each conversation.
    pub(crate) fn lanes(&self) -> Vec<Vec<u64>> {
        let ordinals = |session: &ledger::history::Session| {
            session.requests.iter().map(|request| request.ordinal()).collect()
        };
        self.history.sessions().iter().map(ordinals).collect()
    }

    #[track_caller]
    pub(crate) fn assert_exact(&self, index: usize, body: &[u8], split: bool) {
        let captured = &self.request(index).captured;
        assert!(self.bodies[index] == body, "request {index} is not the body that was sent");
        assert_eq!(captured.rung, Rung::BodyExact);
        assert_eq!(captured.unsplit.is_none(), split, "{:?}", captured.unsplit);
    }
}

/// A temporary folder; for small files in memory where the system has that, since an import waits
/// for the disk several times.
fn folder_for(bytes: usize) -> TempDir {
    let small = bytes < 1 << 20;
    let memory = small.then(|| tempfile::tempdir_in("/dev/shm").ok()).flatten();
    memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Checks that what is told of each conversation before a request makes the list of the request.
#[track_caller]
fn assert_changes_make_lists(history: &History) {
    let mut told = vec![Vec::new(); history.sessions().len()];
    let mut walker = ListWalker::new(history);
    for request in history.requests() {
        let list = &mut told[request.session().index()];
        for change in &request.changes {
            match change {
                Change::Appended(parts) => list.extend(parts.iter().map(|(part, _)| *part)),
                Change::Edited(splices) => {
                    let parts = |splice: &Splice<Caused>| Splice {
                        at: splice.at,
                        remove: splice.remove,
                        insert: splice.insert.iter().map(|(part, _)| *part).collect(),
                    };
                    let splices: Vec<_> = splices.iter().map(parts).collect();
                    ledger::diff::apply(list, &splices).unwrap();
                }
            }
        }
        let id = request.captured.request;
        assert!(*list == walker.lists(id).unwrap().items, "request {}", id.ordinal());
    }
}

/// The bodies of all requests, put together from their parts.
fn bodies(history: &History, store: &StoreReader) -> Vec<Vec<u8>> {
    let mut walker = ListWalker::new(history);
    let mut out = Vec::new();
    for request in history.requests() {
        let captured = &request.captured;
        let lists = walker.lists(captured.request).unwrap().clone();
        let separator = captured.separator.read(store).unwrap();
        let mut body = Vec::new();
        for part in lists.head {
            render::part(history, store, part, &[], &mut body).unwrap();
        }
        for (position, part) in lists.items.into_iter().enumerate() {
            if position > 0 {
                body.extend_from_slice(&separator);
            }
            let marks: Vec<_> = captured
                .overlays
                .iter()
                .filter(|mark| mark.item as usize == position)
                .cloned()
                .collect();
            render::part(history, store, part, &marks, &mut body).unwrap();
        }
        for part in lists.tail {
            render::part(history, store, part, &[], &mut body).unwrap();
        }
        out.push(body);
    }
    out
}

/// An error with its causes.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        write!(out, ": {error}").unwrap();
        source = error.source();
    }
    out
}

/// Every file below a folder with its bytes, by name.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    out.sort();
    out
}
