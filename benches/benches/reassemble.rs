//! How fast bodies are put together and digested, against SHA-256 alone over the same bytes.
//! Workload: codex-long. The goal is half of SHA-256's own speed.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use benches::Workload;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use replay::assemble::Assembler;
use sha2::{Digest as _, Sha256};

fn reassemble(criterion: &mut Criterion) {
    let workload = Workload::new("codex-long");
    let history = workload.recording.history();
    let source = workload.recording.as_source();
    let ids: Vec<_> = history.requests().iter().map(|r| r.captured.request).collect();
    let mut assembler = Assembler::new(history, source);
    let bodies: Vec<Vec<u8>> =
        ids.iter().map(|id| assembler.body(*id).expect("the fixture is whole")).collect();
    let mut group = criterion.benchmark_group("reassemble");
    group.throughput(Throughput::Bytes(workload.request_bytes));
    group.bench_function("sha256 alone", |bencher| {
        bencher.iter(|| bodies.iter().map(Sha256::digest).collect::<Vec<_>>());
    });
    group.bench_function("with digest", |bencher| {
        bencher.iter(|| {
            let mut assembler = Assembler::new(history, source);
            let digests = ids.iter().map(|id| {
                let mut hash = Sha256::new();
                assembler
                    .chunks(*id, |(_part, bytes)| hash.update(bytes))
                    .expect("the fixture is whole");
                hash.finalize()
            });
            digests.collect::<Vec<_>>()
        });
    });
    group.finish();
}

criterion_group!(benches, reassemble);
criterion_main!(benches);
