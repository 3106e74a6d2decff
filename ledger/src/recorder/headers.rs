//! How a request travelled: method, URL and header fields, the latter as what changed.

use artifacts::redact::Redacted;

use super::{RecordError, Recorder};
use crate::content::Content;
use crate::event::{Dispatched, Event, Headers};
use crate::id::RequestId;

/// Header fields whose value is a URL or the path of one. Browsers export the pseudo field of
/// HTTP/2 like the others.
const URL_FIELDS: [&str; 5] = [":path", "content-location", "location", "origin", "referer"];

/// How a request was sent.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    /// When, Unix nanoseconds.
    pub at_unix_ns: Option<u64>,
    /// HTTP method.
    pub method: &'a str,
    /// URL.
    pub url: &'a str,
    /// Header fields in order.
    pub headers: &'a [(String, Vec<u8>)],
}

/// Redacted header fields as last recorded in one direction.
#[derive(Debug)]
pub(super) struct LastHeaders {
    request: RequestId,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Answer,
}

impl Recorder {
    /// Redacts the value of a header field; one that is a URL or a path also by its parameters.
    pub fn redact_field<'a>(&self, name: &str, value: &'a [u8]) -> Redacted<'a> {
        if URL_FIELDS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return self.redactor.redact_url(value);
        }
        self.redactor.redact_header(name, value)
    }

    /// Records that a captured request was sent.
    ///
    /// # Errors
    /// The fact cannot be written, or the request is not known.
    pub fn request_dispatched(
        &mut self,
        request: RequestId,
        sent: &Sent<'_>,
    ) -> Result<(), RecordError> {
        let url = self.redactor.redact_url(sent.url.as_bytes()).into_owned();
        let event = Dispatched {
            request,
            at_unix_ns: sent.at_unix_ns,
            method: self.content(sent.method.as_bytes())?,
            url: self.writer.content(&url)?,
            headers: self.headers(request, Direction::Request, sent.headers)?,
        };
        self.append(&Event::RequestDispatched(event))
    }

    /// Header fields, redacted, against the last ones of the conversation.
    pub(super) fn headers(
        &mut self,
        request: RequestId,
        direction: Direction,
        headers: &[(String, Vec<u8>)],
    ) -> Result<Headers, RecordError> {
        let redacted: Vec<_> = headers
            .iter()
            .map(|(name, value)| {
                let clean_name = self.redactor.redact(name.as_bytes()).into_owned();
                (clean_name, self.redact_field(name, value).into_owned())
            })
            .collect();
        let fields: Vec<(Vec<u8>, Vec<u8>)> = redacted
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect();
        let id = self.session_of(request)?;
        let session = self.session(id)?;
        let last = match direction {
            Direction::Request => &mut session.sent_headers,
            Direction::Answer => &mut session.got_headers,
        };
        let changed = last.as_ref().and_then(|last| last.changed(&fields));
        let told = match changed {
            Some((of, indexes)) => {
                let mut values = Vec::with_capacity(indexes.len());
                for (index, position) in indexes {
                    if let Some((_, value)) = redacted.get(position) {
                        values.push((index, self.writer.content(value)?));
                    }
                }
                Headers::Changed { of, values }
            }
            None => Headers::Full(self.full(&redacted)?),
        };
        let session = self.session(id)?;
        let last = Some(LastHeaders { request, fields });
        match direction {
            Direction::Request => session.sent_headers = last,
            Direction::Answer => session.got_headers = last,
        }
        Ok(told)
    }

    fn full(
        &mut self,
        redacted: &[(artifacts::redact::Redacted<'_>, artifacts::redact::Redacted<'_>)],
    ) -> Result<Vec<(Content, Content)>, RecordError> {
        let mut out = Vec::with_capacity(redacted.len());
        for (name, value) in redacted {
            out.push((self.writer.content(name)?, self.writer.content(value)?));
        }
        Ok(out)
    }
}

impl LastHeaders {
    /// The fields whose values differ, when names and order are the same and no more than half
    /// of the values changed.
    fn changed(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<(RequestId, Vec<(u16, usize)>)> {
        let same_names = self.fields.len() == fields.len()
            && self.fields.iter().zip(fields).all(|((a, _), (b, _))| a == b);
        if !same_names {
            return None;
        }
        let mut indexes = Vec::new();
        for (position, ((_, a), (_, b))) in self.fields.iter().zip(fields).enumerate() {
            if a != b {
                indexes.push((u16::try_from(position).ok()?, position));
            }
        }
        (indexes.len() * 2 <= fields.len()).then_some((self.request, indexes))
    }
}
