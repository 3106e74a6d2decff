//! Replaces secrets by placeholders before bytes are stored; the only sanctioned cut on the
//! write path.
//!
//! [`Redacted`] is the proof that bytes went through here: a store takes nothing else, and only
//! a [`Redactor`] makes one. Redacting twice changes nothing, a text keeps its number of lines,
//! a placeholder can stand inside a JSON string, and however a text is cut into chunks, a
//! stream yields the same bytes and the same spans.
//!
//! Not here yet: values that the caller knows to be secret, decoded views (base64, UTF-16), and
//! keyed tags (see `placeholder`). This set knows shapes only: key-like tokens with a fixed
//! prefix, bearer tokens behind an authorization word, and private keys in PEM.

use std::borrow::Cow;
use std::fmt;

mod anchor;
mod boundary;
mod named;
mod placeholder;
mod rules;
mod scan;
mod shape;
mod stream;

use self::anchor::Anchors;
use self::rules::Rule;
pub use self::rules::RuleSet;
use self::scan::{Edge, Progress, Span, Step};
pub use self::stream::{MAXSPAN_BYTES, RedactStream};

/// Bytes in which every secret that the rules know is replaced.
///
/// Only a [`Redactor`] makes one. `Debug` prints lengths, never content.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    bytes: Cow<'a, [u8]>,
    redactions: Vec<Redaction>,
}

/// Describes one replaced span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The rule that found it; the number of a rule never changes.
    pub rule: u16,
    /// Where the placeholder starts, in redacted bytes.
    pub offset: u64,
    /// Length of the placeholder.
    pub bytes: u64,
    /// Length of what it replaced.
    pub raw_bytes: u64,
}

/// Finds secrets and replaces them.
#[derive(Clone, Debug)]
pub struct Redactor {
    anchors: Anchors,
}

impl<'a> Redacted<'a> {
    /// Returns the redacted bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Lists what was replaced, in the order of the text.
    pub fn redactions(&self) -> &[Redaction] {
        &self.redactions
    }

    /// Returns true if something was replaced.
    pub fn is_changed(&self) -> bool {
        !self.redactions.is_empty()
    }

    /// Copies borrowed bytes, so that the result lives on its own.
    pub fn into_owned(self) -> Redacted<'static> {
        Redacted { bytes: Cow::Owned(self.bytes.into_owned()), redactions: self.redactions }
    }

    fn unchanged(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), redactions: Vec::new() }
    }
}

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redacted")
            .field("bytes", &self.bytes.len())
            .field("redactions", &self.redactions.len())
            .finish()
    }
}

impl Redactor {
    /// Makes a redactor of the core rules, which are always on.
    pub fn core() -> Self {
        Self { anchors: Anchors::new() }
    }

    /// Identifies the rules, for the record of what a redaction could have found.
    pub fn ruleset(&self) -> RuleSet {
        rules::ruleset()
    }

    /// Redacts a whole text. The result borrows `raw` when nothing was found.
    pub fn redact<'a>(&self, raw: &'a [u8]) -> Redacted<'a> {
        let mut progress = Progress::new();
        let mut output = Output::default();
        let mut from = 0;
        while let Step::Span(span) = scan::step(&self.anchors, raw, from, Edge::End, &mut progress)
        {
            output.keep(raw.get(from..span.start).unwrap_or_default());
            output.replace(raw, span);
            progress.replaced();
            from = span.end;
        }
        output.finish(raw, from)
    }

    /// Redacts the value of a header.
    ///
    /// Behind a name that says that the value is a credential (`authorization`, `cookie`,
    /// `x-api-key`, `*-token`, `*secret*` and so on, in any case) the whole value is replaced but
    /// for a scheme word such as `Bearer`; other values are redacted as text.
    pub fn redact_header<'a>(&self, name: &str, value: &'a [u8]) -> Redacted<'a> {
        if !named::is_secret_header(name) {
            return self.redact(value);
        }
        let spans = named::credential(value).into_iter().collect();
        replace_all(value, spans)
    }

    /// Redacts a URL: passwords of a user, values of parameters such as `key` and
    /// `access_token`, and whatever else the rules find.
    pub fn redact_url<'a>(&self, url: &'a [u8]) -> Redacted<'a> {
        let mut spans = named::url_spans(url);
        let mut progress = Progress::new();
        let mut from = 0;
        while let Step::Span(span) = scan::step(&self.anchors, url, from, Edge::End, &mut progress)
        {
            spans.push(span);
            progress.replaced();
            from = span.end;
        }
        replace_all(url, scan::union(spans))
    }

    /// Starts redacting a text that comes in pieces.
    ///
    /// One stream per text: standard output and standard error are two.
    pub fn stream(&self) -> RedactStream<'_> {
        RedactStream::new(&self.anchors)
    }
}

/// Replaces spans that do not overlap and are in order.
fn replace_all(raw: &[u8], spans: Vec<Span>) -> Redacted<'_> {
    let mut output = Output::default();
    let mut from = 0;
    for span in spans {
        output.keep(raw.get(from..span.start).unwrap_or_default());
        output.replace(raw, span);
        from = span.end;
    }
    output.finish(raw, from)
}

/// Collects output; stays empty as long as nothing was replaced.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    redactions: Vec<Redaction>,
}

impl Output {
    fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn replace(&mut self, raw: &[u8], span: Span) {
        let secret = raw.get(span.start..span.end).unwrap_or_default();
        let offset = self.bytes.len() as u64;
        self.redactions.push(write_placeholder(span.rule, secret, offset, &mut self.bytes));
    }

    fn finish(mut self, raw: &[u8], from: usize) -> Redacted<'_> {
        if self.redactions.is_empty() {
            return Redacted::unchanged(raw);
        }
        self.keep(raw.get(from..).unwrap_or_default());
        Redacted { bytes: Cow::Owned(self.bytes), redactions: self.redactions }
    }
}

/// Appends the placeholder for `secret`; `offset` is where it starts in all of the output.
fn write_placeholder(
    rule: &'static Rule,
    secret: &[u8],
    offset: u64,
    out: &mut Vec<u8>,
) -> Redaction {
    let before = out.len();
    placeholder::write(rule, secret, out);
    let bytes = (out.len() - before) as u64;
    Redaction { rule: rule.id, offset, bytes, raw_bytes: secret.len() as u64 }
}

#[cfg(test)]
mod tests;
