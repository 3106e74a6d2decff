//! How likely letters follow each other in words.
//!
//! The table was counted over the words of source code and documentation of 237 Rust crates
//! (86,372 different words, each weighted by the logarithm of how often it occurs): entry (a, b)
//! is the surprise of `b` behind `a`, in quarters of a bit, as a digit of base 62. Words need 3.7
//! bits a letter, random letters 6.

/// From this many quarters of a bit a letter on, letters are not a word.
const UNLIKELY_QUARTERS: usize = 20;
/// Shorter words can have any letters.
const LETTERS_MIN: usize = 6;
/// Pairs of letters that tell something of a text in pieces.
const PAIRS_MIN: usize = 6;

#[rustfmt::skip]
const SURPRISE: [&[u8; 26]; 26] = [
    b"UIFGVRIYKeQCHDbHfDGANPTQOZ",
    b"CMINEOUVCLTAOQGOcIGMDVaYNZ",
    b"COKQDQPEIkGHORAOaIKELSUZSg",
    b"FLMI8NSRBYYIMPIMYGGMKQLTUg",
    b"ISGEMMNWPeWIJCQMSACEULQIQe",
    b"GQLKECQWAeaEOOBOaIGKKYTYQg",
    b"HQMO8ONHEeTKMGIMYDFMITUWUY",
    b"AQKJASRUCcSMKOCOcHLIKWOfOV",
    b"KNGGKKJcWeWII8DKcMGEaLeSiK",
    b"EOOW8QQkGUMQQSAKTQFPDQSWWS",
    b"GLMI6NQOCVeMMMMNWMCIMSSiQa",
    b"CQOK9QSYBbQESSDIeSKIKQXeIc",
    b"AKOM8PSYDkUOKQFCXQGMJYWYYk",
    b"FSGEEICUHbOOSOHQcREAKOWcUc",
    b"PMFISMMYOaQGG9KGkCIIGMKTXi",
    b"CQJMCOSKGiUGPQEGcBGGKRQYSk",
    b"MMMJLOSYOYaGMOOLRKJQ3YQkXk",
    b"CSKK8POcDiOOKMCOaKGGMOVaMe",
    b"ISIQASPICkOOOQIGWOFAISQaMN",
    b"DSKPAQVIAkYMOSGOcEGKKUUSIb",
    b"KIIMHJOcIiYFFBSGgEDCYecUkb",
    b"BRKO6NSSAeaOLQIMYPKMYcYWca",
    b"BNKKENUIBfQKKEEKYGELTWUWcW",
    b"GOELCIOOFdWMKSMCSPJ8SQPPOa",
    b"KMKNIOSUIdSHGEI7eLCHRUQaUQ",
    b"EQMM4MSQFkaPQOILkOIQMOTYSK",
];

/// Returns true if the letters of `word` stand in an order that words do not have. Capitals
/// inside start a new word.
pub(crate) fn are_unlikely(word: &[u8]) -> bool {
    let (mut sum, mut pairs, mut capitals, mut turns) = (0, 0, 0, 0);
    for pair in word.windows(2) {
        let [a, b] = pair else { continue };
        if a.is_ascii_uppercase() != b.is_ascii_uppercase() {
            turns += 1;
        }
        if a.is_ascii_lowercase() && b.is_ascii_uppercase() {
            capitals += 1;
            continue;
        }
        sum += surprise(*a, *b);
        pairs += 1;
    }
    // `aBcXyZq`: no word has so many capitals inside.
    let scrambled = word.len() >= 8 && turns * 2 > word.len() && capitals * 4 > word.len();
    scrambled || (pairs + 1 >= LETTERS_MIN && sum > pairs * UNLIKELY_QUARTERS)
}

/// Returns true if the letters of all pieces of a text together stand in an order that words do
/// not have.
pub(crate) fn are_unlikely_pieces(text: &[u8]) -> bool {
    let (mut sum, mut pairs) = (0, 0);
    for pair in text.windows(2) {
        let [a, b] = pair else { continue };
        let in_word = a.is_ascii_alphabetic()
            && b.is_ascii_alphabetic()
            && !(a.is_ascii_lowercase() && b.is_ascii_uppercase());
        if in_word {
            sum += surprise(*a, *b);
            pairs += 1;
        }
    }
    pairs >= PAIRS_MIN && sum > pairs * (UNLIKELY_QUARTERS + 1)
}

fn surprise(a: u8, b: u8) -> usize {
    let index = |letter: u8| usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
    let row = SURPRISE.get(index(a)).copied();
    row.and_then(|row| row.get(index(b))).map_or(UNLIKELY_QUARTERS, |digit| match digit {
        b'0'..=b'9' => usize::from(digit - b'0'),
        b'A'..=b'Z' => usize::from(digit - b'A') + 10,
        _ => usize::from(digit.wrapping_sub(b'a')) + 36,
    })
}
