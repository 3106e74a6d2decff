//! The order of strings that the source asks its locale for.
//!
//! For printable ASCII this is the root order of CLDR 45, taken from ICU 78: white space and
//! punctuation, symbols, digits, letters, small before large where nothing else differs. What is
//! not printable ASCII orders by code unit behind the letters. There the source's own answer
//! depends on the version of its library and on the machine's locale, so none is right.

use core::cmp::Ordering;

use super::text::Text;

/// The order of printable characters; a letter and its capital share a place.
const ORDER: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789\
                     abcdefghijklmnopqrstuvwxyz";

/// Compares two strings.
pub fn compare(left: &Text, right: &Text) -> Ordering {
    let weights = |text: &Text| text.units().iter().filter_map(|unit| primary(*unit)).collect();
    let (a, b): (alloc::vec::Vec<u32>, alloc::vec::Vec<u32>) = (weights(left), weights(right));
    let cases = |text: &Text| text.units().iter().map(|unit| is_capital(*unit)).collect();
    let by_case = || {
        let (a, b): (alloc::vec::Vec<bool>, alloc::vec::Vec<bool>) = (cases(left), cases(right));
        a.cmp(&b)
    };
    a.cmp(&b).then_with(by_case)
}

/// `None` for controls, which are ignored.
fn primary(unit: u16) -> Option<u32> {
    let small = if is_capital(unit) { unit + 0x20 } else { unit };
    let place = ORDER.bytes().position(|byte| u16::from(byte) == small);
    match place {
        Some(place) => u32::try_from(place).ok(),
        None if unit < 0x20 || unit == 0x7f => None,
        None => Some(0x1000 + u32::from(unit)),
    }
}

fn is_capital(unit: u16) -> bool {
    (0x41..=0x5a).contains(&unit)
}
