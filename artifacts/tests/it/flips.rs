//! Goal: no flipped bit goes unnoticed, and none makes a reader return other bytes. Method:
//! every single bit of a pack and of its index.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;

use artifacts::{Source as _, StoreReader};

use crate::support::{findings, folder, sealed};

#[test]
fn every_flipped_bit_is_found_and_no_wrong_byte_is_returned() {
    let folder = folder();
    let packed = b"compressible ".repeat(20);
    let texts: [&[u8]; 3] = [b"raw", b"", &packed];
    let (references, sealed) = sealed(folder.path(), &texts);
    let (mut flips, mut refused, mut readable) = (0, 0, 0);
    for path in [&sealed.pack, &sealed.index] {
        let good = fs::read(path).expect("readable");
        let file = OpenOptions::new().write(true).open(path).expect("writable");
        for bit in 0..8 * good.len() {
            let (byte, at) = (good[bit / 8], (bit / 8) as u64);
            // The byte that the last turn flipped is put back first.
            let before = at.saturating_sub(1);
            file.write_all_at(&good[bit / 8 - usize::from(at > 0)..=bit / 8], before)
                .expect("good");
            file.write_all_at(&[byte ^ (1 << (bit % 8))], at).expect("damaged");
            flips += 1;
            let Ok(reader) = StoreReader::open(folder.path()) else {
                refused += 1;
                continue;
            };
            assert!(!findings(&reader).is_empty(), "{path:?} bit {bit}");
            for (reference, text) in references.iter().zip(texts) {
                if let Ok(bytes) = reader.read(reference) {
                    assert!(bytes.as_ref() == text, "{path:?} bit {bit}");
                    readable += 1;
                }
            }
        }
        file.write_all_at(&good, 0).expect("restored");
    }
    let reader = StoreReader::open(folder.path()).expect("restored");
    assert!(findings(&reader).is_empty());
    // Only the two flips that clear the high bit of a magic look like a conversion as text.
    assert_eq!(refused, 2);
    // A flip loses at most the artifact it hits.
    assert!(readable >= (flips - refused) * 2, "{readable} of {flips}");
}
