//! Times as records tell them.

use jiff::Timestamp;

use super::json::Json;

/// Unix nanoseconds of an ISO 8601 time, of this century.
pub(crate) fn unix_ns(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

/// Unix nanoseconds of a number or a text: seconds, or milliseconds where seconds would be far
/// beyond this century.
pub(crate) fn of_value(json: &Json<'_>) -> Option<u64> {
    const MILLISECONDS_FROM: u64 = 100_000_000_000;
    if let Some(text) = json.text() {
        return unix_ns(text);
    }
    let count = json.count()?;
    let scale = if count >= MILLISECONDS_FROM { 1_000_000 } else { 1_000_000_000 };
    count.checked_mul(scale)
}
