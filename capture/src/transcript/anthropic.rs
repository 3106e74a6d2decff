//! Messages, answers and blocks in the form of Anthropic's Messages: the form of the programs that
//! speak it, and the common one for formats that have none of their own.

use super::json::{self, Json};

/// A message: who speaks, and its content as JSON.
pub(crate) fn message(role: &str, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 32);
    out.extend_from_slice(b"{\"role\":\"");
    out.extend_from_slice(role.as_bytes());
    out.extend_from_slice(b"\",\"content\":");
    out.extend_from_slice(content);
    out.push(b'}');
    out
}

/// A message that is one text.
pub(crate) fn text_message(role: &str, text: &str) -> Vec<u8> {
    message(role, &json::quoted(text))
}

/// Values as a JSON list.
pub(crate) fn list<B: AsRef<[u8]>>(values: &[B]) -> Vec<u8> {
    let bytes: usize = values.iter().map(|value| value.as_ref().len() + 1).sum();
    let mut out = Vec::with_capacity(bytes + 2);
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.as_ref());
    }
    out.push(b']');
    out
}

/// An object of members whose values are JSON.
pub(crate) fn object(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json::write_text(name, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

/// A block of text.
pub(crate) fn text_block(text: &str) -> Vec<u8> {
    object(&[("type", b"\"text\""), ("text", &json::quoted(text))])
}

/// A block of thought, without the signature that a provider would want back.
pub(crate) fn thinking_block(text: &str) -> Vec<u8> {
    object(&[("type", b"\"thinking\""), ("thinking", &json::quoted(text))])
}

/// A call; `arguments` is the JSON of an object, or of whatever the model said instead.
pub(crate) fn call_block(id: &str, name: &str, arguments: &[u8]) -> Vec<u8> {
    object(&[
        ("type", b"\"tool_use\""),
        ("id", &json::quoted(id)),
        ("name", &json::quoted(name)),
        ("input", arguments),
    ])
}

/// The JSON of a call's arguments where a format has them as a text: that text where it is JSON,
/// else the text itself.
pub(crate) fn arguments(text: &str) -> Vec<u8> {
    match json::read(text.as_bytes()) {
        Ok(read) if !read.repaired && read.end == text.len() => text.as_bytes().to_vec(),
        _ => object(&[("raw", &json::quoted(text))]),
    }
}

/// A result; `content` is JSON: a text or a list of blocks.
pub(crate) fn result_block(call_id: &str, content: &[u8], is_error: bool) -> Vec<u8> {
    let id = json::quoted(call_id);
    let mut members: Vec<(&str, &[u8])> =
        vec![("type", b"\"tool_result\""), ("tool_use_id", &id), ("content", content)];
    if is_error {
        members.push(("is_error", b"true"));
    }
    object(&members)
}

/// A message that is the result of one call.
pub(crate) fn result_message(call_id: &str, text: &str, is_error: bool) -> Vec<u8> {
    message("user", &list(&[result_block(call_id, &json::quoted(text), is_error)]))
}

/// An answer as a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    /// Its blocks, as JSON.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// Why it stopped, in the provider's word.
    pub(crate) stop: Option<String>,
    /// The JSON of its usage.
    pub(crate) usage: Option<Vec<u8>>,
}

impl Answer {
    /// The document.
    pub(crate) fn document(&self) -> Vec<u8> {
        let text = |text: &Option<String>| text.as_deref().map(json::quoted);
        let (id, model, stop) = (text(&self.id), text(&self.model), text(&self.stop));
        let content = list(&self.blocks);
        let mut members: Vec<(&str, &[u8])> = Vec::new();
        if let Some(id) = &id {
            members.push(("id", id));
        }
        members.push(("type", b"\"message\""));
        members.push(("role", b"\"assistant\""));
        if let Some(model) = &model {
            members.push(("model", model));
        }
        members.push(("content", &content));
        members.push(("stop_reason", stop.as_deref().unwrap_or(b"null")));
        if let Some(usage) = &self.usage {
            members.push(("usage", usage));
        }
        object(&members)
    }

    /// The message that sends it back.
    pub(crate) fn message(&self) -> Vec<u8> {
        message("assistant", &list(&self.blocks))
    }
}

/// The JSON of a usage in these words, from counts that may be missing.
pub(crate) fn usage(counts: &[(&str, Option<u64>)]) -> Option<Vec<u8>> {
    let told: Vec<(&str, String)> =
        counts.iter().filter_map(|(name, count)| Some((*name, (*count)?.to_string()))).collect();
    let members: Vec<(&str, &[u8])> =
        told.iter().map(|(name, count)| (*name, count.as_bytes())).collect();
    (!members.is_empty()).then(|| object(&members))
}

/// The texts of a content: of a text itself, or of its blocks.
pub(crate) fn texts(content: &Json<'_>) -> String {
    if let Some(text) = content.text() {
        return text.to_owned();
    }
    let texts = content.list().iter().filter_map(|block| block.str("text"));
    texts.collect::<Vec<_>>().join("\n")
}
