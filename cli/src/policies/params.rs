//! A policy's parameters as JSON, and what it does in a few words.

mod words;

use projector::Policy;
use projector::policy::{Entry, Value};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

pub(crate) use words::words;

/// The parameters of a policy, named as in its TOML, every one explicit.
#[derive(Clone, Debug)]
pub(crate) struct PolicyParams(Vec<Entry>);

/// The parameters of a policy.
pub(crate) fn params(policy: &Policy) -> PolicyParams {
    PolicyParams(policy.parameters())
}

impl Serialize for PolicyParams {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        table(&self.0, to)
    }
}

fn table<S: Serializer>(entries: &[Entry], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(entries.len()))?;
    for entry in entries {
        // The list of `[[step]]` tables.
        let key = if entry.key() == "step" { "steps" } else { entry.key() };
        map.serialize_entry(key, &Param(entry.value()))?;
    }
    map.end()
}

struct Param<'v>(&'v Value);

impl Serialize for Param<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Int(value) => to.serialize_u64(*value),
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Text(text) | Value::Word(text) => to.serialize_str(text),
            Value::Nothing => to.serialize_none(),
            Value::Table(entries) => table(entries, to),
            Value::List(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Param(item.value()))?;
                }
                list.end()
            }
        }
    }
}
