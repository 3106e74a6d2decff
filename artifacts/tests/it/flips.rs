//! Goal: no flipped bit goes unnoticed, and none makes a reader return other bytes. Method:
//! every single bit of a pack and of its index.

use std::fs;

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
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(path, &bad).expect("damaged");
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
        fs::write(path, &good).expect("restored");
    }
    let reader = StoreReader::open(folder.path()).expect("restored");
    assert!(findings(&reader).is_empty());
    // Only the two flips that clear the high bit of a magic look like a conversion as text.
    assert_eq!(refused, 2);
    // A flip loses at most the artifact it hits.
    assert!(readable >= (flips - refused) * 2, "{readable} of {flips}");
}
