//! A policy as a tree, between its text forms and its types: what TOML, canonical bytes and
//! reports have in common. Every node knows where it stands.

mod canonical;
mod param;
mod record;
mod toml;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use canonical::{from_canonical, to_canonical};
pub(crate) use param::{Param, short};
pub(crate) use record::{record, words};
pub(crate) use toml::{from_toml, place};

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Offset in the text that was given.
    Text(usize),
    /// In a policy that the text is based on.
    Base,
    /// In the value of a parameter that was set beside the text; its index.
    Set(usize),
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: At,
    pub(crate) reason: String,
}

impl Wrong {
    pub(crate) fn new(at: At, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// A value in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Int(u64),
    /// A truth value.
    Bool(bool),
    /// A text of the user: a name, a marker.
    Text(String),
    /// A word of the language.
    Word(String),
    /// Several values.
    List(Vec<Node>),
    /// Named values.
    Table(Vec<Entry>),
    /// A parameter that is left out, said explicitly.
    Nothing,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) key: String,
    pub(crate) at: At,
    pub(crate) node: Node,
}

impl Node {
    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn new(value: Value) -> Self {
        Self { at: At::Text(0), value }
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Int(_) => "a number",
            Value::Bool(_) => "a boolean",
            Value::Text(_) => "a text",
            Value::Word(_) => "a word",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Nothing => "nothing",
        }
    }

    pub(crate) fn expected(&self, what: &str) -> Wrong {
        Wrong::new(self.at, format!("expected {what}, found {}", self.kind()))
    }

    pub(crate) fn entries(&self) -> Result<&[Entry], Wrong> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.expected("a table")),
        }
    }

    pub(crate) fn list(&self) -> Result<&[Self], Wrong> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.expected("a list")),
        }
    }

    /// A word or a text: TOML cannot tell them apart.
    pub(crate) fn text(&self) -> Result<&str, Wrong> {
        match &self.value {
            Value::Text(text) | Value::Word(text) => Ok(text),
            _ => Err(self.expected("a text")),
        }
    }
}

impl Entry {
    /// Its name.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its value.
    pub fn value(&self) -> &Value {
        &self.node.value
    }

    pub(crate) fn new(key: &str, value: Value) -> Self {
        Self { key: key.to_owned(), at: At::Text(0), node: Node::new(value) }
    }
}

/// Lays the entries of `top` over those of `under`.
pub(crate) fn overlay(under: &mut Vec<Entry>, top: Vec<Entry>) {
    for entry in top {
        match under.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => under.push(entry),
        }
    }
}

/// The entries of a table while they are read.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    /// Where the table stands.
    pub(crate) at: At,
    /// Every field has to be there, those with a default too.
    pub(crate) explicit: bool,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    pub(crate) fn new(node: &'n Node, explicit: bool) -> Result<Self, Wrong> {
        Ok(Self { at: node.at, explicit, entries: node.entries()? })
    }

    /// The field of this name, if it is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Where a field stands, or else the table.
    pub(crate) fn at(&self, key: &str) -> At {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.at, |entry| entry.node.at)
    }

    pub(crate) fn missing(&self, key: &str) -> Wrong {
        Wrong::new(self.at, format!("missing field `{key}`"))
    }

    /// Refuses the first field that is not among the known ones.
    pub(crate) fn only(&self, what: &str, known: &[&str]) -> Result<(), Wrong> {
        let foreign = self.entries.iter().find(|entry| !known.contains(&entry.key.as_str()));
        let Some(entry) = foreign else { return Ok(()) };
        let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
        let known = known.join(", ");
        let key = &entry.key;
        let reason = format!("unknown field `{key}` in {what}, expected one of {known}");
        Err(Wrong::new(entry.at, reason))
    }
}
