//! Goal: headers encode to the bytes that the format says, and decode only from them.

use super::*;

const IDENT: PackIdent =
    PackIdent { ledger_id: *b"0123456789abcdef", epoch: 0x0403_0201, created_unix_ns: 0x1122 };

fn pack_header() -> PackHeader {
    PackHeader { ident: IDENT, number: 7 }
}

fn record_header() -> RecordHeader {
    RecordHeader {
        codec: CODEC_ZSTD,
        is_dictionary: false,
        raw_bytes: 0x0102,
        stored_bytes: 0x0304,
        base: BaseKey::default(),
        id: ArtifactId::from_bytes([0xab; ID_BYTES]),
        stored_crc: 0xdead_beef,
    }
}

/// Changes a header and gives it the checksum that fits.
fn reseal(header: &mut [u8], offset: usize, bytes: &[u8]) {
    header[offset..offset + bytes.len()].copy_from_slice(bytes);
    let end = header.len() - 4;
    let crc = crc32fast::hash(&header[..end]).to_le_bytes();
    header[end..].copy_from_slice(&crc);
}

#[test]
fn a_pack_header_has_the_bytes_of_its_table() {
    let mut golden = b"\x89EVP\r\n\x1a\n\x01\0\0\0\x80\0\0\x000123456789abcdef".to_vec();
    golden.extend([0; 8]);
    golden.extend(*b"\x07\0\0\0\x01\x02\x03\x04\x22\x11\0\0\0\0\0\0");
    golden.extend([0; 68]);
    golden.extend([0x8c, 0xdf, 0x8b, 0xa3]);
    assert_eq!(pack_header().encode().as_slice(), golden);
    assert_eq!(PackHeader::decode(&golden), Ok(pack_header()));
}

#[test]
fn a_record_header_has_the_bytes_of_its_table() {
    let mut golden = b"EVA1\x01\0\0\0\x02\x01\0\0\0\0\0\0\x04\x03\0\0\0\0\0\0".to_vec();
    golden.extend([0; 8]);
    golden.extend([0xab; 32]);
    golden.extend([0xef, 0xbe, 0xad, 0xde]);
    golden.extend([0xa0, 0xde, 0x51, 0x57]);
    assert_eq!(record_header().encode().as_slice(), golden);
    assert_eq!(RecordHeader::decode(&golden), Ok(record_header()));
}

#[test]
fn every_flipped_bit_of_a_header_is_an_error() {
    let good = pack_header().encode();
    for bit in 0..8 * PACK_HEADER_BYTES {
        let mut bad = good;
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(PackHeader::decode(&bad).is_err(), "bit {bit}");
    }
    let good = record_header().encode();
    for bit in 0..8 * RECORD_HEADER_BYTES {
        let mut bad = good;
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(RecordHeader::decode(&bad).is_err(), "bit {bit}");
    }
}

#[test]
fn every_cut_of_a_header_says_how_much_is_there() {
    let (pack, record) = (pack_header().encode(), record_header().encode());
    for cut in 0..PACK_HEADER_BYTES {
        let reason = DamageReason::Cut { found_bytes: cut as u64, expected_bytes: 128 };
        assert_eq!(PackHeader::decode(&pack[..cut]), Err(HeaderError::Damaged(reason)));
    }
    for cut in 0..RECORD_HEADER_BYTES {
        let reason = DamageReason::Cut { found_bytes: cut as u64, expected_bytes: 72 };
        assert_eq!(RecordHeader::decode(&record[..cut]), Err(reason));
    }
}

#[test]
fn a_later_major_version_is_refused_by_number_and_a_later_minor_is_read() {
    let mut bytes = pack_header().encode();
    reseal(&mut bytes, 8, &[2, 0]);
    assert_eq!(PackHeader::decode(&bytes), Err(HeaderError::Version(2)));
    reseal(&mut bytes, 8, &[1, 0, 9, 0]);
    reseal(&mut bytes, 100, &[1]);
    assert_eq!(PackHeader::decode(&bytes), Ok(pack_header()));
}

#[test]
fn a_checksummed_header_with_impossible_values_is_refused_by_field() {
    let cases: [(usize, &[u8], &str); 5] = [
        (8, &[0, 0], "format major"),
        (12, &[127], "header length"),
        (32, &[1], "reserved"),
        (96, &[1], "flags"),
        (123, &[1], "reserved"),
    ];
    for (offset, bytes, field) in cases {
        let mut header = pack_header().encode();
        reseal(&mut header, offset, bytes);
        let reason = DamageReason::HeaderField { field };
        assert_eq!(PackHeader::decode(&header), Err(HeaderError::Damaged(reason)), "{field}");
    }
    let cases: [(usize, &[u8], &str); 9] = [
        (6, &[2], "flags"),
        (4, &[2, 0, 1], "flags"),
        (4, &[2, 0, 0, 0, 1, 0, 1], "raw length"),
        (4, &[3, 0, 0, 0, 1, 0, 128], "raw length"),
        (4, &[1, 0, 1, 0, 1, 0, 2], "raw length"),
        (8, &0x4000_0001_u64.to_le_bytes(), "raw length"),
        (16, &u64::MAX.to_le_bytes(), "stored length"),
        (24, &[1], "base"),
        (4, &[0], "raw length"),
    ];
    for (offset, bytes, field) in cases {
        let mut header = record_header().encode();
        reseal(&mut header, offset, bytes);
        let reason = DamageReason::HeaderField { field };
        assert_eq!(RecordHeader::decode(&header), Err(reason), "{field}");
    }
}

#[test]
fn an_unknown_codec_is_listed_with_its_length() {
    let mut header = record_header().encode();
    reseal(&mut header, 4, &[4, 0, 6, 0]);
    reseal(&mut header, 24, &[9; 8]);
    let read = RecordHeader::decode(&header).expect("skippable");
    assert_eq!((read.codec, read.record_bytes()), (4, 72 + 0x0308));
}

#[test]
fn a_dictionary_and_what_needs_one_are_read_back() {
    let dictionary = RecordHeader { is_dictionary: true, ..record_header() };
    let base = BaseKey::of(&dictionary.id);
    for codec in [CODEC_DICTIONARY, CODEC_DELTA] {
        let header = RecordHeader { codec, base, ..record_header() };
        assert!(header.needs_base() && base.first_id() <= dictionary.id);
        for header in [dictionary, header] {
            assert_eq!(RecordHeader::decode(&header.encode()), Ok(header));
        }
    }
}

#[test]
fn what_text_tools_do_to_a_magic_is_recognized() {
    let converted: [&[u8]; 8] = [
        b"\x89EVP\n\x1a\n",
        b"\x89EVP\r\r\n\x1a\r\n",
        b"\x89EVP\r\n\x1a\r\n",
        b"\x89EVP\r\x1a\r",
        b"\x09EVP\r\n\x1a\n",
        b"\xc2\x89EVP\r\n\x1a\n",
        b"\xef\xbf\xbdEVP\r\n\x1a\n",
        b"?EVP\r\n\x1a\n",
    ];
    for bytes in converted {
        assert!(looks_converted(bytes, *b"EVP"), "{bytes:02x?}");
        assert_eq!(PackHeader::decode(bytes), Err(HeaderError::ConvertedAsText));
    }
    assert!(!looks_converted(&PACK_MAGIC, *b"EVP"));
    assert!(!looks_converted(b"EVP\r\n\x1a\n", *b"EVP"));
}
