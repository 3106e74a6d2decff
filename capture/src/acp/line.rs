//! Lines of bounded length, with their offsets.

use std::io::{self, BufRead, Read as _};

use super::LINE_BYTES_MAX;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, as it came; see [`trimmed`].
    Text,
    /// One that is longer than the limit; its bytes were passed over.
    TooLong,
    /// There is no more.
    End,
}

/// Reads the next line into `line` and returns how many bytes it took.
pub(super) fn next(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<(Line, u64)> {
    line.clear();
    let limit = LINE_BYTES_MAX as u64 + 1;
    let mut bytes = (&mut *reader).take(limit).read_until(b'\n', line)? as u64;
    if bytes == 0 {
        return Ok((Line::End, 0));
    }
    if line.ends_with(b"\n") || bytes < limit {
        return Ok((Line::Text, bytes));
    }
    line.clear();
    loop {
        let (found, used) = {
            let available = reader.fill_buf()?;
            match memchr::memchr(b'\n', available) {
                Some(at) => (true, at + 1),
                None => (available.is_empty(), available.len()),
            }
        };
        reader.consume(used);
        bytes += used as u64;
        if found {
            return Ok((Line::TooLong, bytes));
        }
    }
}

/// A line without white space around it, its end among that.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}
