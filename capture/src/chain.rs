//! The Responses API over a WebSocket: a message asks for an answer with the new items alone and
//! names the response that it goes on from. What the model then sees is put together here, along
//! the chain of responses. No sockets, no recorder.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// What the items of one connection's chain may add up to, in bytes. Beyond it nothing is
/// remembered any more, and what goes on from there is no longer resolved.
const CHAIN_BYTES_MAX: usize = 256 << 20;
/// Responses that are remembered on one connection.
const RESPONSES_MAX: usize = 1 << 16;

/// The messages up to a response, as links that share what they have in common.
#[derive(Debug)]
struct Link {
    before: Option<Arc<Self>>,
    /// Items of one message or of one answer, with commas between them.
    items: Box<str>,
}

/// Responses of one connection.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    responses: HashMap<String, Option<Arc<Link>>>,
    bytes: usize,
}

/// A message that asks for an answer.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The request as it would be over HTTP: all items, and none of the socket's own members.
    pub(crate) body: Vec<u8>,
    /// The response that it names to go on from.
    pub(crate) previous: Option<String>,
    /// The chain was known, so that the body has all that the model sees.
    pub(crate) is_whole: bool,
    /// It asks for no answer: it only brings the items up (`generate: false`).
    pub(crate) is_warm_up: bool,
    link: Option<Arc<Link>>,
}

/// What a message from the model's side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// An answer goes on.
    More,
    /// An answer is over.
    Last,
}

/// Members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        from.deserialize_map(InOrder).map(Self)
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow, default)]
    output: Vec<&'a RawValue>,
}

impl Chain {
    /// Reads a message of the client; `None` where it asks for nothing.
    pub(crate) fn ask(&self, message: &str) -> Option<Ask> {
        let Members(members) = serde_json::from_str(message).ok()?;
        let named = |wanted: &str| {
            members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.get())
        };
        if named("type") != Some("\"response.create\"") {
            return None;
        }
        let previous: Option<String> =
            named("previous_response_id").and_then(|id| serde_json::from_str(id).ok());
        let known = previous.as_ref().map(|id| self.responses.get(id));
        let (before, is_whole) = match known {
            None => (None, true),
            Some(Some(link)) => (link.clone(), true),
            Some(None) => (None, false),
        };
        let own = items(named("input").unwrap_or("[]"));
        let link = link(before, own.into());
        let mut body = String::from("{");
        for (name, value) in &members {
            // What the model sees of an unknown chain is not known, so that its name stays.
            let of_the_socket = matches!(name.as_str(), "type" | "generate")
                || (name == "previous_response_id" && is_whole);
            if of_the_socket {
                continue;
            }
            if body.len() > 1 {
                body.push(',');
            }
            body.push_str(&serde_json::Value::from(name.as_str()).to_string());
            body.push(':');
            if name == "input" && previous.is_some() && is_whole {
                body.push('[');
                all(link.as_ref(), &mut body);
                body.push(']');
            } else {
                body.push_str(value.get());
            }
        }
        body.push('}');
        let is_warm_up = named("generate") == Some("false");
        Some(Ask { body: body.into_bytes(), previous, is_whole, is_warm_up, link })
    }

    /// Remembers an answer, message by message; `done` collects its items.
    pub(crate) fn told(&mut self, ask: &Ask, message: &str, done: &mut Vec<String>) -> Told {
        let Ok(event) = serde_json::from_str::<Event<'_>>(message) else { return Told::More };
        match (event.kind.as_str(), event.item, event.response) {
            ("response.output_item.done", Some(item), _) => done.push(item.get().to_owned()),
            ("response.completed" | "response.incomplete", _, Some(response)) => {
                self.completed(ask, response.get(), done);
                return Told::Last;
            }
            ("response.failed" | "error", ..) => return Told::Last,
            _ => {}
        }
        Told::More
    }

    fn completed(&mut self, ask: &Ask, response: &str, done: &mut Vec<String>) {
        let Ok(response) = serde_json::from_str::<Response<'_>>(response) else { return };
        let Some(id) = response.id else { return };
        let output: Vec<&str> = if response.output.is_empty() {
            done.iter().map(String::as_str).collect()
        } else {
            response.output.iter().map(|item| item.get()).collect()
        };
        let output = output.join(",");
        let own = ask.link.as_ref().map_or(0, |link| link.items.len());
        self.bytes += own + output.len();
        let fits = self.bytes <= CHAIN_BYTES_MAX && self.responses.len() < RESPONSES_MAX;
        if fits && ask.is_whole {
            self.responses.insert(id, link(ask.link.clone(), output.into()));
        }
        done.clear();
    }
}

/// A message of an answer as the event that it would be over HTTP.
pub(crate) fn event(message: &str) -> Vec<u8> {
    let mut event = b"data: ".to_vec();
    // A message has no line ends outside its texts, so that it is one line of data.
    event.extend(message.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
    event.extend_from_slice(b"\n\n");
    event
}

fn link(before: Option<Arc<Link>>, items: Box<str>) -> Option<Arc<Link>> {
    if items.is_empty() { before } else { Some(Arc::new(Link { before, items })) }
}

/// The items of an `input`, without the brackets around them.
fn items(input: &str) -> String {
    let inside = input.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside {
        Some(inside) => inside.trim().to_owned(),
        None => format!("{{\"role\":\"user\",\"content\":{input}}}"),
    }
}

fn all(link: Option<&Arc<Link>>, out: &mut String) {
    let mut links = Vec::new();
    let mut at = link;
    while let Some(link) = at {
        links.push(&link.items);
        at = link.before.as_ref();
    }
    for (position, items) in links.into_iter().rev().enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(items);
    }
}

impl Drop for Link {
    /// A chain of any length is let go link by link, not by one call inside the other.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(link) = next {
            next = Arc::into_inner(link).and_then(|mut link| link.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ask: &Ask) -> &str {
        std::str::from_utf8(&ask.body).unwrap()
    }

    #[test]
    fn what_the_model_sees_is_put_together_along_the_chain() {
        let mut chain = Chain::default();
        let first = r#"{"type":"response.create","model":"m","input":[{"a":1}],"generate":false}"#;
        let warm_up = chain.ask(first).unwrap();
        assert!(warm_up.is_warm_up && warm_up.is_whole);
        assert_eq!(body(&warm_up), r#"{"model":"m","input":[{"a":1}]}"#);
        let mut done = Vec::new();
        let told = r#"{"type":"response.completed","response":{"id":"w","output":[]}}"#;
        assert_eq!(chain.told(&warm_up, told, &mut done), Told::Last);
        let second = concat!(
            r#"{"type":"response.create","previous_response_id":"w","#,
            r#""input":[ {"b": 2} ],"tools":[]}"#
        );
        let ask = chain.ask(second).unwrap();
        assert_eq!(body(&ask), r#"{"input":[{"a":1},{"b": 2}],"tools":[]}"#);
        let item = r#"{"type":"response.output_item.done","item":{"c":3}}"#;
        assert_eq!(chain.told(&ask, item, &mut done), Told::More);
        let told = r#"{"type":"response.completed","response":{"id":"r"}}"#;
        assert_eq!(chain.told(&ask, told, &mut done), Told::Last);
        let third = r#"{"type":"response.create","previous_response_id":"r","input":"hi"}"#;
        let ask = chain.ask(third).unwrap();
        let wanted = r#"{"input":[{"a":1},{"b": 2},{"c":3},{"role":"user","content":"hi"}]}"#;
        assert_eq!((body(&ask), ask.is_whole), (wanted, true));
    }

    #[test]
    fn an_unknown_chain_is_said_and_a_chain_of_any_length_ends() {
        let mut chain = Chain::default();
        let unknown = r#"{"type":"response.create","previous_response_id":"x","input":[1]}"#;
        let ask = chain.ask(unknown).unwrap();
        assert!(!ask.is_whole);
        assert_eq!(body(&ask), r#"{"previous_response_id":"x","input":[1]}"#);
        for nothing in ["", "[]", "{}", r#"{"type":"response.cancel"}"#] {
            assert!(chain.ask(nothing).is_none(), "{nothing}");
        }
        let mut ask = chain.ask(r#"{"type":"response.create","input":[0]}"#).unwrap();
        for number in 0..50_000_u32 {
            let told = format!(r#"{{"type":"response.completed","response":{{"id":"{number}"}}}}"#);
            chain.told(&ask, &told, &mut vec!["1".to_owned()]);
            let next = format!(
                r#"{{"type":"response.create","previous_response_id":"{number}","generate":false}}"#
            );
            ask = chain.ask(&next).unwrap();
        }
        assert!(ask.is_whole);
    }
}
