//! Sessions of pi: JSONL of a header and messages; a `toolResult` has the text that was sent and
//! says under `details.truncation` when the tool cut it. What was cut is in a spilled file.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, ends_in, lines,
};

pub(super) struct PiSession;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    truncation: Option<Truncation>,
}

#[derive(Deserialize)]
struct Truncation {
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl Adapter for PiSession {
    fn name(&self) -> &'static str {
        "pi-session"
    }

    fn takes(&self, path: &str, head: &[u8]) -> bool {
        let header: &[u8] = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let says = |word: &[u8]| memchr::memmem::find(header, word).is_some();
        ends_in(path, ".jsonl") && says(br#""type":"session""#) && says(br#""version":"#)
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        lines::each(file, sink, &mut |record, line, file, sink| {
            let Ok(Line { kind, message }) = serde_json::from_slice(line) else {
                sink.note(SideNoteKind::Unparsed);
                return Ok(());
            };
            let Some(message) = message.filter(|_| kind == "message") else { return Ok(()) };
            // Messages of other roles have other shapes.
            let Ok(message) = serde_json::from_str::<Message<'_>>(message.get()) else {
                return Ok(());
            };
            let (Some(call), Some(content)) = (&message.tool_call_id, message.content) else {
                return Ok(());
            };
            let cut = message.details.unwrap_or_default().truncation.is_some_and(|it| it.truncated);
            if message.role != "toolResult" || cut {
                return Ok(());
            }
            let blocks: Vec<Block<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
            let [Block { text: Some(text) }] = blocks.as_slice() else { return Ok(()) };
            let call = Named::Id { call, session: None };
            sink.claim(file, &Claim { call, record, text: ClaimText::Whole(text) })
        })
    }
}
