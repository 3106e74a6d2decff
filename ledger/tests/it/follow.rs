//! Goal: a follower sees each frame once, in order, and never a frame that is not whole.
//! Method: a follower beside a writer, frame by frame and byte by byte.

use std::fs;

use ledger::fs::{FollowError, Followed, Follower, LogWriter};
use ledger::segment::Epoch;

use crate::log_support::{Close, KIND, bodies, create, ident, read, segments};

/// Everything that is there by now.
fn drain(follower: &mut Follower) -> (Vec<Vec<u8>>, bool) {
    let mut bodies = Vec::new();
    loop {
        match follower.poll().unwrap() {
            Followed::Frame(frame) if frame.is_seal() => {}
            Followed::Frame(frame) => bodies.push(frame.body().to_vec()),
            Followed::Waiting => return (bodies, false),
            Followed::Sealed => return (bodies, true),
        }
    }
}

#[test]
fn a_follower_goes_along_through_segments_until_the_seal() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    let mut follower = Follower::open(dir.path()).unwrap();
    assert_eq!(drain(&mut follower), (vec![], false));
    writer.append(KIND, 1, 0, b"one").unwrap();
    assert_eq!(drain(&mut follower), (vec![], false), "nothing is written yet");
    writer.write().unwrap();
    assert_eq!(drain(&mut follower), (vec![b"one".to_vec()], false));
    let long = vec![b'x'; 3 << 20];
    writer.append(KIND, 1, 0, &long).unwrap();
    writer.write().unwrap();
    assert_eq!(drain(&mut follower), (vec![long], false));
    drop(writer);
    let mut writer = LogWriter::open(dir.path(), Epoch(2), 0).unwrap();
    writer.append(KIND, 1, 0, b"two").unwrap();
    writer.seal(&[]).unwrap();
    assert_eq!(drain(&mut follower), (vec![b"two".to_vec()], true));
    let mut writer = LogWriter::open(dir.path(), Epoch(3), 0).unwrap();
    writer.append(KIND, 1, 0, b"three").unwrap();
    writer.write().unwrap();
    assert_eq!(drain(&mut follower), (vec![b"three".to_vec()], false), "it can go on");
}

#[test]
fn s37_a_frame_that_is_half_written_is_not_there_yet() {
    let root = tempfile::tempdir().unwrap();
    create(root.path(), &bodies(), Close::Seal);
    let segment = segments(root.path()).remove(0);
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..128]).unwrap();
    let mut follower = Follower::open(root.path()).unwrap();
    let mut seen = Vec::new();
    for end in 128..=bytes.len() {
        // Appended to, as a writer does it: the file stays the same.
        use std::os::unix::fs::FileExt as _;
        let file = fs::OpenOptions::new().write(true).open(&segment).unwrap();
        file.write_all_at(&bytes[..end], 0).unwrap();
        seen.extend(drain(&mut follower).0);
        assert!(bodies().starts_with(&seen), "at {end}");
    }
    assert_eq!(seen, bodies());
}

#[test]
fn s31_a_file_in_the_place_of_the_one_that_is_followed_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Drop);
    let segment = segments(dir.path()).remove(0);
    let mut follower = Follower::open(dir.path()).unwrap();
    drain(&mut follower);
    let copy = dir.path().join("copy");
    fs::copy(&segment, &copy).unwrap();
    fs::rename(&copy, &segment).unwrap();
    let error = follower.poll().unwrap_err();
    assert!(matches!(error, FollowError::Replaced { .. }), "{error:?}");
    assert_eq!(read(dir.path()).bodies(), bodies(), "a new reader reads the new file");
}
