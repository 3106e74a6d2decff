//! The source's canonical JSON and the hashes over it. They are kept apart from this program's
//! own hashes: they lose what the source loses, and two different requests may have one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::collate;
use super::json::{Json, Object};
use super::text::Text;

/// The canonical text: names sorted by code unit (array indexes still come first), the items of
/// `required` and `enum` sorted by their texts, no value as the string `[undefined]`.
pub fn stringify(value: &Json) -> Text {
    canonical(value, false).stringify().unwrap_or_default()
}

fn canonical(value: &Json, sorted: bool) -> Json {
    match value {
        Json::Undefined => Json::string("[undefined]"),
        Json::Array(items) => {
            let mut items: Vec<Json> = items.iter().map(|item| canonical(item, false)).collect();
            if sorted {
                items.sort_by_cached_key(|item| Collated(stringify(item)));
            }
            Json::Array(items)
        }
        Json::Object(object) => {
            let mut members: Vec<(Text, Json)> = object
                .members()
                .iter()
                .map(|(name, value)| {
                    let sorted = *name == "required" || *name == "enum";
                    (name.clone(), canonical(value, sorted))
                })
                .collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Json::Object(Object::from_members(members))
        }
        other => other.clone(),
    }
}

/// A text that compares by the locale's order.
#[derive(PartialEq, Eq)]
struct Collated(Text);

impl PartialOrd for Collated {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Collated {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        collate::compare(&self.0, &other.0)
    }
}

/// SHA-256 of bytes, in small hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or('0');
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// SHA-256 of a text's UTF-8.
pub fn text_hash(text: &Text) -> String {
    sha256_hex(text.to_utf8().as_bytes())
}

/// `sha256:` and the hash of the canonical text.
pub fn hash(value: &Json) -> String {
    format!("sha256:{}", text_hash(&stringify(value)))
}

/// A name made of a prefix and the first 32 digits of the hash of a text.
pub fn short_id(prefix: &str, text: &Text) -> String {
    let hash = text_hash(text);
    format!("{prefix}{}", hash.get(..32).unwrap_or_default())
}

/// Digest over a list of values: of each, the byte length of its canonical text, a colon, the
/// text, a semicolon.
pub fn list_digest<'v>(values: impl IntoIterator<Item = &'v Json>) -> String {
    let mut hasher = Sha256::new();
    for value in values {
        let text = stringify(value).to_utf8();
        hasher.update(format!("{}:", text.len()).as_bytes());
        hasher.update(text.as_bytes());
        hasher.update(b";");
    }
    format!("sha256:{}", hex(&hasher.finalize()))
}

/// A time as the source writes it: `1970-01-01T00:00:00.000Z`, for milliseconds from then to the
/// end of the year 9999.
pub fn iso_time(milliseconds: u64) -> Text {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Days since the first of March of the year 0, in eras of 400 years (Howard Hinnant,
    // "chrono-compatible low-level date algorithms").
    let from_zero = days + 719_468;
    let (era, day_of_era) = (from_zero / 146_097, from_zero % 146_097);
    let leap = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap) / 365;
    let day_of_year = day_of_era + year_of_era / 100 - 365 * year_of_era - year_of_era / 4;
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, millis) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
        .into()
}
