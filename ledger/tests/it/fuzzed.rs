//! Goal: inputs that a fuzzer found, or that it starts from, stay harmless. Method: every file of
//! the corpus through the body of its target, whole, and cut and flipped all over.

use std::fs;
use std::path::Path;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus").join(target);
    let entries = fs::read_dir(corpus).unwrap();
    let inputs: Vec<_> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{target}");
    inputs
}

fn replay(target: &str, body: fn(&[u8])) {
    for input in corpus(target) {
        body(&input);
        for at in 0..input.len() {
            let mut near = input.clone();
            for flip in [1, 0x80, 0xff] {
                near[at] ^= flip;
                body(&near);
                near[at] ^= flip;
            }
            body(&input[..at]);
        }
    }
}

#[test]
fn s28_hostile_frames_are_read_as_they_are_written_or_refused() {
    replay("frame", ledger::fuzz::frames);
}

#[test]
fn s28_hostile_events_are_read_as_they_are_written_or_refused() {
    replay("event", ledger::fuzz::event);
}
