//! What the policy language looks like, as data: for the JSON Schema and the reference.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Value;

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// A number from 0.
    Int {
        /// The largest.
        max: u64,
    },
    /// `true` or `false`.
    Bool,
    /// Any text up to the limit for texts.
    Text,
    /// One of these words, each with what it means.
    Words(Vec<(&'static str, &'static str)>),
    /// Several values of one form.
    List(Box<Self>),
    /// Named values.
    Table {
        /// What it is.
        doc: &'static str,
        /// Its fields.
        fields: Vec<Field>,
    },
    /// One of several forms.
    Either(Vec<Self>),
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub key: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// What holds where it is left out; `None`: it has to be there.
    pub default: Option<Value>,
    /// Its form.
    pub schema: Schema,
}
