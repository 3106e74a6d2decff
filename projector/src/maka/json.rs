//! JSON values as the source has them: members in the order in which it walks them, numbers as
//! doubles, strings as UTF-16.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::number::Number;
use super::text::Text;

/// Most nested arrays and objects that are read.
pub const DEPTH_MAX: usize = 512;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// No value: a member that has it is not written, an array writes `null` for it.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// A string.
    String(Text),
    /// An array.
    Array(Vec<Self>),
    /// An object.
    Object(Object),
}

/// Members in the order in which the source walks them: names that are array indexes first, by
/// value, then all others as they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object(Vec<(Text, Json)>);

impl Object {
    /// Members in the order of adding. Of two with one name the first place and the last value
    /// stay.
    pub fn from_members(members: impl IntoIterator<Item = (Text, Json)>) -> Self {
        let mut places: BTreeMap<Text, usize> = BTreeMap::new();
        let mut kept: Vec<(Text, Json)> = Vec::new();
        for (name, value) in members {
            let next = kept.len();
            let place = *places.entry(name.clone()).or_insert(next);
            match kept.get_mut(place) {
                Some(member) => member.1 = value,
                None => kept.push((name, value)),
            }
        }
        // The sort is stable: all that are no index stay in their order.
        kept.sort_by_key(|(name, _)| array_index(name).map_or((1, 0), |index| (0, index)));
        Self(kept)
    }

    /// The members in their order.
    pub fn members(&self) -> &[(Text, Json)] {
        &self.0
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The object with a member set: in its place, or at the end.
    #[must_use]
    pub fn with(self, name: &str, value: Json) -> Self {
        Self::from_members(self.0.into_iter().chain([(Text::from(name), value)]))
    }

    /// The object without some members.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let kept = self.0.iter().filter(|(found, _)| !names.iter().any(|name| *found == *name));
        Self(kept.cloned().collect())
    }
}

/// The value of a name that is an array index.
fn array_index(name: &Text) -> Option<u32> {
    let units = name.units();
    let canonical = units.len() <= 10 && (units.first() != Some(&0x30) || units.len() == 1);
    if units.is_empty() || !canonical {
        return None;
    }
    let value = units.iter().try_fold(0_u64, |value, unit| {
        let digit = unit.checked_sub(0x30).filter(|digit| *digit < 10)?;
        Some(value * 10 + u64::from(digit))
    })?;
    u32::try_from(value).ok().filter(|value| *value < u32::MAX)
}

impl Json {
    /// An object of members that were written down in order.
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(Object::from_members(
            members.into_iter().map(|(name, value)| (Text::from(name), value)),
        ))
    }

    /// A string.
    pub fn string(text: &str) -> Self {
        Self::String(Text::from(text))
    }

    /// A natural number.
    pub fn natural(value: u64) -> Self {
        Self::Number(Number::natural(value))
    }

    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// As an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// As a string.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// As the items of an array.
    pub fn as_items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// As a number.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// True for the value `true` alone.
    pub fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    /// The text that the source makes of it; `None` for no value.
    pub fn stringify(&self) -> Option<Text> {
        if *self == Self::Undefined {
            return None;
        }
        let mut out = Text::new();
        self.write(&mut out);
        Some(out)
    }

    /// Length of [`Self::stringify`] in UTF-16 units; 0 for no value.
    pub fn units(&self) -> usize {
        self.stringify().map_or(0, |text| text.len())
    }

    fn write(&self, out: &mut Text) {
        match self {
            Self::Undefined | Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => out.push_str(&alloc::format!("{number}")),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push_str("[");
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push_str("]");
            }
            Self::Object(object) => {
                out.push_str("{");
                let shown = object.0.iter().filter(|(_, value)| *value != Self::Undefined);
                for (place, (name, value)) in shown.enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    write_string(name, out);
                    out.push_str(":");
                    value.write(out);
                }
                out.push_str("}");
            }
        }
    }
}

/// Writes a string in quotes. Half characters are escaped, so that the text is well-formed.
pub fn write_string(text: &Text, out: &mut Text) {
    out.push_str("\"");
    for point in char::decode_utf16(text.units().iter().copied()) {
        match point {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\r') => out.push_str("\\r"),
            Ok(point @ '\0'..='\u{1f}') => {
                out.push_str(&alloc::format!("\\u{:04x}", u32::from(point)));
            }
            Ok(point) => {
                let mut units = [0; 2];
                for unit in point.encode_utf16(&mut units) {
                    out.push_unit(*unit);
                }
            }
            Err(half) => {
                out.push_str(&alloc::format!("\\u{:04x}", half.unpaired_surrogate()));
            }
        }
    }
    out.push_str("\"");
}
