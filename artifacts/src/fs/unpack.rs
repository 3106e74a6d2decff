//! Turns stored bytes back into the artifact, within bounds.
//!
//! The reader of codec 1 accepts any sequence of zstd frames, skippable ones included; where they
//! begin with a table of chunks, it has to say the same as the frames.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex};

use zstd::dict::DecoderDictionary;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};
use zstd::zstd_safe::DCtx;

use super::chunks::{ChunkTable, is_table, table_bytes};
use super::pack::RecordError;
use crate::error::DamageReason;
use crate::frame::{
    ARTIFACT_BYTES_MAX, BaseKey, CODEC_DELTA, CODEC_DICTIONARY, CODEC_RAW, CODEC_ZSTD,
    DELTA_RAW_BYTES_MAX, DICTIONARY_BYTES_MAX, RecordHeader,
};
use crate::id::ArtifactId;

/// The largest window a stored frame may ask for: 2^24 bytes.
const WINDOW_LOG_MAX: u32 = 24;
/// Memory that a header's raw length is believed for before the bytes are there.
const EAGER_BYTES_MAX: usize = 1 << 20;
/// Most decompressors that are kept for reuse.
const IDLE_MAX: usize = 8;
/// Most dictionaries that are kept prepared.
const DICTIONARIES_MAX: usize = 4;

/// A record with its stored bytes.
pub(crate) type Stored<'a> = (RecordHeader, Cow<'a, [u8]>);

/// A pack, as the place of dictionaries and bases.
pub(crate) trait Bases {
    /// Returns the record whose id begins with `key`; its stored bytes have their checksum.
    fn base(&self, key: BaseKey) -> Result<Option<Stored<'_>>, RecordError>;
}

/// Turns stored bytes into the artifact; what it returns hashes to the id in the header.
pub(crate) fn unpack<'a>(
    header: &RecordHeader,
    stored: &'a [u8],
    unpacker: &Unpacker,
    bases: &dyn Bases,
) -> Result<Cow<'a, [u8]>, RecordError> {
    let raw = match header.codec {
        CODEC_DICTIONARY => {
            let dictionary = unpacker.dictionary(header.base, bases)?;
            Cow::Owned(unpacker.with_dictionary(stored, header, &dictionary)?)
        }
        CODEC_DELTA => {
            let (base_header, base_stored) = find_base(header.base, bases)?;
            // No chain is longer: a base may need a dictionary, and no base of its own.
            let is_usable =
                base_header.codec != CODEC_DELTA && base_header.raw_bytes <= DELTA_RAW_BYTES_MAX;
            if !is_usable {
                return Err(RecordError::Damaged(DamageReason::Base));
            }
            let base = unpack(&base_header, &base_stored, unpacker, bases).map_err(of_base)?;
            Cow::Owned(undelta(stored, header, &base).map_err(RecordError::Damaged)?)
        }
        _ => return alone(header, stored, unpacker),
    };
    check_digest(header, &raw)?;
    Ok(raw)
}

/// As [`unpack`], for records that need no other; others are of a codec that is not known here.
fn alone<'a>(
    header: &RecordHeader,
    stored: &'a [u8],
    unpacker: &Unpacker,
) -> Result<Cow<'a, [u8]>, RecordError> {
    let raw = match header.codec {
        CODEC_RAW => Cow::Borrowed(stored),
        CODEC_ZSTD if is_table(stored) => Cow::Owned(unchunk(header, stored)?),
        CODEC_ZSTD => {
            let raw = unpacker.unpack(stored, header.raw_bytes).map_err(RecordError::Damaged)?;
            Cow::Owned(raw)
        }
        other => return Err(RecordError::CodecUnsupported(other)),
    };
    check_digest(header, &raw)?;
    Ok(raw)
}

fn check_digest(header: &RecordHeader, raw: &[u8]) -> Result<(), RecordError> {
    let same = ArtifactId::of(raw) == header.id;
    if same { Ok(()) } else { Err(RecordError::Damaged(DamageReason::Digest)) }
}

/// Whatever is wrong with a base, it is of no use to the record that needs it.
fn of_base(error: RecordError) -> RecordError {
    match error {
        RecordError::Io(error) => RecordError::Io(error),
        RecordError::Damaged(_) | RecordError::CodecUnsupported(_) => {
            RecordError::Damaged(DamageReason::Base)
        }
    }
}

fn find_base(key: BaseKey, bases: &dyn Bases) -> Result<Stored<'_>, RecordError> {
    let found = bases.base(key).map_err(of_base)?;
    found.ok_or(RecordError::Damaged(DamageReason::Base))
}

/// Says whether what the record needs is there and still has its checksum.
pub(crate) fn base_is_intact(header: &RecordHeader, bases: &dyn Bases) -> bool {
    let mut needing = *header;
    while needing.needs_base() {
        let Ok(Some((base, _))) = bases.base(needing.base) else { return false };
        // Only a difference has a base that needs something itself, and never a difference.
        if base.codec == CODEC_DELTA || (needing.codec == CODEC_DICTIONARY && base.needs_base()) {
            return false;
        }
        needing = base;
    }
    true
}

/// Decompresses an artifact that is stored in chunks; the table has to fit the frames.
fn unchunk(header: &RecordHeader, stored: &[u8]) -> Result<Vec<u8>, RecordError> {
    let whole = |stored: &[u8]| -> Result<Vec<u8>, DamageReason> {
        let table_bytes = table_bytes(stored, header.raw_bytes)?;
        let table = slice(stored, 0, table_bytes)?;
        let table = ChunkTable::decode(table, header.raw_bytes, header.stored_bytes)?;
        let mut raw = Vec::new();
        let mut context = DCtx::create();
        for part in table.parts() {
            let frame = slice(stored, part.stored_at, u64::from(part.chunk.stored_bytes))?;
            part.chunk.check(frame)?;
            raw.extend_from_slice(&unchunk_one(
                &mut context,
                frame,
                part.raw.end - part.raw.start,
            )?);
        }
        Ok(raw)
    };
    whole(stored).map_err(RecordError::Damaged)
}

/// Decompresses one chunk to exactly `raw_bytes` bytes, of which a table allows at most 16 MiB.
pub(crate) fn unchunk_one(
    context: &mut DCtx<'_>,
    frame: &[u8],
    raw_bytes: u64,
) -> Result<Vec<u8>, DamageReason> {
    let raw = exactly(raw_bytes, |raw| context.decompress(raw, frame))?;
    Ok(raw)
}

fn slice(bytes: &[u8], offset: u64, length: u64) -> Result<&[u8], DamageReason> {
    let [offset, length] = [offset, length].map(|word| usize::try_from(word).ok());
    let found = offset
        .zip(length)
        .and_then(|(offset, length)| bytes.get(offset..).and_then(|rest| rest.get(..length)));
    found.ok_or(DamageReason::ChunkTable)
}

/// Decompresses the difference to a base.
fn undelta(stored: &[u8], header: &RecordHeader, base: &[u8]) -> Result<Vec<u8>, DamageReason> {
    let mut context = DCtx::create();
    context.ref_prefix(base).map_err(|_code| DamageReason::Compression)?;
    exactly(header.raw_bytes, |raw| context.decompress(raw, stored))
}

/// Runs a decompression that has room for `raw_bytes` bytes and has to fill it.
///
/// The caller bounds `raw_bytes` by what its kind of record may hold.
fn exactly(
    raw_bytes: u64,
    decompress: impl FnOnce(&mut Vec<u8>) -> Result<usize, zstd::zstd_safe::ErrorCode>,
) -> Result<Vec<u8>, DamageReason> {
    let length = usize::try_from(raw_bytes).map_err(|_wide| DamageReason::RawLength)?;
    let mut raw = Vec::with_capacity(length);
    decompress(&mut raw).map_err(|_code| DamageReason::Compression)?;
    if raw.len() == length { Ok(raw) } else { Err(DamageReason::RawLength) }
}

/// Decompresses with a few reused contexts, from any number of threads.
pub(crate) struct Unpacker {
    idle: Mutex<Vec<Decoder<'static>>>,
    /// Contexts for whole frames of a known length.
    contexts: Mutex<Vec<DCtx<'static>>>,
    /// Dictionaries by their ids, the last prepared one first.
    dictionaries: Mutex<Vec<(ArtifactId, Arc<DecoderDictionary<'static>>)>>,
}

impl Unpacker {
    pub(crate) const fn new() -> Self {
        Self {
            idle: Mutex::new(Vec::new()),
            contexts: Mutex::new(Vec::new()),
            dictionaries: Mutex::new(Vec::new()),
        }
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

    /// Returns the dictionary whose id begins with `key`, prepared.
    fn dictionary(
        &self,
        key: BaseKey,
        bases: &dyn Bases,
    ) -> Result<Arc<DecoderDictionary<'static>>, RecordError> {
        let (header, stored) = find_base(key, bases)?;
        if header.raw_bytes > DICTIONARY_BYTES_MAX {
            return Err(RecordError::Damaged(DamageReason::Base));
        }
        if let Ok(known) = self.dictionaries.lock()
            && let Some((_, dictionary)) = known.iter().find(|(id, _)| *id == header.id)
        {
            return Ok(Arc::clone(dictionary));
        }
        let raw = alone(&header, &stored, self).map_err(of_base)?;
        let dictionary = Arc::new(DecoderDictionary::copy(&raw));
        if let Ok(mut known) = self.dictionaries.lock() {
            known.truncate(DICTIONARIES_MAX - 1);
            known.insert(0, (header.id, Arc::clone(&dictionary)));
        }
        Ok(dictionary)
    }

    /// Decompresses an artifact that is short enough for a dictionary.
    fn with_dictionary(
        &self,
        stored: &[u8],
        header: &RecordHeader,
        dictionary: &DecoderDictionary<'_>,
    ) -> Result<Vec<u8>, RecordError> {
        let idle = self.contexts.lock().ok().and_then(|mut idle| idle.pop());
        let mut context = idle.unwrap_or_else(DCtx::create);
        let raw = exactly(header.raw_bytes, |raw| {
            context.decompress_using_ddict(raw, stored, dictionary.as_ddict())
        });
        if let Ok(mut idle) = self.contexts.lock()
            && idle.len() < IDLE_MAX
        {
            idle.push(context);
        }
        raw.map_err(RecordError::Damaged)
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
