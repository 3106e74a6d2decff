//! Walks a HAR file to its entries and hands them out one by one, as bytes.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeOwned, MapAccess};

use super::cursor::{Cursor, Turn};
use super::error::{HarError, NotHarReason};
use super::framer::kind_of;
use super::members::{Members, Object, skip};

/// The largest entry that [`Limits::STANDARD`] reads.
pub const ENTRY_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The deepest nesting inside an entry that [`Limits::STANDARD`] reads.
pub const DEPTH_MAX: usize = 512;
/// The largest `creator`, `browser`, `comment` or `version` that is kept; larger ones are
/// passed over.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Longer than any member name that means something here, even if all of it is escaped.
const NAME_BYTES_MAX: usize = 128;

/// How much of a file one entry may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest entry in bytes; it is also the bound of the reader's memory, which may
    /// reach twice as much while it grows.
    pub entry_bytes_max: usize,
    /// The deepest nesting of arrays and objects, the entry itself counted.
    pub depth_max: usize,
}

impl Limits {
    /// [`ENTRY_BYTES_MAX`] and [`DEPTH_MAX`].
    pub const STANDARD: Self = Self { entry_bytes_max: ENTRY_BYTES_MAX, depth_max: DEPTH_MAX };
}

/// A program named in the log: `creator` or `browser`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Product {
    /// The program's name; empty if the file gives none.
    pub name: String,
    /// The program's version; empty if the file gives none.
    pub version: String,
}

/// The bytes of one element of `log.entries`; JSON as far as its brackets and strings go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawEntry<'a> {
    /// The element's place in the list, from 0.
    pub index: u64,
    /// Where the element starts in the decompressed file.
    pub offset: u64,
    /// The element as it stands in the file.
    pub bytes: &'a [u8],
}

/// Shows the place and the length: an entry may hold keys and prompts.
impl fmt::Debug for RawEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawEntry")
            .field("index", &self.index)
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Reads the entries of a HAR file in their order, each once.
///
/// After an error for which [`HarError::is_final`] holds there are no more entries, and every
/// later call says [`HarError::Stopped`].
pub struct HarReader<R> {
    cursor: Cursor<R>,
    entry_bytes_max: usize,
    depth_max: usize,
    place: Place,
    saw_log: bool,
    head: Head,
    /// The length of the entry that the caller holds; consumed at the next call.
    lent_bytes: usize,
}

/// Where in the document the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Document(Turn),
    Log(Turn),
    Entries(Turn),
    End,
    Stopped,
}

#[derive(Default)]
struct Head {
    version: Option<String>,
    comment: Option<String>,
    creator: Option<Product>,
    browser: Option<Product>,
}

/// The member names that the walk knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Log,
    Entries,
    Version,
    Comment,
    Creator,
    Browser,
    Other,
}

impl<R> fmt::Debug for HarReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarReader").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<R: Read> HarReader<R> {
    /// Stands before the file; nothing is read yet. The bytes must be plain JSON: see
    /// [`sniff`](super::sniff) for compressed ones.
    pub fn new(reader: R, limits: Limits) -> Self {
        Self {
            cursor: Cursor::new(reader, limits.depth_max),
            entry_bytes_max: limits.entry_bytes_max,
            depth_max: limits.depth_max,
            place: Place::Start,
            saw_log: false,
            head: Head::default(),
            lent_bytes: 0,
        }
    }

    /// Reads up to the first `entries`, so that what stands before it in the log is known.
    pub fn read_head(&mut self) -> Result<(), HarError> {
        while !matches!(self.place, Place::Entries(_) | Place::End) {
            self.step()?;
        }
        Ok(())
    }

    /// Returns the next entry, or `None` behind the last one of a file that is whole.
    pub fn next_entry(&mut self) -> Result<Option<RawEntry<'_>>, HarError> {
        self.cursor.consume(std::mem::take(&mut self.lent_bytes));
        let entry_bytes = loop {
            if self.place == Place::End {
                return Ok(None);
            }
            if let Some(entry_bytes) = self.step()? {
                break entry_bytes;
            }
        };
        let index = self.cursor.entries_read;
        self.cursor.entries_read += 1;
        self.lent_bytes = entry_bytes;
        let offset = self.cursor.offset();
        Ok(Some(RawEntry { index, offset, bytes: self.cursor.ahead(entry_bytes) }))
    }

    /// Returns the reader that the bytes came from. What was read ahead of it stays read.
    pub fn into_inner(self) -> R {
        self.cursor.into_inner()
    }

    /// Returns the program that wrote the file, as far as the file has been read.
    pub fn creator(&self) -> Option<&Product> {
        self.head.creator.as_ref()
    }

    /// Returns the program that sent the requests, as far as the file has been read.
    pub fn browser(&self) -> Option<&Product> {
        self.head.browser.as_ref()
    }

    /// Returns the comment of the log, as far as the file has been read.
    pub fn comment(&self) -> Option<&str> {
        self.head.comment.as_deref()
    }

    /// Returns the format version of the log, as far as the file has been read.
    pub fn version(&self) -> Option<&str> {
        self.head.version.as_deref()
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.cursor.held_bytes()
    }

    /// Goes one member or element on; returns the length of an entry that stands ahead.
    fn step(&mut self) -> Result<Option<usize>, HarError> {
        let step = match self.place {
            Place::Start => self.start().map(|()| None),
            Place::Document(turn) => self.document_member(turn).map(|()| None),
            Place::Log(turn) => self.log_member(turn).map(|()| None),
            Place::Entries(turn) => self.element(turn),
            Place::End => Ok(None),
            Place::Stopped => Err(HarError::Stopped { offset: self.cursor.offset() }),
        };
        if step.as_ref().is_err_and(HarError::is_final) {
            self.place = Place::Stopped;
        }
        step
    }

    fn start(&mut self) -> Result<(), HarError> {
        self.cursor.byte_order_mark()?;
        let reason = match self.cursor.peek()? {
            Some(b'{') => {
                self.cursor.consume(1);
                self.place = Place::Document(Turn::First);
                return Ok(());
            }
            Some(byte) => NotHarReason::NotAnObject { found: kind_of(byte) },
            None => NotHarReason::Empty,
        };
        Err(self.cursor.not_har(reason))
    }

    fn document_member(&mut self, turn: Turn) -> Result<(), HarError> {
        if !self.cursor.next(turn, b'}')? {
            return self.end();
        }
        self.place = Place::Document(Turn::Later);
        let (name, byte) = self.name()?;
        if name != Name::Log {
            return self.cursor.skip_value();
        }
        if byte != b'{' {
            let reason = NotHarReason::LogNotAnObject { found: kind_of(byte) };
            return Err(self.cursor.refuse(byte, "an object as \"log\"", reason));
        }
        self.cursor.consume(1);
        self.saw_log = true;
        self.place = Place::Log(Turn::First);
        Ok(())
    }

    fn log_member(&mut self, turn: Turn) -> Result<(), HarError> {
        if !self.cursor.next(turn, b'}')? {
            self.place = Place::Document(Turn::Later);
            return Ok(());
        }
        self.place = Place::Log(Turn::Later);
        let (name, byte) = self.name()?;
        match name {
            Name::Entries if byte == b'[' => {
                self.cursor.consume(1);
                self.cursor.saw_entries = true;
                self.place = Place::Entries(Turn::First);
            }
            Name::Entries => {
                let reason = NotHarReason::EntriesNotAnArray { found: kind_of(byte) };
                return Err(self.cursor.refuse(byte, "an array as \"entries\"", reason));
            }
            Name::Version => self.head.version = self.head_value()?,
            Name::Comment => self.head.comment = self.head_value()?,
            Name::Creator => self.head.creator = self.head_value()?.map(|Members(it)| it),
            Name::Browser => self.head.browser = self.head_value()?.map(|Members(it)| it),
            Name::Log | Name::Other => self.cursor.skip_value()?,
        }
        Ok(())
    }

    fn element(&mut self, turn: Turn) -> Result<Option<usize>, HarError> {
        if !self.cursor.next(turn, b']')? {
            self.place = Place::Log(Turn::Later);
            return Ok(None);
        }
        let (offset, index) = (self.cursor.offset(), self.cursor.entries_read);
        let framed = self.cursor.frame(self.entry_bytes_max)?;
        self.place = Place::Entries(Turn::Later);
        let Some(entry_bytes) = framed.kept_bytes else {
            self.cursor.entries_read += 1;
            let entry_bytes_max = self.entry_bytes_max;
            return Err(HarError::EntryTooLarge { offset, index, entry_bytes_max });
        };
        if framed.too_deep {
            self.cursor.consume(entry_bytes);
            self.cursor.entries_read += 1;
            return Err(HarError::EntryTooDeep { offset, index, depth_max: self.depth_max });
        }
        Ok(Some(entry_bytes))
    }

    /// Checks what a whole document must have had, and that nothing follows it.
    fn end(&mut self) -> Result<(), HarError> {
        if !self.saw_log {
            return Err(self.cursor.not_har(NotHarReason::NoLog));
        }
        if !self.cursor.saw_entries {
            return Err(self.cursor.not_har(NotHarReason::NoEntries));
        }
        if let Some(byte) = self.cursor.peek()? {
            return Err(self.cursor.malformed(byte, "the end of the file"));
        }
        self.place = Place::End;
        Ok(())
    }

    /// Reads a member's name and colon; returns the name and the first byte of the value.
    fn name(&mut self) -> Result<(Name, u8), HarError> {
        let name = match self.cursor.name(NAME_BYTES_MAX)?.kept_bytes {
            Some(name_bytes) => {
                let name = Name::decode(self.cursor.ahead(name_bytes));
                self.cursor.consume(name_bytes);
                name
            }
            None => Name::Other,
        };
        Ok((name, self.cursor.colon()?))
    }

    /// Reads a small value of the log; one of another shape or size counts as absent.
    fn head_value<T: DeserializeOwned>(&mut self) -> Result<Option<T>, HarError> {
        let Some(value_bytes) = self.cursor.frame(HEAD_BYTES_MAX)?.kept_bytes else {
            return Ok(None);
        };
        let value = serde_json::from_slice(self.cursor.ahead(value_bytes)).ok();
        self.cursor.consume(value_bytes);
        Ok(value)
    }
}

impl Name {
    fn decode(quoted: &[u8]) -> Self {
        let Ok(name) = serde_json::from_slice::<Cow<'_, str>>(quoted) else {
            return Self::Other;
        };
        match &*name {
            "log" => Self::Log,
            "entries" => Self::Entries,
            "version" => Self::Version,
            "comment" => Self::Comment,
            "creator" => Self::Creator,
            "browser" => Self::Browser,
            _ => Self::Other,
        }
    }
}

impl<'de> Object<'de> for Product {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"name" => self.name = map.next_value::<Option<_>>()?.unwrap_or_default(),
            b"version" => self.version = map.next_value::<Option<_>>()?.unwrap_or_default(),
            _ => skip(map)?,
        }
        Ok(())
    }
}
