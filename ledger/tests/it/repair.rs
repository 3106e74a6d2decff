//! Goal: a repair takes over everything that is good, says what is missing, and changes nothing.
//! Method: damage every frame of a log, one at a time, and compare.

use std::fs;
use std::path::Path;

use artifacts::fs::vfs::LocalDisk;
use ledger::frame::{Gap, KIND_LOG_GAP};
use ledger::fs::{Repaired, Seq, repair};
use ledger::segment::Epoch;

use crate::log_support::{Close, bodies, boundaries, create, extend, read, segments, snapshot};

fn repaired(from: &Path, into: &Path) -> Repaired {
    let before = snapshot(from);
    let done = repair(&LocalDisk::shared(), from, into, Epoch(0xee), 5).unwrap();
    assert!(snapshot(from) == before, "a repair changed what it repairs");
    done
}

#[test]
fn s08_every_damaged_frame_becomes_a_gap_and_all_others_stay() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    create(&dir, &bodies(), Close::Seal);
    extend(&dir, 0xb, &bodies(), Close::Seal);
    let segment = segments(&dir).remove(0);
    let good = fs::read(&segment).unwrap();
    let ends = boundaries(&dir, &segment);
    for (frame, body) in bodies().iter().enumerate() {
        let mut bytes = good.clone();
        // A bit of the length, which no header of this frame survives.
        bytes[ends[frame] + 4] ^= 1;
        fs::write(&segment, &bytes).unwrap();
        let into = root.path().join(format!("repaired-{frame}"));
        let done = repaired(&dir, &into);
        let seq = Seq(frame as u64 + 1);
        let [gap] = done.gaps.as_slice() else { panic!("{done:?}") };
        assert_eq!((gap.place().from, gap.place().to), (seq, Some(seq)));
        assert_eq!(gap.lost_bytes, (ends[frame + 1] - ends[frame]) as u64);

        let said = read(&into);
        let mut expected: Vec<_> = [bodies(), bodies()].concat();
        assert_eq!(expected.remove(frame), *body);
        let mut found = said.frames.iter().filter(|frame| !frame.is_seal());
        let place = found.clone().position(|frame| frame.kind() == KIND_LOG_GAP);
        assert_eq!(place, Some(frame));
        assert_eq!(Gap::decode(found.clone().nth(frame).unwrap().body()).as_ref(), Ok(gap));
        assert!(
            found
                .by_ref()
                .filter(|frame| frame.kind() != KIND_LOG_GAP)
                .map(ledger::fs::Frame::body)
                .eq(expected.iter().map(Vec::as_slice))
        );
        assert_eq!(fs::read(&done.quarantined[0]).unwrap(), bytes);
        let format = fs::read_to_string(into.join("FORMAT")).unwrap();
        assert!(format.contains("\nincompat log-gap\n"));
    }
}

#[test]
fn a_lost_segment_is_a_gap_and_a_torn_tail_is_none() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    create(&dir, &bodies(), Close::Seal);
    extend(&dir, 0xb, &bodies(), Close::Seal);
    extend(&dir, 0xc, &bodies(), Close::Drop);
    let all = segments(&dir);
    let last = fs::read(&all[2]).unwrap();
    fs::write(&all[2], &last[..last.len() - 3]).unwrap();
    let done = repaired(&dir, &root.path().join("whole"));
    assert_eq!((done.frames, done.gaps.len()), (14, 0));
    assert!(done.torn_bytes > 0 && done.quarantined.is_empty());

    fs::remove_file(&all[1]).unwrap();
    let done = repaired(&dir, &root.path().join("gap"));
    let [gap] = done.gaps.as_slice() else { panic!("{done:?}") };
    assert_eq!((gap.place().from, gap.place().to), (Seq(7), Some(Seq(12))));
    assert_eq!(done.frames, 9);
}
