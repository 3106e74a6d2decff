//! Files that hold one output and are named in the text that was sent instead: the spill files of
//! pi (`pi-bash-*.log`), opencode (`tool-output/tool_*`), and others of that kind. Last of the
//! adapters, since it takes any file; one that no sent text names is not read.

use std::borrow::Cow;

use super::{Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, lines};

pub(super) struct Spill;

impl Adapter for Spill {
    fn name(&self) -> &'static str {
        "spill"
    }

    fn takes(&self, _path: &str, _head: &[u8]) -> bool {
        true
    }

    fn only_named(&self) -> bool {
        true
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        let Some(bytes) = lines::document(file, sink)? else { return Ok(()) };
        let text = text(&bytes, sink);
        let claim = Claim { call: Named::ByPath, record: 0, text: ClaimText::Whole(&text) };
        sink.claim(file, &claim)
    }
}

/// The text of a file, decoded as clients do.
pub(super) fn text<'b>(bytes: &'b [u8], sink: &mut dyn Sink) -> Cow<'b, str> {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        sink.note(SideNoteKind::NotUtf8);
    }
    text
}
