//! Chats of Gemini CLI: `.gemini/tmp/<project>/chats/*.jsonl`, lines that repeat and replace each
//! other. A message has its tool calls with the response that went to the model; one that the
//! client cut says so, and its whole is in a spilled file.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, below, ends_in,
    lines,
};

/// How a response begins that the client cut.
const CUT: [&str; 2] = ["Output too large. Showing first ", "<tool_output_masked>"];

pub(super) struct GeminiChat;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, default)]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    result: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    function_response: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    response: Response<'a>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    output: Option<Cow<'a, str>>,
}

impl Adapter for GeminiChat {
    fn name(&self) -> &'static str {
        "gemini-chat"
    }

    fn takes(&self, path: &str, _head: &[u8]) -> bool {
        ends_in(path, ".jsonl") && below(path, "chats")
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        lines::each(file, sink, &mut |record, line, file, sink| {
            let Ok(Line { tool_calls }) = serde_json::from_slice(line) else {
                sink.note(SideNoteKind::Unparsed);
                return Ok(());
            };
            for call in &tool_calls {
                let Some(result) = call.result else { continue };
                let parts: Vec<Part<'_>> = serde_json::from_str(result.get()).unwrap_or_default();
                let [Part { function_response: Some(function) }] = parts.as_slice() else {
                    continue;
                };
                let Some(output) = &function.response.output else { continue };
                if CUT.iter().any(|cut| output.starts_with(cut)) {
                    continue;
                }
                let text = ClaimText::Whole(output);
                sink.claim(file, &Claim { call: Named::ToolAndId(&call.id), record, text })?;
            }
            Ok(())
        })
    }
}
