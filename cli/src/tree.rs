//! A small tree of named values: what an event says, as JSON or as indented text.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::text;

/// A value. Members keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(&'static str, Self)>),
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Node {
    fn from(number: u32) -> Self {
        Self::Number(u64::from(number))
    }
}

impl From<u16> for Node {
    fn from(number: u16) -> Self {
        Self::Number(u64::from(number))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Node {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Node {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl Node {
    /// The value on one line, where it is no list and no map.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self {
            Self::Null => Some("-".to_owned()),
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) if !text.contains('\n') => Some(text::one_line(text).into_owned()),
            Self::List(values) if values.is_empty() => Some("none".to_owned()),
            Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Writes `name: value` lines; what does not fit a line is indented below its name.
    pub(crate) fn write(&self, name: &str, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        if let Some(line) = self.scalar() {
            out.push_str(&[&indent, name, ": ", &line, "\n"].concat());
            return;
        }
        out.push_str(&[&indent, name, ":\n"].concat());
        match self {
            Self::Map(members) => {
                for (name, value) in members {
                    value.write(name, depth + 1, out);
                }
            }
            Self::List(values) => {
                for (index, value) in values.iter().enumerate() {
                    value.write(&format!("[{index}]"), depth + 1, out);
                }
            }
            Self::Text(content) => {
                for line in text::lines(content.as_bytes()).lines() {
                    out.push_str(&[&indent, "  | ", line, "\n"].concat());
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_reads_as_text_and_as_json() {
        let node = Node::Map(vec![
            ("kind", "tool_returned".into()),
            ("call", 3_u64.into()),
            ("gone", Node::Null),
            ("texts", vec!["a", "b\n\u{1b}[2J"].into()),
        ]);
        let mut out = String::new();
        node.write("event", 0, &mut out);
        assert_eq!(
            out,
            "event:\n  kind: tool_returned\n  call: 3\n  gone: -\n  texts:\n    [0]: a\n    \
             [1]:\n      | b\n      | ^[[2J\n"
        );
        let json = serde_json::to_string(&node).unwrap();
        assert_eq!(
            json,
            r#"{"kind":"tool_returned","call":3,"gone":null,"texts":["a","b\n\u001b[2J"]}"#
        );
    }
}
