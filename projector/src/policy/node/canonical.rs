//! A tree as canonical bytes: one line per value, in a fixed order, and back.
//!
//! ```text
//! path=123          a number
//! path=true         a boolean
//! path=word         a word of the language
//! path=5:hello      a text, with its length in bytes
//! path=-            nothing
//! path=[2]          a list, whose values follow as path.0, path.1
//! ```
//!
//! A table has no line of its own. A text carries its length, so that no text can look like a
//! line of its own.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::{At, Entry, Node, Value, Wrong};

/// Most parts of a path.
const DEPTH_MAX: usize = 32;

pub(crate) fn to_canonical(entries: &[Entry], out: &mut String) {
    for entry in entries {
        node(&entry.key, &entry.node, out);
    }
}

fn node(path: &str, node: &Node, out: &mut String) {
    let mut line = |value: core::fmt::Arguments<'_>| {
        writeln!(out, "{path}={value}").expect("writing to a string cannot fail");
    };
    match &node.value {
        Value::Int(value) => line(format_args!("{value}")),
        Value::Bool(value) => line(format_args!("{value}")),
        Value::Word(word) => line(format_args!("{word}")),
        Value::Text(text) => line(format_args!("{}:{text}", text.len())),
        Value::Nothing => line(format_args!("-")),
        Value::List(items) => {
            line(format_args!("[{}]", items.len()));
            for (index, item) in items.iter().enumerate() {
                self::node(&format!("{path}.{index}"), item, out);
            }
        }
        Value::Table(entries) => {
            for entry in entries {
                self::node(&format!("{path}.{}", entry.key), &entry.node, out);
            }
        }
    }
}

/// Reads what [`to_canonical`] has written. Places are offsets in `text`.
pub(crate) fn from_canonical(text: &str, start: usize) -> Result<Vec<Entry>, Wrong> {
    let mut root = Vec::new();
    let mut at = start;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let place = At::Text(at);
        let wrong = |reason: &str| Wrong::new(place, reason);
        let (path, rest) = rest.split_once('=').ok_or_else(|| wrong("a line without `=`"))?;
        let (value, length) = value(rest).ok_or_else(|| wrong("a value that cannot be read"))?;
        at += path.len() + 1 + length;
        if text.as_bytes().get(at) != Some(&b'\n') {
            return Err(wrong("a value without a line end"));
        }
        at += 1;
        let keys: Vec<&str> = path.split('.').collect();
        if keys.len() > DEPTH_MAX {
            return Err(wrong("nested too deeply"));
        }
        insert(&mut root, &keys, place, value).map_err(|reason| wrong(&reason))?;
    }
    let root = Node { at: At::Text(start), value: Value::Table(root) };
    let Value::Table(entries) = lists(root)?.value else { return Ok(Vec::new()) };
    Ok(entries)
}

/// A value at the beginning of a text, and its length.
fn value(rest: &str) -> Option<(Value, usize)> {
    let end = rest.find('\n')?;
    let line = rest.get(..end)?;
    if let Some((length, _)) = line.split_once(':') {
        let bytes: usize = length.parse().ok()?;
        let from = length.len() + 1;
        let text = rest.get(from..from.checked_add(bytes)?)?;
        return Some((Value::Text(text.to_owned()), from + bytes));
    }
    let value = match line {
        "" => return None,
        "-" => Value::Nothing,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if line.starts_with('[') => {
            let count: usize = line.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
            // The count stands in until the values of the list are known.
            Value::List(Vec::from([Node::new(Value::Int(count as u64))]))
        }
        _ => match line.parse() {
            Ok(number) => Value::Int(number),
            Err(_word) => Value::Word(line.to_owned()),
        },
    };
    Some((value, end))
}

/// Puts a value where its path says. List items are entries under their index for now.
fn insert(entries: &mut Vec<Entry>, keys: &[&str], at: At, value: Value) -> Result<(), String> {
    let Some((key, rest)) = keys.split_first() else { return Err("an empty path".into()) };
    let found = entries.iter().position(|entry| entry.key == *key);
    if rest.is_empty() {
        if found.is_some() {
            return Err("a line that was there before".into());
        }
        entries.push(Entry { key: (*key).to_owned(), at, node: Node { at, value } });
        return Ok(());
    }
    let index = found.unwrap_or_else(|| {
        let node = Node { at, value: Value::Table(Vec::new()) };
        entries.push(Entry { key: (*key).to_owned(), at, node });
        entries.len() - 1
    });
    let Some(entry) = entries.get_mut(index) else { return Err("a lost line".into()) };
    match &mut entry.node.value {
        Value::Table(inner) => insert(inner, rest, at, value),
        Value::List(items) => {
            if items.len() < 2 {
                items.push(Node { at, value: Value::Table(Vec::new()) });
            }
            match items.last_mut().map(|item| &mut item.value) {
                Some(Value::Table(inner)) => insert(inner, rest, at, value),
                _ => Err("a list that cannot be read".into()),
            }
        }
        _ => Err("a value below a value".into()),
    }
}

/// Turns the entries of lists into lists and checks their counts.
fn lists(node: Node) -> Result<Node, Wrong> {
    let at = node.at;
    let value = match node.value {
        Value::Table(entries) => {
            let entries: Result<Vec<_>, _> = entries
                .into_iter()
                .map(|entry| Ok(Entry { node: lists(entry.node)?, ..entry }))
                .collect();
            Value::Table(entries?)
        }
        Value::List(items) => {
            let mut items = items.into_iter().map(|item| item.value);
            let Some(Value::Int(count)) = items.next() else {
                return Err(Wrong::new(at, "a list without a count"));
            };
            let entries = match items.next() {
                Some(Value::Table(entries)) => entries,
                _ => Vec::new(),
            };
            let numbered =
                entries.iter().enumerate().all(|(index, entry)| entry.key == index.to_string());
            if entries.len() as u64 != count || !numbered {
                return Err(Wrong::new(at, format!("a list that has not {count} values")));
            }
            let nodes: Result<Vec<_>, _> =
                entries.into_iter().map(|entry| lists(entry.node)).collect();
            Value::List(nodes?)
        }
        value => value,
    };
    Ok(Node { at, value })
}
