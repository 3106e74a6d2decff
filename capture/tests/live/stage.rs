//! A proxy between a test and an upstream whose answers the test makes up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artifacts::StoreReader;
use artifacts::redact::Redactor;
use capture::live::answering::{Answering, Answers, Asked, Given, Piece};
use capture::live::{LiveReport, OnFailure, OnUpgrade, Proxy, ProxySpec, Target, Upstreams};
use ledger::event::{Overlay, notes};
use ledger::fs::LogReader;
use ledger::history::History;

/// How long exchanges may take to end when a run is closed. Tests end sooner; those of a client
/// that stays are broken off then.
const GRACE: Duration = Duration::from_millis(300);

/// Answers with a function and remembers what it was asked.
pub(crate) struct Scripted<F> {
    script: F,
    pub(crate) asked: Mutex<Vec<Asked>>,
    takes_sockets: bool,
}

impl<F: Fn(usize, &Asked) -> Given + Send + Sync + 'static> Answers for Scripted<F> {
    fn answer(&self, asked: &Asked) -> Given {
        let index = {
            let mut all = self.asked.lock().unwrap();
            all.push(asked.clone());
            all.len() - 1
        };
        (self.script)(index, asked)
    }

    fn takes_sockets(&self) -> bool {
        self.takes_sockets
    }
}

/// An answer in one piece.
pub(crate) fn given(status: u16, mime: &str, body: &[u8]) -> Given {
    Given {
        status,
        headers: vec![("content-type".to_owned(), mime.as_bytes().to_vec())],
        body: vec![Piece { after: Duration::ZERO, bytes: body.to_vec() }],
        cut: false,
    }
}

pub(crate) struct Stage<F> {
    folder: tempfile::TempDir,
    pub(crate) upstream: Arc<Scripted<F>>,
    listener: Option<Answering>,
    proxy: Proxy,
}

/// What is left when a run has ended.
pub(crate) struct Ended {
    _folder: tempfile::TempDir,
    pub(crate) recording: PathBuf,
    pub(crate) report: LiveReport,
    pub(crate) history: History,
    pub(crate) store: StoreReader,
}

impl<F: Fn(usize, &Asked) -> Given + Send + Sync + 'static> Stage<F> {
    pub(crate) fn new(script: F) -> Self {
        Self::with(script, OnFailure::Refuse)
    }

    /// With an upstream that agrees to a WebSocket.
    pub(crate) fn with_sockets(script: F) -> Self {
        Self::of(script, OnFailure::Refuse, true)
    }

    pub(crate) fn with(script: F, on_failure: OnFailure) -> Self {
        Self::of(script, on_failure, false)
    }

    fn of(script: F, on_failure: OnFailure, takes_sockets: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("saved")).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let upstream = Arc::new(Scripted { script, asked: Mutex::default(), takes_sockets });
        let listener = Answering::start(any, Arc::clone(&upstream)).unwrap();
        let target = Target::parse(&format!("http://{}", listener.addr())).unwrap();
        let ticks = AtomicU64::new(1);
        let proxy = Proxy::start(ProxySpec {
            recording: folder.path().join("run"),
            listen: any,
            upstreams: Upstreams::all(&target),
            on_failure,
            on_upgrade: OnUpgrade::Tunnel,
            recorder: "test".to_owned(),
            redactor: Redactor::core(),
            identity: None,
            environment: None,
            spill_roots: vec![folder.path().join("saved")],
            disk: artifacts::fs::vfs::LocalDisk::shared(),
            clock: Arc::new(move || ticks.fetch_add(1, Ordering::Relaxed)),
        })
        .unwrap();
        Self { folder, upstream, listener: Some(listener), proxy }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.proxy.addr()
    }

    /// Where the client may save whole outputs.
    pub(crate) fn saved(&self) -> PathBuf {
        self.folder.path().join("saved")
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.proxy.recording().to_path_buf()
    }

    /// Takes the upstream away.
    pub(crate) fn without_upstream(&mut self) {
        self.listener.take().unwrap().finish();
    }

    /// Ends the run and reads it back.
    pub(crate) fn end(self) -> Ended {
        let recording = self.recording();
        let report = self.proxy.finish(GRACE).unwrap();
        let mut log = LogReader::open(&recording).unwrap();
        let history = ledger::fs::history(&mut log).unwrap();
        let store = StoreReader::open(&recording.join("art")).unwrap();
        Ended { _folder: self.folder, recording, report, history, store }
    }
}

impl Ended {
    /// The records, by their reasons; how exchanges went is told of each request.
    pub(crate) fn reasons(&self) -> Vec<&str> {
        let reasons = self.history.records().iter().map(|record| record.reason.as_str());
        reasons.filter(|reason| *reason != notes::EXCHANGE).collect()
    }

    /// How the exchange of a request went.
    pub(crate) fn exchange(&self, index: u64) -> serde_json::Value {
        let mut notes = self.history.records().iter();
        let note = notes.find(|it| it.reason == notes::EXCHANGE && it.index == index).unwrap();
        serde_json::from_str(&self.text(&note.bytes)).unwrap()
    }

    /// A body, put together from its parts.
    pub(crate) fn body(&self, index: usize) -> Vec<u8> {
        let request = &self.history.requests()[index];
        let mut walker = ledger::history::ListWalker::new(&self.history);
        let lists = walker.lists(request.captured.request).unwrap().clone();
        let separator = request.captured.separator.read(&self.store).unwrap();
        let mut body = Vec::new();
        let part = |part, marks: &[Overlay], body: &mut Vec<u8>| {
            ledger::render::part(&self.history, &self.store, part, marks, body).unwrap();
        };
        for head in lists.head {
            part(head, &[], &mut body);
        }
        for (position, item) in lists.items.into_iter().enumerate() {
            if position > 0 {
                body.extend_from_slice(&separator);
            }
            let marks = request.overlays().iter().filter(|mark| mark.item as usize == position);
            part(item, &marks.cloned().collect::<Vec<_>>(), &mut body);
        }
        for tail in lists.tail {
            part(tail, &[], &mut body);
        }
        body
    }

    pub(crate) fn text(&self, content: &ledger::content::Content) -> String {
        String::from_utf8(content.read(&self.store).unwrap().to_vec()).unwrap()
    }

    /// Every byte of every file of the recording.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fn walk(folder: &std::path::Path, out: &mut Vec<u8>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, out);
                } else {
                    out.extend(std::fs::read(path).unwrap());
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.recording, &mut out);
        out
    }
}
