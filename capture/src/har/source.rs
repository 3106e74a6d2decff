//! Opens a HAR file and undoes its compression: gzip or zstd, told by the first bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::{CodedFault, HarError};
use super::reader::{HarReader, Limits};

/// The largest zstd window that is read: `zstd --long=27`, 128 MiB of memory.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 27;
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How a whole file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCoding {
    /// gzip, of one or several members.
    Gzip,
    /// zstd, of one or several frames.
    Zstd,
}

impl fmt::Display for FileCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Opens a HAR file, plain or compressed, with [`Limits::STANDARD`].
pub fn open(path: &Path) -> Result<HarReader<Box<dyn Read>>, HarError> {
    let file =
        File::open(path).map_err(|source| HarError::Open { path: path.to_path_buf(), source })?;
    let reader = sniff(file).map_err(|source| read_error(source, 0, 0))?;
    Ok(HarReader::new(reader, Limits::STANDARD))
}

/// Returns a reader of the plain bytes, whichever way those of `reader` are compressed.
///
/// Errors of the decompression can be told from the reader's own by [`HarReader`].
pub fn sniff(mut reader: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut first = Vec::with_capacity(ZSTD_MAGIC.len());
    reader.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut first)?;
    let whole = io::Cursor::new(first.clone()).chain(reader);
    if first.starts_with(&ZSTD_MAGIC) {
        let mut decoder = zstd::stream::read::Decoder::new(whole)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        return Ok(Box::new(Coded { decoder, coding: FileCoding::Zstd }));
    }
    if first.starts_with(&GZIP_MAGIC) {
        let decoder = MultiGzDecoder::new(whole);
        return Ok(Box::new(Coded { decoder, coding: FileCoding::Gzip }));
    }
    Ok(Box::new(whole))
}

/// A decoder whose complaints about the stream are marked as such.
struct Coded<D> {
    decoder: D,
    coding: FileCoding,
}

impl<D: Read> Read for Coded<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            // What comes from the operating system is about the file, not about its coding.
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let fault = match error.kind() {
                io::ErrorKind::UnexpectedEof => CodedFault::Cut,
                _ => CodedFault::Damaged,
            };
            io::Error::new(error.kind(), Complaint { coding: self.coding, fault, source: error })
        })
    }
}

/// What a decoder says about the stream, on its way through [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{coding} stream {fault}")]
struct Complaint {
    coding: FileCoding,
    fault: CodedFault,
    source: io::Error,
}

/// Sorts a failed read at `offset` into damage of the compressed stream and anything else.
pub(crate) fn read_error(error: io::Error, offset: u64, entries_read: u64) -> HarError {
    match error.downcast::<Complaint>() {
        Ok(Complaint { coding, fault, source }) => {
            HarError::Coded { offset, entries_read, coding, fault, source }
        }
        Err(source) => HarError::Io { offset, entries_read, source },
    }
}
