//! How long it takes to verify every shipped recording, against the work that no check can do
//! without: SHA-256 over the bytes that the recordings stand for, and decompressing what they
//! store. The goal is twice that.
#![expect(missing_docs, reason = "criterion makes a public function without any")]

use artifacts::Source as _;
use benches::Workload;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use replay::assemble::Assembler;
use replay::{Level, Recording, verify};
use sha2::{Digest as _, Sha256};

/// A recording, and the bodies that it stands for.
struct Case {
    workload: Workload,
    bodies: Vec<Vec<u8>>,
}

impl Case {
    fn new(name: &str) -> Self {
        let workload = Workload::new(name);
        let recording = &workload.recording;
        let mut assembler = Assembler::new(recording.history(), recording.as_source());
        let requests = recording.history().requests().iter();
        let bodies = requests
            .map(|request| assembler.body(request.captured.request).expect("the fixture is whole"))
            .collect();
        Self { workload, bodies }
    }

    /// Digests of all bodies, and every artifact read once, past any cache.
    fn floor(&self) -> u64 {
        let digests = self
            .bodies
            .iter()
            .map(|body| Sha256::digest(body).iter().map(|byte| u64::from(*byte)).sum::<u64>());
        let store = self.workload.recording.store();
        let artifacts = store.iter().map(|(id, ..)| {
            let artifact = store.reference(&id).expect("the store lists what it has");
            store.read(&artifact).expect("the fixture is whole").len() as u64
        });
        digests.sum::<u64>() + artifacts.sum::<u64>()
    }

    /// Opens the recording, so that nothing is left from the time before, and verifies it.
    fn verify(&self, level: Level) -> bool {
        let path = self.workload.recording.path();
        let recording = Recording::open(path).expect("the fixture can be opened");
        verify(&recording, level, &mut || {}).is_ok()
    }
}

fn all(criterion: &mut Criterion) {
    let cases: Vec<Case> = fixtures::CASES.iter().map(|name| Case::new(name)).collect();
    let bytes = cases.iter().map(|case| case.workload.request_bytes).sum();
    let mut group = criterion.benchmark_group("verify");
    group.throughput(Throughput::Bytes(bytes)).sample_size(10);
    group.bench_function("sha256 and decompression alone", |bencher| {
        bencher.iter(|| cases.iter().map(Case::floor).sum::<u64>());
    });
    for (name, level) in [
        ("hash", Level::Hash),
        ("reassembly", Level::Reassembly),
        ("projection", Level::Projection),
        ("all", Level::All),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert!(cases.iter().all(|case| case.verify(level))));
        });
    }
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
