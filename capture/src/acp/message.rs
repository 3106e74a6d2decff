//! One message: its frame in a log, its JSON-RPC members, and lenient reading of its fields.
//! A field of an unexpected type is a field that is not there.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The client, to the agent.
    ToAgent,
    /// The agent, to the client.
    ToClient,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub fn back(self) -> Self {
        match self {
            Self::ToAgent => Self::ToClient,
            Self::ToClient => Self::ToAgent,
        }
    }
}

/// A JSON object whose members are looked at one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'a>(pub(super) &'a RawValue);

type Map<'a> = std::collections::BTreeMap<std::borrow::Cow<'a, str>, &'a RawValue>;

impl<'a> Members<'a> {
    pub(super) fn of(raw: Option<&'a RawValue>) -> Option<Self> {
        raw.filter(|raw| raw.get().starts_with('{')).map(Self)
    }

    /// The member of this name; of several, the last.
    pub(super) fn get(self, name: &str) -> Option<&'a RawValue> {
        serde_json::from_str::<Map<'a>>(self.0.get()).ok()?.remove(name)
    }

    pub(super) fn object(self, name: &str) -> Option<Self> {
        Self::of(self.get(name))
    }

    pub(super) fn text(self, name: &str) -> Option<String> {
        text(self.get(name)?)
    }

    /// A text that is not empty.
    pub(super) fn name(self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    pub(super) fn number(self, name: &str) -> Option<u64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub(super) fn list(self, name: &str) -> Vec<&'a RawValue> {
        self.get(name).map(list).unwrap_or_default()
    }
}

/// A JSON string's text.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The entries of a JSON list.
pub(super) fn list(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A message with what its log says about it.
#[derive(Debug)]
pub(super) struct Framed<'a> {
    pub(super) direction: Option<Direction>,
    /// Nanoseconds: of the log's own clock, from its beginning or from 1970.
    pub(super) time_ns: Option<u64>,
    pub(super) message: Message<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl Message<'_> {
    pub(super) fn method(&self) -> Option<String> {
        self.method.and_then(text)
    }

    /// True for an answer: it has an id and no method.
    pub(super) fn is_response(&self) -> bool {
        self.id.is_some() && self.method.is_none()
    }
}

/// Names that a log's frame has for the message, its direction and its time.
const MESSAGE: [&str; 4] = ["msg", "message", "payload", "data"];
const DIRECTION: [&str; 2] = ["dir", "direction"];
const TIME: [&str; 3] = ["t", "time", "ts"];

/// Reads a line: a bare message, or one in a frame with direction and time.
pub(super) fn parse(line: &[u8]) -> Option<Framed<'_>> {
    let raw: &RawValue = serde_json::from_slice(line).ok()?;
    let members = Members::of(Some(raw))?;
    let bare = members.get("jsonrpc").is_some() || members.get("method").is_some();
    let inner = if bare { None } else { MESSAGE.iter().find_map(|name| members.object(name)) };
    let message = match inner {
        Some(inner) => serde_json::from_str(inner.0.get()).ok()?,
        None if bare => serde_json::from_str(raw.get()).ok()?,
        None => return None,
    };
    let framed = inner.is_some();
    let field = |names: &[&str]| names.iter().find_map(|name| members.get(name));
    Some(Framed {
        direction: field(&DIRECTION).filter(|_| framed).and_then(|raw| direction(&text(raw)?)),
        time_ns: field(&TIME).filter(|_| framed).and_then(|raw| nanoseconds(raw.get())),
        message,
    })
}

fn direction(word: &str) -> Option<Direction> {
    match word {
        "c2a" | "client_to_agent" | "client->agent" => Some(Direction::ToAgent),
        "a2c" | "agent_to_client" | "agent->client" => Some(Direction::ToClient),
        _ => None,
    }
}

/// The direction that a method has by itself.
pub(super) fn direction_of(method: &str) -> Option<Direction> {
    match method {
        "session/update" | "session/request_permission" => Some(Direction::ToClient),
        "initialize" | "authenticate" => Some(Direction::ToAgent),
        _ if method.starts_with("session/") => Some(Direction::ToAgent),
        _ if method.starts_with("fs/") || method.starts_with("terminal/") => {
            Some(Direction::ToClient)
        }
        _ => None,
    }
}

/// A decimal number of seconds as nanoseconds; anything else is no time.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let seconds: u64 = whole.parse().ok()?;
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
    seconds.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_decimal_seconds() {
        assert_eq!(nanoseconds("4.252"), Some(4_252_000_000));
        assert_eq!(nanoseconds("0"), Some(0));
        assert_eq!(nanoseconds("1e3"), None);
        assert_eq!(nanoseconds("-1"), None);
        assert_eq!(nanoseconds("99999999999999999999"), None);
    }

    #[test]
    fn lines_of_any_shape_are_read_or_are_no_message() {
        let bare = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(parse(bare).unwrap().message.is_response());
        let framed = br#"{"t":1.5,"dir":"a2c","msg":{"jsonrpc":"2.0","method":"x"}}"#;
        let framed = parse(framed).unwrap();
        assert_eq!(framed.direction, Some(Direction::ToClient));
        assert_eq!(framed.time_ns, Some(1_500_000_000));
        for line in ["", "[]", "7", "{", "{}", "{\"msg\":7}", "\u{fffd}"] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
        }
    }
}
