//! Goal: the format does not change by accident. Method: the bytes of one small pack and its
//! index, computed by another program from the byte tables, compared whole.

use std::fs;

use artifacts::{ArtifactId, Source as _};

use crate::support::{files, folder, reader, sealed};

/// A pack with `abc` and the empty artifact, both raw.
const PACK: &str = "
894556500d0a1a0a010000008000000030313233343536373839616263646566000000000000000001000000016c9a3f
050000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
000000000000000000000000000000000000000000000000000000000a2baf5d45564131000000000300000000000000
03000000000000000000000000000000ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
c2412435389317e961626300000000004556413100000000000000000000000000000000000000000000000000000000
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85500000000af8f245d
";

/// The header of its index.
const INDEX_HEADER: &str = "
894556490d0a1a0a01000000800000003031323334353637383961626364656601000000016c9a3f0500000000000000
02000000000000000200000000000000180100000000000063fd6fb121ddf41714e93ba59a5e049fd12e40d92228f9eb
08a344f01c8036d8ce14d8667ca2fb2dd27d21dc00000000000000004a9a9707
";

/// The keys and the entries of its index.
const INDEX_SECTIONS: &str = "
ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ade3b0c44298fc1c149afbf4c8996fb924
27ae41e4649b934ca495991b7852b855800000000000000003000000000000000300000000000000d000000000000000
00000000000000000000000000000000
";

/// What `zstd -19` makes of twenty lines.
const FRAME: &str = "
28b52ffd646800cd0000906f6e65206c696e65206f662061206c6f670a0100a64a9d6117c6830f
";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

/// The index but for the fan-out, which is counted here instead of spelled out.
fn golden_index() -> Vec<u8> {
    let mut index = bytes(INDEX_HEADER);
    for first in 0..256_u32 {
        let at_most = u32::from(first >= 0xba) + u32::from(first >= 0xe3);
        index.extend(at_most.to_le_bytes());
    }
    index.extend(bytes(INDEX_SECTIONS));
    index
}

#[test]
fn a_writer_writes_the_golden_bytes() {
    let folder = folder();
    let (_, pack) = sealed(folder.path(), &[b"abc", b""]);
    let name = |suffix: &str| folder.path().join(format!("p-000001-3f9a6c01{suffix}"));
    assert_eq!((&pack.pack, &pack.index), (&name(".pack"), &name(".idx")));
    let expected = [(name(".idx"), golden_index()), (name(".pack"), bytes(PACK))];
    assert!(files(folder.path()) == expected, "{:02x?}", files(folder.path()));
    assert_eq!(pack.pack_bytes, bytes(PACK).len() as u64);
    assert_eq!(ArtifactId::from_bytes(pack.pack_sha256), ArtifactId::of(&bytes(PACK)));
    assert_eq!((pack.artifacts, pack.number), (2, 1));
}

#[test]
fn a_reader_reads_the_golden_bytes() {
    let folder = folder();
    fs::write(folder.path().join("p-000001-3f9a6c01.pack"), bytes(PACK)).expect("written");
    fs::write(folder.path().join("p-000001-3f9a6c01.idx"), golden_index()).expect("written");
    let reader = reader(folder.path());
    reader.check_all(|finding| panic!("{finding}"));
    for text in [b"abc".as_slice(), b""] {
        let reference = reader.reference(&ArtifactId::of(text)).expect("listed");
        assert_eq!(reader.read(&reference).expect("readable").as_ref(), text);
    }
    assert_eq!((reader.len(), reader.stored_bytes()), (2, 3));
}

#[test]
fn a_reader_reads_frames_of_another_zstd() {
    let raw = b"one line of a log\n".repeat(20);
    let id = *ArtifactId::of(&raw).as_bytes();
    let record = crate::support::record(1, raw.len() as u64, id, &bytes(FRAME));
    let folder = folder();
    let pack = [bytes(PACK).as_slice(), &record].concat();
    fs::write(folder.path().join("p-000001-3f9a6c01.pack"), pack).expect("written");
    let reader = reader(folder.path());
    let reference = reader.reference(&ArtifactId::of(&raw)).expect("listed");
    assert_eq!(reader.read(&reference).expect("readable").as_ref(), raw);
}
