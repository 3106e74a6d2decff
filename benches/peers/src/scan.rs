//! What is written, read again: scans with every check, and the time to open a closed log.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ledger::fs::{Checks, LogReader, LogWriter};
use ledger::segment::Epoch;
use sha2::{Digest as _, Sha256};

use crate::RECORD_BYTES;
use crate::logs::{KIND, ident, raft_config, raft_put};

/// Writes a log of so many records and closes it; returns the length of its records.
pub fn fill(dir: &Path, records: usize) -> usize {
    let mut log = LogWriter::create(&dir.join("run"), ident()).unwrap();
    let record = vec![7; RECORD_BYTES];
    let mut flat = Vec::with_capacity(records * RECORD_BYTES);
    for _ in 0..records {
        log.append(KIND, 1, 0, &record).unwrap();
        if log.pending_bytes() > 1 << 20 {
            log.write().unwrap();
        }
        flat.extend_from_slice(&record);
    }
    log.seal(&[]).unwrap();
    std::fs::write(dir.join("flat"), &flat).unwrap();
    flat.len()
}

/// A way to scan what `fill` wrote.
type Scan = (&'static str, fn(&Path));

/// All checks of a log, and what they cannot be faster than.
pub const SCANS: [Scan; 5] = [
    ("counterfold, checksums, chain, two threads", |dir| {
        let reader = LogReader::open(&dir.join("run")).unwrap();
        let (next, reader) = (AtomicUsize::new(0), &reader);
        let check = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= reader.segments() {
                    break;
                }
                std::hint::black_box(reader.check_segment(index, |_frame| ()).unwrap());
            }
        };
        std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(&check))));
    }),
    ("counterfold, checksums and chain", |dir| {
        let mut reader = LogReader::open(&dir.join("run")).unwrap();
        for frame in reader.frames() {
            std::hint::black_box(frame.unwrap().body());
        }
    }),
    ("counterfold, checksums", |dir| {
        let mut reader = LogReader::open(&dir.join("run")).unwrap();
        reader.set_checks(Checks::Sums);
        for frame in reader.frames() {
            std::hint::black_box(frame.unwrap().body());
        }
    }),
    ("mapped file, CRC32 of each record", |dir| {
        let file = File::open(dir.join("flat")).unwrap();
        let view = artifacts::fs::vfs::FileView::map(&file).unwrap();
        for record in view.chunks(RECORD_BYTES) {
            std::hint::black_box(crc32fast::hash(record));
        }
    }),
    ("mapped file, SHA-256 of each record", |dir| {
        let file = File::open(dir.join("flat")).unwrap();
        let view = artifacts::fs::vfs::FileView::map(&file).unwrap();
        for record in view.chunks(RECORD_BYTES) {
            std::hint::black_box(Sha256::digest(record));
        }
    }),
];

/// Opens the log for appending, in milliseconds.
pub fn reopen(dir: &Path) -> f64 {
    let started = Instant::now();
    let log = LogWriter::open(&dir.join("run"), Epoch(2), 0).unwrap();
    let took = started.elapsed().as_secs_f64() * 1e3;
    drop(log);
    took
}

/// Writes as many records with raft-engine and closes it, then opens it, in milliseconds.
pub fn reopen_raft(dir: &Path, records: usize) -> f64 {
    let dir = dir.join("raft");
    let engine = raft_engine::Engine::open(raft_config(&dir)).unwrap();
    let record = vec![7; RECORD_BYTES];
    let mut batch = raft_engine::LogBatch::default();
    for number in 0..records {
        raft_put(&mut batch, number as u64, &record);
        if number % 1024 == 1023 {
            engine.write(&mut batch, false).unwrap();
        }
    }
    engine.write(&mut batch, true).unwrap();
    drop(engine);
    let started = Instant::now();
    let engine = raft_engine::Engine::open(raft_config(&dir)).unwrap();
    let took = started.elapsed().as_secs_f64() * 1e3;
    drop(engine);
    took
}
