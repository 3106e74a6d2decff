//! The shape of provider bodies: where system, tools, messages, calls and results stand.
//!
//! A body is outlined into the spans of its own JSON ([`outline`]), each new part is cut into a
//! literal and its slots ([`template`]), per-request overlays such as `cache_control` are taken
//! out first ([`overlay`]), and every slot is proven to come back through its escape rules
//! ([`escape`]). Nothing here reads a policy, touches a file or builds a JSON tree.

pub mod answer;
pub mod canonical;
pub mod escape;
pub mod outline;
pub mod overlay;
pub mod pointer;
mod rules;
pub mod span;
pub mod template;

pub use escape::Escape;

use bincode::{Decode, Encode};

/// The request and answer formats that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages (`POST /v1/messages`).
    AnthropicMessages,
    /// Chat Completions of `OpenAI` (`POST /v1/chat/completions`).
    OpenAiChat,
    /// Responses of `OpenAI` (`POST /v1/responses`).
    OpenAiResponses,
    /// Gemini generateContent and streamGenerateContent.
    GeminiGenerate,
}

impl Dialect {
    /// All of them, in tag order.
    pub const ALL: [Self; 4] =
        [Self::AnthropicMessages, Self::OpenAiChat, Self::OpenAiResponses, Self::GeminiGenerate];

    /// The tag that is stored. Tags are never reused.
    pub fn tag(self) -> u8 {
        match self {
            Self::AnthropicMessages => 1,
            Self::OpenAiChat => 2,
            Self::OpenAiResponses => 3,
            Self::GeminiGenerate => 4,
        }
    }

    /// The dialect with this tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.tag() == tag)
    }

    /// The name used on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::GeminiGenerate => "gemini",
        }
    }

    /// Recognizes an endpoint by the path of its URL (query ignored).
    pub fn of_path(url: &str) -> Option<Self> {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAiChat)
        } else if path.ends_with("/responses") {
            Some(Self::OpenAiResponses)
        } else if path.ends_with("/messages") {
            Some(Self::AnthropicMessages)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::GeminiGenerate)
        } else {
            None
        }
    }
}

impl Dialect {
    /// True for endpoints that take such bodies and ask no model for an answer: token counting,
    /// embeddings, moderation.
    pub fn asks_no_model(url: &str) -> bool {
        let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let last = path.rsplit(['/', ':']).next().unwrap_or_default();
        matches!(
            last,
            "count_tokens"
                | "countTokens"
                | "input_tokens"
                | "embeddings"
                | "embedContent"
                | "batchEmbedContents"
                | "moderations"
        )
    }

    /// Recognizes a body by its top-level members, for gateways whose paths say nothing.
    /// `anthropic` tells that the request carries Anthropic's version header.
    pub fn of_shape(body: &[u8], anthropic: bool) -> Option<Self> {
        let mut cursor = span::Cursor::new(body, 0);
        let (mut messages, mut input, mut contents, mut model) = (false, false, false, false);
        cursor.expect(b'{').ok()?;
        let mut first = true;
        while let Some(key) = cursor.next_key(first).ok()? {
            first = false;
            match body.get(key)? {
                b"\"messages\"" => messages = true,
                b"\"input\"" => input = true,
                b"\"contents\"" => contents = true,
                b"\"model\"" => model = true,
                _ => {}
            }
            cursor.skip_value().ok()?;
        }
        match (messages, input, contents) {
            (true, false, false) if anthropic => Some(Self::AnthropicMessages),
            (true, false, false) if model => Some(Self::OpenAiChat),
            (false, true, false) if model => Some(Self::OpenAiResponses),
            (false, false, true) => Some(Self::GeminiGenerate),
            _ => None,
        }
    }
}

/// What a part of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// Brackets, commas and white space between parts.
    Glue,
    /// A top-level member that is none of the others: model, sampling options, metadata.
    Options,
    /// System prompt or instructions that stand outside the messages.
    System,
    /// Tool schemas.
    Tools,
    /// One message or input item.
    Item,
    /// A body, or a stretch of it, that could not be split.
    Verbatim,
}

impl PartKind {
    /// All kinds, in tag order.
    pub const ALL: [Self; 6] =
        [Self::Glue, Self::Options, Self::System, Self::Tools, Self::Item, Self::Verbatim];

    /// The tag that is stored. Tags are never reused.
    pub fn tag(self) -> u8 {
        match self {
            Self::Glue => 0,
            Self::Options => 1,
            Self::System => 2,
            Self::Tools => 3,
            Self::Item => 4,
            Self::Verbatim => 5,
        }
    }

    /// The kind with this tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.tag() == tag)
    }

    /// A word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glue => "glue",
            Self::Options => "options",
            Self::System => "system",
            Self::Tools => "tools",
            Self::Item => "message",
            Self::Verbatim => "verbatim",
        }
    }
}

/// Who speaks in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Not an item, or a role that is not known.
    #[default]
    Unknown,
    /// System or developer text inside the messages.
    System,
    /// User text; in two dialects also the carrier of tool results.
    User,
    /// Model output, tool calls included.
    Assistant,
    /// A tool result.
    Tool,
}

impl Role {
    /// All roles, in tag order.
    pub const ALL: [Self; 5] =
        [Self::Unknown, Self::System, Self::User, Self::Assistant, Self::Tool];

    /// The tag that is stored. Tags are never reused.
    pub fn tag(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::System => 1,
            Self::User => 2,
            Self::Assistant => 3,
            Self::Tool => 4,
        }
    }

    /// The role with this tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.tag() == tag)
    }

    /// A word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// What the text in a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct SlotKind(u8);

macro_rules! slot_kinds {
    ($($(#[$doc:meta])* $name:ident = $tag:literal $word:literal),* $(,)?) => {
        impl SlotKind {
            $($(#[$doc])* pub const $name: Self = Self($tag);)*

            /// A word for reports; kinds of a later version are `unknown`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                    _ => "unknown",
                }
            }
        }
    };
}

slot_kinds! {
    /// System or developer text.
    SYSTEM_TEXT = 1 "system text",
    /// User text.
    USER_TEXT = 2 "user text",
    /// Assistant text.
    ASSISTANT_TEXT = 3 "assistant text",
    /// Reasoning text.
    THINKING = 4 "thinking",
    /// Output of a tool: what policies act on.
    TOOL_OUTPUT = 5 "tool output",
    /// Arguments of a tool call.
    ARGUMENTS = 6 "arguments",
    /// Provider id of a call, where the call stands.
    CALL_ID = 7 "call id",
    /// Provider id of a call, where its result stands.
    RESULT_CALL_ID = 8 "result call id",
    /// Name of a called tool.
    TOOL_NAME = 9 "tool name",
    /// Provider or client id of an item.
    ITEM_ID = 10 "item id",
    /// Image or other media data.
    MEDIA = 11 "media",
    /// Signatures and encrypted content.
    OPAQUE = 12 "opaque",
    /// Any other long string.
    OTHER = 13 "other",
    /// Name of the tool, where its result stands.
    RESULT_NAME = 14 "result name",
}
