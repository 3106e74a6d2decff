//! Turns an artifact into its stored bytes and back, within bounds.
//!
//! The reader accepts any sequence of zstd frames, skippable ones included, so that a later
//! writer can cut long artifacts into frames of their own without a new codec number.

use std::io;
use std::sync::Mutex;

use zstd::bulk::Compressor;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};
use zstd::zstd_safe::compress_bound;

use crate::error::DamageReason;
use crate::frame::{ARTIFACT_BYTES_MAX, CODEC_RAW, CODEC_ZSTD, RecordHeader};
use crate::id::ArtifactId;

/// zstd level on the write path: higher ones cost more time than they save space.
const LEVEL: i32 = 1;
/// An artifact is stored raw if zstd leaves more than this share of it.
const KEPT_PER_MILLE_MAX: u64 = 950;
/// The largest window a stored frame may ask for: 2^24 bytes.
const WINDOW_LOG_MAX: u32 = 24;
/// Memory that a header's raw length is believed for before the bytes are there.
const EAGER_BYTES_MAX: usize = 1 << 20;
/// Memory for stored bytes that is kept between two artifacts.
const KEPT_BUFFER_BYTES_MAX: usize = 4 << 20;
/// Most decompressors that are kept for reuse.
const IDLE_MAX: usize = 8;

/// Hashes and compresses artifacts, with one reused context. Each thread that puts has its own.
pub struct Encoder {
    compressor: Compressor<'static>,
    buffer: Vec<u8>,
}

/// An artifact that is ready to be appended to a pack.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) id: ArtifactId,
    raw_bytes: u64,
    codec: u16,
    pub(crate) stored: Vec<u8>,
    stored_crc: u32,
}

impl Encoded {
    pub(crate) fn header(&self) -> RecordHeader {
        let Self { id, raw_bytes, codec, stored_crc, .. } = *self;
        let stored_bytes = self.stored.len() as u64;
        RecordHeader { codec, raw_bytes, stored_bytes, id, stored_crc }
    }
}

impl Encoder {
    /// Makes an encoder; fails without memory for it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { compressor: Compressor::new(LEVEL)?, buffer: Vec::new() })
    }

    /// Compresses the artifact `raw` with the name `id`.
    pub(crate) fn encode(&mut self, id: ArtifactId, raw: &[u8]) -> io::Result<Encoded> {
        let mut stored = std::mem::take(&mut self.buffer);
        stored.clear();
        stored.reserve(compress_bound(raw.len()));
        let packed = self.compressor.compress_to_buffer(raw, &mut stored)? as u64;
        let raw_bytes = raw.len() as u64;
        let codec = if packed * 1000 <= raw_bytes * KEPT_PER_MILLE_MAX && !raw.is_empty() {
            CODEC_ZSTD
        } else {
            stored.clear();
            stored.extend_from_slice(raw);
            CODEC_RAW
        };
        let stored_crc = crc32fast::hash(&stored);
        Ok(Encoded { id, raw_bytes, codec, stored, stored_crc })
    }

    /// Reuses the memory of an artifact that was appended.
    pub(crate) fn take_back(&mut self, encoded: Encoded) {
        self.buffer = encoded.stored;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES_MAX);
    }
}

/// Decompresses with a few reused contexts, from any number of threads.
pub(crate) struct Unpacker {
    idle: Mutex<Vec<Decoder<'static>>>,
}

impl Unpacker {
    pub(crate) const fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()) }
    }

    /// Decompresses `stored` to exactly `raw_bytes` bytes.
    ///
    /// No more than [`EAGER_BYTES_MAX`] is allocated before that much output exists, and no
    /// more than `raw_bytes` is ever produced.
    pub(crate) fn unpack(&self, stored: &[u8], raw_bytes: u64) -> Result<Vec<u8>, DamageReason> {
        let length = usize::try_from(raw_bytes).ok().filter(|_| raw_bytes <= ARTIFACT_BYTES_MAX);
        let length = length.ok_or(DamageReason::RawLength)?;
        let mut decoder = self.take().map_err(|_source| DamageReason::Compression)?;
        let raw = run(&mut decoder, stored, length);
        self.give_back(decoder);
        raw
    }

    fn take(&self) -> io::Result<Decoder<'static>> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        if let Some(mut decoder) = idle {
            decoder.reinit()?;
            return Ok(decoder);
        }
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(decoder)
    }

    fn give_back(&self, decoder: Decoder<'static>) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < IDLE_MAX
        {
            idle.push(decoder);
        }
    }
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// Feeds all of `stored` and lets the output grow up to one byte beyond `length`, no further.
fn run(decoder: &mut Decoder<'_>, stored: &[u8], length: usize) -> Result<Vec<u8>, DamageReason> {
    let mut input = InBuffer::around(stored);
    // The spare byte lets the decoder say that there is more than the header announced.
    let mut raw: Vec<u8> = Vec::with_capacity(length.min(EAGER_BYTES_MAX) + 1);
    loop {
        if raw.len() == raw.capacity() {
            raw.reserve_exact(raw.len().min(length + 1 - raw.len()));
        }
        let (read, written) = (input.pos(), raw.len());
        let mut output = OutBuffer::around_pos(&mut raw, written);
        let hint = decoder.run(&mut input, &mut output);
        let hint = hint.map_err(|_source| DamageReason::Compression)?;
        if raw.len() > length {
            return Err(DamageReason::RawLength);
        }
        let all_read = input.pos() == stored.len();
        match hint {
            0 if all_read && raw.len() == length => return Ok(raw),
            0 if all_read => return Err(DamageReason::RawLength),
            // The output buffer had room, and nothing moved: the last frame is cut short.
            _ if input.pos() == read && raw.len() == written => {
                return Err(DamageReason::Compression);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
