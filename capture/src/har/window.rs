//! The part of a stream that is in memory: read at its end, consumed at its start.
//!
//! It grows only when what has not been consumed fills it, so its size is bounded by what the
//! caller keeps plus one read.

use std::io::{self, Read};

/// The least room offered to one read, and the most asked of it: what stays in a cache.
const READ_BYTES: usize = 256 * 1024;

pub(crate) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset in the stream of the byte at `start`.
    offset: u64,
}

impl<R: Read> Window<R> {
    pub(crate) fn into_inner(self) -> R {
        self.reader
    }

    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// Returns what has been read and not consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the offset in the stream of the first byte of [`Self::bytes`].
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the memory held, used or not.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Lets go of the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset = self.offset.saturating_add(len64(count));
    }

    /// Reads more bytes behind those that are there; `false` at the end of the stream.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.make_room();
        let room_end = self.buffer.len().min(self.end + READ_BYTES);
        let room = self.buffer.get_mut(self.end..room_end).unwrap_or_default();
        loop {
            match self.reader.read(room) {
                Ok(count) => {
                    // A reader that claims more than it was given must not move the end.
                    self.end += count.min(room.len());
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.buffer.len() - self.end >= READ_BYTES {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < READ_BYTES {
            let bytes = (self.end + READ_BYTES).max(self.buffer.len().saturating_mul(2));
            self.buffer.resize(bytes, 0);
        }
    }
}

/// The length of something in memory as a file offset.
pub(crate) fn len64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
