//! What a request costs under a policy when its conversation is long: chats of 64, 512 and 4,096
//! turns, accounting only, under every built-in policy that needs no setting.
//!
//! Printed for each policy: nanoseconds per request, and the ratio of the longest chat to the
//! shortest, whose goal is 1.5. A second table has what a hundred policies cost over one run
//! against one of them, whose goal is 20, and what a body costs. Each figure is the best of five
//! passes: a busy machine makes passes longer, never shorter.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use benches::Long;
use projector::policy::{Setting, presets};
use projector::{Index, Policy, Projector, Shared};
use replay::Vocabularies;
use replay::memo::SharedMemo;

const TURNS: [usize; 3] = [64, 512, 4096];
const PASSES: usize = 5;
/// Requests that are projected again and again until so many were, so that a pass is long enough
/// to be timed.
const REQUESTS_MIN: usize = 4096;
const POLICIES: u64 = 100;

fn account(long: &Long, policy: &Policy, shared: Shared<'_>) -> u64 {
    let mut projector = Projector::with(long.history(), long.source(), policy, shared);
    let steps = long.history().requests().iter().map(|request| {
        let step = projector.step(request.captured.request);
        step.expect("the run is whole").1.body_bytes
    });
    steps.sum()
}

fn bytes(long: &Long, policy: &Policy, shared: Shared<'_>) -> usize {
    let (history, source) = (long.history(), long.source());
    let mut projector = Projector::with(history, source, policy, shared);
    let (mut body, mut total) = (Vec::new(), 0);
    for request in history.requests() {
        let projection = projector.projection(request.captured.request).expect("the run is whole");
        body.clear();
        projection.write(history, source, &mut body).expect("the run is whole");
        total += body.len();
    }
    total
}

/// The shortest of several passes.
fn best<T>(mut pass: impl FnMut() -> T) -> Duration {
    let times = (0..PASSES).map(|_| {
        let start = Instant::now();
        black_box(pass());
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Nanoseconds.
fn per_request(long: &Long, policy: &Policy) -> u128 {
    let index = Index::new(long.history());
    let requests = long.history().requests().len();
    let rounds = REQUESTS_MIN.div_ceil(requests);
    let time = best(|| {
        for _ in 0..rounds {
            let memo = SharedMemo::default();
            let shared = Shared { index: &index, memo: &memo, counter: Some(&Vocabularies) };
            black_box(account(long, policy, shared));
        }
    });
    time.as_nanos() / (rounds * requests) as u128
}

/// A ratio with two digits behind the point.
fn hundredths(of: u128, to: u128) -> String {
    let ratio = of * 100 / to.max(1);
    format!("{}.{:02}", ratio / 100, ratio % 100)
}

/// A hundred policies: the caps of one harness with other limits, and clears with other borders.
fn hundred() -> Vec<Policy> {
    let preset = |id: &str| presets::find(id).expect("the preset exists").toml;
    let policy = |n: u64| {
        let (id, key, value) = match n % 2 {
            0 => ("mini-swe-agent@2.4.6", "cap_text.threshold", (4_000 + 50 * n).to_string()),
            _ => ("clear-60k-keep-3", "clear_results.keep", (n + 1).to_string()),
        };
        let setting = Setting { key, value: &value };
        Policy::from_toml_with(preset(id), &[setting]).expect("the setting is one of the preset's")
    };
    (0..POLICIES).map(policy).collect()
}

/// The runs, every policy that is wanted over each, and the rest where all are.
fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let chats: Vec<Long> = TURNS.into_iter().map(Long::new).collect();
    let policies: BTreeMap<String, Policy> = presets::every()
        .filter_map(|preset| preset.policy().ok())
        .filter(|it| wanted.is_empty() || wanted.iter().any(|name| it.name.contains(name)))
        .map(|policy| (policy.name.clone(), policy))
        .collect();
    writeln!(out, "| policy | {} turns | {} | {} | ratio |", TURNS[0], TURNS[1], TURNS[2])?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (name, policy) in &policies {
        let times: Vec<u128> = chats.iter().map(|long| per_request(long, policy)).collect();
        let [short, middle, long] = times[..] else { continue };
        let ratio = hundredths(long, short);
        writeln!(out, "| {name} | {short} ns | {middle} | {long} | {ratio} |")?;
        out.flush()?;
    }
    if !wanted.is_empty() {
        return Ok(());
    }
    let [_, long, _] = &chats[..] else { return Ok(()) };
    let index = Index::new(long.history());
    let hundred = hundred();
    let all = best(|| {
        let memo = SharedMemo::default();
        let shared = Shared { index: &index, memo: &memo, counter: None };
        hundred.iter().map(|policy| account(long, policy, shared)).sum::<u64>()
    });
    let start = best(|| Index::new(long.history()));
    for policy in hundred.iter().take(2) {
        let one = start
            + best(|| {
                let memo = SharedMemo::default();
                let shared = Shared { index: &index, memo: &memo, counter: None };
                account(long, policy, shared)
            });
        let ratio = hundredths((start + all).as_nanos(), one.as_nanos());
        writeln!(out, "{POLICIES} policies: {ratio} times {}", policy.name)?;
    }
    for id in ["mini-swe-agent@2.4.6", "clear-keep-3"] {
        let policy =
            presets::find(id).and_then(|it| it.policy().ok()).expect("it needs no setting");
        let memo = SharedMemo::default();
        let shared = Shared { index: &index, memo: &memo, counter: None };
        let micros = best(|| bytes(long, &policy, shared)).as_micros().max(1);
        let written = bytes(long, &policy, shared) as u128;
        let each = micros / long.history().requests().len() as u128;
        writeln!(out, "bodies of {id}: {each} us each, {} MB/s", written / micros)?;
    }
    Ok(())
}
