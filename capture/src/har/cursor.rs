//! Reads JSON's punctuation from a stream: names, commas, and where values end.
//!
//! It knows where it is and how many entries went by, since every error has to say so; it does
//! not know what a HAR looks like.

use std::io::Read;

use super::error::{HarError, NotHarReason};
use super::framer::{Framer, kind_of};
use super::source::read_error;
use super::window::{Window, len64};

/// Whether a comma is due before the next member or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Later,
}

/// A place in the document.
pub(crate) struct Cursor<R> {
    window: Window<R>,
    depth_max: usize,
    /// The complete entries so far, whether handed out or refused.
    pub(crate) entries_read: u64,
    /// Whether an entry may have gone by: then a wrong byte makes a broken HAR, else none.
    pub(crate) saw_entries: bool,
}

/// A value whose end was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framed {
    /// The length of the value, which stands at the cursor; `None` if it was longer than
    /// asked for and has been passed over.
    pub(crate) kept_bytes: Option<usize>,
    /// Whether it was nested too deep to be parsed.
    pub(crate) too_deep: bool,
}

impl<R: Read> Cursor<R> {
    pub(crate) fn into_inner(self) -> R {
        self.window.into_inner()
    }

    pub(crate) fn new(reader: R, depth_max: usize) -> Self {
        Self { window: Window::new(reader), depth_max, entries_read: 0, saw_entries: false }
    }

    /// Returns where the cursor stands in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Returns the first `count` bytes at the cursor, which have been read already.
    pub(crate) fn ahead(&self, count: usize) -> &[u8] {
        self.window.bytes().get(..count).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.window.held_bytes()
    }

    /// Goes `count` bytes on.
    pub(crate) fn consume(&mut self, count: usize) {
        self.window.consume(count);
    }

    /// Skips a UTF-8 byte order mark and refuses a UTF-16 one.
    pub(crate) fn byte_order_mark(&mut self) -> Result<(), HarError> {
        while self.window.bytes().len() < 3 && self.fill()? {}
        match self.window.bytes() {
            [0xef, 0xbb, 0xbf, ..] => self.consume(3),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(self.not_har(NotHarReason::Utf16)),
            _ => {}
        }
        Ok(())
    }

    /// Skips white space and returns the byte behind it, which is not consumed; `None` at the
    /// end of the file.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, HarError> {
        loop {
            let bytes = self.window.bytes();
            let blank = bytes.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
            let byte = bytes.get(blank).copied();
            self.consume(blank);
            if byte.is_some() || !self.fill()? {
                return Ok(byte);
            }
        }
    }

    /// Skips white space and returns the byte behind it; the file must not end here.
    pub(crate) fn token(&mut self) -> Result<u8, HarError> {
        match self.peek()? {
            Some(byte) => Ok(byte),
            None => Err(self.truncated()),
        }
    }

    /// Goes to the next member or element, past its comma; `false` past the closing bracket.
    pub(crate) fn next(&mut self, turn: Turn, closer: u8) -> Result<bool, HarError> {
        match (self.token()?, turn) {
            (byte, _) if byte == closer => {
                self.consume(1);
                return Ok(false);
            }
            (b',', Turn::Later) => {
                self.consume(1);
                self.token()?;
            }
            (byte, Turn::Later) => return Err(self.malformed(byte, "a comma or closing bracket")),
            (_, Turn::First) => {}
        }
        Ok(true)
    }

    /// Frames the member name at the cursor, which is left in place.
    pub(crate) fn name(&mut self, name_bytes_max: usize) -> Result<Framed, HarError> {
        match self.token()? {
            b'"' => self.frame(name_bytes_max),
            byte => Err(self.malformed(byte, "a member name")),
        }
    }

    /// Goes past a colon, to the value behind it.
    pub(crate) fn colon(&mut self) -> Result<u8, HarError> {
        match self.token()? {
            b':' => self.consume(1),
            byte => return Err(self.malformed(byte, "a colon")),
        }
        self.token()
    }

    /// Frames the value at the cursor.
    ///
    /// One of at most `keep_bytes_max` bytes stays ahead of the cursor; a longer one is
    /// consumed as it is read.
    pub(crate) fn frame(&mut self, keep_bytes_max: usize) -> Result<Framed, HarError> {
        let mut framer = Framer::new(self.depth_max);
        let mut keeping = true;
        let mut scanned = 0;
        loop {
            let fresh = self.window.bytes().get(scanned..).unwrap_or_default();
            let fresh_bytes = fresh.len();
            match framer.feed(fresh) {
                Ok(Some(count)) => {
                    let value_bytes = scanned + count;
                    let kept_bytes = Some(value_bytes).filter(|n| keeping && *n <= keep_bytes_max);
                    if kept_bytes.is_none() {
                        self.consume(value_bytes);
                    }
                    return Ok(Framed { kept_bytes, too_deep: framer.too_deep() });
                }
                Ok(None) => scanned += fresh_bytes,
                Err(fault) => {
                    let byte = fresh.get(fault.at).copied().unwrap_or_default();
                    self.consume(scanned + fault.at);
                    return Err(self.malformed(byte, fault.expected));
                }
            }
            if !keeping || scanned > keep_bytes_max {
                keeping = false;
                self.consume(std::mem::take(&mut scanned));
            }
            if !self.fill()? {
                return Err(self.truncated());
            }
        }
    }

    /// Passes over the value at the cursor.
    pub(crate) fn skip_value(&mut self) -> Result<(), HarError> {
        // A value has at least one byte, so nothing is kept.
        self.frame(0).map(drop)
    }

    pub(crate) fn not_har(&self, reason: NotHarReason) -> HarError {
        HarError::NotHar { offset: self.offset(), reason }
    }

    pub(crate) fn malformed(&self, byte: u8, expected: &'static str) -> HarError {
        let found = kind_of(byte);
        self.refuse(byte, expected, NotHarReason::NotJson { found, expected })
    }

    /// Before the first entry the file is no HAR for `reason`, behind it a broken one.
    pub(crate) fn refuse(
        &self,
        byte: u8,
        expected: &'static str,
        reason: NotHarReason,
    ) -> HarError {
        if !self.saw_entries {
            return self.not_har(reason);
        }
        let (offset, entries_read) = (self.offset(), self.entries_read);
        HarError::Malformed { offset, entries_read, found: kind_of(byte), expected }
    }

    fn fill(&mut self) -> Result<bool, HarError> {
        self.window.fill().map_err(|error| read_error(error, self.read_to(), self.entries_read))
    }

    fn truncated(&self) -> HarError {
        HarError::Truncated { offset: self.read_to(), entries_read: self.entries_read }
    }

    fn read_to(&self) -> u64 {
        self.offset().saturating_add(len64(self.window.bytes().len()))
    }
}
