//! Splits a server-sent event stream into its events.
//!
//! It is not a JSON reader: it knows lines, fields and blank lines, and nothing of what
//! the events mean. Lines end in LF, CRLF or CR; comments and unknown fields are skipped,
//! as the event stream format asks. Unlike a browser it also hands out an event that the
//! end of the body interrupts, marked as such, since the whole of a recorded answer may
//! end without its last blank line.

use std::borrow::Cow;

use memchr::memchr2;

/// One event of a stream: the joined `data` lines and the `event` name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SseEvent<'a> {
    /// The value of the last `event` field, empty where there was none.
    pub(super) name: &'a [u8],
    /// The values of the `data` fields, joined by line feeds.
    pub(super) data: Cow<'a, [u8]>,
    /// Whether a blank line closed the event; if not, the body ended inside it.
    pub(super) closed: bool,
}

/// The events of a body, in order. Every byte is looked at once.
pub(super) struct SseEvents<'a> {
    rest: &'a [u8],
}

impl<'a> SseEvents<'a> {
    /// Starts at the first byte of a body, behind its byte order mark.
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// Takes the next line off, without its end; `None` at the end of the body.
    fn line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let at = memchr2(b'\n', b'\r', self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(at)?;
        self.rest = match rest {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => rest,
        };
        Some(line)
    }
}

impl<'a> Iterator for SseEvents<'a> {
    type Item = SseEvent<'a>;

    fn next(&mut self) -> Option<SseEvent<'a>> {
        let mut name: &[u8] = b"";
        let mut data: Option<Cow<'a, [u8]>> = None;
        while let Some(line) = self.line() {
            if line.is_empty() {
                if let Some(data) = data.take() {
                    return Some(SseEvent { name, data, closed: true });
                }
                name = b"";
                continue;
            }
            match field(line) {
                (b"event", value) => name = value,
                (b"data", value) => match &mut data {
                    None => data = Some(Cow::Borrowed(value)),
                    Some(lines) => {
                        let lines = lines.to_mut();
                        lines.push(b'\n');
                        lines.extend_from_slice(value);
                    }
                },
                _ => {}
            }
        }
        data.map(|data| SseEvent { name, data, closed: false })
    }
}

/// Splits a line into field name and value. A comment has an empty name.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memchr(b':', line).unwrap_or(line.len());
    match line.split_at_checked(at) {
        Some((name, [b':', b' ', value @ ..] | [b':', value @ ..])) => (name, value),
        _ => (line, b""),
    }
}
