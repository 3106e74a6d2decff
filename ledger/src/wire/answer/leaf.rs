//! Values that are read leniently: what is there is taken, another kind of value is absence.
//!
//! Providers and their imitators disagree on the edges of their own formats (`null` for a
//! missing list, a number for an id, `""` for no reason yet), so a field is first borrowed
//! as its span and read when it is needed. Only a string that is not Unicode text (half a
//! surrogate pair) is an error, because leaving it out would change what the model said.
//! Spans also keep tool arguments as they are on the wire, at any depth and with any number.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Misread;

/// The longest item id that is kept. Ids are short, or encrypted and a few hundred bytes.
const ITEM_ID_BYTES_MAX: usize = 1024;

/// The span of one JSON value, or nothing where it was missing or `null`.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Leaf<'a>(#[serde(borrow)] Option<&'a RawValue>);

/// The fields of one object, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Text<'a>, Leaf<'a>)>);

/// A string that is borrowed where it has no escapes.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Leaf<'a> {
    /// The exact JSON text of the value.
    pub(super) fn raw(self) -> Option<&'a str> {
        self.0.map(RawValue::get)
    }

    /// The value as a string; `None` where it is no string.
    pub(super) fn text(self) -> Result<Option<Cow<'a, str>>, Misread> {
        match self.raw() {
            Some(raw) if raw.starts_with('"') => Ok(Some(serde_json::from_str::<Text<'a>>(raw)?.0)),
            _ => Ok(None),
        }
    }

    /// The value as a string that has at least one character.
    pub(super) fn word(self) -> Result<Option<Cow<'a, str>>, Misread> {
        Ok(self.text()?.filter(|text| !text.is_empty()))
    }

    /// Like [`Leaf::word`], for names on whose loss nothing depends.
    pub(super) fn label(self) -> Option<String> {
        self.word().ok().flatten().map(Cow::into_owned)
    }

    /// Like [`Leaf::label`], for an id that every part of an item repeats: one that is long
    /// out of all reason is left out, so that the repetition stays cheap.
    pub(super) fn item_id(self) -> Option<String> {
        self.label().filter(|id| id.len() <= ITEM_ID_BYTES_MAX)
    }

    /// The value as an unsigned integer.
    pub(super) fn number(self) -> Option<u64> {
        self.raw().and_then(|raw| raw.parse().ok())
    }

    /// Whether the value is `true`.
    pub(super) fn is_true(self) -> bool {
        self.raw() == Some("true")
    }

    /// Whether the value is a string with nothing in it, an empty list, or absent.
    pub(super) fn is_empty(self) -> bool {
        match self.raw() {
            None | Some("\"\"") => true,
            Some(raw) => raw
                .strip_prefix('[')
                .and_then(|raw| raw.strip_suffix(']'))
                .is_some_and(|inner| inner.trim_ascii().is_empty()),
        }
    }

    /// The fields of an object.
    pub(super) fn fields(self) -> Result<Fields<'a>, Misread> {
        match self.raw() {
            Some(raw) if raw.starts_with('{') => Ok(serde_json::from_str(raw)?),
            _ => Err(Misread::Unknown),
        }
    }

    /// The fields of an object; none where the value is no object.
    pub(super) fn fields_if_any(self) -> Result<Fields<'a>, Misread> {
        if self.is_object() { self.fields() } else { Ok(Fields::default()) }
    }

    /// Whether the value is an object.
    pub(super) fn is_object(self) -> bool {
        self.raw().is_some_and(|raw| raw.starts_with('{'))
    }

    /// Whether the value is missing or `null`.
    pub(super) fn is_missing(self) -> bool {
        self.0.is_none()
    }

    /// The exact JSON text as bytes of our own.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.raw().unwrap_or_default().as_bytes().to_vec()
    }

    /// The values of a list; empty where the value is no list.
    pub(super) fn list(self) -> Result<Vec<Self>, Misread> {
        match self.raw() {
            Some(raw) if raw.starts_with('[') => Ok(serde_json::from_str(raw)?),
            _ => Ok(Vec::new()),
        }
    }
}

impl<'a> Fields<'a> {
    /// Reads the object that is an event's or a document's whole text.
    pub(super) fn read(data: &'a [u8]) -> Result<Self, Misread> {
        serde_json::from_slice::<Leaf<'a>>(data)?.fields()
    }

    /// The value of a field; the last one where a name stands twice.
    pub(super) fn get(&self, name: &str) -> Leaf<'a> {
        let found = self.0.iter().rev().find(|(known, _)| known.0 == name);
        found.map(|(_, leaf)| *leaf).unwrap_or_default()
    }

    /// The names of the fields in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &*name.0)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        source.deserialize_map(Object)
    }
}
