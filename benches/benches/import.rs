//! How fast a HAR becomes a recording: codex-long, 65 requests of one growing conversation
//! (16.8 MB plain), and codex-std, where more is new. Bytes are those of the plain HAR.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use std::fs;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn import(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
    let mut group = criterion.benchmark_group("import");
    group.sample_size(10);
    for case in ["codex-long", "codex-std"] {
        let har = benches::plain_har(case, &folder).expect("the fixture can be unpacked");
        let bytes = fs::metadata(&har).expect("it was just written").len();
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(case, |bencher| {
            bencher.iter_batched(
                || tempfile::tempdir().expect("a bench needs a folder to write to"),
                |into| {
                    fixtures::import(&har, into.path()).expect("the fixture is valid");
                    into
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, import);
criterion_main!(benches);
