//! Goal: a frame is believed exactly when all of it is good, and faults have their right names.
//! Method: one good frame, changed in one way at a time, with the checksums made good again.

use super::*;

fn salt() -> FrameSalt {
    FrameSalt::new(7, 0xabcd, *b"ledger-8")
}

fn expected() -> Expected {
    Expected { salt: salt(), seq: Seq(5), chain: Chain([3; 32]) }
}

/// A good frame after `change` was applied to its header; the chain fits the changed header.
fn frame(body: &[u8], change: impl Fn(&mut FrameHeader)) -> Vec<u8> {
    let flags =
        Flags { first_in_batch: true, last_in_batch: false, codec: BodyCodec::BincodeLegacy };
    let mut header = FrameHeader {
        body_bytes: u32::try_from(body.len()).unwrap(),
        seq: Seq(5),
        kind: 0x8123,
        version: 9,
        flags,
        durable_seq: Seq(4),
        chain: Chain::ZERO,
        wall_unix_ns: u64::MAX,
        body_crc: crc32fast::hash(body),
    };
    change(&mut header);
    header.chain = chain_of(expected().chain, &header.encode(&salt()), body);
    let mut bytes = header.encode(&salt()).to_vec();
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn fault(bytes: &[u8]) -> FrameFault {
    check_frame(bytes, &expected()).unwrap_err()
}

#[test]
fn a_header_is_as_long_as_the_table_says_and_survives_the_round_trip() {
    assert_eq!(FrameHeader::ENCODED_BYTES, 80);
    let bytes = frame(b"0123456789", |_| {});
    assert_eq!(bytes.len(), 80 + 16);
    let (header, body) = check_frame(&bytes, &expected()).unwrap();
    assert_eq!((header.frame_bytes(), body), (96, &b"0123456789"[..]));
    assert_eq!(header.encode(&salt())[..], bytes[..80]);
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_frame_is_a_fault() {
    let good = frame(b"0123456789", |_| {});
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let is_padding = bit / 8 >= 90;
        assert_eq!(fault(&bytes) == FrameFault::Padding, is_padding, "bit {bit}");
    }
    for cut in 0..good.len() {
        let found = fault(&good[..cut]);
        let expected = match cut.checked_sub(80) {
            Some(found) => FrameFault::BodyShort { found, expected: 16 },
            None => FrameFault::HeaderShort { found: cut },
        };
        assert_eq!(found, expected);
        assert!(found.can_be_torn());
    }
}

#[test]
fn a_good_checksum_does_not_make_an_impossible_header_good() {
    let check = |expected: FrameFault, change: &dyn Fn(&mut FrameHeader)| {
        assert_eq!(fault(&frame(b"body", change)), expected);
        assert!(!expected.can_be_torn(), "{expected}");
    };
    check(FrameFault::Seq { found: Seq(6), expected: Seq(5) }, &|header| header.seq = Seq(6));
    check(FrameFault::DurableSeq { found: Seq(5), seq: Seq(5) }, &|header| {
        header.durable_seq = Seq(5);
    });
    check(FrameFault::SealKind { kind: 1 }, &|header| header.kind = KIND_SEAL);
    check(FrameFault::SealKind { kind: 0x8123 }, &|header| {
        header.flags.codec = BodyCodec::Fixed;
    });
    let max = FRAME_BODY_BYTES_MAX;
    check(FrameFault::BodyTooLong { found: max + 1, max }, &|header| {
        header.body_bytes = (16 << 20) + 1;
    });
}

#[test]
fn a_frame_is_good_in_its_own_segment_only() {
    let bytes = frame(b"body", |_| {});
    let others = [
        FrameSalt::new(8, 0xabcd, *b"ledger-8"),
        FrameSalt::new(7, 0xabce, *b"ledger-8"),
        FrameSalt::new(7, 0xabcd, *b"ledger-9"),
    ];
    for salt in others {
        let elsewhere = Expected { salt, ..expected() };
        let found = check_frame(&bytes, &elsewhere).unwrap_err();
        assert!(matches!(found, FrameFault::HeaderCrc { .. }), "{found}");
    }
    let other_past = Expected { chain: Chain::ZERO, ..expected() };
    assert_eq!(check_frame(&bytes, &other_past).unwrap_err(), FrameFault::Chain);
}

#[test]
fn flags_have_one_spelling_and_unknown_bits_are_refused() {
    // All words of the defined bits and one beside each of them.
    let mut known = Vec::new();
    for bits in 0..1 << 10 {
        if let Some(flags) = Flags::decode(bits) {
            assert_eq!(flags.encode(), bits);
            known.push(bits);
        }
    }
    assert_eq!(known, [4, 5, 6, 7, 0x100, 0x101, 0x102, 0x103]);
    let compressed = 1 << 3;
    assert_eq!(Flags::decode(0x100 | compressed), None);
    assert!((10..32).all(|bit| Flags::decode(0x100 | 1 << bit).is_none()));
}

#[test]
fn a_seal_survives_the_round_trip_and_no_cut() {
    assert_eq!((Seal::FIXED_BYTES, PackLength::ENCODED_BYTES), (56, 16));
    let pack = PackLength { number: 2, epoch: 3, bytes: u64::MAX };
    let seal = Seal { frames: 4, body_bytes: 5, chain: Chain([6; 32]), packs: vec![pack; 2] };
    let bytes = seal.encode();
    assert_eq!(bytes.len(), 56 + 2 * 16);
    assert_eq!(Seal::decode(&bytes), Ok(seal));
    for cut in 0..bytes.len() {
        assert_eq!(Seal::decode(&bytes[..cut]), Err(FrameFault::Seal), "cut at {cut}");
    }
    let mut reserved = bytes.clone();
    reserved[52] = 1;
    assert_eq!(Seal::decode(&reserved), Err(FrameFault::Seal));
}

#[test]
fn a_tail_is_judged_by_what_stands_behind_the_fault() {
    let torn = FrameFault::Magic;
    let check = |rest: &[u8], fault, evidence| {
        assert_eq!(judge_tail(rest, &expected(), fault), evidence);
    };
    check(b"", torn, Evidence::Unwritten);
    check(&[0; 64], torn, Evidence::Unwritten);
    check(b"junk\0\0", torn, Evidence::Torn);
    check(b"junk", FrameFault::Chain, Evidence::NeverTorn);
    // A header counts at any distance, even without its body, if it says that what should be
    // here was durable; if it does not, one crash can have left both.
    for distance_bytes in 1..16 {
        let ahead = |seq: u64, durable: u64| {
            let mut rest = vec![0xee; distance_bytes];
            let whole = frame(b"body", |header| {
                header.seq = Seq(seq);
                header.durable_seq = Seq(durable);
            });
            rest.extend(&whole[..80]);
            rest
        };
        let seq = Seq(6);
        check(&ahead(6, 5), torn, Evidence::FrameAhead { distance_bytes, seq });
        check(&ahead(6, 4), torn, Evidence::Torn);
    }
    let mut quoted = b"EVF1 in a body: ".to_vec();
    quoted.extend(frame(b"body", |header| {
        header.seq = Seq(4);
        header.durable_seq = Seq(3);
    }));
    check(&quoted, torn, Evidence::Torn);
    // The frame that failed is no evidence against itself.
    let cut = &frame(b"body", |_| {})[..82];
    check(cut, fault(cut), Evidence::Torn);
}

#[test]
fn a_head_is_shown_as_people_copy_it() {
    let head = Head { seq: Seq(12), chain: Chain([0xab; 32]) };
    assert_eq!(head.to_string(), format!("12:{}", "ab".repeat(32)));
}
