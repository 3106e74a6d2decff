//! Goal: what a codec packs it unpacks, within bounds. Method: edge sizes and hostile streams.

use super::*;
use crate::fs::encode::{Coding, Encoder};

/// A pack without anything.
struct Nothing;

impl Bases for Nothing {
    fn base(&self, _key: BaseKey) -> Result<Option<Stored<'_>>, RecordError> {
        Ok(None)
    }
}

fn packed(raw: &[u8]) -> (u16, Vec<u8>) {
    let mut encoder = Encoder::new().expect("zstd starts");
    let encoded = encoder.encode(ArtifactId::of(raw), raw, Coding::Alone).expect("zstd packs");
    (encoded.header().codec, encoded.stored)
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(step).take(len).collect()
}

#[test]
fn what_was_packed_comes_back_at_every_size() {
    let unpacker = Unpacker::new();
    for len in [1, 2, 100, 4096, EAGER_BYTES_MAX - 1, EAGER_BYTES_MAX, 3 * EAGER_BYTES_MAX + 5] {
        let raw: Vec<u8> = (0..len).map(|at| u8::try_from(at % 7).expect("below 7")).collect();
        let mut encoder = Encoder::new().expect("zstd starts");
        let encoded = encoder.encode(ArtifactId::of(&raw), &raw, Coding::Alone);
        let encoded = encoded.expect("zstd packs");
        let header = encoded.header();
        let expected = if len < 20 { CODEC_RAW } else { CODEC_ZSTD };
        assert_eq!(header.codec, expected, "{len}");
        assert_eq!(is_table(&encoded.stored), len > EAGER_BYTES_MAX, "{len}");
        let back = unpack(&header, &encoded.stored, &unpacker, &Nothing).expect("it comes back");
        assert!(back == raw, "{len}");
        if header.codec == CODEC_ZSTD {
            // A program that knows nothing of chunks reads the same.
            assert_eq!(unpacker.unpack(&encoded.stored, len as u64).as_deref(), Ok(&*raw));
        }
    }
}

#[test]
fn bytes_that_do_not_shrink_by_five_percent_stay_raw() {
    assert_eq!(packed(&noise(5000)), (CODEC_RAW, noise(5000)));
    assert_eq!(packed(b"").0, CODEC_RAW);
    let mut mixed = noise(9700);
    mixed.extend([0; 300]);
    assert_eq!(packed(&mixed).0, CODEC_RAW);
    mixed.extend([0; 400]);
    assert_eq!(packed(&mixed).0, CODEC_ZSTD);
}

#[test]
fn another_length_than_announced_is_refused() {
    let unpacker = Unpacker::new();
    let raw = vec![b'x'; 3_000_000];
    let (_, stored) = packed(&raw);
    for wrong in [0, 1, 2_999_999, 3_000_001, ARTIFACT_BYTES_MAX, ARTIFACT_BYTES_MAX + 1, u64::MAX]
    {
        assert_eq!(unpacker.unpack(&stored, wrong), Err(DamageReason::RawLength), "{wrong}");
    }
    // A refused frame leaves nothing behind in the reused context.
    assert_eq!(unpacker.unpack(&stored, 3_000_000), Ok(raw));
}

#[test]
fn every_cut_of_a_frame_is_refused() {
    let unpacker = Unpacker::new();
    let raw = b"one two three four five six seven one two three four five six".repeat(40);
    let (_, stored) = packed(&raw);
    for cut in 0..stored.len() {
        assert!(unpacker.unpack(&stored[..cut], raw.len() as u64).is_err(), "{cut}");
    }
}

#[test]
fn several_frames_and_a_skippable_one_are_one_artifact() {
    let unpacker = Unpacker::new();
    let (_, first) = packed(&[b'a'; 1000]);
    let (_, second) = packed(&[b'b'; 1000]);
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0skip".as_slice();
    let raw = [[b'a'; 1000], [b'b'; 1000]].concat();
    for stored in [
        [skippable, &first, &second].concat(),
        [first.as_slice(), skippable, &second].concat(),
        [first.as_slice(), &second, skippable].concat(),
    ] {
        assert_eq!(unpacker.unpack(&stored, 2000), Ok(raw.clone()));
    }
}

#[test]
fn a_frame_that_asks_for_a_large_window_is_refused() {
    let unpacker = Unpacker::new();
    // Magic, no content size, window of 2^(10 + n) bytes, one last raw block of one byte.
    let frame = |log: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 9, 0, 0, b'x'];
    assert_eq!(unpacker.unpack(&frame(24), 1), Ok(b"x".to_vec()));
    assert_eq!(unpacker.unpack(&frame(25), 1), Err(DamageReason::Compression));
}
