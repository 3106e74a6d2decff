//! Values that stand in a policy: numbers, texts, lists, and how each is read, written and
//! described. Tables and words get theirs from the macros beside this file.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Entry, Fields, Node, Value, Wrong};
use crate::policy::TEXT_BYTES_MAX;
use crate::policy::schema::{Field, Schema};

/// Longest list in a policy.
const LIST_MAX: usize = 1024;

/// A value in a policy.
pub(crate) trait Param: Sized {
    fn read(node: &Node, explicit: bool) -> Result<Self, Wrong>;
    fn write(&self) -> Value;
    fn schema() -> Schema;

    /// Reads it as a field; most take one key, some several.
    fn read_field(
        fields: &Fields<'_>,
        key: &'static str,
        default: Option<Self>,
    ) -> Result<Self, Wrong> {
        let explicit = fields.explicit;
        match (fields.get(key), default) {
            (Some(node), _) => Self::read(node, explicit),
            (None, Some(default)) if !explicit => Ok(default),
            (None, _) => Err(fields.missing(key)),
        }
    }

    fn write_field(&self, key: &'static str, out: &mut Vec<Entry>) {
        out.push(Entry::new(key, self.write()));
    }

    fn schema_field(key: &'static str, doc: &'static str, default: Option<Self>) -> Vec<Field> {
        let default = default.map(|default| default.write());
        vec![Field { key, doc, default, schema: Self::schema() }]
    }
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Param for $type {
            fn read(node: &Node, _explicit: bool) -> Result<Self, Wrong> {
                let Value::Int(value) = node.value else { return Err(node.expected("a number")) };
                Self::try_from(value).map_err(|_too_large| {
                    Wrong::new(node.at, format!("{value} is above {}", Self::MAX))
                })
            }
            fn write(&self) -> Value {
                Value::Int(u64::from(*self))
            }
            fn schema() -> Schema {
                Schema::Int { max: u64::from(Self::MAX) }
            }
        }
    )*};
}

number!(u16, u32, u64);

impl Param for bool {
    fn read(node: &Node, _explicit: bool) -> Result<Self, Wrong> {
        match node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(node.expected("a boolean")),
        }
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }

    fn schema() -> Schema {
        Schema::Bool
    }
}

impl Param for String {
    fn read(node: &Node, _explicit: bool) -> Result<Self, Wrong> {
        let text = node.text()?;
        if text.len() > TEXT_BYTES_MAX {
            let reason = format!("the text is longer than {TEXT_BYTES_MAX} bytes");
            return Err(Wrong::new(node.at, reason));
        }
        Ok(text.into())
    }

    fn write(&self) -> Value {
        Value::Text(self.clone())
    }

    fn schema() -> Schema {
        Schema::Text
    }
}

impl<T: Param> Param for Option<T> {
    fn read(node: &Node, explicit: bool) -> Result<Self, Wrong> {
        match node.value {
            Value::Nothing => Ok(None),
            _ => T::read(node, explicit).map(Some),
        }
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, T::write)
    }

    fn schema() -> Schema {
        T::schema()
    }
}

impl<T: Param> Param for Vec<T> {
    fn read(node: &Node, explicit: bool) -> Result<Self, Wrong> {
        let items = node.list()?;
        if items.len() > LIST_MAX {
            return Err(Wrong::new(node.at, format!("more than {LIST_MAX} entries")));
        }
        items.iter().map(|item| T::read(item, explicit)).collect()
    }

    fn write(&self) -> Value {
        Value::List(self.iter().map(|item| Node::new(item.write())).collect())
    }

    fn schema() -> Schema {
        Schema::List(Box::new(T::schema()))
    }
}

/// A share in thousandths, from 0 to 1000.
pub(crate) fn short(per_mille: u16, fields: &Fields<'_>, key: &str) -> Result<(), Wrong> {
    if per_mille > 1000 {
        return Err(Wrong::new(fields.at(key), format!("{key} is 0 to 1000")));
    }
    Ok(())
}
