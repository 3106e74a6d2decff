//! Outputs that Gemini CLI saved: `.gemini/tmp/<project>/tool-outputs/**`, one a file.
//!
//! An output that was too large when it came is named by the text that was sent. One that was
//! masked later is saved as a JSON object with the response, under a name with the call's id.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Adapter, Claim, ClaimText, Named, SideError, SideFile, Sink, below, lines, spill};

pub(super) struct GeminiSpill;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response<'a> {
    #[serde(borrow)]
    output: Cow<'a, str>,
}

impl Adapter for GeminiSpill {
    fn name(&self) -> &'static str {
        "gemini-spill"
    }

    fn takes(&self, path: &str, _head: &[u8]) -> bool {
        below(path, "tool-outputs")
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        let Some(bytes) = lines::document(file, sink)? else { return Ok(()) };
        let text = spill::text(&bytes, sink);
        let masked = serde_json::from_str::<Response<'_>>(&text).ok();
        let text = masked.map_or(text.clone(), |response| response.output);
        let text = ClaimText::Whole(&text);
        sink.claim(file, &Claim { call: Named::InFileName, record: 0, text })
    }
}
