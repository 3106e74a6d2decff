//! Sessions of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, with the files of its
//! sub-agents and its large results in a folder of the same name beside it.
//!
//! Rows are a tree by `uuid` and `parentUuid`. One answer stands in one row per block, which need
//! not be neighbors; its last row has the final usage. The request is not in the file: it is put
//! together from the rows before the answer, without system prompt, tools and options.
//!
//! The client's output with `--output-format stream-json` has the same messages without the tree.

mod result;
mod rows;

use super::adapter::{Adapter, Look, Source, Stop, fold_lines};
use super::json::Json;
use super::rows::At;
use super::scribe::Scribe;
use rows::Rows;

pub(super) struct ClaudeSession;

/// Types of records about the session that are no part of what the model saw.
const BOOKKEEPING: [&str; 32] = [
    "summary",
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "ai-title",
    "custom-title",
    "agent-name",
    "agent-color",
    "agent-setting",
    "pr-link",
    "bridge-session",
    "frame-link",
    "tag",
    "task-summary",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
    "speculation-accept",
    "fork-context-ref",
    "isolation-latch",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "marble-origami-reset",
    // The journal of a workflow's agents.
    "started",
    // What the client says on its output about a run.
    "stream_event",
    "tool_progress",
    "rate_limit_event",
    "keep_alive",
    "prompt_suggestion",
];

fn is_bookkeeping(kind: &str) -> bool {
    BOOKKEEPING.contains(&kind)
}

fn is_record(record: &Json<'_>) -> bool {
    let Some(kind) = record.str("type") else { return false };
    let linked = record.get("parentUuid").is_some() && record.get("uuid").is_some();
    let of_session = record.str("sessionId").is_some()
        || record.get("leafUuid").is_some()
        || record.get("snapshot").is_some();
    linked || (is_bookkeeping(kind) && of_session) || is_output(record)
}

/// A record of the client's output (`--output-format stream-json`): its messages have no places in
/// a tree, and stand in the order in which they came.
fn is_output(record: &Json<'_>) -> bool {
    let begins = record.str("type") == Some("system") && record.str("subtype") == Some("init");
    let told = matches!(record.str("type"), Some("assistant" | "user"))
        && record.at(&["message", "role"]).is_some()
        && record.get("parent_tool_use_id").is_some();
    record.str("session_id").is_some() && (begins || told)
}

impl Adapter for ClaudeSession {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.any(is_record)
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let mut at = At::default();
        let mut rows = Rows::new(source.parts);
        fold_lines(source.reader, &mut at, scribe, &mut rows)?;
        rows.parts(source.parts, &mut at, scribe)?;
        rows.finish(scribe)
    }
}
