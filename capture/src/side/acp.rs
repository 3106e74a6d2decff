//! Streams of the Agent Client Protocol: JSON-RPC messages, one a line, bare or as `msg` of a
//! line with time and direction.
//!
//! Finished tool calls may carry the agent's own result as `rawOutput`, whose shape the protocol
//! leaves to the agent: a text, or an object with `output` or `aggregated_output` (Codex). Codex
//! keeps 1 MiB of an output there, without a mark where it was cut; what it showed while the
//! command ran is then in a fenced block of the content. The content of other agents is for
//! people and is not taken for an output.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, ends_in, lines,
};

/// What Codex keeps of an output, in bytes: half of it from the beginning, half from the end.
const CODEX_BUFFER_BYTES: usize = 1 << 20;

pub(super) struct Acp;

#[derive(Deserialize)]
struct Framed<'a> {
    #[serde(borrow)]
    msg: &'a serde_json::value::RawValue,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    update: Update<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    raw_output: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct RawOutput<'a> {
    #[serde(borrow, default)]
    aggregated_output: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Text<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl Adapter for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn takes(&self, path: &str, head: &[u8]) -> bool {
        ends_in(path, ".jsonl") && memchr::memmem::find(head, br#""jsonrpc""#).is_some()
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        lines::each(file, sink, &mut |record, line, file, sink| match told(line) {
            Ok(Some(told)) => sink.claim(file, &told.claim(record)),
            Ok(None) => Ok(()),
            Err(_json) => {
                sink.note(SideNoteKind::Unparsed);
                Ok(())
            }
        })
    }
}

/// What a message says of a call's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    call: String,
    session: String,
    /// The end, where the output has a gap before it.
    tail: Option<String>,
    head: String,
}

impl Told {
    pub(crate) fn claim(&self, record: u64) -> Claim<'_> {
        let text = match &self.tail {
            Some(tail) => ClaimText::Ends(&self.head, tail),
            None => ClaimText::Whole(&self.head),
        };
        let call = Named::Id { call: &self.call, session: Some(&self.session) };
        Claim { call, record, text }
    }
}

/// Reads a message, bare or framed; `None` where it tells no output.
pub(crate) fn told(line: &[u8]) -> serde_json::Result<Option<Told>> {
    let bare = serde_json::from_slice::<Framed<'_>>(line).map(|it| it.msg.get().as_bytes());
    let message: Message<'_> = serde_json::from_slice(bare.unwrap_or(line))?;
    let Message { method: Some(method), params: Some(params) } = message else { return Ok(None) };
    if method != "session/update" {
        return Ok(None);
    }
    let Params { session_id, update } = serde_json::from_str(params.get())?;
    let Update { tool_call_id: Some(call), raw_output: Some(raw), content } = update else {
        return Ok(None);
    };
    let Some(output) = output(raw.get()) else { return Ok(None) };
    let shown = content.and_then(|content| fenced(content.get(), &output));
    let (head, tail) = match (&shown, buffered(&output)) {
        (Some(shown), _) => (shown.as_str(), None),
        (None, ClaimText::Whole(text)) => (text, None),
        (None, ClaimText::Ends(head, tail)) => (head, Some(tail.to_owned())),
    };
    let (call, session) = (call.into_owned(), session_id.into_owned());
    Ok(Some(Told { call, session, head: head.to_owned(), tail }))
}

fn output(raw: &str) -> Option<Cow<'_, str>> {
    if let Ok(text) = serde_json::from_str::<RawText<'_>>(raw) {
        return Some(text.0);
    }
    let raw: RawOutput<'_> = serde_json::from_str(raw).ok()?;
    raw.aggregated_output.or(raw.output)
}

#[derive(Deserialize)]
struct RawText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The longer text that was shown while the command ran, where it begins as the output does.
fn fenced(content: &str, output: &str) -> Option<String> {
    let blocks: Vec<Block<'_>> = serde_json::from_str(content).ok()?;
    let [Block { content: Some(Text { text: Some(text) }) }] = blocks.as_slice() else {
        return None;
    };
    let (_info, inside) = text.strip_prefix("```")?.split_once('\n')?;
    let inside = inside.trim_end_matches('\n').strip_suffix("```")?;
    // The block ends its last line itself where the output does not.
    let unended = inside.strip_suffix('\n').unwrap_or(inside);
    let ends = |shown: &&str| output.is_empty() || last(shown) == last(output);
    let shown = [inside, unended].into_iter().find(ends)?;
    let starts = shown.get(..CODEX_BUFFER_BYTES / 2)? == output.get(..CODEX_BUFFER_BYTES / 2)?;
    (starts && shown.len() > output.len()).then(|| shown.to_owned())
}

/// The last bytes of a text.
fn last(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.get(bytes.len().saturating_sub(64)..).unwrap_or_default()
}

/// An output that fills the buffer was cut in the middle, as far as anybody can tell.
fn buffered(output: &str) -> ClaimText<'_> {
    if output.len() < CODEX_BUFFER_BYTES {
        return ClaimText::Whole(output);
    }
    let (head, tail) = output.split_at(output.floor_char_boundary(CODEX_BUFFER_BYTES / 2));
    ClaimText::Ends(head, tail)
}
