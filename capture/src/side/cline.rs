//! Messages of Cline sessions: `*.messages.json`, Anthropic messages whose tool results are lists
//! of `{query, result, success}`. The client budgets them anew at each request, inside the JSON
//! text that it sends; `result` is what it had before that, which the tool itself may have cut.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, ends_in, lines,
};

pub(super) struct ClineMessages;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: &'a serde_json::value::RawValue,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Cow<'a, str>,
}

impl Adapter for ClineMessages {
    fn name(&self) -> &'static str {
        "cline-messages"
    }

    fn takes(&self, path: &str, _head: &[u8]) -> bool {
        ends_in(path, ".messages.json")
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        let Some(bytes) = lines::document(file, sink)? else { return Ok(()) };
        let Ok(Document { messages }) = serde_json::from_slice(&bytes) else {
            sink.note(SideNoteKind::Unparsed);
            return Ok(());
        };
        for (record, message) in (0..).zip(&messages) {
            // Content is a text, or blocks; only blocks hold results.
            let blocks: Vec<Block<'_>> =
                serde_json::from_str(message.content.get()).unwrap_or_default();
            for block in blocks.iter().filter(|block| block.kind == "tool_result") {
                let (Some(call), Some(content)) = (&block.tool_use_id, block.content) else {
                    continue;
                };
                let answers: Vec<Answer<'_>> =
                    serde_json::from_str(content.get()).unwrap_or_default();
                let [Answer { result }] = answers.as_slice() else { continue };
                let call = Named::Id { call, session: None };
                sink.claim(file, &Claim { call, record, text: ClaimText::Whole(result) })?;
            }
        }
        Ok(())
    }
}
