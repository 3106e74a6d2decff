//! Puts request bodies together from their parts, each part written out once.

use std::sync::Arc;

use artifacts::Source;
use ledger::event::Overlay;
use ledger::history::{BodyLists, History, ListWalker};
use ledger::id::{PartNo, RequestId};
use ledger::render::{self, RenderError};

/// Bytes of written-out parts that are kept for the next request.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Why a body could not be put together.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A part cannot be written out.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// No such request, or its list changes do not fit.
    #[error("request {ordinal}: its part list cannot be built")]
    List {
        /// Its number, from 1.
        ordinal: u64,
    },
}

/// Puts bodies together.
pub struct Assembler<'h> {
    history: &'h History,
    source: &'h dyn Source,
    lists: ListWalker<'h>,
    written: Vec<Option<Arc<[u8]>>>,
    kept_bytes: u64,
}

impl core::fmt::Debug for Assembler<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Assembler").field("kept_bytes", &self.kept_bytes).finish_non_exhaustive()
    }
}

/// A stretch of a body, and the part that it comes from.
pub type Chunk<'a> = (Option<PartNo>, &'a [u8]);

impl<'h> Assembler<'h> {
    /// Starts with nothing written out.
    pub fn new(history: &'h History, source: &'h dyn Source) -> Self {
        let written = vec![None; history.parts().len()];
        Self { history, source, lists: ListWalker::new(history), written, kept_bytes: 0 }
    }

    /// Calls `chunk` for each stretch of the body of `request`, in order.
    ///
    /// # Errors
    /// A part cannot be written out.
    pub fn chunks(
        &mut self,
        request: RequestId,
        mut chunk: impl FnMut(Chunk<'_>),
    ) -> Result<(), AssembleError> {
        let ordinal = request.ordinal();
        let bad = AssembleError::List { ordinal };
        let info = self.history.request(request).ok_or(bad.clone())?;
        let BodyLists { head, items, tail } =
            self.lists.lists(request).map_err(|_base| bad)?.clone();
        let separator = info.captured.separator.read(self.source).map_err(RenderError::Get)?;
        for part in head {
            chunk((Some(part), &self.part(part)?));
        }
        let mut overlays = info.overlays();
        for (position, part) in items.into_iter().enumerate() {
            if position > 0 {
                chunk((None, &separator));
            }
            let count = overlays.iter().take_while(|mark| mark.item as usize == position).count();
            let (marks, rest) = overlays.split_at(count);
            overlays = rest;
            if marks.is_empty() {
                chunk((Some(part), &self.part(part)?));
            } else {
                chunk((Some(part), &self.marked(part, marks)?));
            }
        }
        for part in tail {
            chunk((Some(part), &self.part(part)?));
        }
        Ok(())
    }

    /// The whole body of `request`.
    ///
    /// # Errors
    /// A part cannot be written out.
    pub fn body(&mut self, request: RequestId) -> Result<Vec<u8>, AssembleError> {
        let mut body = Vec::new();
        self.chunks(request, |(_part, bytes)| body.extend_from_slice(bytes))?;
        Ok(body)
    }

    /// The bytes of a part without marks.
    ///
    /// # Errors
    /// The part cannot be written out.
    pub fn part(&mut self, part: PartNo) -> Result<Arc<[u8]>, AssembleError> {
        if let Some(Some(bytes)) = self.written.get(part.index()) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = self.marked(part, &[])?.into();
        if self.kept_bytes + bytes.len() as u64 > KEPT_BYTES_MAX {
            self.written.fill(None);
            self.kept_bytes = 0;
        }
        self.kept_bytes += bytes.len() as u64;
        if let Some(slot) = self.written.get_mut(part.index()) {
            *slot = Some(Arc::clone(&bytes));
        }
        Ok(bytes)
    }

    fn marked(&self, part: PartNo, marks: &[Overlay]) -> Result<Vec<u8>, AssembleError> {
        let length = usize::try_from(self.history.part(part).bytes).unwrap_or(0);
        let mut bytes = Vec::with_capacity(length.min(1 << 20));
        render::part(self.history, self.source, part, marks, &mut bytes)?;
        Ok(bytes)
    }
}
