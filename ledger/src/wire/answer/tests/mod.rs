//! Goal: an answer reduces to the same items whatever its framing, and a cut one to the
//! beginning of them. Method: small hand-made answers per dialect, each cut at every byte
//! and damaged at every byte.

mod anthropic;
mod framing;
mod gemini;
mod openai_chat;
mod openai_responses;
mod sse;

use super::*;

const STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

/// A stream of `data` events; with `event` lines where the dialect has them.
fn stream(events: &[&str]) -> String {
    let mut body = String::new();
    for event in events {
        let kind = event.strip_prefix("{\"type\":\"").and_then(|rest| rest.split_once('"'));
        if let Some((kind, _)) = kind {
            body.extend(["event: ", kind, "\n"]);
        }
        body.extend(["data: ", event, "\n\n"]);
    }
    body
}

fn text(text: &str) -> AnswerItem {
    AnswerItem::Text { text: text.to_owned(), item_id: None }
}

fn thinking(text: &str, signature: Option<&str>) -> AnswerItem {
    let signature = signature.map(str::to_owned);
    AnswerItem::Thinking { text: text.to_owned(), signature, item_id: None }
}

fn call(id: &str, name: &str, arguments: &str) -> AnswerItem {
    AnswerItem::ToolCall {
        call_id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        item_id: None,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        complete: true,
    }
}

fn opaque(kind: &str, raw: &str) -> AnswerItem {
    AnswerItem::Opaque { kind: kind.to_owned(), raw: raw.as_bytes().to_vec() }
}

fn incomplete(item: AnswerItem) -> AnswerItem {
    match item {
        AnswerItem::ToolCall { call_id, item_id, name, arguments, .. } => {
            AnswerItem::ToolCall { call_id, item_id, name, arguments, complete: false }
        }
        other => other,
    }
}

/// Whether an item of a cut answer is the beginning of the whole answer's item.
fn begins(part: &AnswerItem, whole: &AnswerItem) -> bool {
    match (part, whole) {
        (AnswerItem::Text { text: a, .. }, AnswerItem::Text { text: b, .. })
        | (AnswerItem::Thinking { text: a, .. }, AnswerItem::Thinking { text: b, .. }) => {
            b.starts_with(a.as_str())
        }
        (
            AnswerItem::ToolCall { name: a, arguments: x, complete: false, .. },
            AnswerItem::ToolCall { name: b, arguments: y, .. },
        ) => b.starts_with(a.as_str()) && y.starts_with(x.as_str()),
        // Encrypted reasoning is seen in the clear until its item is done.
        (AnswerItem::Thinking { .. }, AnswerItem::Opaque { kind, .. }) => kind == "reasoning",
        _ => part == whole,
    }
}

/// Reduces every prefix of a whole stream: no panic, items that begin the whole answer's
/// items, nothing miscounted, and an end that only moves forward.
fn cut_everywhere(dialect: Dialect, body: &str) -> Answer {
    let whole = reduce(dialect, STREAM, body.as_bytes());
    assert_eq!(whole.end, End::Terminal);
    assert!(whole.streamed);
    let rank = |end| match end {
        End::NotStarted => 0,
        End::Cut => 1,
        End::Terminal => 2,
    };
    let mut reached = 0;
    for cut in 0..body.len() {
        let part = reduce(dialect, STREAM, &body.as_bytes()[..cut]);
        assert!(rank(part.end) >= reached, "the end moves back at byte {cut}");
        reached = rank(part.end);
        assert!(part.items.len() <= whole.items.len(), "more items at byte {cut}");
        for (item, full) in part.items.iter().zip(&whole.items) {
            assert!(begins(item, full), "at byte {cut}: {item:?} does not begin {full:?}");
        }
        if part.end != End::Terminal {
            assert!(part.items.iter().rev().skip(1).all(|item| whole.items.contains(item)
                || matches!(item, AnswerItem::ToolCall { complete: false, .. })));
        }
    }
    whole
}

/// Damages every byte in several ways; the only promise is that reduction ends.
fn damage_everywhere(dialect: Dialect, body: &str) {
    let mut bytes = body.as_bytes().to_vec();
    for at in 0..bytes.len() {
        let was = bytes[at];
        for damage in [0x00, b'"', b'\\', b'{', b']', b'\n', 0xff, was ^ 1] {
            bytes[at] = damage;
            let answer = reduce(dialect, STREAM, &bytes);
            assert!(answer.items.len() <= bytes.len());
        }
        bytes[at] = was;
    }
}
