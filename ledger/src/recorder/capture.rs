//! Captures a request: its lists against the ones before, its digest, what can be claimed of it.

use sha2::{Digest as _, Sha256};

use super::lists::Lists;
use super::prepare::Prepared;
use super::{Durability, RecordError, Recorder};
use crate::event::{
    Event, Overlay, Propensity, RequestCaptured, Rung, Splice, Splices, Transfer, Unsplit,
};
use crate::id::{PartNo, RequestId, SessionId};
use crate::wire::PartKind;
use crate::wire::outline::{Outline, Piece};
use crate::wire::overlay;

/// After so many requests of a conversation the lists are told in full, so that a reader can
/// start there.
const FULL_LIST_EVERY: u32 = 64;
/// What a change of a list takes in an event beside the parts that it inserts, and what each of
/// those takes. Where the difference takes more than the full list, that is told.
const SPLICE_BYTES: usize = 16;
const PART_BYTES: usize = 4;

/// What a caller knows of a request beside its body.
#[derive(Clone, Debug)]
pub struct Capture<'a> {
    /// The conversation.
    pub session: SessionId,
    /// What can be claimed of the body's bytes.
    pub rung: Rung,
    /// Content coding that was undone.
    pub content_coding: Option<&'a str>,
    /// Bytes as sent.
    pub sent_bytes: u64,
    /// Canonical bytes of the context policy in force, where it is known.
    pub policy: Option<&'a [u8]>,
    /// How likely its policy was, where that was drawn.
    pub propensity: Option<Propensity>,
}

/// What was recorded of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Its id.
    pub request: RequestId,
    /// Length of its redacted body.
    pub body_bytes: u64,
    /// Spans that redaction replaced.
    pub redactions: u32,
    /// Attempt, from 1.
    pub attempt: u16,
}

/// Digests and sizes of a redacted body.
pub(super) struct BodyDigest {
    pub(super) body: [u8; 32],
    pub(super) components: [[u8; 32]; 4],
    pub(super) body_bytes: u64,
    pub(super) redactions: u32,
    /// Something of it was kept back.
    pub(super) withheld: bool,
}

impl Recorder {
    /// Records a request before it may be sent.
    ///
    /// # Errors
    /// The fact cannot be written; the request must then not be sent.
    pub fn request_captured(
        &mut self,
        prepared: &Prepared<'_>,
        capture: &Capture<'_>,
    ) -> Result<Captured, RecordError> {
        self.session(capture.session)?;
        let whole = Outline {
            head: vec![Piece { kind: PartKind::Verbatim, span: 0..prepared.body.len() }],
            ..Outline::default()
        };
        let outline = prepared.shape.as_ref().unwrap_or(&whole);
        let lists = self.lists(prepared, outline, capture.session, 0)?;
        let digest = self.digest(prepared, outline, &lists);
        let separator = prepared.body.get(outline.separator.clone()).unwrap_or_default();
        // The digests of a list that was put together do not go on from this one.
        self.session(capture.session)?.marks.clear();
        self.capture_as(prepared, capture, lists, &digest, separator)
    }

    /// Appends the fact and remembers the lists.
    pub(super) fn capture_as(
        &mut self,
        prepared: &Prepared<'_>,
        capture: &Capture<'_>,
        lists: Lists,
        digest: &BodyDigest,
        separator: &[u8],
    ) -> Result<Captured, RecordError> {
        let request = u32::try_from(self.requests.len())
            .map(RequestId::new)
            .map_err(|_wide| RecordError::TooMany { what: "requests" })?;
        let event = self.captured(request, prepared, capture, &lists, digest, separator)?;
        let captured = Captured {
            request,
            body_bytes: event.body_bytes,
            redactions: event.redactions,
            attempt: event.attempt,
        };
        self.append(&Event::RequestCaptured(event))?;
        self.requests.push(capture.session);
        let session = self.session(capture.session)?;
        session.items = lists.items;
        session.head = lists.head.list;
        session.tail = lists.tail.list;
        session.last = Some(request);
        session.unanswered = true;
        if self.durability == Durability::EachRequest {
            self.commit()?;
        }
        Ok(captured)
    }

    fn captured(
        &mut self,
        request: RequestId,
        prepared: &Prepared<'_>,
        capture: &Capture<'_>,
        lists: &Lists,
        digest: &BodyDigest,
        separator: &[u8],
    ) -> Result<RequestCaptured, RecordError> {
        let (attempt, attempt_of) = self.attempt(capture.session, request, lists)?;
        let (base, splices) = self.splices(capture.session, lists)?;
        let redacted = digest.redactions > 0;
        Ok(RequestCaptured {
            request,
            session: capture.session,
            attempt,
            attempt_of,
            dialect: prepared.dialect.tag(),
            model: prepared.model().map(|model| self.content(model)).transpose()?,
            body_bytes: digest.body_bytes,
            body_digest: digest.body,
            component_digests: digest.components,
            rung: if digest.withheld {
                Rung::Lossy
            } else if redacted {
                capture.rung.max(Rung::ExactModuloRedaction)
            } else {
                capture.rung
            },
            redactions: digest.redactions,
            transfer: Transfer {
                content_coding: capture.content_coding.map(str::to_owned),
                sent_bytes: capture.sent_bytes,
            },
            policy: capture.policy.map(|policy| self.content(policy)).transpose()?,
            unsplit: prepared.unsplit().map(|reason| Unsplit { reason: reason.to_owned() }),
            base,
            separator: self.content(separator)?,
            escape: self.session(capture.session)?.escape,
            splices,
            overlays: self.overlays(prepared, &lists.items)?,
            propensity: capture.propensity.map(Box::new),
        })
    }

    /// Counts attempts: a send that repeats an unanswered one without a change in its messages.
    fn attempt(
        &mut self,
        session: SessionId,
        request: RequestId,
        lists: &Lists,
    ) -> Result<(u16, Option<RequestId>), RecordError> {
        let session = self.session(session)?;
        if session.last.is_some() && session.unanswered && lists.item_splices.is_empty() {
            session.attempt = session.attempt.saturating_add(1);
            return Ok((session.attempt, session.first_attempt));
        }
        session.attempt = 1;
        session.first_attempt = Some(request);
        Ok((1, None))
    }

    /// The lists against the conversation's last request, or in full now and then.
    fn splices(
        &mut self,
        session: SessionId,
        lists: &Lists,
    ) -> Result<(Option<RequestId>, Splices), RecordError> {
        let session = self.session(session)?;
        session.since_full += 1;
        let inserted = |splice: &Splice<PartNo>| SPLICE_BYTES + PART_BYTES * splice.insert.len();
        let difference: usize = lists.item_splices.iter().map(inserted).sum();
        let worth_it = difference <= SPLICE_BYTES + PART_BYTES * lists.items.len();
        let told = worth_it && session.since_full < FULL_LIST_EVERY;
        let Some(base) = session.last.filter(|_| told) else {
            session.since_full = 0;
            let all = Splice { at: 0, remove: 0, insert: lists.items.clone() };
            let items = if lists.items.is_empty() { Vec::new() } else { vec![all] };
            let head = lists.head.splices(&[]);
            let tail = lists.tail.splices(&[]);
            return Ok((None, Splices { head, items, tail }));
        };
        let head = lists.head.splices(&session.head);
        let tail = lists.tail.splices(&session.tail);
        Ok((Some(base), Splices { head, items: lists.item_splices.clone(), tail }))
    }

    /// Digests the redacted body. Where redaction changed nothing, that is the body as it came.
    fn digest(&self, prepared: &Prepared<'_>, outline: &Outline, lists: &Lists) -> BodyDigest {
        let all = || lists.head.list.iter().chain(&lists.items).chain(&lists.tail.list);
        let infos = || all().filter_map(|part| self.table.info(*part));
        let marks = prepared.items.iter().flat_map(|item| &item.marks);
        let in_marks = marks.filter(|mark| self.redact_json(&mark.bytes).as_bytes() != mark.bytes);
        let in_marks = u32::try_from(in_marks.count()).unwrap_or(u32::MAX);
        let redactions = infos().map(|info| info.redactions).fold(in_marks, u32::saturating_add);
        let changed = in_marks > 0 || infos().any(|info| info.redacted.is_some());
        let (body, body_bytes) = if changed {
            self.redacted_digest(prepared, outline, lists)
        } else {
            (Sha256::digest(prepared.body).into(), prepared.body.len() as u64)
        };
        let component = |kinds: &[PartKind]| {
            let mut hash = Sha256::new();
            for info in infos().filter(|info| kinds.contains(&info.kind)) {
                hash.update(info.digest);
            }
            hash.finalize().into()
        };
        let components = [
            component(&[PartKind::System]),
            component(&[PartKind::Tools]),
            component(&[PartKind::Options]),
            component(&[PartKind::Item, PartKind::Verbatim]),
        ];
        let withheld = infos().any(|info| info.withheld);
        BodyDigest { body, components, body_bytes, redactions, withheld }
    }

    /// Digest and length of the body with redacted parts in the place of raw ones.
    fn redacted_digest(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        lists: &Lists,
    ) -> ([u8; 32], u64) {
        let mut hash = Sha256::new();
        let mut bytes = 0;
        let mut feed = |chunk: &[u8]| {
            bytes += chunk.len() as u64;
            hash.update(chunk);
        };
        let raw =
            |span: &core::ops::Range<usize>| prepared.body.get(span.clone()).unwrap_or_default();
        let clean = |part: &PartNo| self.table.info(*part).and_then(|info| info.redacted.clone());
        for (piece, part) in outline.head.iter().zip(&lists.head.list) {
            feed(clean(part).as_deref().unwrap_or_else(|| raw(&piece.span)));
        }
        for (index, (item, part)) in prepared.items.iter().zip(&lists.items).enumerate() {
            if index > 0 {
                feed(raw(&outline.separator));
            }
            match self.table.info(*part) {
                Some(info) if info.redacted.is_some() || !item.marks.is_empty() => {
                    let mut marks = info.clean_marks(&item.marks);
                    for mark in &mut marks {
                        mark.bytes = self.redact_json(&mark.bytes).as_bytes().to_vec();
                    }
                    let base = overlay::strip(raw(&item.span)).base;
                    let text = info.redacted.as_deref().unwrap_or(&base);
                    feed(&overlay::restore(text, &marks));
                }
                _ => feed(raw(&item.span)),
            }
        }
        for (piece, part) in outline.tail.iter().zip(&lists.tail.list) {
            feed(clean(part).as_deref().unwrap_or_else(|| raw(&piece.span)));
        }
        (hash.finalize().into(), bytes)
    }

    fn overlays(
        &mut self,
        prepared: &Prepared<'_>,
        items: &[PartNo],
    ) -> Result<Vec<Overlay>, RecordError> {
        let mut overlays = Vec::new();
        for (index, (item, part)) in prepared.items.iter().zip(items).enumerate() {
            for mark in &item.marks {
                let offset =
                    self.table.info(*part).map_or(0, |info| info.literal_offset(mark.offset));
                let item = u32::try_from(index).expect("lists are bounded by ITEMS_MAX");
                let redacted = self.redact_json(&mark.bytes);
                let bytes = self.writer.content(&redacted)?;
                overlays.push(Overlay { item, offset, bytes });
            }
        }
        Ok(overlays)
    }
}
