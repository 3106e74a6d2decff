//! Passwords in the place that a file format gives them: `.pgpass`, driver names, `_auth`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::accept::{self, Form};
use super::header::is_password;
use super::name::Kind;
use super::text::{Short, Text};
use super::{Judgement, LEAD_BYTES, Place};

/// The longest value.
const VALUE_BYTES_MAX: usize = 512;

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    match text.bytes.get(place.start..place.end).unwrap_or_default() {
        b"@tcp(" => Ok(before_tcp(place)),
        b":5432:" | b":3306:" => pgpass(&text, place),
        b"IDENTIFIED BY" | b"identified by" => identified(&text, place),
        _ => auth(&text, place),
    }
}

/// `user:password@tcp(host:3306)/db`.
fn before_tcp(place: &Place<'_>) -> Judgement {
    let behind = place.behind();
    let most = behind.get(behind.len().saturating_sub(LEAD_BYTES)..).unwrap_or_default();
    let in_password = |byte: &&u8| byte.is_ascii_graphic() && !b"\"'\\`:/<>".contains(byte);
    let length = most.iter().rev().take_while(in_password).count();
    let colon = most.len().checked_sub(length + 1).and_then(|at| most.get(at));
    let start = place.start - length;
    let value = place.window.get(start..place.start).unwrap_or_default();
    if colon == Some(&b':') && is_password(value) {
        return Judgement::secret(start, place.start);
    }
    Judgement::Nothing { until: place.end }
}

/// `host:5432:database:user:password`.
fn pgpass(text: &Text<'_>, place: &Place<'_>) -> Result<Judgement, Short> {
    let field = |byte: u8| byte.is_ascii_graphic() && !b":\"'\\".contains(&byte);
    let mut at = place.end;
    for _field in 0..2 {
        let end = text.run(at, 64, field)?;
        if end == at || text.byte(end)? != Some(b':') {
            return Ok(Judgement::Nothing { until: place.end });
        }
        at = end + 1;
    }
    let value = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte);
    let end = text.run(at, VALUE_BYTES_MAX, value)?;
    let password = text.bytes.get(at..end).unwrap_or_default();
    if is_password(password) && !password.contains(&b'/') {
        return Ok(Judgement::secret(at, end));
    }
    Ok(Judgement::Nothing { until: place.end })
}

/// `IDENTIFIED BY 'password'`.
fn identified(text: &Text<'_>, place: &Place<'_>) -> Result<Judgement, Short> {
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let at = text.blanks(place.end, 4)?;
    let Some(quote) = text.quote(at)? else { return nothing };
    let start = at + quote.len();
    let Some(end) = text.quoted_end(start, quote, VALUE_BYTES_MAX)? else { return nothing };
    let value = text.bytes.get(start..end).unwrap_or_default();
    let good = accept::is_secret(Kind::Password, Form::Placed, value);
    if good { Ok(Judgement::secret(start, end)) } else { nothing }
}

/// `_auth=` of npm and `"auth":` of docker: a name and a password in base64.
fn auth(text: &Text<'_>, place: &Place<'_>) -> Result<Judgement, Short> {
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let at = text.blanks(place.end, 8)?;
    let start = at + text.quote(at)?.map_or(0, super::text::Quote::len);
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let end = text.run(start, VALUE_BYTES_MAX, base64)?;
    let value = text.bytes.get(start..end).unwrap_or_default();
    if is_pair(value) { Ok(Judgement::secret(start, end)) } else { nothing }
}

/// Returns true if a value is a name and a password in base64.
pub(super) fn is_pair(value: &[u8]) -> bool {
    let plain = STANDARD.decode(value).unwrap_or_default();
    let colon = plain.iter().position(|byte| *byte == b':');
    let printable = plain.iter().all(|byte| (b' '..0x7f).contains(byte));
    let password = colon.and_then(|colon| plain.get(colon + 1..)).unwrap_or_default();
    printable && is_password(password)
}
