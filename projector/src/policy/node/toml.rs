//! A tree from TOML, with the place of every value.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{At, Entry, Node, Value, Wrong};
use crate::policy::PolicyError;

/// Tables and lists inside each other.
const DEPTH_MAX: usize = 16;

/// Reads the tree of a text; `at` makes a place from an offset.
pub(crate) fn from_toml(text: &str, at: &dyn Fn(usize) -> At) -> Result<Vec<Entry>, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        Wrong::new(at(start), error.message())
    })?;
    entries(table.get_ref(), at, DEPTH_MAX)
}

fn entries(
    table: &DeTable<'_>,
    at: &dyn Fn(usize) -> At,
    depth: usize,
) -> Result<Vec<Entry>, Wrong> {
    let mut out = Vec::with_capacity(table.len());
    for (key, value) in table {
        let node = node(value, at, depth)?;
        let place = at(key.span().start);
        out.push(Entry { key: key.get_ref().clone().into_owned(), at: place, node });
    }
    // The reader sorts by name; the first mistake is the one that stands first.
    out.sort_by_key(|entry| match entry.at {
        At::Text(offset) => offset,
        At::Base | At::Set(_) => 0,
    });
    Ok(out)
}

fn node(
    value: &Spanned<DeValue<'_>>,
    at: &dyn Fn(usize) -> At,
    depth: usize,
) -> Result<Node, Wrong> {
    let place = at(value.span().start);
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Wrong::new(place, "nested too deeply"));
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(value) => {
            let number = u64::from_str_radix(value.as_str(), value.radix());
            let reason = || format!("{value} is no number from 0 to {}", u64::MAX);
            Value::Int(number.map_err(|_invalid| Wrong::new(place, reason()))?)
        }
        DeValue::Float(_) => {
            let reason = "policies have no fractions; shares are in thousandths (`..._per_mille`)";
            return Err(Wrong::new(place, reason));
        }
        DeValue::Datetime(_) => return Err(Wrong::new(place, "policies have no dates")),
        DeValue::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| node(item, at, depth)).collect();
            Value::List(items?)
        }
        DeValue::Table(table) => Value::Table(entries(table, at, depth)?),
    };
    Ok(Node { at: place, value })
}

/// Turns a place into line and column.
pub(crate) fn place(text: &str, wrong: Wrong) -> PolicyError {
    let (offset, reason) = match wrong.at {
        At::Text(offset) => (offset, wrong.reason),
        At::Base => (0, format!("in the policy it is based on: {}", wrong.reason)),
        At::Set(index) => (0, format!("in parameter {} that was set: {}", index + 1, wrong.reason)),
    };
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    PolicyError { line, column, reason }
}

impl Wrong {
    pub(crate) fn unknown_word(at: At, found: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
        let known = known.join(", ");
        Self::new(at, format!("unknown word `{found}`, expected one of {known}").to_owned())
    }
}
