//! The contract of the command line: the real program, run on a small file with all dialects.
//!
//! Goal: what users and scripts rely on (words, exit codes, JSON) does not change by accident.
//! Method: inline snapshots of what the program prints, with ids and folders filtered out.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper of a test that cannot go on fails the test"
)]

mod baseline;
mod canary;
mod color;
mod diff;
mod docs;
mod export;
mod failures;
mod forge;
mod har;
mod import;
mod import_paths;
mod inspect;
mod json;
mod pipe;
mod policy;
mod program;
mod readme;
mod record;
mod reports;
mod rules;
mod scratch;
mod selftest;
mod storage;
mod sweep;
mod tidy;
mod verify;
mod who;
