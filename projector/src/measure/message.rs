//! Estimates of single messages, as the harnesses that have them count.
//!
//! They look at who speaks and at the texts of a message, not at its bytes: the same message costs
//! the same in every request format.

use alloc::vec::Vec;

use ledger::wire::Role;

use super::python;

/// A message, as far as estimators look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said<'t> {
    /// Who speaks.
    pub role: Role,
    /// The name of the speaker or, for a result, of its tool, where the message says one.
    pub name: Option<&'t str>,
    /// What is said.
    pub blocks: Vec<Block<'t>>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'t> {
    /// Text.
    Text(&'t str),
    /// Reasoning.
    Reasoning(&'t str),
    /// A call.
    Call {
        /// Its id.
        id: &'t str,
        /// The tool.
        tool: &'t str,
        /// Its arguments, as JSON.
        arguments: &'t str,
    },
    /// A result.
    Result {
        /// The id of its call.
        call: &'t str,
        /// Its texts, in order.
        texts: Vec<&'t str>,
        /// Images in it.
        images: u64,
    },
    /// An image.
    Image,
    /// A document of pages.
    Document,
}

/// Tokens that `LangChain` adds for a message, whatever is in it.
pub const LANGCHAIN_EXTRA: u64 = 3;
/// Tokens that `LangChain` counts for an image.
const LANGCHAIN_IMAGE: u64 = 85;
/// UTF-16 units that pi counts for an image in a result.
const PI_IMAGE_UNITS: u64 = 4800;
/// Above so many UTF-16 units, Gemini CLI no longer looks at each of them.
const GEMINI_UNITS_MAX: u64 = 100_000;
/// Quarters of a token that Gemini CLI counts for an image.
const GEMINI_IMAGE_QUARTERS: u64 = 4 * 3_000;
/// Quarters of a token that Gemini CLI counts for a document.
const GEMINI_DOCUMENT_QUARTERS: u64 = 4 * 25_800;

/// `count_tokens_approximately` of langchain-core 1.8.3, for one message.
///
/// `tenths` are tenths of a code point per token: 40, or 33 for models of Anthropic. A call counts
/// as Python writes it.
pub fn langchain(said: &Said<'_>, tenths: u64, extra: u64) -> u64 {
    let chars = |text: &str| text.chars().count() as u64;
    let role = match said.role {
        Role::System => "system",
        Role::User | Role::Unknown => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut total = chars(role) + said.name.map_or(0, chars);
    let (mut images, mut calls) = (0, Vec::new());
    for block in &said.blocks {
        match block {
            Block::Text(text) | Block::Reasoning(text) => total += chars(text),
            Block::Call { id, tool, arguments } => calls.push(call_chars(id, tool, arguments)),
            Block::Result { call, texts, images: more } => {
                total += chars(call) + texts.iter().map(|text| chars(text)).sum::<u64>();
                images += more;
            }
            Block::Image | Block::Document => images += 1,
        }
    }
    if !calls.is_empty() {
        // Two brackets, and a comma with its space between two calls.
        total += 2 * calls.len() as u64 + calls.iter().sum::<u64>();
    }
    (total * 10).div_ceil(tenths.max(1)) + extra + images * LANGCHAIN_IMAGE
}

/// `{'name': ..., 'args': ..., 'id': ..., 'type': 'tool_call'}`
fn call_chars(id: &str, tool: &str, arguments: &str) -> u64 {
    let fixed = "{'name': , 'args': , 'id': , 'type': 'tool_call'}".len() as u64;
    let texts = python::text_repr_chars(tool) + python::text_repr_chars(id);
    fixed + texts + python::repr_chars(arguments)
}

/// `estimateTokens` of pi 0.73.1: a quarter of the UTF-16 units, rounded up.
pub fn pi(said: &Said<'_>) -> u64 {
    let units = said.blocks.iter().map(|block| match block {
        Block::Text(text) | Block::Reasoning(text) => utf16(text),
        Block::Call { tool, arguments, .. } => utf16(tool) + utf16(arguments),
        Block::Result { texts, images, .. } => {
            texts.iter().map(|text| utf16(text)).sum::<u64>() + images * PI_IMAGE_UNITS
        }
        Block::Image | Block::Document => 0,
    });
    units.sum::<u64>().div_ceil(4)
}

/// Quarters of a token of a text: 1 for an ASCII unit and 6 for any other UTF-16 unit; 1 for each
/// in a text that is too long to look at. Gemini CLI 0.61.0, `estimateTokenCountSync`.
pub fn gemini_text_quarters(text: &str) -> u64 {
    let units = utf16(text);
    if units > GEMINI_UNITS_MAX {
        return units;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    ascii + (units - ascii) * 6
}

/// Quarters of a token of a part that is no text: its JSON for a call; name and JSON of the
/// response for a result; media have their price.
pub fn gemini_part_quarters(part: &GeminiPart<'_>) -> u64 {
    match part {
        GeminiPart::Text(text) => gemini_text_quarters(text),
        GeminiPart::Response { tool, response } => utf16(tool) + utf16(response),
        GeminiPart::Image => GEMINI_IMAGE_QUARTERS,
        GeminiPart::Document => GEMINI_DOCUMENT_QUARTERS,
        GeminiPart::Other(json) => utf16(json),
    }
}

/// A part of a Gemini content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeminiPart<'t> {
    /// Text.
    Text(&'t str),
    /// A result: the name of its tool, and the JSON of its response.
    Response {
        /// The tool.
        tool: &'t str,
        /// The response, as JSON.
        response: &'t str,
    },
    /// An image.
    Image,
    /// A PDF document.
    Document,
    /// Anything else, by the JSON of the whole part.
    Other(&'t str),
}

/// UTF-16 units of a text.
fn utf16(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn langchain_counts_calls_as_python_writes_them() {
        let call = Block::Call { id: "c0", tool: "f", arguments: "{\"x\": 0}" };
        let said = Said { role: Role::Assistant, name: None, blocks: [call.clone()].into() };
        let written = "[{'name': 'f', 'args': {'x': 0}, 'id': 'c0', 'type': 'tool_call'}]";
        let chars = (written.len() + "assistant".len()) as u64;
        assert_eq!(langchain(&said, 40, LANGCHAIN_EXTRA), chars.div_ceil(4) + 3);
        let twice = Said { blocks: [call.clone(), call].into(), ..said };
        let chars = (2 * written.len() + "assistant".len()) as u64;
        assert_eq!(langchain(&twice, 40, LANGCHAIN_EXTRA), chars.div_ceil(4) + 3);
    }

    #[test]
    fn pi_counts_images_of_results_only() {
        let result = Block::Result { call: "c0", texts: ["abc"].into(), images: 1 };
        let said = Said { role: Role::Tool, name: None, blocks: [result].into() };
        assert_eq!(pi(&said), 1201);
        let said = Said { role: Role::User, name: None, blocks: [Block::Image].into() };
        assert_eq!(pi(&said), 0);
    }

    #[test]
    fn gemini_counts_long_texts_by_their_length() {
        let limit = usize::try_from(GEMINI_UNITS_MAX).unwrap();
        assert_eq!(gemini_text_quarters(&"\u{6f22}".repeat(limit)), 600_000);
        assert_eq!(gemini_text_quarters(&"\u{6f22}".repeat(limit + 1)), 100_001);
        assert_eq!(gemini_text_quarters("a\u{1f600}"), 13);
    }
}
