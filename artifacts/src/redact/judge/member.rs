//! Values of members of JSON objects: the name announces, the value decides.
//!
//! In a parsed text a value is a value and no expression, so that it takes less to be one than
//! behind a name in any text.

use super::accept::{self, Form};
use super::name::{self, Kind};
use super::{Flags, Found, cookie, header, place};

/// What a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// A password or a generated value.
    Value(Kind),
    /// A scheme and a credential.
    Authorization,
    /// Names and values of cookies.
    Cookie,
    /// A name and a password in base64.
    Basic,
}

/// What the value behind `name` would be.
pub(crate) fn announced(name: &[u8]) -> Option<Announced> {
    let is = |known: &[&str]| known.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes()));
    if is(&["authorization", "proxy-authorization", "proxy_authorization"]) {
        return Some(Announced::Authorization);
    }
    if is(&["cookie", "cookies", "set-cookie", "set_cookie"]) {
        return Some(Announced::Cookie);
    }
    if is(&["auth", "_auth"]) {
        return Some(Announced::Basic);
    }
    name::kind(name).map(Announced::Value)
}

/// The secrets in a value; `direct` if it stands right behind its name and not in a list or
/// object there.
pub(crate) fn found(announced: Announced, direct: bool, value: &[u8]) -> Vec<Found> {
    let whole = |start: usize, end: usize| vec![Found { start, end, flags: Flags::default() }];
    match announced {
        Announced::Value(kind) => {
            let form = if direct { Form::Placed } else { Form::Quoted };
            let good = accept::is_secret(kind, form, value);
            if good { whole(0, value.len()) } else { Vec::new() }
        }
        Announced::Authorization => {
            header::credential(value).map_or_else(Vec::new, |(start, end)| whole(start, end))
        }
        Announced::Cookie => cookie::pairs(value, 0, value.len()),
        Announced::Basic if place::is_pair(value) => whole(0, value.len()),
        Announced::Basic => Vec::new(),
    }
}
