//! Whether a value behind the name of a secret is one.
//!
//! The name alone says little: in source code most values behind `token` are expressions. What
//! counts is that a value looks generated, or, for a password, that nobody would write it as a
//! name; and that it is no example, variable, path or number.

use super::name::Kind;
use crate::redact::look::{self, Mix, entropy, fake};

/// The shortest value.
pub(crate) const VALUE_BYTES_MIN: usize = 8;
/// The longest value.
pub(crate) const VALUE_BYTES_MAX: usize = 4096;
/// So much of a value is looked at.
const LOOKED_AT_BYTES: usize = 256;
/// The longest unit or type behind a number.
const UNIT_BYTES_MAX: usize = 3;
/// Random bytes that a generated value needs.
const RANDOM_BYTES_MIN: usize = 8;
/// The least entropy of a value, per byte.
const ENTROPY_MIN: u64 = 9 * entropy::BIT / 4;

/// How a value stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Between quotation marks.
    Quoted,
    /// Without; behind `=` or `:`.
    Bare,
    /// A value that has its place by a format, so that it need not look like anything.
    Placed,
}

/// Returns true if `value` is a secret of that kind.
pub(crate) fn is_secret(kind: Kind, form: Form, value: &[u8]) -> bool {
    if !(VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&value.len()) {
        return false;
    }
    // What stands in the beginning stands for the whole.
    let value = value.get(..LOOKED_AT_BYTES).unwrap_or(value);
    let mix = Mix::of(value);
    let random = look::random_bytes(value);
    let plain =
        random == 0 && (mix.digit == 0 || mix.kinds() < 3) && !is_scrambled(kind, mix, value);
    if plain && (kind == Kind::Generated || form != Form::Placed) {
        return false;
    }
    if value.iter().any(|byte| *byte < b' ' || *byte == 0x7f) || is_other(value) {
        return false;
    }
    let spaces = memchr::memchr_iter(b' ', value).count();
    if spaces > 0 && (kind == Kind::Generated || form != Form::Quoted || spaces > 2) {
        return false;
    }
    if random >= RANDOM_BYTES_MIN && entropy::per_byte(value) >= ENTROPY_MIN {
        return true;
    }
    match kind {
        Kind::Password => is_password(value, mix, form),
        Kind::Generated => false,
    }
}

/// `RUrtieGKirv^`: a password of capitals that start no words, and a sign.
fn is_scrambled(kind: Kind, mix: Mix, value: &[u8]) -> bool {
    kind == Kind::Password
        && mix.upper >= 2
        && mix.lower >= 2
        && value.iter().any(|byte| is_sign(*byte))
        && !fake::is_words(value)
}

/// A password that people made up: signs, digits and letters, and no words for secrets.
fn is_password(value: &[u8], mix: Mix, form: Form) -> bool {
    let signs = value.iter().filter(|byte| is_sign(**byte)).count();
    let varied = mix.kinds() >= 3 && mix.digit > 0 && (signs > 0 || !fake::is_words(value));
    let varied = varied || (look::is_random(value) && (mix.digit > 0 || signs > 0));
    let varied = varied || is_scrambled(Kind::Password, mix, value);
    let placed = form == Form::Placed && !fake::is_words(value);
    varied || placed
}

/// Signs that passwords have and names have not.
const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'?' | b'~')
}

/// Values that are no secret whatever their name is.
pub(crate) fn is_other(value: &[u8]) -> bool {
    is_reference(value)
        || is_number(value)
        || look::is_uuid(value)
        || is_path(value)
        || fake::is_fake(value)
        || fake::is_words_for_secrets(value)
        || is_code(value)
}

/// A variable, a template, or the place where the value is to be found.
fn is_reference(value: &[u8]) -> bool {
    const STARTS: [&[u8]; 26] = [
        b"$",
        b"%(",
        b"%{",
        b"{{",
        b"{%",
        b"<",
        b"#{",
        b"@{",
        b"env:",
        b"env.",
        b"vault:",
        b"ENC[",
        b"op://",
        b"arn:",
        b"file:",
        b"http://",
        b"https://",
        b"process.",
        b"os.environ",
        b"secrets.",
        b"ssm:",
        b"@@",
        b"!vault",
        b"ref+",
        b"keyring:",
        b"[REDACTED:",
    ];
    let percent = value.len() > 2 && value.first() == Some(&b'%') && value.last() == Some(&b'%');
    let inside = [b"${".as_slice(), b"{{", b"$(", b"[REDACTED:"];
    let holds = |piece: &&[u8]| value.windows(piece.len()).any(|window| window == *piece);
    percent || STARTS.iter().any(|start| value.starts_with(start)) || inside.iter().any(holds)
}

fn is_number(value: &[u8]) -> bool {
    let rest = value.strip_prefix(b"-").unwrap_or(value);
    // `0x4000000D_u32`: a constant of 64 bits at most.
    if let Some(digits) = rest.strip_prefix(b"0x").or_else(|| rest.strip_prefix(b"0X")) {
        let digits = digits.split(|byte| *byte == b'_').next().unwrap_or_default();
        return (1..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    }
    let suffix = rest.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let end = rest.len() - if suffix <= UNIT_BYTES_MAX { suffix } else { 0 };
    // `7u32`, `2.5f64`, `100UL`, `10px`
    let number = match (rest.get(end), rest.get(..end)) {
        (Some(b'u' | b'i' | b'f' | b'U' | b'L' | b'l'), Some(number)) => number,
        _ => rest,
    };
    let typed = [b"u8".as_slice(), b"u16", b"u32", b"u64", b"i8", b"i16", b"i32", b"i64", b"f64"];
    let number = typed.iter().find_map(|end| rest.strip_suffix(*end)).unwrap_or(number);
    number.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b',' | b':'))
}

/// A path, or the digest of a package with its algorithm.
fn is_path(value: &[u8]) -> bool {
    const DIGESTS: [&[u8]; 6] =
        [b"sha256-", b"sha384-", b"sha512-", b"sha1-", b"sha256:", b"sha512:"];
    let rooted = [b"/".as_slice(), b"./", b"../", b"~/"].iter().any(|it| value.starts_with(it));
    let slashes = memchr::memchr_iter(b'/', value).count();
    let words = || value.split(|byte| *byte == b'/').all(|part| !look::is_random(part));
    (rooted && words())
        || (slashes > 1 && words())
        || DIGESTS.iter().any(|start| value.starts_with(start))
}

/// An expression: a call, an index, a path of names.
fn is_code(value: &[u8]) -> bool {
    let pairs = [b"::".as_slice(), b"->", b"()", b"=>", b"&&", b"||", b"()."];
    let holds = |piece: &&[u8]| value.windows(piece.len()).any(|window| window == *piece);
    let called = value.last() == Some(&b')') && value.contains(&b'(');
    let indexed = value.last() == Some(&b']') && value.contains(&b'[');
    let names = || !look::is_random(value);
    (pairs.iter().any(holds) || called || indexed) && names()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(kind: Kind, value: &str) -> bool {
        is_secret(kind, Form::Quoted, value.as_bytes())
    }

    #[test]
    fn passwords() {
        for value in ["hunter2x9", "Tr0ub4dor&3", "k3v9x2ma", "aB3$kLm9!q", "P@ssw0rd-9x!kq2"] {
            assert!(is(Kind::Password, value), "{value}");
        }
        for value in [
            "get_password()",
            "changeme",
            "password123",
            "${DB_PASSWORD}",
            "$PASSWORD",
            "string",
            "a string with words",
            "/etc/ssl/private/key.pem",
            "12345678",
            "user_password",
            "my-secret-password",
            "Password",
            "supersecret",
            "********",
            "0x4000000D",
            "0xC000006B_u32",
            "<password>",
        ] {
            assert!(!is(Kind::Password, value), "{value}");
        }
    }

    #[test]
    fn generated_values() {
        for value in ["3b18e512dba79e4c8300dd08aeb37f8e", "xK9mP2vL8qR4tW6y", "a8f5f167f44f4964"] {
            assert!(is(Kind::Generated, value), "{value}");
        }
        for value in [
            "tokens[index]",
            "TokenStream::new()",
            "caption",
            "CancellationToken",
            "123e4567-e89b-12d3-a456-426614174000",
            "YOUR_API_KEY",
            "refresh_token",
            "accessTokenValue1",
            "sha512-z5xyK3mWq9pLr8vT2nB4hJ6gF7dS1aQw",
        ] {
            assert!(!is(Kind::Generated, value), "{value}");
        }
    }
}
