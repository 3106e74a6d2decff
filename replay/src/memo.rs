//! What caps leave of texts, kept for all policies and threads up to a budget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use projector::memo::{Capped, Memo, MemoKey, Piece};

/// Bytes that are kept. Beyond it the memo starts afresh, which costs working out again.
const MEMO_BYTES_MAX: usize = 64 << 20;
/// What an entry is taken to need beside its markers.
const ENTRY_BYTES: usize = 256;

/// A memo that threads share.
#[derive(Debug, Default)]
pub struct SharedMemo {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    known: HashMap<MemoKey, Option<Arc<Capped>>>,
}

impl Memo for SharedMemo {
    fn get(&self, key: &MemoKey) -> Option<Option<Arc<Capped>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).known.get(key).cloned()
    }

    fn put(&self, key: MemoKey, capped: Option<Arc<Capped>>) {
        let marker = |piece: &Piece| match piece {
            Piece::Kept(_) => 0,
            Piece::Inserted(_, text) => text.len(),
        };
        let markers = capped.iter().flat_map(|capped| &capped.pieces).map(marker);
        let bytes = ENTRY_BYTES + markers.sum::<usize>();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes > MEMO_BYTES_MAX {
            *kept = Kept::default();
        }
        kept.bytes += bytes;
        kept.known.insert(key, capped);
    }
}
