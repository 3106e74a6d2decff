//! Durable appends beside other stores, interleaved in one run, as ratios to a bare file.
//!
//! ```sh
//! cd benches/peers && cargo run --release -- [FOLDER] [ROUNDS]
//! ```
//!
//! Every store appends records of 1 KiB, each durable before the next of its thread. A round runs
//! all stores once, in an order that changes; the table shows medians.

mod stores;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stores::{Append, Store};

/// Length of a record.
pub const RECORD_BYTES: usize = 1024;
/// How long a store is measured in one round.
const MEASURED: Duration = Duration::from_millis(1500);

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(5);
    for threads in [1, 16] {
        let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for round in 0..rounds {
            let mut stores = stores::all(threads);
            let turn = round % stores.len();
            stores.rotate_left(turn);
            for store in stores {
                rates.entry(store.name).or_default().push(measure(&store, &folder, threads));
            }
        }
        print(&rates, threads);
    }
    scan(&folder);
}

/// Records in a second.
fn measure(store: &Store, folder: &Path, threads: usize) -> f64 {
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

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(rates: &BTreeMap<&str, Vec<f64>>, threads: usize) {
    let medians: BTreeMap<&str, f64> =
        rates.iter().map(|(name, rates)| (*name, median(&mut rates.clone()))).collect();
    let reference = medians["file"];
    println!("\n| {threads} thread(s) | records/s | to the file |\n|---|---|---|");
    for (name, rate) in &medians {
        println!("| {name} | {rate:.0} | {:.2} |", rate / reference);
    }
}

/// Scans with every check, beside checksums alone and the digest alone over the same bytes.
fn scan(folder: &Path) {
    let dir = tempfile::tempdir_in(folder).expect("a folder");
    let bytes = stores::fill(dir.path(), 200_000);
    let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..5 {
        for (name, run) in stores::SCANS {
            let started = Instant::now();
            run(dir.path());
            let rate = bytes as f64 / started.elapsed().as_secs_f64() / 1e9;
            rates.entry(name).or_default().push(rate);
        }
    }
    println!("\n| scan of {} MB | GB/s |\n|---|---|", bytes / 1_000_000);
    for (name, rates) in &mut rates {
        println!("| {name} | {:.2} |", median(rates));
    }
    let started = Instant::now();
    stores::reopen(dir.path());
    println!("\nopen after a clean close: {:.2} ms", started.elapsed().as_secs_f64() * 1e3);
}
