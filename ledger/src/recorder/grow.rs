//! Captures a request whose message list is an earlier one of the conversation, cut and grown:
//! for runs whose bodies are not on record and are put together from what they held.
//!
//! A body costs what is new in it and not what it sends again: its digest goes on from the one
//! of the messages that it keeps. The list comes first in such a body, so that a change of model
//! or options behind it costs nothing either.

use sha2::{Digest as _, Sha256};

use super::capture::{BodyDigest, Capture, Captured};
use super::lists::Lists;
use super::prepare::Prepared;
use super::{RecordError, Recorder};
use crate::id::SessionId;
use crate::wire::outline::Outline;
use crate::wire::{Dialect, PartKind};

/// A body whose list keeps a beginning of the one captured before in its conversation.
#[derive(Clone, Copy, Debug)]
pub struct Grown<'a> {
    /// Its dialect, the same for all requests of the conversation.
    pub dialect: Dialect,
    /// How many messages of the last request of the conversation it begins with.
    pub keep: usize,
    /// The messages after those: JSON values.
    pub items: &'a [&'a [u8]],
    /// The members behind the list, each with a comma before it.
    pub tail: &'a [u8],
}

/// Digests of a list up to one of its messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    body: Sha256,
    parts: Sha256,
    bytes: u64,
    redactions: u32,
    withheld: bool,
}

impl Recorder {
    /// Records a request that was put together.
    ///
    /// # Errors
    /// [`RecordError::Misshapen`] when items and tail make no body of the dialect, or when there
    /// is no such list to keep: then nothing was recorded. Or the fact cannot be written.
    pub fn request_grown(
        &mut self,
        grown: &Grown<'_>,
        capture: &Capture<'_>,
    ) -> Result<Captured, RecordError> {
        let body = body_of(grown);
        let prepared = Prepared::whole(grown.dialect, &body);
        let known = self.session(capture.session)?.marks.len();
        let shape = prepared.shape.as_ref().ok();
        let Some(outline) = shape.filter(|_| prepared.items.len() == grown.items.len()) else {
            return Err(RecordError::Misshapen);
        };
        if grown.keep > known {
            return Err(RecordError::Misshapen);
        }
        let lists = self.lists(&prepared, outline, capture.session, grown.keep)?;
        let digest = self.grown_digest(&prepared, outline, &lists, grown, capture.session)?;
        let separator = if lists.items.len() > 1 { b",".as_slice() } else { b"" };
        self.capture_as(&prepared, capture, lists, &digest, separator)
    }

    /// Digests the list from the last message that is kept, then what stands behind it.
    fn grown_digest(
        &mut self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        lists: &Lists,
        grown: &Grown<'_>,
        session: SessionId,
    ) -> Result<BodyDigest, RecordError> {
        let mut marks = core::mem::take(&mut self.session(session)?.marks);
        marks.truncate(grown.keep);
        let raw =
            |span: &core::ops::Range<usize>| prepared.body.get(span.clone()).unwrap_or_default();
        let info = |part| self.table.info(part);
        let clean = |part| info(part).and_then(|info| info.redacted.clone());
        let mut at = Mark::default();
        match marks.last() {
            Some(mark) => at.clone_from(mark),
            None => {
                for (piece, part) in outline.head.iter().zip(&lists.head.list) {
                    at.feed(clean(*part).as_deref().unwrap_or_else(|| raw(&piece.span)));
                }
            }
        }
        let new = lists.items.iter().skip(grown.keep);
        for (index, (item, part)) in prepared.items.iter().zip(new).enumerate() {
            if grown.keep + index > 0 {
                at.feed(b",");
            }
            at.feed(clean(*part).as_deref().unwrap_or_else(|| raw(&item.span)));
            if let Some(info) = info(*part) {
                at.parts.update(info.digest);
                at.redactions = at.redactions.saturating_add(info.redactions);
                at.withheld |= info.withheld;
            }
            marks.push(at.clone());
        }
        let parts = at.parts.clone();
        for (piece, part) in outline.tail.iter().zip(&lists.tail.list) {
            at.feed(clean(*part).as_deref().unwrap_or_else(|| raw(&piece.span)));
        }
        let around = || lists.head.list.iter().chain(&lists.tail.list).filter_map(|it| info(*it));
        let component = |kind: PartKind| -> [u8; 32] {
            let mut hash = Sha256::new();
            for info in around().filter(|info| info.kind == kind) {
                hash.update(info.digest);
            }
            hash.finalize().into()
        };
        let redactions =
            around().map(|info| info.redactions).fold(at.redactions, u32::saturating_add);
        let digest = BodyDigest {
            body: at.body.finalize().into(),
            components: [
                component(PartKind::System),
                component(PartKind::Tools),
                component(PartKind::Options),
                parts.finalize().into(),
            ],
            body_bytes: at.bytes,
            redactions,
            withheld: at.withheld || around().any(|info| info.withheld),
        };
        self.session(session)?.marks = marks;
        Ok(digest)
    }
}

impl Mark {
    fn feed(&mut self, bytes: &[u8]) {
        self.body.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

/// The body, without the messages that it keeps.
fn body_of(grown: &Grown<'_>) -> Vec<u8> {
    let list = grown.dialect.list_key();
    let items: usize = grown.items.iter().map(|item| item.len() + 1).sum();
    let mut body = Vec::with_capacity(items + grown.tail.len() + list.len() + 8);
    body.push(b'{');
    body.extend_from_slice(list);
    body.extend_from_slice(b":[");
    for (index, item) in grown.items.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item);
    }
    body.push(b']');
    body.extend_from_slice(grown.tail);
    body.push(b'}');
    body
}
