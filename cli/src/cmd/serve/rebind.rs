//! Texts of the recorded machine, mostly paths, and what stands for them on this one: a request
//! is taken back to the recorded machine before it is compared, an answer is brought to this one
//! before it is given.
//!
//! In a stream a path may be split over events. So the pieces of one text are put together first;
//! where that changes something, the first piece gets the whole text and the others become empty.

use std::collections::BTreeMap;

use serde_json::Value;

/// Pairs of texts, long ones first, so that what contains another one wins.
#[derive(Clone, Debug, Default)]
pub(super) struct Rebind {
    /// Recorded text, and the text here.
    pairs: Vec<(String, String)>,
}

/// Where the pieces of a text stand in an event, and which text they are pieces of.
type Piece = (String, &'static str);

impl Rebind {
    pub(super) fn new(pairs: impl Iterator<Item = (String, String)>) -> Self {
        let mut pairs: Vec<_> =
            pairs.filter(|(recorded, here)| recorded != here && !recorded.is_empty()).collect();
        pairs.sort_by_key(|(recorded, here)| std::cmp::Reverse(recorded.len().max(here.len())));
        Self { pairs }
    }

    /// A body of a client here, as the recorded one would have sent it.
    pub(super) fn request(&self, body: Vec<u8>) -> Vec<u8> {
        if self.pairs.is_empty() {
            return body;
        }
        let Ok(mut text) = String::from_utf8(body.clone()) else { return body };
        for (recorded, here) in &self.pairs {
            text = replaced(&text, &escaped(here), &escaped(recorded));
        }
        text.into_bytes()
    }

    /// A recorded answer, as a client here would have got it.
    pub(super) fn answer(&self, body: Vec<u8>) -> Vec<u8> {
        if self.pairs.is_empty() {
            return body;
        }
        let Ok(text) = String::from_utf8(body.clone()) else { return body };
        if text.trim_start().starts_with(['{', '[']) {
            return self.here(&text, 1).into_bytes();
        }
        self.events(&text).into_bytes()
    }

    /// A text that is JSON, `depth` strings deep (the arguments of a call are JSON in a string).
    fn here(&self, text: &str, depth: usize) -> String {
        let mut text = text.to_owned();
        for (recorded, here) in &self.pairs {
            let (mut from, mut to) = (recorded.clone(), here.clone());
            for _level in 0..depth {
                (from, to) = (escaped(&from), escaped(&to));
            }
            text = replaced(&text, &from, &to);
        }
        text
    }

    fn events(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let mut texts: BTreeMap<Piece, Vec<(usize, Value)>> = BTreeMap::new();
        for (index, line) in lines.iter_mut().enumerate() {
            let Some(data) = line.strip_prefix("data:") else { continue };
            match serde_json::from_str::<Value>(data.trim()).ok().and_then(|event| {
                let piece = piece(&event)?;
                Some((piece, event))
            }) {
                Some((piece, event)) => texts.entry(piece).or_default().push((index, event)),
                None => *line = self.here(line, 1),
            }
        }
        for ((_name, pointer), pieces) in texts {
            let of = |event: &Value| event.pointer(pointer).and_then(Value::as_str).map(str::len);
            let whole: String =
                pieces.iter().filter_map(|(_, event)| event.pointer(pointer)?.as_str()).collect();
            // Arguments are JSON texts, in which a path is escaped once.
            let here = self.here(&whole, usize::from(whole.starts_with('{')));
            if here == whole {
                continue;
            }
            let mut here = Some(here);
            for (index, mut event) in pieces {
                if of(&event).is_none_or(|length| length == 0) {
                    continue;
                }
                if let (Some(text), Some(line)) = (event.pointer_mut(pointer), lines.get_mut(index))
                {
                    *text = Value::String(here.take().unwrap_or_default());
                    let end = if line.ends_with('\r') { "\r" } else { "" };
                    *line = format!("data: {event}{end}");
                }
            }
        }
        lines.join("\n")
    }
}

/// The text that an event brings a piece of.
fn piece(event: &Value) -> Option<Piece> {
    let word = |pointer: &str| event.pointer(pointer).map(ToString::to_string).unwrap_or_default();
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    let pointers: &[&'static str] = match kind {
        "content_block_delta" => &["/delta/partial_json", "/delta/text", "/delta/thinking"],
        _ if kind.starts_with("response.") && kind.split('.').next_back() == Some("delta") => {
            &["/delta"]
        }
        "" => &["/choices/0/delta/tool_calls/0/function/arguments", "/choices/0/delta/content"],
        _ => &[],
    };
    let pointer = pointers.iter().find(|pointer| {
        event.pointer(pointer).is_some_and(|text| text.as_str().is_some_and(|it| !it.is_empty()))
    })?;
    let place = ["/index", "/item_id", "/output_index", "/choices/0/delta/tool_calls/0/index"];
    Some((kind.to_owned() + &place.map(word).join(" "), pointer))
}

/// A text as it stands in a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// Replaces a text where it stands as a whole: `/srv/project` is no beginning of `/srv/projects`.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (rest.get(..at), rest.get(at + from.len()..));
        let (Some(before), Some(behind)) = (before, behind) else { break };
        let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        out.push_str(before);
        out.push_str(if goes_on { from } else { to });
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebind() -> Rebind {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        Rebind::new([pair("/srv/project", "/tmp/a b/\"q\"")].into_iter())
    }

    #[test]
    fn a_request_is_taken_back_to_the_recorded_machine() {
        let body = br#"{"a":"in /tmp/a b/\"q\"/x and /tmp/a b/\"q\"x"}"#.to_vec();
        let back = String::from_utf8(rebind().request(body)).unwrap();
        assert_eq!(back, r#"{"a":"in /srv/project/x and /tmp/a b/\"q\"x"}"#);
    }

    #[test]
    fn a_path_that_is_split_over_events_is_brought_here() {
        let event = |piece: &str| {
            let delta = serde_json::json!({ "type": "input_json_delta", "partial_json": piece });
            let event =
                serde_json::json!({ "type": "content_block_delta", "index": 1, "delta": delta });
            format!("event: content_block_delta\ndata: {event}\n\n")
        };
        let stream = [event(r#"{"path":"/srv/pro"#), event(r#"ject/x"}"#)].concat();
        let here = String::from_utf8(rebind().answer(stream.into_bytes())).unwrap();
        let pieces: String = here
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
            .map(|event| event["delta"]["partial_json"].as_str().unwrap().to_owned())
            .collect();
        let arguments: Value = serde_json::from_str(&pieces).unwrap();
        assert_eq!(arguments["path"], "/tmp/a b/\"q\"/x");
        assert_eq!(here.matches("event: ").count(), 2);
    }

    #[test]
    fn an_answer_without_the_text_keeps_its_bytes() {
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"x /srv/projects\"}}]}\r\n\r\n";
        assert_eq!(rebind().answer(stream.as_bytes().to_vec()), stream.as_bytes());
    }
}
