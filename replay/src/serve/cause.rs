//! What kind of thing it is that differs: the word that a reader of a drift looks for first.

use ledger::wire::outline::outline;
use ledger::wire::template::{cut, role};
use ledger::wire::{Dialect, Escape, PartKind, Role, SlotKind};

use crate::twin::Difference;

/// Bytes at the beginning and at the end of an output that must be the same for it to be taken
/// for the same output, cut elsewhere.
const CUT_SAME_BYTES_MIN: usize = 256;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// What the client tells the model about itself and its task.
    SystemPrompt,
    /// The tools that are offered.
    ToolSchemas,
    /// The model, its settings, or what else stands beside the messages.
    Options,
    /// How many messages there are.
    History,
    /// What the user said, or what the client said in the user's name.
    UserMessage,
    /// What the model said, as the client sends it back.
    ModelMessage,
    /// What a tool gave.
    ToolOutput,
    /// What a tool gave begins and ends the same, and the middle was left out elsewhere.
    ToolOutputCut,
}

impl Cause {
    /// A short phrase.
    pub fn words(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system prompt",
            Self::ToolSchemas => "tool schemas",
            Self::Options => "options of the request",
            Self::History => "number of messages",
            Self::UserMessage => "user message",
            Self::ModelMessage => "the model's own message",
            Self::ToolOutput => "tool output",
            Self::ToolOutputCut => "tool output, cut at another place",
        }
    }

    /// Names what differs between a recorded body and the one that came.
    pub(super) fn of(dialect: Dialect, recorded: &[u8], came: &[u8], at: &Difference) -> Self {
        let mut steps = at.pointer.split('/').skip(1);
        let (member, index) = (steps.next().unwrap_or_default(), steps.next());
        match member {
            "tools" | "tool_choice" | "toolConfig" | "tool_config" => return Self::ToolSchemas,
            "system" | "instructions" | "systemInstruction" | "system_instruction" => {
                return Self::SystemPrompt;
            }
            "messages" | "input" | "contents" => {}
            _ => return Self::Options,
        }
        let Some(index) = index.and_then(|index| index.parse().ok()) else { return Self::History };
        let (own, other) = (item(dialect, recorded, index), item(dialect, came, index));
        let (Some(own), Some(other)) = (own, other) else { return Self::History };
        match (output(dialect, own), output(dialect, other)) {
            (Some(own), Some(other)) if is_cut_elsewhere(&own, &other, at) => Self::ToolOutputCut,
            (Some(_), Some(_)) => Self::ToolOutput,
            _ => match role(own) {
                Role::System => Self::SystemPrompt,
                Role::Assistant => Self::ModelMessage,
                Role::Tool => Self::ToolOutput,
                _ => Self::UserMessage,
            },
        }
    }
}

fn item(dialect: Dialect, body: &[u8], index: usize) -> Option<&[u8]> {
    let outline = outline(dialect, body).ok()?;
    body.get(outline.items.get(index)?.clone())
}

/// The longest output text of an item, where it holds one.
fn output(dialect: Dialect, item: &[u8]) -> Option<String> {
    let template = cut(dialect, PartKind::Item, item, Escape::default());
    let outputs = template.slots.into_iter().filter(|slot| slot.kind == SlotKind::TOOL_OUTPUT);
    outputs.map(|slot| slot.text.into_owned()).max_by_key(String::len)
}

/// The same beginning and end but for numbers (a marker counts what it stands for), one much
/// longer than the other, and more than something put in.
fn is_cut_elsewhere(own: &str, other: &str, at: &Difference) -> bool {
    let same = |a: &[u8], b: &[u8]| {
        let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (front, back)
    };
    let shorter = own.len().min(other.len());
    let (front, back) = same(own.as_bytes(), other.as_bytes());
    let put_in = front + back >= shorter;
    let (front, back) = same(&without_digits(own), &without_digits(other));
    // Ids and times in the beginning were allowed for when the place was found.
    let front = front.max(at.own_at.min(at.other_at));
    !put_in
        && own.len().abs_diff(other.len()) >= CUT_SAME_BYTES_MIN
        && front >= CUT_SAME_BYTES_MIN
        && back >= CUT_SAME_BYTES_MIN
}

fn without_digits(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !byte.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(dialect: Dialect, recorded: &str, came: &str, pointer: &str) -> Cause {
        let place = CUT_SAME_BYTES_MIN;
        let at =
            Difference { pointer: pointer.to_owned(), what: "", own_at: place, other_at: place };
        Cause::of(dialect, recorded.as_bytes(), came.as_bytes(), &at)
    }

    #[test]
    fn what_differs_is_named_by_where_it_stands() {
        let chat = concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"a"},"#,
            r#"{"role":"user","content":"b"},{"role":"assistant","content":"c"},"#,
            r#"{"role":"tool","tool_call_id":"1","content":"d"}],"#,
            r#""tools":[{"function":{"name":"x"}}]}"#
        );
        for (pointer, wanted) in [
            ("/messages/0/content", Cause::SystemPrompt),
            ("/messages/1/content", Cause::UserMessage),
            ("/messages/2/content", Cause::ModelMessage),
            ("/messages/3/content", Cause::ToolOutput),
            ("/messages/4", Cause::History),
            ("/messages", Cause::History),
            ("/tools/0/function/name", Cause::ToolSchemas),
            ("/model", Cause::Options),
            ("", Cause::Options),
        ] {
            assert_eq!(cause(Dialect::OpenAiChat, chat, chat, pointer), wanted, "{pointer}");
        }
    }

    #[test]
    fn an_output_that_keeps_its_ends_is_one_that_was_cut_elsewhere() {
        let body = |output: &str| {
            let item = r#"{"type":"function_call_output","call_id":"1","output":""#;
            [r#"{"model":"m","input":["#, item, output, r#""}]}"#].concat()
        };
        let (front, back) = ("f".repeat(CUT_SAME_BYTES_MIN), "b".repeat(CUT_SAME_BYTES_MIN));
        let middle = "m".repeat(CUT_SAME_BYTES_MIN);
        let recorded = body(&format!("{front}{middle}1234 cut{back}7{back}"));
        let of =
            |came: &str| cause(Dialect::OpenAiResponses, &recorded, &body(came), "/input/0/output");
        assert_eq!(of(&format!("{front}1738 cut{back}8{back}")), Cause::ToolOutputCut);
        assert_eq!(of(&format!("{front}{middle}1235 cut{back}8{back}")), Cause::ToolOutput);
        // Nothing is left out here: a stretch was put in.
        assert_eq!(of(&format!("{front}{back}7{back}")), Cause::ToolOutput);
        assert_eq!(of("something else"), Cause::ToolOutput);
    }
}
