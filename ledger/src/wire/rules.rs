//! Where the strings that matter stand in an item, per dialect, as data.
//!
//! Sources: the request formats as the recorded clients in fixtures/har send them (November 2026).

use super::{Dialect, Role, SlotKind};

/// One step of a path: a key, any array index, or everything below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(&'static str),
    Any,
    Below,
}

/// What to do with a value at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    /// A string whose meaning depends on who speaks.
    Text,
    /// A string of this kind.
    Kind(SlotKind),
    /// Any JSON value, taken as it stands.
    Json(SlotKind),
    /// `call_id`, which names a call or the call that a result belongs to.
    CallOrResultId,
}

pub(super) type Rule = (&'static [Step], Take);

use Step::{Any, Below, Key};
use Take::{CallOrResultId, Json, Kind, Text};

const ANTHROPIC: &[Rule] = &[
    (&[Key("content")], Text),
    (&[Key("content"), Any, Key("text")], Text),
    (&[Key("content"), Any, Key("thinking")], Kind(SlotKind::THINKING)),
    (&[Key("content"), Any, Key("signature")], Kind(SlotKind::OPAQUE)),
    (&[Key("content"), Any, Key("data")], Kind(SlotKind::OPAQUE)),
    (&[Key("content"), Any, Key("id")], Kind(SlotKind::CALL_ID)),
    (&[Key("content"), Any, Key("name")], Kind(SlotKind::TOOL_NAME)),
    (&[Key("content"), Any, Key("input")], Json(SlotKind::ARGUMENTS)),
    (&[Key("content"), Any, Key("tool_use_id")], Kind(SlotKind::RESULT_CALL_ID)),
    (&[Key("content"), Any, Key("content")], Kind(SlotKind::TOOL_OUTPUT)),
    (&[Key("content"), Any, Key("content"), Any, Key("text")], Kind(SlotKind::TOOL_OUTPUT)),
    (&[Key("content"), Any, Key("source"), Key("data")], Kind(SlotKind::MEDIA)),
];

const CHAT: &[Rule] = &[
    (&[Key("content")], Text),
    (&[Key("content"), Any, Key("text")], Text),
    (&[Key("content"), Any, Key("image_url"), Key("url")], Kind(SlotKind::MEDIA)),
    (&[Key("reasoning_content")], Kind(SlotKind::THINKING)),
    (&[Key("reasoning")], Kind(SlotKind::THINKING)),
    (&[Key("tool_calls"), Any, Key("id")], Kind(SlotKind::CALL_ID)),
    (&[Key("tool_calls"), Any, Key("function"), Key("name")], Kind(SlotKind::TOOL_NAME)),
    (&[Key("tool_calls"), Any, Key("function"), Key("arguments")], Kind(SlotKind::ARGUMENTS)),
    (&[Key("tool_call_id")], Kind(SlotKind::RESULT_CALL_ID)),
    (&[Key("name")], Kind(SlotKind::RESULT_NAME)),
];

const RESPONSES: &[Rule] = &[
    (&[], Text),
    (&[Key("id")], Kind(SlotKind::ITEM_ID)),
    (&[Key("content")], Text),
    (&[Key("content"), Any, Key("text")], Text),
    (&[Key("content"), Any, Key("image_url")], Kind(SlotKind::MEDIA)),
    (&[Key("summary"), Any, Key("text")], Kind(SlotKind::THINKING)),
    (&[Key("encrypted_content")], Kind(SlotKind::OPAQUE)),
    (&[Key("call_id")], CallOrResultId),
    (&[Key("name")], Kind(SlotKind::TOOL_NAME)),
    (&[Key("arguments")], Kind(SlotKind::ARGUMENTS)),
    (&[Key("input")], Kind(SlotKind::ARGUMENTS)),
    (&[Key("output")], Kind(SlotKind::TOOL_OUTPUT)),
    (&[Key("output"), Any, Key("text")], Kind(SlotKind::TOOL_OUTPUT)),
];

const GEMINI: &[Rule] = &[
    (&[Key("parts"), Any, Key("text")], Text),
    (&[Key("parts"), Any, Key("thoughtSignature")], Kind(SlotKind::OPAQUE)),
    (&[Key("parts"), Any, Key("functionCall"), Key("id")], Kind(SlotKind::CALL_ID)),
    (&[Key("parts"), Any, Key("functionCall"), Key("name")], Kind(SlotKind::TOOL_NAME)),
    (&[Key("parts"), Any, Key("functionCall"), Key("args")], Json(SlotKind::ARGUMENTS)),
    (&[Key("parts"), Any, Key("functionResponse"), Key("id")], Kind(SlotKind::RESULT_CALL_ID)),
    (&[Key("parts"), Any, Key("functionResponse"), Key("name")], Kind(SlotKind::RESULT_NAME)),
    (
        &[Key("parts"), Any, Key("functionResponse"), Key("response"), Below],
        Kind(SlotKind::TOOL_OUTPUT),
    ),
    (&[Key("parts"), Any, Key("inlineData"), Key("data")], Kind(SlotKind::MEDIA)),
];

/// The rules for items of `dialect`.
pub(super) fn rules(dialect: Dialect) -> &'static [Rule] {
    match dialect {
        Dialect::AnthropicMessages => ANTHROPIC,
        Dialect::OpenAiChat => CHAT,
        Dialect::OpenAiResponses => RESPONSES,
        Dialect::GeminiGenerate => GEMINI,
    }
}

/// The list of an item of `dialect` whose elements are calls and results of their own. Without
/// one the item is a single call or result, however many texts it has.
pub(super) fn group_list(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::AnthropicMessages => Some("content"),
        Dialect::OpenAiChat => Some("tool_calls"),
        Dialect::OpenAiResponses => None,
        Dialect::GeminiGenerate => Some("parts"),
    }
}

/// Who speaks, from the item's own `role` and `type`.
pub(super) fn role(role: Option<&[u8]>, item_type: Option<&[u8]>) -> Role {
    match (role, item_type) {
        (Some(b"system" | b"developer"), _) => Role::System,
        (Some(b"user"), _) => Role::User,
        (Some(b"assistant" | b"model"), _) => Role::Assistant,
        (Some(b"tool" | b"function"), _) => Role::Tool,
        (None, Some(item_type)) if is_result_type(item_type) => Role::Tool,
        (None, Some(item_type)) if item_type.ends_with(b"_call") || item_type == b"reasoning" => {
            Role::Assistant
        }
        _ => Role::Unknown,
    }
}

/// True for `function_call_output`, `custom_tool_call_output` and their kin.
pub(super) fn is_result_type(item_type: &[u8]) -> bool {
    item_type.ends_with(b"_output")
}

/// The kind of text that a speaker's text is.
pub(super) fn text_kind(role: Role) -> SlotKind {
    match role {
        Role::System => SlotKind::SYSTEM_TEXT,
        Role::User | Role::Unknown => SlotKind::USER_TEXT,
        Role::Assistant => SlotKind::ASSISTANT_TEXT,
        Role::Tool => SlotKind::TOOL_OUTPUT,
    }
}
