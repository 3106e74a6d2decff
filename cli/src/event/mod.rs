//! Events in words: short facts for a listing, everything for one event.

mod brief;
mod full;
mod identity;

pub(crate) use brief::Listing;
pub(crate) use full::full;
pub(crate) use identity::word;

use ledger::content::Content;

use crate::tree::Node;

/// Content inside an event as text; content in the store by its id. Bytes that are no text are
/// written as hex digits.
pub(crate) fn content(content: &Content) -> Node {
    if let Some(artifact) = content.artifact() {
        return Node::Map(vec![
            ("artifact", artifact.id().to_string().into()),
            ("bytes", artifact.bytes().into()),
        ]);
    }
    let bytes = content.as_inline().unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_not_text) => Node::Map(vec![("hex", hex(bytes).into())]),
    }
}

/// Lowercase hex digits.
fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// A time as RFC 3339 in UTC, to the millisecond.
pub(crate) fn time(unix_ns: u64) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(unix_ns)) {
        Ok(time) => format!("{time:.3}"),
        Err(_out_of_range) => unix_ns.to_string(),
    }
}

/// Conversations and calls are numbered from 1 where people see them.
fn from_one(number: u32) -> u64 {
    u64::from(number) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123Z");
    }

    #[test]
    fn bytes_are_two_lowercase_digits_each() {
        assert_eq!(hex(&[0, 0xa5, 0xff]), "00a5ff");
    }
}
