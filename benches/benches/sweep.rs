//! How fast all built-in policies are swept over several runs, on one thread and on two.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use benches::Workload;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use projector::policy::presets;
use replay::Recording;

fn sweep(criterion: &mut Criterion) {
    let cases = ["codex-long", "mini-long", "gemini-acp-long", "hermes-compaction"];
    let workloads: Vec<Workload> = cases.into_iter().map(Workload::new).collect();
    let recordings: Vec<Recording> = workloads
        .iter()
        .map(|workload| Recording::open(workload.recording.path()).expect("it was opened before"))
        .collect();
    let policies = presets::all().expect("presets are valid");
    let requests: u64 = workloads.iter().map(|workload| workload.requests).sum();
    let mut group = criterion.benchmark_group("sweep");
    group.throughput(Throughput::Elements(requests * policies.len() as u64));
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("two threads can be had");
        group.bench_function(format!("{threads} threads"), |bencher| {
            bencher.iter(|| pool.install(|| replay::sweep(&recordings, &policies, &|| {})).len());
        });
    }
    group.finish();
}

criterion_group!(benches, sweep);
criterion_main!(benches);
