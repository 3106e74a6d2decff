//! Goal: the bytes of the format never change by accident.
//! Method: the expected bytes were computed from the tables by a separate script, with none of
//! this crate's code; the writer must produce them and the reader must read them.

use std::fs;

use ledger::fs::{LogWriter, PackLength, Seq, Tail};

use crate::log_support::{CREATED_UNIX_NS, ident, read, segments};

/// A segment with two frames and a seal frame.
const SEGMENT: &[&str] = &[
    "8945564c0d0a1a0a",                                                 // magic
    "01000000",                                                         // format 1.0
    "80000000",                                                         // header length
    "000102030405060708090a0b0c0d0e0f",                                 // ledger id
    "0100000000000000",                                                 // first sequence
    "01000000",                                                         // segment number
    "016c9a3f",                                                         // writer epoch
    "00002a36fe9c9717",                                                 // created
    "0000000000000000", // valid length of the previous segment
    "0000000000000000000000000000000000000000000000000000000000000000", // previous chain
    "0101",             // CRC32, SHA-256
    "0000000000000000000000000000000000000000000000000000", // reserved
    "f9e4cb8b",         // header CRC32
    "45564631",         // frame 1: magic
    "05000000",         // body bytes
    "0100000000000000", // sequence
    "10000100",         // kind, version
    "01010000",         // flags
    "0000000000000000", // durable sequence
    "d64da60c76f96b8207269a10d089abf995072339e0687f1eb8a752b9cc7e96d8", // chain
    "01002a36fe9c9717", // wall clock
    "86a61036",         // body CRC32
    "8a967e19",         // header CRC32
    "68656c6c6f",       // body
    "000000",           // padding
    "45564631",         // frame 2: magic
    "10000000",         // body bytes
    "0200000000000000", // sequence
    "11800200",         // kind, version
    "02010000",         // flags
    "0000000000000000", // durable sequence
    "e76301dd20c99668298441cb1bfae70ea8fe87fd02ce68d270574524cf73fd3b", // chain
    "02002a36fe9c9717", // wall clock
    "9d9123fb",         // body CRC32
    "14d136f8",         // header CRC32
    "7369787465656e206279746573212121", // body
    "45564631",         // seal: magic
    "48000000",         // body bytes
    "0300000000000000", // sequence
    "01000100",         // kind, version
    "07000000",         // flags
    "0000000000000000", // durable sequence
    "5d7c623efa8d818799a7f6af1729860009dd35856486810304c69ef6c85c7bd9", // chain
    "02002a36fe9c9717", // wall clock
    "2b7178c0",         // body CRC32
    "1564bf13",         // header CRC32
    "0200000000000000", // frames
    "1500000000000000", // body bytes
    "e76301dd20c99668298441cb1bfae70ea8fe87fd02ce68d270574524cf73fd3b", // chain
    "01000000",         // packs
    "00000000",         // reserved
    "01000000016c9a3f", // pack number, epoch
    "0010000000000000", // durable length
];

const HEAD: &str = "3:5d7c623efa8d818799a7f6af1729860009dd35856486810304c69ef6c85c7bd9";

/// What a writer leaves that syncs before it seals, as all do now: the seal says that both frames
/// are durable.
const SYNCED: [(&str, &str); 3] = [
    ("070000000000000000000000", "070000000200000000000000"), // flags, durable sequence
    (
        "5d7c623efa8d818799a7f6af1729860009dd35856486810304c69ef6c85c7bd9",
        "92608d71215a36fd27a3e200b19a285f23f0973dd744925b103aa5006c419e96",
    ), // chain
    ("1564bf13", "e0bcbdc1"),                                 // header CRC32
];

const FORMAT: &str = "counterfold recording
format 1.0
ledger 000102030405060708090a0b0c0d0e0f
incompat
ro_compat
compat
";

fn segment_bytes() -> Vec<u8> {
    unhex(&SEGMENT.concat())
}

fn synced_bytes() -> Vec<u8> {
    let replaced = |hex: String, (old, new): &(&str, &str)| hex.replacen(old, new, 1);
    unhex(&SYNCED.iter().fold(SEGMENT.concat(), replaced))
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn the_writer_produces_the_golden_bytes() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut writer = LogWriter::create(&dir, ident(0x3f9a_6c01)).unwrap();
    assert_eq!(writer.append(0x10, 1, CREATED_UNIX_NS + 1, b"hello").unwrap(), Seq(1));
    let second = writer.append(0x8011, 2, CREATED_UNIX_NS + 2, b"sixteen bytes!!!").unwrap();
    assert_eq!(second, Seq(2));
    let pack = PackLength { number: 1, epoch: 0x3f9a_6c01, bytes: 4096 };
    let head = writer.seal(&[pack]).unwrap();
    assert_eq!(head.to_string(), format!("3:{}", SYNCED[1].1));

    assert_eq!(fs::read_to_string(dir.join("FORMAT")).unwrap(), FORMAT);
    let files = segments(&dir);
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["00000000000000000001-3f9a6c01.seg"]);
    assert_eq!(fs::read(&files[0]).unwrap(), synced_bytes());
}

#[test]
fn the_reader_reads_the_golden_bytes() {
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("log");
    fs::create_dir(&log).unwrap();
    fs::write(root.path().join("FORMAT"), FORMAT).unwrap();
    fs::write(log.join("00000000000000000001-3f9a6c01.seg"), segment_bytes()).unwrap();

    let said = read(root.path());
    assert_eq!(said.end.clone().unwrap(), Tail::Clean);
    assert_eq!(said.bodies(), [b"hello".to_vec(), b"sixteen bytes!!!".to_vec()]);
    let fields: Vec<_> = said
        .frames
        .iter()
        .map(|frame| (frame.seq().0, frame.kind(), frame.version(), frame.wall_unix_ns()))
        .collect();
    let wall = CREATED_UNIX_NS;
    assert_eq!(fields, [(1, 0x10, 1, wall + 1), (2, 0x8011, 2, wall + 2), (3, 1, 1, wall + 2)]);
    assert_eq!(said.frames.last().unwrap().head().to_string(), HEAD);
}
