//! Lines of outputs that say how something went: what a cut must not lose.

use alloc::vec::Vec;
use core::ops::Range;

/// What such a line has in it. The list is closed and part of the metric's definition.
pub const SIGNS: [&str; 9] = [
    "error:",
    "Error:",
    "ERROR",
    "FAILED",
    "Traceback (most recent call last)",
    "panicked at",
    "exit code",
    "Exit code",
    "test result:",
];

/// The lines of a text that have a sign, without their line ends.
pub fn find(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let has = |sign: &&str| memchr::memmem::find(line, sign.as_bytes()).is_some();
        if SIGNS.iter().any(has) {
            found.push(start..start + line.len());
        }
        start += line.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_sign_are_found_with_their_places() {
        let text = b"ok\nerror: no\n\nthread panicked at x";
        let found = find(text);
        let lines: Vec<&[u8]> = found.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(lines, [b"error: no".as_slice(), b"thread panicked at x"]);
        assert!(find(b"").is_empty());
    }
}
