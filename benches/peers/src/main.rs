//! This log and this store beside others, interleaved in one run, as ratios to a bare file.
//!
//! ```sh
//! cd benches/peers && cargo run --release -- [FOLDER] [ROUNDS]
//! ```
//!
//! Every log appends records of 1 KiB, each durable before the next of its thread. A round runs
//! all of them once, in an order that changes; the tables show medians.

mod blobs;
mod logs;
mod scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use logs::{Append, Store};

/// Length of a record.
pub const RECORD_BYTES: usize = 1024;
/// How long a log is measured in one round.
const MEASURED: Duration = Duration::from_millis(1500);
/// Records of the log that is scanned and opened again: 1 GiB.
const RECORDS: usize = 1 << 20;

type Rates = BTreeMap<&'static str, Vec<f64>>;

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(5);
    for threads in [1, 16] {
        let mut rates = Rates::new();
        for round in 0..rounds {
            let mut stores = logs::all(threads);
            let turn = round % stores.len();
            stores.rotate_left(turn);
            for store in stores {
                rates.entry(store.name).or_default().push(append(&store, &folder, threads));
            }
        }
        print(&format!("durable appends, {threads} thread(s)"), "records/s", "file", &rates);
    }
    blobs(&folder, rounds);
    scans(&folder);
}

/// Records in a second.
fn append(store: &Store, folder: &Path, threads: usize) -> f64 {
    let dir = tempfile::tempdir_in(folder).expect("a folder");
    let opened = (store.open)(dir.path());
    let started = Instant::now();
    let count: usize = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let opened: &dyn Append = &*opened;
            scope.spawn(move || {
                let record = vec![thread as u8; RECORD_BYTES];
                let mut count = 0;
                while started.elapsed() < MEASURED {
                    opened.append(&record);
                    count += 1;
                }
                count
            })
        };
        let threads: Vec<_> = (0..threads).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    count as f64 / started.elapsed().as_secs_f64()
}

/// Puts all blobs into every store and reads them back.
fn blobs(folder: &Path, rounds: usize) {
    let blobs = blobs::Blobs::of_this_repository();
    let (mut puts, mut gets) = (Rates::new(), Rates::new());
    for round in 0..rounds {
        let mut stores = blobs::STORES;
        let turn = round % stores.len();
        stores.rotate_left(turn);
        for (name, open) in stores {
            let dir = tempfile::tempdir_in(folder).expect("a folder");
            let mut store = open(dir.path());
            let started = Instant::now();
            store.put_all(&blobs);
            let rate = blobs.bytes as f64 / started.elapsed().as_secs_f64() / 1e6;
            puts.entry(name).or_default().push(rate);
            let started = Instant::now();
            let bytes = store.get_all();
            let rate = bytes as f64 / started.elapsed().as_secs_f64() / 1e6;
            gets.entry(name).or_default().push(rate);
        }
    }
    let count = blobs.redacted.len();
    print(&format!("put of {count} blobs, a sync for 64"), "MB/s", "pack", &puts);
    print("get of all of them", "MB/s", "pack", &gets);
    let dir = tempfile::tempdir_in(folder).expect("a folder");
    let (ends, all) = blobs::both_ends(dir.path());
    println!("\nboth ends of 100 MB: {ends:.2} ms; all of it: {all:.1} ms; {:.4}", ends / all);
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(title: &str, unit: &str, reference: &str, rates: &Rates) {
    let to = median(&rates[reference]);
    println!("\n| {title} | {unit} | to the {reference} |\n|---|---|---|");
    let mut rows: Vec<_> = rates.iter().map(|(name, rates)| (*name, median(rates))).collect();
    rows.sort_by(|left, right| right.1.total_cmp(&left.1));
    for (name, rate) in rows {
        println!("| {name} | {rate:.0} | {:.2} |", rate / to);
    }
}

/// Scans with every check, beside checksums alone and the digest alone over the same bytes.
fn scans(folder: &Path) {
    let dir = tempfile::tempdir_in(folder).expect("a folder");
    let bytes = scan::fill(dir.path(), RECORDS);
    let mut rates = Rates::new();
    for _ in 0..5 {
        for (name, run) in scan::SCANS {
            let started = Instant::now();
            run(dir.path());
            let rate = bytes as f64 / started.elapsed().as_secs_f64() / 1e9;
            rates.entry(name).or_default().push(rate);
        }
    }
    println!("\n| scan of {} MB | GB/s |\n|---|---|", bytes / 1_000_000);
    for (name, rates) in &rates {
        println!("| {name} | {:.2} |", median(rates));
    }
    let (ours, raft) = (scan::reopen(dir.path()), scan::reopen_raft(dir.path(), RECORDS));
    let ratio = ours / raft;
    println!("\nopen after a clean close: {ours:.2} ms, raft-engine {raft:.0} ms; {ratio:.5}");
}
