//! What a step is for: tools and kinds of text.

use alloc::string::String;
use alloc::vec::Vec;

use super::node::{record, words};

words! {
    /// A kind of text in a request.
    pub enum TextKind {
        /// The output of a tool.
        ToolResult = "tool_result",
        /// The content of a file that the user has attached or a tool has read.
        FileBlock = "file_block",
        /// What the model said.
        AssistantText = "assistant_text",
        /// What the user said.
        UserText = "user_text",
        /// The arguments of a tool call.
        ToolArguments = "tool_arguments",
        /// Instructions: a system prompt or a rules file.
        Instructions = "instructions",
    }
}

record! {
    /// Which texts a step is for.
    pub struct Applies: "`applies`" {
        /// Only results of these tools, if there are any. A result of an unknown tool is then
        /// left alone.
        tools: Vec<String> = Vec::new(),
        /// Not results of these tools.
        exclude_tools: Vec<String> = Vec::new(),
        /// Only results of tools whose names begin with one of these, if there are any. With
        /// `tools` too, either is enough.
        tool_prefix: Vec<String> = Vec::new(),
        /// Only texts of these kinds; empty means tool results.
        kinds: Vec<TextKind> = Vec::new(),
        /// Only results that are a single text.
        single_part: bool = false,
    }
}

impl Default for Applies {
    fn default() -> Self {
        Self::all()
    }
}

impl Applies {
    /// Every tool result.
    pub const fn all() -> Self {
        Self {
            tools: Vec::new(),
            exclude_tools: Vec::new(),
            tool_prefix: Vec::new(),
            kinds: Vec::new(),
            single_part: false,
        }
    }

    /// True when the step is for results of `tool` (`None`: the tool is not known).
    pub fn to(&self, tool: Option<&[u8]>) -> bool {
        let named = |list: &[String]| {
            tool.is_some_and(|tool| list.iter().any(|name| name.as_bytes() == tool))
        };
        let prefixed = tool.is_some_and(|tool| {
            self.tool_prefix.iter().any(|prefix| tool.starts_with(prefix.as_bytes()))
        });
        let any = self.tools.is_empty() && self.tool_prefix.is_empty();
        (any || named(&self.tools) || prefixed) && !named(&self.exclude_tools)
    }

    /// True when the step is for texts of this kind.
    pub fn to_kind(&self, kind: TextKind) -> bool {
        match self.kinds.as_slice() {
            [] => kind == TextKind::ToolResult,
            kinds => kinds.contains(&kind),
        }
    }
}
