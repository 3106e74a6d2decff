//! Passwords before the `@` of a URL, and parameters that only a URL makes secrets.

use super::header::is_password;
use super::text::{Short, Text};
use super::{Judgement, Place};
use crate::redact::look::{self, Mix, fake};

/// The longest user and password.
const AUTHORITY_BYTES_MAX: usize = 512;
/// The longest value of a parameter, and the shortest.
const PARAMETER_BYTES_MAX: usize = 2048;
const PARAMETER_BYTES_MIN: usize = 16;

pub(crate) fn password(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let nothing = Ok(Judgement::Nothing { until: place.end });
    if !place.behind().last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'+') {
        return nothing;
    }
    let ends_name = |byte: u8| in_authority(byte) && !matches!(byte, b':' | b'/' | b'?' | b'#');
    let colon = text.run(place.end, AUTHORITY_BYTES_MAX, ends_name)?;
    if text.byte(colon)? != Some(b':') || text.byte(colon + 1)? == Some(b'/') {
        return nothing;
    }
    let end = text.run(place.end, AUTHORITY_BYTES_MAX, in_authority)?;
    if !text.bytes.get(place.end..end).unwrap_or_default().contains(&b'@') {
        return Ok(Judgement::Nothing { until: end });
    }
    let all = text.bytes.get(place.end..end).unwrap_or_default();
    let Some((user, password)) = split(all) else { return nothing };
    let (start, end) = (place.end + user + 1, place.end + password);
    let name = all.get(..user).unwrap_or_default();
    let value = text.bytes.get(start..end).unwrap_or_default();
    if is_url_password(name, value) { Ok(Judgement::secret(start, end)) } else { nothing }
}

/// Bytes before the path, and of a path that could be a part of a password.
const fn in_authority(byte: u8) -> bool {
    (byte.is_ascii_graphic() || byte >= 0x80)
        && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'<' | b'>' | b'|')
}

/// Where the colon and the `@` stand between which the password is.
///
/// A password may have a colon, a slash or an `@` of its own: the last `@` of the authority ends
/// it; where the authority has none, the last one before which no port and path could stand.
fn split(all: &[u8]) -> Option<(usize, usize)> {
    let colon = all.iter().position(|byte| *byte == b':')?;
    let before = all.get(..colon)?;
    if before.iter().any(|byte| matches!(byte, b'/' | b'?' | b'#' | b'@' | b'[')) {
        return None;
    }
    let authority = all.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let near = all.get(..authority.unwrap_or(all.len()))?;
    if let Some(at) = near.iter().rposition(|byte| *byte == b'@') {
        return (at > colon).then_some((colon, at));
    }
    let port = all.get(colon + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after_port = all.get(colon + 1 + port);
    if matches!(after_port, None | Some(b'/' | b'?' | b'#')) {
        return None;
    }
    let at = all.iter().rposition(|byte| *byte == b'@')?;
    let host = all.get(at + 1..)?;
    let is_host = host.first().is_some_and(u8::is_ascii_alphanumeric)
        && !all.get(colon..at)?.windows(3).any(|piece| piece == b"://");
    (at > colon && is_host).then_some((colon, at))
}

fn is_url_password(user: &[u8], value: &[u8]) -> bool {
    if value == user || value.starts_with(b"[REDACTED:") || value.contains(&b'{') {
        return false;
    }
    if value.len() >= 4 && Mix::of(value).digit == value.len() {
        return value.len() >= 6 && !fake::is_sequence(value);
    }
    if is_password(value) {
        return true;
    }
    // Words are passwords here, too, unless they are the words of examples.
    value.len() >= 10
        && !super::accept::is_other(value)
        && !value.iter().any(|byte| matches!(byte, b'.' | b'_'))
}

pub(crate) fn parameter(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let first = place.window.get(place.start).copied().unwrap_or_default();
    let behind = place.behind();
    let starts = matches!(first, b'?' | b'&')
        || behind
            .last()
            .is_some_and(|byte| matches!(byte, b'?' | b'&' | b';' | b'-' | b'S' | b's'));
    if !starts {
        return nothing;
    }
    let end = text.run(place.end, PARAMETER_BYTES_MAX, in_parameter)?;
    let value = text.bytes.get(place.end..end).unwrap_or_default();
    let good = value.len() >= PARAMETER_BYTES_MIN
        && !fake::is_fake(value)
        && look::random_bytes(value) >= PARAMETER_BYTES_MIN
        && in_url(&text, place);
    if good { Ok(Judgement::secret(place.end, end)) } else { nothing }
}

/// A `?` or `&` stands before the name of the parameter.
fn in_url(_text: &Text<'_>, place: &Place<'_>) -> bool {
    let first = place.window.get(place.start).copied().unwrap_or_default();
    let behind = place.behind();
    let name = behind.iter().rev().take(24).position(|byte| matches!(byte, b'?' | b'&' | b';'));
    matches!(first, b'?' | b'&') || name.is_some()
}

const fn in_parameter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'%' | b'+' | b'/' | b'=' | b':')
}
