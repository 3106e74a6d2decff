//! Values that their names make secrets: of headers, of URL parameters, and before an `@`.

use super::judge::Flags;
use super::rules::{HEADER, Rule, URL_PARAMETER, URL_PASSWORD};
use super::scan::Span;

/// Names of headers that carry a credential, in lower case with `-` for `_`.
const HEADERS: [&str; 12] = [
    "api-key",
    "apikey",
    "auth",
    "authorization",
    "cookie",
    "cookie2",
    "set-cookie",
    "token",
    "x-apikey",
    "x-auth",
    "x-auth-key",
    "x-csrf",
];
/// Ends of such names. `-tokens` is a count.
const HEADER_ENDS: [&str; 3] = ["-authorization", "-api-key", "-token"];
/// Parts of such names.
const HEADER_PARTS: [&str; 4] = ["secret", "password", "passwd", "credential"];

/// Names of URL parameters that carry a credential, in lower case with `-` for `_`.
const PARAMETERS: [&str; 24] = [
    "access-token",
    "api-key",
    "apikey",
    "auth",
    "auth-token",
    "authorization",
    "client-secret",
    "id-token",
    "jwt",
    "key",
    "passwd",
    "password",
    "pwd",
    "refresh-token",
    "secret",
    "session-token",
    "sig",
    "signature",
    "token",
    "x-amz-security-token",
    "x-amz-signature",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-signature",
];

/// Words before a credential that say how it is used; they are kept.
const SCHEMES: [&[u8]; 3] = [b"bearer", b"basic", b"token"];

/// Returns true if the value behind this header name is a credential.
pub(crate) fn is_secret_header(name: &str) -> bool {
    let name = normal(name.trim_ascii().as_bytes());
    HEADERS.contains(&name.as_str())
        || HEADER_ENDS.iter().any(|end| name.ends_with(end))
        || HEADER_PARTS.iter().any(|part| name.contains(part))
}

/// The credential in a header value: all of it but blanks around it and a scheme word.
pub(crate) fn credential(value: &[u8]) -> Option<Span> {
    let indent = value.len() - value.trim_ascii_start().len();
    let trimmed = value.trim_ascii();
    let word_end = trimmed.iter().position(|byte| *byte == b' ').unwrap_or(trimmed.len());
    let (word, rest) = trimmed.split_at(word_end);
    let is_scheme = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
    let credential = if is_scheme { rest.trim_ascii_start() } else { trimmed };
    let end = indent + trimmed.len();
    let span = span(end - credential.len(), end, &HEADER);
    (!credential.is_empty()).then_some(span)
}

/// The password and the secret parameters of a URL.
pub(crate) fn url_spans(url: &[u8]) -> Vec<Span> {
    password(url).into_iter().chain(parameters(url)).collect()
}

/// The password before the last `@` of the authority; a user name is not needed.
fn password(url: &[u8]) -> Option<Span> {
    let start = url.windows(3).position(|piece| piece == b"://")? + 3;
    let rest = url.get(start..)?;
    let authority = rest.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next()?;
    let at = authority.iter().rposition(|byte| *byte == b'@')?;
    let user = authority.get(..at)?;
    // A user that is a placeholder already has colons of its own.
    let skipped = match user.strip_prefix(b"[REDACTED:") {
        Some(_) => user.iter().position(|byte| *byte == b']')?,
        None => 0,
    };
    let colon = skipped + user.get(skipped..)?.iter().position(|byte| *byte == b':')?;
    let (start, end) = (start + colon + 1, start + at);
    (start < end).then(|| span(start, end, &URL_PASSWORD))
}

/// Secret parameters of the query and of the fragment.
fn parameters(url: &[u8]) -> Vec<Span> {
    // The number in a placeholder is no fragment.
    let mut before = 0;
    let ends_piece = |byte: &u8| {
        let ends = matches!(byte, b'?' | b'&') || (*byte == b'#' && before != b':');
        before = *byte;
        ends
    };
    let mut spans = Vec::new();
    let mut piece_start = 0;
    for piece in url.split(ends_piece) {
        let (start, end) = (piece_start, piece_start + piece.len());
        piece_start = end + 1;
        let Some(equals) = piece.iter().position(|byte| *byte == b'=') else { continue };
        let value_start = start + equals + 1;
        let name = normal(piece.get(..equals).unwrap_or_default());
        // What stands before the first `?` or `#` is a path, not a parameter.
        if start > 0 && value_start < end && PARAMETERS.contains(&name.as_str()) {
            spans.push(span(value_start, end, &URL_PARAMETER));
        }
    }
    spans
}

fn span(start: usize, end: usize, rule: &'static Rule) -> Span {
    Span { start: start as u64, end: end as u64, rule, flags: Flags::default() }
}

/// A name in lower case with `-` for `_`.
fn normal(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase().replace('_', "-")
}
