//! Lines and documents of bounded length.

use std::io::{self, BufRead, Read as _};

use super::{RECORD_BYTES_MAX, SideError, SideFile, SideNoteKind, Sink};

/// Takes a line, its number, the file that it stands in, and where findings go.
pub(super) type EachLine<'e> =
    dyn FnMut(u64, &[u8], &SideFile<'_>, &mut dyn Sink) -> Result<(), SideError> + 'e;

/// Calls `each` with every line that is within the limit, and its number from 0. Empty lines are
/// passed over, longer ones noted. A byte order mark and carriage returns are no part of a line.
///
/// # Errors
/// The file cannot be read on, or `each` fails.
pub(super) fn each(
    file: &mut SideFile<'_>,
    sink: &mut dyn Sink,
    each: &mut EachLine<'_>,
) -> Result<(), SideError> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let read = next(file.reader, &mut line).map_err(|source| failed(file, source))?;
        match read {
            Read::End => return Ok(()),
            Read::TooLong => sink.note(SideNoteKind::TooLong),
            Read::Line => {
                let text = trimmed(&line, number);
                if !text.is_empty() {
                    each(number, text, file, sink)?;
                }
            }
        }
        number += 1;
    }
}

/// The whole file; `None`, and a note, when it is beyond the limit.
///
/// # Errors
/// The file cannot be read on.
pub(super) fn document(
    file: &mut SideFile<'_>,
    sink: &mut dyn Sink,
) -> Result<Option<Vec<u8>>, SideError> {
    let mut bytes = Vec::new();
    let mut limited = (&mut *file.reader).take(RECORD_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(|source| failed(file, source))?;
    if bytes.len() > RECORD_BYTES_MAX {
        sink.note(SideNoteKind::TooLong);
        return Ok(None);
    }
    Ok(Some(bytes))
}

enum Read {
    Line,
    TooLong,
    End,
}

fn next(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Read> {
    let mut too_long = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            let end = if line.is_empty() { Read::End } else { Read::Line };
            return Ok(if too_long { Read::TooLong } else { end });
        }
        let ended = memchr::memchr(b'\n', buffer);
        let stretch = buffer.get(..ended.unwrap_or(buffer.len())).unwrap_or_default();
        too_long |= line.len() + stretch.len() > RECORD_BYTES_MAX;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(stretch);
        }
        let taken = stretch.len() + usize::from(ended.is_some());
        reader.consume(taken);
        if ended.is_some() {
            return Ok(if too_long { Read::TooLong } else { Read::Line });
        }
    }
}

fn trimmed(line: &[u8], number: u64) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if number == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }
}

fn failed(file: &SideFile<'_>, source: io::Error) -> SideError {
    SideError::Read { file: file.path.to_owned(), source }
}
