//! Puts request bodies together from their parts, each part written out once.

use std::sync::Arc;

use artifacts::Source;
use ledger::event::Overlay;
use ledger::history::{BodyLists, History, ListWalker, Walked};
use ledger::id::{PartNo, RequestId};
use ledger::render::{self, RenderError};
use ledger::wire::PartKind;
use sha2::{Digest as _, Sha256};

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
    written: Written,
}

/// Parts that were written out.
#[derive(Default)]
struct Written {
    parts: Vec<Option<Arc<[u8]>>>,
    digests: Vec<Option<[u8; 32]>>,
    kept_bytes: u64,
}

/// What an assembler has done so far, without the history that it did it for: for whoever owns a
/// recording and puts bodies together now and then.
#[derive(Default)]
pub struct Assembled {
    lists: Walked,
    written: Written,
}

impl core::fmt::Debug for Assembled {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Assembled").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Assembler<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let kept_bytes = &self.written.kept_bytes;
        f.debug_struct("Assembler").field("kept_bytes", kept_bytes).finish_non_exhaustive()
    }
}

/// A stretch of a body, and the part that it comes from.
pub type Chunk<'a> = (Option<PartNo>, &'a [u8]);

impl<'h> Assembler<'h> {
    /// Starts with nothing written out.
    pub fn new(history: &'h History, source: &'h dyn Source) -> Self {
        Self::resume(history, source, Assembled::default())
    }

    /// Goes on with what was done for the same history.
    pub fn resume(history: &'h History, source: &'h dyn Source, done: Assembled) -> Self {
        let count = history.parts().len();
        let Assembled { lists, mut written } = done;
        written.parts.resize(count, None);
        written.digests.resize(count, None);
        Self { history, source, lists: ListWalker::resume(history, lists), written }
    }

    /// Leaves what was done, for [`Assembler::resume`].
    pub fn leave(self) -> Assembled {
        Assembled { lists: self.lists.leave(), written: self.written }
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

    /// Digests of the system, tools, options and message parts, from their bytes: SHA-256 over
    /// the SHA-256 of each part, in the order of the body.
    ///
    /// # Errors
    /// A part cannot be written out.
    pub fn components(&mut self, request: RequestId) -> Result<[[u8; 32]; 4], AssembleError> {
        let bad = AssembleError::List { ordinal: request.ordinal() };
        let BodyLists { head, items, tail } =
            self.lists.lists(request).map_err(|_base| bad)?.clone();
        let mut hashes = [(); 4].map(|()| Sha256::new());
        let [system, tools, options, messages] = &mut hashes;
        for part in head.into_iter().chain(items).chain(tail) {
            let hash = match self.history.skeleton(self.history.part(part)).kind {
                PartKind::System => &mut *system,
                PartKind::Tools => &mut *tools,
                PartKind::Options => &mut *options,
                PartKind::Item | PartKind::Verbatim => &mut *messages,
                PartKind::Glue => continue,
            };
            hash.update(self.digest(part)?);
        }
        Ok(hashes.map(|hash| hash.finalize().into()))
    }

    /// SHA-256 of the bytes of a part, worked out once.
    fn digest(&mut self, part: PartNo) -> Result<[u8; 32], AssembleError> {
        if let Some(Some(digest)) = self.written.digests.get(part.index()) {
            return Ok(*digest);
        }
        let digest = Sha256::digest(self.part(part)?).into();
        if let Some(slot) = self.written.digests.get_mut(part.index()) {
            *slot = Some(digest);
        }
        Ok(digest)
    }

    /// The bytes of a part without marks.
    ///
    /// # Errors
    /// The part cannot be written out.
    pub fn part(&mut self, part: PartNo) -> Result<Arc<[u8]>, AssembleError> {
        if let Some(Some(bytes)) = self.written.parts.get(part.index()) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = self.marked(part, &[])?.into();
        if self.written.kept_bytes + bytes.len() as u64 > KEPT_BYTES_MAX {
            self.written.parts.fill(None);
            self.written.kept_bytes = 0;
        }
        self.written.kept_bytes += bytes.len() as u64;
        if let Some(slot) = self.written.parts.get_mut(part.index()) {
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
