//! Goal: inputs that a fuzzer found, or that it starts from, stay harmless. Method: every file of
//! the corpus through the body of its target, whole, and cut and flipped all over.

use std::fs;
use std::path::Path;

/// Runs a body over the corpus of its target, and over what is close to it.
fn replay(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(corpus).expect("a corpus") {
        let input = fs::read(entry.expect("listed").path()).expect("readable");
        inputs += 1;
        body(&input);
        let mut state = input.len() as u64;
        for _ in 0..400 {
            // The low bits of a multiplicative sequence are not random enough to matter here.
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let at = usize::try_from(state >> 33).expect("31 bits") % input.len().max(1);
            let mut near = input.clone();
            if let Some(byte) = near.get_mut(at) {
                *byte ^= 1 << (state >> 30 & 7);
            }
            body(&near);
            body(&input[..at]);
        }
    }
    assert!(inputs > 0, "{target}");
}

#[test]
fn s28_hostile_packs_give_no_wrong_bytes() {
    replay("pack", artifacts::fuzz::pack);
}

#[test]
fn s28_hostile_indexes_list_what_they_find() {
    replay("index", artifacts::fuzz::index);
}
