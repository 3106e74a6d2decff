//! Contract tests of replay over recorded runs of real clients.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper of a test that cannot go on fails the test"
)]

mod brute;
mod cache_cases;
mod damage;
mod golden;
mod infer;
mod levels;
mod metrics;
mod mutants;
mod others;
mod recordings;
mod segments;
mod selftest;
mod serve;
#[path = "../../../projector/tests/it/slow.rs"]
mod slow;
#[path = "../../../projector/tests/it/slow_lines.rs"]
mod slow_lines;
mod slow_rows;
mod support;
mod tokens;
mod toy;
mod twin;
mod who;
