//! Records of a line-based source, whatever state it is in.
//!
//! A line is read up to a bound and cut into the records in it: two that are glued together, a
//! torn one with a whole one behind it, NUL bytes that a crash left. Every byte that is not white
//! space ends up in exactly one piece, and each piece is told once.

use std::io::{self, BufRead};

use super::json::{self, Fault, Json};
use crate::line::{self, Line};

/// Longest line that is kept whole, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 256 << 20;
/// What is kept of a line beyond that.
const LONG_LINE_KEPT_BYTES: usize = 1 << 16;
/// Lines that a record may be spread over, and the bytes of such a record.
const SPREAD_LINES_MAX: usize = 64;
const SPREAD_BYTES_MAX: usize = 1 << 20;
/// Places that are tried for the beginning of the next record behind a torn one.
const RESYNC_TRIES_MAX: usize = 256;

/// One piece of the source.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// Position in the source, from 0.
    pub(crate) index: u64,
    /// Byte offset in the source, its compression undone.
    pub(crate) offset: u64,
    /// Its bytes as they stood.
    pub(crate) raw: &'a [u8],
    /// What it is.
    pub(crate) read: Result<&'a Json<'a>, Unread>,
}

/// Why a piece is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Its end is missing.
    Torn,
    /// It is not JSON.
    NotJson,
    /// It is nested too deeply.
    TooDeep,
    /// It is NUL bytes.
    Nul,
    /// It is longer than [`LINE_BYTES_MAX`], and this is its beginning.
    TooLong,
}

impl Unread {
    /// The phrase that is recorded with it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Torn => "torn record: its end is missing",
            Self::NotJson => "text that is no record",
            Self::TooDeep => "record that is nested too deeply",
            Self::Nul => "NUL bytes",
            Self::TooLong => "line beyond the size limit: its beginning",
        }
    }
}

/// What was repaired on the way, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Lines that hold more than one record.
    pub glued_lines: u64,
    /// Records that were not written as JSON is, and were read as they were meant.
    pub records: u64,
    /// Lines with NUL bytes around a record.
    pub nul_lines: u64,
    /// A byte order mark at the beginning.
    pub byte_order_mark: bool,
    /// The last line has no end.
    pub no_final_newline: bool,
}

/// Takes records.
pub(crate) trait Take {
    /// Why taking ends early.
    type Error: From<io::Error>;

    /// Takes the next record.
    fn row(&mut self, row: &Row<'_>) -> Result<(), Self::Error>;
}

/// Where in a source a reader is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct At {
    pub(crate) index: u64,
    pub(crate) offset: u64,
}

/// Hands every record of `reader` to `take`, in order.
pub(crate) fn each<T: Take>(
    reader: &mut dyn BufRead,
    at: &mut At,
    repairs: &mut Repairs,
    take: &mut T,
) -> Result<(), T::Error> {
    let mut line = Vec::new();
    // A torn line, waiting for what stands behind it: its record may go on there.
    let mut torn: Option<Torn> = None;
    let mut first = true;
    loop {
        let offset = at.offset;
        let (read, bytes) = line::next(reader, &mut line, LINE_BYTES_MAX, LONG_LINE_KEPT_BYTES)?;
        let whole = read != Line::TooLong;
        at.offset += bytes;
        if read == Line::End {
            break;
        }
        repairs.no_final_newline = line.last() != Some(&b'\n') && whole;
        let mut start = 0;
        if core::mem::take(&mut first) && line.starts_with(b"\xef\xbb\xbf") {
            repairs.byte_order_mark = true;
            start = 3;
        }
        let mut cut = Cut { at: &mut *at, repairs: &mut *repairs, take: &mut *take };
        if !whole {
            cut.flush(torn.take())?;
            cut.tell(offset, &line, Err(Unread::TooLong))?;
            continue;
        }
        if let Some(mut before) = torn.take() {
            if before.goes_on(&line) {
                before.text.extend_from_slice(&line);
                before.lines += 1;
                match json::read(&before.text) {
                    Err(Fault::Torn) => torn = Some(before),
                    Ok(_) => cut.line(before.offset, &before.text, 0)?,
                    Err(_) => cut.flush(Some(before))?,
                }
                continue;
            }
            cut.flush(Some(before))?;
        }
        let text = line.get(start..).unwrap_or_default();
        let is_torn = match json::read(text) {
            // What nearly every line is: one record, as JSON is written.
            Ok(read) if text.starts_with(b"{") && !read.repaired && is_end(text, read.end) => {
                let raw = text.get(..read.end).unwrap_or_default();
                cut.tell(offset + start as u64, raw, Ok(&read.json))?;
                continue;
            }
            Err(Fault::Torn) => is_one_torn_record(text),
            _ => false,
        };
        if is_torn {
            let text = line.split_off(start);
            torn = Some(Torn { text, offset: offset + start as u64, lines: 1 });
        } else {
            cut.line(offset, &line, start)?;
        }
    }
    Cut { at, repairs, take }.flush(torn)
}

/// The beginning of a record whose end did not come yet.
#[derive(Debug)]
struct Torn {
    text: Vec<u8>,
    offset: u64,
    lines: usize,
}

impl Torn {
    /// True where a line may be more of it: it begins no record of its own.
    fn goes_on(&self, line: &[u8]) -> bool {
        let (lines, bytes) = (self.lines, self.text.len() + line.len());
        let first = lines == 1 && bytes <= LINE_BYTES_MAX;
        let more = lines < SPREAD_LINES_MAX && bytes <= SPREAD_BYTES_MAX;
        (first || more) && !line.trim_ascii_start().starts_with(b"{")
    }
}

struct Cut<'c, T> {
    at: &'c mut At,
    repairs: &'c mut Repairs,
    take: &'c mut T,
}

impl<T: Take> Cut<'_, T> {
    fn tell(
        &mut self,
        offset: u64,
        raw: &[u8],
        read: Result<&Json<'_>, Unread>,
    ) -> Result<(), T::Error> {
        let row = Row { index: self.at.index, offset, raw, read };
        self.take.row(&row)?;
        self.at.index += 1;
        Ok(())
    }

    fn flush(&mut self, torn: Option<Torn>) -> Result<(), T::Error> {
        let Some(Torn { text, mut offset, .. }) = torn else { return Ok(()) };
        // What was not one record after all is told line by line.
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            self.line(offset, line, 0)?;
            offset += line.len() as u64;
        }
        Ok(())
    }

    /// Tells the records of a line, from `from` on.
    fn line(&mut self, offset: u64, line: &[u8], from: usize) -> Result<(), T::Error> {
        let mut at = from;
        let mut told = 0;
        loop {
            let rest = line.get(at..).unwrap_or_default();
            let white = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            at += white;
            let rest = line.get(at..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let nuls = rest.iter().take_while(|byte| **byte == 0).count();
            if nuls > 0 {
                self.repairs.nul_lines += 1;
                let nul = rest.get(..nuls).unwrap_or_default();
                self.tell(offset + at as u64, nul, Err(Unread::Nul))?;
                at += nuls;
                continue;
            }
            at += self.record(offset + at as u64, rest)?;
            told += 1;
        }
        self.repairs.glued_lines += u64::from(told > 1);
        Ok(())
    }

    /// Tells the record, or the piece that is none, that `rest` begins with; its length.
    fn record(&mut self, offset: u64, rest: &[u8]) -> Result<usize, T::Error> {
        let unread = match json::read(rest) {
            Ok(read) if ends_well(rest, read.end) && !read.repaired => {
                self.tell(offset, rest.get(..read.end).unwrap_or_default(), Ok(&read.json))?;
                return Ok(read.end);
            }
            Ok(read) if ends_well(rest, read.end) => {
                self.repairs.records += 1;
                let mut clean = Vec::with_capacity(read.end);
                read.json.clean(&mut clean);
                let raw = rest.get(..read.end).unwrap_or_default();
                match json::read(&clean) {
                    Ok(again) => self.tell(offset, raw, Ok(&again.json))?,
                    Err(_) => self.tell(offset, raw, Err(Unread::NotJson))?,
                }
                return Ok(read.end);
            }
            Ok(_) | Err(Fault::Wrong { .. }) => Unread::NotJson,
            Err(Fault::Torn) => Unread::Torn,
            Err(Fault::TooDeep) => Unread::TooDeep,
        };
        let next = resync(rest, 1);
        let nul = memchr::memchr(0, rest).filter(|nul| next.is_none_or(|next| *nul < next));
        let end = nul.or(next).unwrap_or_else(|| rest.trim_ascii_end().len()).max(1);
        let torn = if next.is_some() || nul.is_some() { Unread::Torn } else { unread };
        self.tell(offset, rest.get(..end).unwrap_or_default(), Err(torn))?;
        Ok(end)
    }
}

/// True for a line that begins as a record, whose end is missing, and that has no other in it.
fn is_one_torn_record(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.starts_with(b"{") && resync(text, 1).is_none()
}

/// True when nothing but white space stands behind a value.
fn is_end(text: &[u8], end: usize) -> bool {
    text.get(end..).unwrap_or_default().iter().all(u8::is_ascii_whitespace)
}

/// True when behind a value there is only what may stand there: nothing, another record, NUL.
fn ends_well(text: &[u8], end: usize) -> bool {
    let rest = text.get(end..).unwrap_or_default();
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(next, None | Some(b'{' | 0))
}

/// Where behind a torn record the next one begins: a whole object with a type that ends well.
///
/// What is read on the way is bounded by a multiple of the text, so that a line of beginnings
/// does not cost the square of its length.
fn resync(text: &[u8], from: usize) -> Option<usize> {
    let mut budget = text.len().saturating_mul(4).saturating_add(1 << 16);
    for found in memchr::memmem::find_iter(text.get(from..)?, b"{\"").take(RESYNC_TRIES_MAX) {
        let at = from + found;
        let rest = text.get(at..)?;
        let spent = match json::read(rest) {
            Ok(read) if ends_well(rest, read.end) && read.json.get("type").is_some() => {
                return Some(at);
            }
            Ok(read) => read.end,
            Err(Fault::Wrong { at }) => at,
            Err(Fault::Torn | Fault::TooDeep) => rest.len(),
        };
        budget = budget.checked_sub(spent)?;
    }
    None
}

#[cfg(test)]
mod tests;
