//! What a fuzzer calls, and a test with the inputs that are kept: hostile frames and events.
//!
//! Random bytes have no good checksums, so the ones in the input are mended first; what is left to
//! find is what stands behind them. A body panics if something holds that must not.

use crate::event::Event;
use crate::frame::{
    Chain, Expected, FrameHeader, FrameSalt, Seal, Seq, chain_of, check_frame, judge_tail,
};

/// Longest input that is looked at, in bytes.
const INPUT_BYTES_MAX: usize = 1 << 20;
const HEADER_BYTES: usize = FrameHeader::ENCODED_BYTES;

/// Reads `data` as the frames of a segment; what is read has the bytes that a writer gives it.
pub fn frames(data: &[u8]) {
    let salt = FrameSalt::new(1, 7, *b"fuzzed!!");
    let mut expected = Expected { salt: salt.clone(), seq: Seq(1), chain: Chain::ZERO };
    let mut log = data.get(..INPUT_BYTES_MAX).unwrap_or(data).to_vec();
    let mut at = 0;
    while let Some(rest) = log.get_mut(at..).filter(|rest| !rest.is_empty()) {
        mend(rest, &salt, expected.chain);
        match check_frame(rest, &expected) {
            Ok((header, body)) => {
                assert!(
                    rest.starts_with(&header.encode(&salt)),
                    "a header is written as it is read"
                );
                if let (true, Ok(seal)) = (header.is_seal(), Seal::decode(body)) {
                    assert_eq!(seal.encode(), body, "a seal is written as it is read");
                }
                let Some(seq) = header.seq.next() else { return };
                (expected.seq, expected.chain) = (seq, header.chain);
                at += header.frame_bytes();
            }
            Err(fault) => {
                judge_tail(rest, &expected, fault);
                return;
            }
        }
    }
}

/// Gives the frame at the front of `rest` the checksums and the chain that fit it.
fn mend(rest: &mut [u8], salt: &FrameSalt, prev: Chain) {
    let Some((header, behind)) = rest.split_first_chunk_mut::<HEADER_BYTES>() else { return };
    let length = header.get(4..8).and_then(|field| field.first_chunk()).copied();
    let length = usize::try_from(u32::from_le_bytes(length.unwrap_or_default())).ok();
    let Some(body) = length.and_then(|length| behind.get(..length)) else { return };
    put(header, 72, &crc32fast::hash(body).to_le_bytes());
    let chain = chain_of(prev, header, body);
    put(header, 32, &chain.0);
    let crc = salt.crc(header.get(..76).unwrap_or_default());
    put(header, 76, &crc.to_le_bytes());
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(slot) = bytes.get_mut(at..at + field.len()) {
        slot.copy_from_slice(field);
    }
}

/// Reads `data` as a kind, a version and the body of an event; what is read is written the same.
pub fn event(data: &[u8]) {
    let data = data.get(..INPUT_BYTES_MAX).unwrap_or(data);
    let Some(([kind_low, kind_high, low, high], body)) = data.split_first_chunk() else { return };
    let [kind, version] = [[*kind_low, *kind_high], [*low, *high]].map(u16::from_le_bytes);
    if let Ok(event) = Event::decode(kind, version, body) {
        let again = event.encode().expect("what was decoded can be encoded");
        assert!(again == body, "kind {kind}: an event is written as it is read");
    }
}
