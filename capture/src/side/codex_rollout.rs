//! Codex CLI rollouts: `.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.
//!
//! The `function_call_output` items repeat what the model saw. What the command printed stands in
//! the event of the finished command, as `aggregated_output`, which the client itself cuts to
//! 65,536 bytes around a line of its own before it writes it down (seen in 0.171.0); older
//! clients cut it near 10,000 characters without saying so, and such an output is left out.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    Adapter, Claim, ClaimText, Named, SideError, SideFile, SideNoteKind, Sink, below, lines,
};

/// What the client puts where it cut an output for the rollout.
const CUT: &str = "\n... command output truncated for persistence ...\n";
/// Outputs of `exec_command_end` are cut near this length, in characters.
const OLD_CHARS_MAX: usize = 10_000;

pub(super) struct CodexRollout;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Completed<'a> {
    #[serde(borrow)]
    item: Item<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    aggregated_output: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ExecEnd<'a> {
    #[serde(borrow)]
    call_id: Cow<'a, str>,
    #[serde(borrow)]
    aggregated_output: Cow<'a, str>,
}

impl Adapter for CodexRollout {
    fn name(&self) -> &'static str {
        "codex-rollout"
    }

    fn takes(&self, path: &str, _head: &[u8]) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("rollout-") && super::ends_in(name, ".jsonl") && below(path, "sessions")
    }

    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError> {
        let mut session = None;
        lines::each(file, sink, &mut |record, line, file, sink| {
            let Ok(Line { kind, payload: Some(payload) }) = serde_json::from_slice(line) else {
                sink.note(SideNoteKind::Unparsed);
                return Ok(());
            };
            match &*kind {
                // A forked child begins with its own line and goes on with its parent's.
                "session_meta" if session.is_none() => {
                    let meta: Option<Kind<'_>> = serde_json::from_str(payload.get()).ok();
                    session = meta.and_then(|meta| meta.id).map(Cow::into_owned);
                    Ok(())
                }
                "event_msg" => event(payload.get(), record, session.as_deref(), file, sink),
                _ => Ok(()),
            }
        })
    }
}

fn event(
    payload: &str,
    record: u64,
    session: Option<&str>,
    file: &SideFile<'_>,
    sink: &mut dyn Sink,
) -> Result<(), SideError> {
    let Ok(Kind { kind: Some(kind), .. }) = serde_json::from_str(payload) else {
        sink.note(SideNoteKind::Unparsed);
        return Ok(());
    };
    match &*kind {
        "item_completed" => {
            let Ok(Completed { item }) = serde_json::from_str(payload) else {
                sink.note(SideNoteKind::Unparsed);
                return Ok(());
            };
            let Item { kind, id: Some(call), aggregated_output: Some(output) } = item else {
                return Ok(());
            };
            if kind != "CommandExecution" {
                return Ok(());
            }
            let call = Named::Id { call: &call, session };
            sink.claim(file, &Claim { call, record, text: text(&output) })
        }
        "exec_command_end" => {
            let Ok(ExecEnd { call_id, aggregated_output }) = serde_json::from_str(payload) else {
                sink.note(SideNoteKind::Unparsed);
                return Ok(());
            };
            if aggregated_output.chars().count() >= OLD_CHARS_MAX {
                return Ok(());
            }
            let call = Named::Id { call: &call_id, session };
            sink.claim(file, &Claim { call, record, text: text(&aggregated_output) })
        }
        _ => Ok(()),
    }
}

/// Whole, unless the client says that it cut it. Its line stands in the middle; one elsewhere is
/// the command's own.
fn text(output: &str) -> ClaimText<'_> {
    let middle = output.len().saturating_sub(CUT.len()) / 2;
    for at in middle.saturating_sub(4)..=middle + 4 {
        let (head, rest) = (output.get(..at), output.get(at..));
        if let Some((head, tail)) = head.zip(rest.and_then(|rest| rest.strip_prefix(CUT))) {
            return ClaimText::Ends(head, tail);
        }
    }
    ClaimText::Whole(output)
}
