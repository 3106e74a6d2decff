//! Records outputs that were found beside the wire, and tells which calls they can belong to.
//!
//! A found output is joined by the provider's id of its call; whoever joins does so with
//! [`Recorder::calls_seen`]. What the client sent is left as it is.

use artifacts::{GetError, Source as _};

use super::link::{Call, ItemFacts};
use super::{RecordError, Recorder};
use crate::content::{Bytes, Content};
use crate::event::{Dropped, Event, OutputFound, Returned, TextMeasure};
use crate::id::{SessionId, ToolCallId};

/// A call of the run, by everything that another record may name it with.
#[derive(Clone, Debug)]
pub struct CallSeen {
    /// Our id of it.
    pub call: ToolCallId,
    /// The provider's id, where the dialect has one.
    pub provider_id: Option<Vec<u8>>,
    /// The tool, as redacted.
    pub tool: Vec<u8>,
    /// The client's own id of the conversation.
    pub client_session: Option<Vec<u8>>,
    /// The texts that the client first sent for it; none while it has not returned.
    pub texts: Vec<Content>,
}

/// An output to record.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The call.
    pub call: ToolCallId,
    /// Which text of its output, from 0.
    pub index: u16,
    /// Name of the format, at most [`SOURCE_BYTES_MAX`](crate::event::found::SOURCE_BYTES_MAX).
    pub source: &'a str,
    /// Which record of the source, from 0.
    pub record: u64,
    /// The text.
    pub text: FoundText<'a>,
}

/// How much of an output was found.
#[derive(Clone, Copy, Debug)]
pub enum FoundText<'a> {
    /// All of it.
    Whole(&'a str),
    /// Its beginning and its end.
    Ends {
        /// The beginning.
        head: &'a str,
        /// The end.
        tail: &'a str,
        /// Bytes between them, where that is known.
        gap_bytes: Option<u64>,
    },
}

impl Recorder {
    /// The calls so far, in order.
    pub fn calls_seen(&self) -> Vec<CallSeen> {
        let all = self.links.calls();
        all.map(|(call, facts, state)| self.seen(call, facts, state)).collect()
    }

    /// The calls that have returned, in that order, but for the first `known` ones.
    pub fn calls_returned(&self, known: usize) -> Vec<CallSeen> {
        let new = self.links.returns().get(known..).unwrap_or_default();
        new.iter()
            .filter_map(|call| {
                let (facts, state) = self.links.call(*call)?;
                Some(self.seen(*call, facts, state))
            })
            .collect()
    }

    fn seen(&self, call: ToolCallId, facts: Option<&ItemFacts>, state: &Call) -> CallSeen {
        let session = self.sessions.get(state.session.index());
        CallSeen {
            call,
            provider_id: facts.and_then(|facts| facts.call_id.clone()),
            tool: facts.map(|facts| facts.name.clone()).unwrap_or_default(),
            client_session: session.and_then(|it| it.client_id.clone()),
            texts: state.texts.clone(),
        }
    }

    /// The call that a conversation knows by the provider's id; else that of another one. `None`
    /// where several have it.
    pub fn call_named(&self, session: SessionId, provider_id: &[u8]) -> Option<ToolCallId> {
        self.links.call_by_id(session, provider_id)
    }

    /// The bytes of a text that this recorder stored.
    ///
    /// # Errors
    /// The store cannot read it back.
    pub fn read<'a>(&self, content: &'a Content) -> Result<Bytes<'a>, GetError> {
        match content.artifact() {
            Some(artifact) => self.writer.read(artifact).map(Bytes::Stored),
            None => Ok(Bytes::Inline(content.as_inline().unwrap_or_default())),
        }
    }

    /// Records an output that was found beside the wire.
    ///
    /// # Errors
    /// The call is not known, or the fact cannot be written.
    pub fn output_found(&mut self, found: &Found<'_>) -> Result<(), RecordError> {
        if !self.links.is_known(found.call) {
            let number = found.call.number();
            return Err(RecordError::Unknown { what: "call", number });
        }
        let (texts, dropped): (&[&str], _) = match &found.text {
            FoundText::Whole(text) => (std::slice::from_ref(text), Dropped::Bytes(0)),
            FoundText::Ends { head, tail, gap_bytes } => {
                // A gap of nothing is still a gap whose place nobody vouches for.
                let gap = gap_bytes.filter(|bytes| *bytes > 0);
                (&[head, tail], gap.map_or(Dropped::Unknown, Dropped::Bytes))
            }
        };
        let mut pieces = Vec::with_capacity(texts.len());
        let mut redactions = 0_u32;
        for text in texts {
            let redacted = self.redactor.redact(text.as_bytes());
            let count = redacted.redactions().len();
            redactions = redactions.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            let measure = TextMeasure::of(&String::from_utf8_lossy(redacted.as_bytes()));
            pieces.push(Returned { text: Content::stored(self.writer.put(&redacted)?), measure });
        }
        self.append(&Event::OutputFound(OutputFound {
            call: found.call,
            index: found.index,
            source: found.source.to_owned(),
            record: found.record,
            pieces,
            dropped,
            redactions,
        }))
    }
}
