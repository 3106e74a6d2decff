//! Goal: a segment header is believed only when it is whole, ours and in its place.
//! Method: one good header, every bit of it flipped, and one wrong field at a time.

use super::*;

fn header() -> SegmentHeader {
    SegmentHeader {
        ledger_id: LedgerId([0x11; 16]),
        first_seq: Seq(42),
        number: 3,
        epoch: Epoch(0x3f9a_6c01),
        created_unix_ns: 1_700_000_000_000_000_000,
        prev_valid_bytes: 4096,
        prev_chain: Chain([0x22; 32]),
    }
}

#[test]
fn a_header_is_as_long_as_the_table_says_and_survives_the_round_trip() {
    assert_eq!(SegmentHeader::ENCODED_BYTES, 128);
    let mut bytes = header().encode().to_vec();
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header()));
    bytes.extend(b"frames");
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header()));
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_header_is_a_fault() {
    let good = header().encode();
    for bit in 0..good.len() * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = SegmentHeader::decode(&bytes).unwrap_err();
        // Dropping the high bit of the first byte is what a 7-bit channel does.
        match bit {
            7 => assert_eq!(found, SegmentFault::TextConverted),
            0..64 => assert_eq!(found, SegmentFault::Magic),
            _ => assert!(matches!(found, SegmentFault::HeaderCrc { .. }), "bit {bit}: {found}"),
        }
    }
    for cut in 0..good.len() {
        let found = SegmentHeader::decode(&good[..cut]).unwrap_err();
        assert_eq!(found, SegmentFault::HeaderShort { found: cut });
    }
}

#[test]
fn fields_of_another_version_are_refused_behind_a_good_checksum() {
    let check = |at: usize, value: u8, expected: SegmentFault| {
        let mut bytes = header().encode();
        bytes[at] = value;
        let crc = crc32fast::hash(&bytes[..124]);
        bytes[124..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Err(expected));
    };
    check(8, 2, SegmentFault::Major { found: 2, expected: 1 });
    check(12, 136, SegmentFault::HeaderLength { found: 136 });
    check(96, 2, SegmentFault::Algorithms { found: [2, 1] });
    check(97, 2, SegmentFault::Algorithms { found: [1, 2] });
    for at in 98..124 {
        check(at, 1, SegmentFault::Reserved);
    }
    // Any minor is read.
    let mut bytes = header().encode();
    bytes[10] = 9;
    let crc = crc32fast::hash(&bytes[..124]);
    bytes[124..].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header()));
}

#[test]
fn every_way_of_text_conversion_is_recognized() {
    let good = header().encode();
    let rest = &good[8..];
    let starts: [&[u8]; 7] = [
        b"\x89EVL\r\r\n\x1a\r\n",
        b"\x89EVL\r\n\x1a\r\n",
        b"\x89EVL\n\x1a\n",
        b"\x89EVL\n\n\x1a\n",
        b"\x09EVL\r\n\x1a\n",
        "\u{89}EVL\r\n\u{1a}\n".as_bytes(),
        "\u{fffd}EVL\r\n\u{1a}\n".as_bytes(),
    ];
    for start in starts {
        let found = SegmentHeader::decode(&[start, rest].concat());
        assert_eq!(found, Err(SegmentFault::TextConverted), "{start:x?}");
    }
}

#[test]
fn a_segment_fits_behind_one_place_only() {
    let prev = SegmentHeader { number: 2, first_seq: Seq(40), ..header() };
    let check = |header: SegmentHeader, prev: Option<(&SegmentHeader, u64)>, expected| {
        assert_eq!(header.check_link(prev), expected);
    };
    check(header(), Some((&prev, 4096)), Ok(()));
    check(header(), Some((&prev, 5000)), Ok(()));
    let short = SegmentFault::PrevLength { found: 4095, expected: 4096 };
    check(header(), Some((&prev, 4095)), Err(short));
    let inside = SegmentHeader { prev_valid_bytes: 127, ..header() };
    let fault = SegmentFault::PrevLength { found: 4096, expected: 127 };
    check(inside, Some((&prev, 4096)), Err(fault));
    let fault = SegmentFault::Number { found: 3, expected: 4 };
    check(header(), Some((&header(), 4096)), Err(fault));
    let early = SegmentHeader { first_seq: Seq(39), ..header() };
    let fault = SegmentFault::FirstSeq { found: Seq(39), expected: Seq(40) };
    check(early, Some((&prev, 4096)), Err(fault));

    let ident = LogIdent { ledger_id: LedgerId([1; 16]), epoch: Epoch(2), created_unix_ns: 3 };
    let first = SegmentHeader::first(ident);
    check(first, None, Ok(()));
    check(header(), None, Err(SegmentFault::Number { found: 3, expected: 1 }));
    let late = SegmentHeader { first_seq: Seq(2), ..first };
    check(late, None, Err(SegmentFault::FirstSegment));
    let chained = SegmentHeader { prev_chain: Chain([1; 32]), ..first };
    check(chained, None, Err(SegmentFault::FirstSegment));
    let long = SegmentHeader { prev_valid_bytes: 128, ..first };
    check(long, None, Err(SegmentFault::PrevLength { found: 0, expected: 128 }));
}

#[test]
fn a_file_name_has_one_spelling() {
    let name = "00000000000000000042-3f9a6c01.seg";
    assert_eq!(header().file_name(), name);
    let parsed = SegmentName { first_seq: Seq(42), epoch: Epoch(0x3f9a_6c01) };
    assert_eq!(SegmentName::parse(name), Some(parsed));
    let wrong = [
        "",
        ".seg",
        "-.seg",
        "42-3f9a6c01.seg",
        "00000000000000000042-3F9A6C01.seg",
        "0000000000000000042-3f9a6c01.seg",
        "+0000000000000000042-3f9a6c01.seg",
        "00000000000000000042-f9a6c01.seg",
        "00000000000000000042-3f9a6c01.SEG",
        "00000000000000000042-3f9a6c01",
        "99999999999999999999-3f9a6c01.seg",
        "00000000000000000042-3f9a6c01.seg.seg",
    ];
    for name in wrong {
        assert_eq!(SegmentName::parse(name), None, "{name}");
    }
}

#[test]
fn a_ledger_id_has_one_spelling() {
    let text = "00112233445566778899aabbccddeeff";
    let id = LedgerId::parse(text).unwrap();
    assert_eq!((id.0[1], id.0[15], id.to_string()), (0x11, 0xff, text.to_owned()));
    for wrong in ["", &text[1..], &text[2..], &text.to_uppercase(), &format!("{text}00")] {
        assert_eq!(LedgerId::parse(wrong), None, "{wrong}");
    }
}
