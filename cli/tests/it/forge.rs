//! Copies of a recording that are sound as files and say something else: checksums and chain are
//! good, the events are changed.

use std::fs;
use std::path::Path;

use ledger::event::{ContextEdited, Event, RequestCaptured, Rung, Splice};
use ledger::fs::{LogIdent, LogReader, LogWriter};
use ledger::segment::Epoch;

use crate::program::Folder;

impl Folder {
    /// Writes the recording `from` anew as `to`; `change` returns what each event becomes.
    pub(crate) fn forge(&self, from: &str, to: &str, change: impl Fn(Event) -> Vec<Event>) {
        let (from, to) = (self.path(from), self.path(to));
        let mut reader = LogReader::open(&from).unwrap();
        let ledger_id = reader.ledger_id();
        let ident = LogIdent { ledger_id, epoch: Epoch(7), created_unix_ns: 0 };
        let mut log = LogWriter::create(&to, ident).unwrap();
        for frame in reader.frames() {
            let frame = frame.unwrap();
            if frame.is_seal() {
                continue;
            }
            let event = Event::decode(frame.kind(), frame.version(), frame.body()).unwrap();
            for event in change(event) {
                let body = event.encode().unwrap();
                log.append(event.kind().tag(), event.version(), 0, &body).unwrap();
            }
        }
        log.seal(&[]).unwrap();
        copy(&from.join("art"), &to.join("art"));
    }

    /// `runs/tiny` as `forged/<to>`, with `change` made in its request `ordinal`.
    pub(crate) fn forge_request(
        &self,
        to: &str,
        ordinal: u64,
        change: impl Fn(&mut RequestCaptured),
    ) {
        let change = |mut event| {
            if let Event::RequestCaptured(captured) = &mut event
                && captured.request.ordinal() == ordinal
            {
                change(captured);
            }
            vec![event]
        };
        self.forge("runs/tiny", &["forged/", to].concat(), change);
    }

    /// With `forged/same`: rewritten history. `forged/digest`: request 2 has another digest.
    /// `forged/component`: the messages of request 2 drifted. `forged/rung`: request 2 is worse.
    /// `forged/untold`: the events do not tell of a message of request 2.
    pub(crate) fn with_forgeries() -> Self {
        let folder = Self::with_recording();
        folder.forge_request("same", 2, |_captured| {});
        folder.forge_request("digest", 2, |captured| captured.body_digest[0] ^= 1);
        folder.forge_request("component", 2, |captured| captured.component_digests[3][0] ^= 1);
        folder.forge_request("rung", 2, |captured| captured.rung = Rung::Lossy);
        let untold = |event: Event| match &event {
            Event::RequestCaptured(captured) if captured.request.ordinal() == 2 => {
                let splices = vec![Splice { at: 0, remove: 1, insert: Vec::new() }];
                let session = captured.session;
                vec![Event::ContextEdited(ContextEdited { session, splices }), event]
            }
            _ => vec![event],
        };
        folder.forge("runs/tiny", "forged/untold", untold);
        folder
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}
