//! Lines of bounded length, with how many bytes each took.

use std::io::{self, BufRead, Read as _};

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line as it came, with its end where it has one.
    Text,
    /// One that is longer than the limit: its beginning, as long as was asked for. The rest was
    /// passed over.
    TooLong,
    /// There is no more.
    End,
}

/// Reads the next line of up to `bytes_max` bytes, its end among them, into `line`; of a longer
/// one only the first `kept_bytes` stay. Returns how many bytes of the source it took.
pub(crate) fn next(
    reader: &mut dyn BufRead,
    line: &mut Vec<u8>,
    bytes_max: usize,
    kept_bytes: usize,
) -> io::Result<(Line, u64)> {
    line.clear();
    let limit = bytes_max as u64 + 1;
    let mut bytes = (&mut *reader).take(limit).read_until(b'\n', line)? as u64;
    if bytes == 0 {
        return Ok((Line::End, 0));
    }
    if bytes < limit || line.ends_with(b"\n") {
        return Ok((Line::Text, bytes));
    }
    line.truncate(kept_bytes);
    line.shrink_to_fit();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_beyond_the_limit_is_passed_over_and_the_next_one_is_whole() {
        let mut source: &[u8] = b"ab\nabcdef\nabc\nabcdefgh";
        let mut line = Vec::new();
        let mut told = Vec::new();
        loop {
            let (what, bytes) = next(&mut source, &mut line, 4, 2).unwrap();
            told.push((what, bytes, String::from_utf8_lossy(&line).into_owned()));
            if what == Line::End {
                break;
            }
        }
        let wanted = [
            (Line::Text, 3, "ab\n"),
            (Line::TooLong, 7, "ab"),
            (Line::Text, 4, "abc\n"),
            (Line::TooLong, 8, "ab"),
            (Line::End, 0, ""),
        ];
        assert_eq!(told, wanted.map(|(what, bytes, text)| (what, bytes, text.to_owned())));
    }
}
