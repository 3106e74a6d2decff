//! Lines and documents of bounded length.

use std::io::{self, Read as _};

use super::{RECORD_BYTES_MAX, SideError, SideFile, SideNoteKind, Sink};
use crate::line::{self, Line};

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
        let read = line::next(file.reader, &mut line, RECORD_BYTES_MAX + 1, 0);
        let (read, _bytes) = read.map_err(|source| failed(file, source))?;
        match read {
            Line::End => return Ok(()),
            Line::TooLong => sink.note(SideNoteKind::TooLong),
            Line::Text => {
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

fn trimmed(line: &[u8], number: u64) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if number == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }
}

fn failed(file: &SideFile<'_>, source: io::Error) -> SideError {
    SideError::Read { file: file.path.to_owned(), source }
}
