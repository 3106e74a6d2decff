//! How fast session files become recordings, one at a time on one core: rows of Claude Code with
//! a second copy of each output, and items of Codex. Bytes are those of the file. Everything that
//! an import does is in it: reading, redaction by the core rules, digests, compression, writing.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use std::fs;

use benches::sessions;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Size of the files.
const FILE_BYTES: usize = 32 << 20;

fn import(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
    let mut group = criterion.benchmark_group("transcript");
    group.sample_size(10);
    let files = [
        ("claude-code", sessions::claude_code(FILE_BYTES)),
        ("codex", sessions::codex(FILE_BYTES)),
    ];
    for (name, text) in files {
        let file = folder.path().join(format!("{name}.jsonl"));
        fs::write(&file, &text).expect("the folder was just made");
        let sources = capture::transcript::bundles(&[file], None).expect("it was just written");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || tempfile::tempdir().expect("a bench needs a folder to write to"),
                |into| {
                    let recording = into.path().join("run");
                    let source = sources.first().expect("one file is one source");
                    let report = fixtures::transcripts::import(source, &recording)
                        .expect("the session is valid");
                    assert_eq!(report.tally.unknown_total(), 0);
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
