//! Trajectories of mini-swe-agent: one document with all messages; a tool message has the
//! observation as it was sent and, under `extra`, what the command printed as `raw_output`.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, ends_in, lines,
};

pub(super) struct MiniTrajectory;

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    extra: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Extra<'a> {
    #[serde(borrow, default)]
    raw_output: Option<Cow<'a, str>>,
}

impl Adapter for MiniTrajectory {
    fn name(&self) -> &'static str {
        "mini-trajectory"
    }

    fn takes(&self, path: &str, head: &[u8]) -> bool {
        let named = ["traj.json", ".traj", ".traj.json"].iter().any(|end| path.ends_with(end));
        let says = |word: &[u8]| memchr::memmem::find(head, word).is_some();
        named || (ends_in(path, ".json") && says(br#""trajectory_format""#))
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        let Some(bytes) = lines::document(file, sink)? else { return Ok(()) };
        let Ok(Trajectory { messages }) = serde_json::from_slice(&bytes) else {
            sink.note(SideNoteKind::Unparsed);
            return Ok(());
        };
        for (record, message) in (0..).zip(&messages) {
            let (Some(call), Some(extra)) = (&message.tool_call_id, message.extra) else {
                continue;
            };
            let extra = serde_json::from_str(extra.get()).ok();
            let Some(Extra { raw_output: Some(output) }) = extra else { continue };
            let call = Named::Id { call, session: None };
            sink.claim(file, &Claim { call, record, text: ClaimText::Whole(&output) })?;
        }
        Ok(())
    }
}
