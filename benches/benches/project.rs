//! How fast requests are projected: accounting only, and with bytes. Workloads: codex-long, 65
//! requests, and made-up chats of 64, 128 and 256 turns, whose cost per request may grow with the
//! length of the list and no faster. The goal for accounting is 200,000 requests per second on one
//! core.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use benches::Workload;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use projector::policy::presets;
use projector::{Policy, Projector};

fn account(workload: &Workload, policy: &Policy) -> u64 {
    let history = workload.recording.history();
    let mut projector = Projector::new(history, workload.recording.as_source(), policy);
    let tokens = history.requests().iter().map(|request| {
        let step = projector.step(request.captured.request);
        step.expect("the fixture is whole").1.tokens
    });
    tokens.sum()
}

fn bytes(workload: &Workload, policy: &Policy) -> usize {
    let history = workload.recording.history();
    let source = workload.recording.as_source();
    let mut projector = Projector::new(history, source, policy);
    let mut body = Vec::new();
    let mut total = 0;
    for request in history.requests() {
        let projection =
            projector.projection(request.captured.request).expect("the fixture is whole");
        body.clear();
        projection.write(history, source, &mut body).expect("the fixture is whole");
        total += body.len();
    }
    total
}

fn project(criterion: &mut Criterion) {
    let workload = Workload::new("codex-long");
    let policies = presets::all().expect("presets are valid");
    let mut group = criterion.benchmark_group("project");
    group.throughput(Throughput::Elements(workload.requests));
    for policy in &policies {
        group.bench_function(format!("account {}", policy.name), |bencher| {
            bencher.iter(|| account(&workload, policy));
        });
    }
    for turns in [64, 128, 256] {
        let chat = Workload::chat(turns);
        group.throughput(Throughput::Elements(chat.requests));
        for name in ["clear-keep-3", "window-20"] {
            let policy = policies.iter().find(|policy| policy.name == name);
            let policy = policy.expect("the preset exists");
            group.bench_function(format!("account {name}, {turns} turns"), |bencher| {
                bencher.iter(|| account(&chat, policy));
            });
        }
    }
    group.throughput(Throughput::Bytes(workload.request_bytes));
    for policy in policies.iter().take(2) {
        group.bench_function(format!("bytes {}", policy.name), |bencher| {
            bencher.iter(|| bytes(&workload, policy));
        });
    }
    group.finish();
}

criterion_group!(benches, project);
criterion_main!(benches);
