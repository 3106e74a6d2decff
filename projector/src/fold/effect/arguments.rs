//! Arguments of calls, as JSON: which file a call reads, and what is left of long strings.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::wire::Escape;
use ledger::wire::escape::unescape;
use sha2::{Digest as _, Sha256};

use crate::fold::blocks::Blocks;
use crate::fold::index::ToolNo;
use crate::policy::op::{CapArgs, DedupeReads};
use crate::text::{self, Context, Unknown};

/// A name for the file that a call reads: the same for calls of one tool with equal values of the
/// arguments that name it. `None`: it names none.
pub(super) fn file(step: &DedupeReads, tool: Option<ToolNo>, arguments: &str) -> Option<[u8; 32]> {
    let bytes = arguments.as_bytes();
    let blocks = Blocks::of(bytes, &[])?;
    let mut hash = Sha256::new();
    hash.update(tool?.to_le_bytes());
    let mut any = false;
    for name in &step.path_arguments {
        let value = blocks.value_of(bytes, name.as_bytes());
        any |= value.is_some();
        let value = value.unwrap_or_default();
        hash.update((value.len() as u64).to_le_bytes());
        hash.update(value);
    }
    any.then(|| hash.finalize().into())
}

/// The arguments with their long strings cut, and how many of their bytes are left; `None`: none
/// is long.
pub(super) fn cut(
    step: &CapArgs,
    arguments: &str,
    context: Context<'_>,
) -> Result<Option<(String, u64)>, Unknown> {
    let bytes = arguments.as_bytes();
    let Some(blocks) = Blocks::of(bytes, &[]) else { return Ok(None) };
    let mut out: Vec<u8> = Vec::new();
    let (mut at, mut hidden) = (0, 0);
    for range in blocks.values() {
        let value = bytes.get(range.clone()).unwrap_or_default();
        let inside = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        let Some(text) = inside.and_then(|inside| unescape(inside).ok()) else { continue };
        let Some(shown) = text::cap_argument(step, &text, &context)? else { continue };
        out.extend_from_slice(bytes.get(at..range.start + 1).unwrap_or_default());
        Escape::JSON.escape_into(&shown.lossy(&text), &mut out);
        at = range.end - 1;
        hidden += shown.hidden_bytes;
    }
    if at == 0 {
        return Ok(None);
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    let kept = (bytes.len() as u64).saturating_sub(hidden);
    Ok(String::from_utf8(out).ok().map(|cut| (cut, kept)))
}
