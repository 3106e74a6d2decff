//! Reads JSON objects and numbers as a HAR in the wild needs it.
//!
//! Derived code refuses an object in which a name stands twice, and a number that is too large
//! for its type. Here the last of several members wins, and a number is kept as it is written
//! until somebody wants it in a unit.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Something that is filled in from the members of a JSON object.
pub(crate) trait Object<'de>: Default {
    /// Takes the value of the member `name` from `map`, or passes it over with [`skip`].
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error>;
}

/// Passes over the value of a member that means nothing here.
pub(crate) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// An [`Object`] read from JSON.
pub(crate) struct Members<T>(pub(crate) T);

impl<'de, T: Object<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct MembersVisitor<T>(PhantomData<T>);

impl<'de, T: Object<'de>> Visitor<'de> for MembersVisitor<T> {
    type Value = Members<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = T::default();
        while let Some(Bytes(name)) = map.next_key()? {
            object.member(&name, &mut map)?;
        }
        Ok(Members(object))
    }
}

/// A JSON string as bytes, unescaped once.
///
/// A lone surrogate escape becomes its three bytes in the generalized UTF-8, so that the
/// string is kept and can be told from one that is well-formed.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_vec()))
    }
}

/// Reads a number as it is written; `null` counts as absent.
pub(crate) fn number<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<&'de str>, A::Error> {
    match map.next_value::<Option<&'de RawValue>>()?.map(RawValue::get) {
        Some(text) if is_number(text) => Ok(Some(text)),
        Some(_) => Err(A::Error::custom("not a number")),
        None => Ok(None),
    }
}

/// Reads a number of an extension, whose type no standard fixes: another type counts as absent.
pub(crate) fn extension<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<u64>, A::Error> {
    let raw = map.next_value::<&'de RawValue>()?;
    Ok(integer(raw.get()).and_then(|number| u64::try_from(number).ok()))
}

/// Reads a flag of an extension: another type counts as absent.
pub(crate) fn flag<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<bool>, A::Error> {
    Ok(match map.next_value::<&'de RawValue>()?.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}

/// The value of a written number, if it is whole and fits.
pub(crate) fn integer(text: &str) -> Option<i64> {
    match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole.parse().ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// The thousandths of a written number, cut to a whole one, if it is not negative and fits.
pub(crate) fn thousandths(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole_digits = i32::try_from(whole.len()).ok()?;
    let digits_wanted = whole_digits.checked_add(exponent)?.checked_add(3)?;
    let mut digits = whole.bytes().chain(fraction.bytes());
    let mut value = 0_u64;
    for _ in 0..digits_wanted {
        let digit = match digits.next() {
            Some(digit @ b'0'..=b'9') => u64::from(digit - b'0'),
            Some(_) => return None,
            // An exponent must not make this loop longer than the text.
            None if value == 0 => return Some(0),
            None => 0,
        };
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(value)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}
