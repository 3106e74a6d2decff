//! The body is in the library, so that a plain test replays the corpus.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ledger::fuzz::event(data));
