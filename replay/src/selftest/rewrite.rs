//! Copies that are written anew, event by event, with one change in them.

use std::path::Path;

use artifacts::Store;
use artifacts::fs::PackIdent;
use artifacts::redact::Redactor;
use ledger::event::Event;
use ledger::fs::{LogIdent, LogReader, LogWriter, PackLength};
use ledger::id::PartNo;
use ledger::segment::Epoch;
use sha2::{Digest as _, Sha256};

use super::class::{Class, Forgiven};
use super::mutate::{self, Changes, Failure, Tools};
use super::{Gate, Injected, Outcome, SelftestError, copy_folder, remove, spread};
use crate::assemble::Assembler;
use crate::recording::Recording;

/// Changes a recording at places that the class can be made at, one copy per place.
pub(super) fn sites(
    recording: &Recording,
    class: Class,
    scratch: &Path,
    gate: Gate<'_>,
) -> Result<Vec<Outcome>, SelftestError> {
    let copy = scratch.join("copy");
    let failed = |source| SelftestError::Rewrite { path: copy.clone(), source };
    let events = read(recording).map_err(failed)?;
    let mut outcomes = Vec::new();
    for index in places(recording, &events, class, scratch)? {
        let mut told = Copy::create(recording, &copy).map_err(failed)?;
        let changes = mutate::changes(class, &events, index, &mut told.tools).map_err(failed)?;
        let mut changed = applied(&events, &changes);
        if class == Class::ForgedHistory {
            let again = scratch.join("forged");
            forge(recording, &mut changed, told, &again).map_err(failed)?;
            remove(&copy)?;
            std::fs::rename(&again, &copy)
                .map_err(|source| SelftestError::Copy { path: again, source })?;
        } else {
            told.write(&changed).map_err(failed)?;
        }
        let head = format!("{}:{}", recording.head().seq, recording.head().chain);
        let accepted_head = (class == Class::ForgedHistory).then_some(head.as_str());
        let forgiven = class.forgiven() == Forgiven::ByDesign && is_same(recording, &copy);
        let caught = gate(Injected { class, copy: &copy, accepted_head });
        outcomes.push(Outcome { caught, forgiven, place: format!("event {index}") });
        remove(&copy)?;
    }
    Ok(outcomes)
}

/// Events that a class can be made at, a few of them, spread over the run.
fn places(
    recording: &Recording,
    events: &[Event],
    class: Class,
    scratch: &Path,
) -> Result<Vec<usize>, SelftestError> {
    let probe = scratch.join("probe");
    let failed = |source| SelftestError::Rewrite { path: probe.clone(), source };
    let mut told = Copy::create(recording, &probe).map_err(failed)?;
    let mut eligible = Vec::new();
    for index in 0..events.len() {
        let changes = mutate::changes(class, events, index, &mut told.tools).map_err(failed)?;
        if !changes.is_empty() {
            eligible.push(index);
        }
    }
    drop(told);
    remove(&probe)?;
    Ok(spread(eligible.len()).filter_map(|n| eligible.get(n).copied()).collect())
}

fn applied(events: &[Event], changes: &Changes) -> Vec<Event> {
    let at = |index: usize| changes.iter().find(|(changed, _)| *changed == index);
    let new = |(index, event): (usize, &Event)| match at(index) {
        Some((_, new)) => new.clone(),
        None => vec![event.clone()],
    };
    events.iter().enumerate().flat_map(new).collect()
}

fn read(recording: &Recording) -> Result<Vec<Event>, Failure> {
    let mut reader = LogReader::open(recording.path())?;
    let mut events = Vec::new();
    for frame in reader.frames() {
        let frame = frame?;
        if !frame.is_seal() {
            events.push(Event::decode(frame.kind(), frame.version(), frame.body())?);
        }
    }
    Ok(events)
}

/// A copy that is being written: artifacts are there, events come.
struct Copy<'r> {
    log: LogWriter,
    tools: Tools<'r>,
}

/// The writer epoch of copies.
const EPOCH: Epoch = Epoch(0x5e1f_7e57);

impl<'r> Copy<'r> {
    fn create(recording: &'r Recording, copy: &Path) -> Result<Self, Failure> {
        let ledger_id = LogReader::open(recording.path())?.ledger_id();
        let ident = LogIdent { ledger_id, epoch: EPOCH, created_unix_ns: 0 };
        let log = LogWriter::create(copy, ident)?;
        copy_folder(&recording.path().join("art"), &copy.join("art"))?;
        let (ledger_id, epoch) = (*ledger_id.as_bytes(), EPOCH.number());
        let pack = PackIdent { ledger_id, epoch, created_unix_ns: 0 };
        let store = Store::create(&copy.join("art"), pack)?;
        Ok(Self { log, tools: Tools { store, redactor: Redactor::core(), recording } })
    }

    fn write(mut self, events: &[Event]) -> Result<(), Failure> {
        let sealed = self.tools.store.seal()?;
        for event in events {
            self.log.append(event.kind().tag(), event.version(), 0, &event.encode()?)?;
            if self.log.pending_bytes() > 1 << 20 {
                self.log.write()?;
            }
        }
        let (number, bytes) = (sealed.number, sealed.pack_bytes);
        self.log.write()?;
        self.log.seal(&[PackLength { number, epoch: EPOCH.number(), bytes }])?;
        Ok(())
    }
}

/// Makes every digest fit the changed events: a history that is false and sound.
fn forge(
    recording: &Recording,
    events: &mut [Event],
    told: Copy<'_>,
    again: &Path,
) -> Result<(), Failure> {
    let first = told.log.segment_path().ancestors().nth(2).map(Path::to_path_buf);
    let first = first.ok_or("a segment lies two folders below its recording")?;
    told.write(events)?;
    let changed = Recording::open(&first)?;
    let history = changed.history();
    let mut assembler = Assembler::new(history, changed.as_source());
    let mut numbers = 0..u32::MAX;
    for event in events.iter_mut() {
        for (def, number) in mutate::new_parts(event).into_iter().zip(&mut numbers) {
            def.digest = Sha256::digest(assembler.part(PartNo::new(number))?).into();
        }
        if let Event::RequestCaptured(captured) = event {
            captured.component_digests = assembler.components(captured.request)?;
            let body = assembler.body(captured.request)?;
            captured.body_digest = Sha256::digest(&body).into();
            captured.body_bytes = body.len() as u64;
        }
    }
    let mut second = Copy::create(recording, again)?;
    // What the change put into the first copy's store is needed in the second one too.
    for (id, ..) in changed.store().iter() {
        let Some(artifact) = changed.store().reference(&id) else { continue };
        let bytes = artifacts::Source::read(changed.source(), &artifact)?;
        second.tools.store.put(&second.tools.redactor.redact(&bytes))?;
    }
    second.write(events)
}

/// True when every body of the copy is the same JSON value as the original's.
fn is_same(recording: &Recording, copy: &Path) -> bool {
    let Ok(copy) = Recording::open(copy) else { return false };
    let mut ours = Assembler::new(recording.history(), recording.as_source());
    let mut theirs = Assembler::new(copy.history(), copy.as_source());
    recording.history().requests().iter().all(|request| {
        let id = request.captured.request;
        match (ours.body(id), theirs.body(id)) {
            (Ok(a), Ok(b)) => ledger::wire::canonical::same_value(&a, &b) == Ok(true),
            _ => false,
        }
    })
}
