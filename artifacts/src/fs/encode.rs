//! Turns an artifact into its stored bytes.

use std::io;
use std::sync::LazyLock;

use zstd::bulk::Compressor;
use zstd::dict::EncoderDictionary;
use zstd::zstd_safe::{self, CCtx, CParameter, compress_bound};

use super::chunks::{self, CHUNK_BYTES, Chunk};
use crate::frame::{
    BaseKey, CODEC_DELTA, CODEC_DICTIONARY, CODEC_RAW, CODEC_ZSTD, DELTA_RAW_BYTES_MAX,
    DICTIONARY_BYTES_MAX, RecordHeader,
};
use crate::id::ArtifactId;

/// zstd level on the write path: higher ones cost more time than they save space.
const LEVEL: i32 = 1;
/// zstd level of what a compaction writes, where nobody waits.
const DELTA_LEVEL: i32 = 6;
/// An artifact is stored raw if zstd leaves more than this share of it.
const KEPT_PER_MILLE_MAX: u64 = 950;
/// Memory for stored bytes that is kept between two artifacts.
const KEPT_BUFFER_BYTES_MAX: usize = 4 << 20;
/// Artifacts of at most this length are compressed with the dictionary: 8 KiB. Longer ones are
/// their own dictionary.
pub(crate) const DICTIONARY_USED_BYTES_MAX: u64 = 8 << 10;

/// Trained on what recordings hold, see `artifacts/dictionary/train.py`.
static BUILT_IN: &[u8] = include_bytes!("../../dictionary/outputs-1.dict");
const _: () = assert!(BUILT_IN.len() as u64 <= DICTIONARY_BYTES_MAX);

/// The dictionary of a new pack.
pub(crate) struct Dictionary {
    pub(crate) encoded: Encoded,
    prepared: EncoderDictionary<'static>,
}

/// What every writer of this version puts into its packs.
pub(crate) static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
    let id = ArtifactId::of(BUILT_IN);
    let packed = zstd::bulk::compress(BUILT_IN, DELTA_LEVEL).unwrap_or_default();
    let mut encoded = Encoded::kept(id, BUILT_IN, packed);
    encoded.is_dictionary = true;
    Dictionary { encoded, prepared: EncoderDictionary::copy(BUILT_IN, LEVEL) }
});

/// With what an artifact is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// By itself.
    Alone,
    /// With the dictionary of the pack, which is put into the pack if it is not there yet.
    Dictionary,
}

/// Hashes and compresses artifacts, with one reused context. Each thread that puts has its own.
pub struct Encoder {
    alone: Compressor<'static>,
    /// Made when it is needed first.
    with_dictionary: Option<Compressor<'static>>,
    buffer: Vec<u8>,
}

/// An artifact that is ready to be appended to a pack.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) id: ArtifactId,
    raw_bytes: u64,
    codec: u16,
    is_dictionary: bool,
    base: BaseKey,
    pub(crate) stored: Vec<u8>,
    stored_crc: u32,
}

impl Encoded {
    pub(crate) fn header(&self) -> RecordHeader {
        let Self { id, raw_bytes, codec, is_dictionary, base, stored_crc, .. } = *self;
        let stored_bytes = self.stored.len() as u64;
        RecordHeader { codec, is_dictionary, raw_bytes, stored_bytes, base, id, stored_crc }
    }

    /// Keeps what is shorter: `packed`, which zstd made, or the artifact.
    fn kept(id: ArtifactId, raw: &[u8], packed: Vec<u8>) -> Self {
        let mut stored = packed;
        let codec = if is_worth_it(stored.len(), raw) {
            CODEC_ZSTD
        } else {
            stored.clear();
            stored.extend_from_slice(raw);
            CODEC_RAW
        };
        Self::new(id, raw, codec, BaseKey::default(), stored)
    }

    fn new(id: ArtifactId, raw: &[u8], codec: u16, base: BaseKey, stored: Vec<u8>) -> Self {
        let (raw_bytes, stored_crc) = (raw.len() as u64, crc32fast::hash(&stored));
        Self { id, raw_bytes, codec, is_dictionary: false, base, stored, stored_crc }
    }

    /// Returns true if it may be the base of others.
    pub(crate) fn is_whole(&self) -> bool {
        self.codec != CODEC_DELTA
    }

    /// Returns true if the pack has to hold the dictionary.
    pub(crate) fn needs_dictionary(&self) -> bool {
        self.codec == CODEC_DICTIONARY
    }
}

fn is_worth_it(packed: usize, raw: &[u8]) -> bool {
    packed as u64 * 1000 <= raw.len() as u64 * KEPT_PER_MILLE_MAX && !raw.is_empty()
}

impl Encoder {
    /// Makes an encoder; fails without memory for it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { alone: Compressor::new(LEVEL)?, with_dictionary: None, buffer: Vec::new() })
    }

    /// Compresses the artifact `raw` with the name `id`.
    pub(crate) fn encode(
        &mut self,
        id: ArtifactId,
        raw: &[u8],
        coding: Coding,
    ) -> io::Result<Encoded> {
        let mut packed = std::mem::take(&mut self.buffer);
        packed.clear();
        if raw.len() as u64 > CHUNK_BYTES {
            self.encode_chunks(raw, &mut packed)?;
            return Ok(Encoded::new(id, raw, CODEC_ZSTD, BaseKey::default(), packed));
        }
        packed.reserve(compress_bound(raw.len()));
        if coding == Coding::Dictionary {
            self.with_dictionary()?.compress_to_buffer(raw, &mut packed)?;
            if is_worth_it(packed.len(), raw) {
                let base = BaseKey::of(&DICTIONARY.encoded.id);
                return Ok(Encoded::new(id, raw, CODEC_DICTIONARY, base, packed));
            }
            packed.clear();
        }
        self.alone.compress_to_buffer(raw, &mut packed)?;
        Ok(Encoded::kept(id, raw, packed))
    }

    /// Compresses chunk by chunk, behind a table of them.
    fn encode_chunks(&mut self, raw: &[u8], stored: &mut Vec<u8>) -> io::Result<()> {
        let chunk_bytes = usize::try_from(CHUNK_BYTES).map_err(io::Error::other)?;
        let mut table = Vec::with_capacity(raw.len().div_ceil(chunk_bytes));
        let mut frames = Vec::new();
        let mut frame = Vec::with_capacity(compress_bound(chunk_bytes));
        for chunk in raw.chunks(chunk_bytes) {
            frame.clear();
            self.alone.compress_to_buffer(chunk, &mut frame)?;
            table.push(Chunk::of(&frame));
            frames.extend_from_slice(&frame);
        }
        *stored = chunks::encode(&table);
        stored.append(&mut frames);
        Ok(())
    }

    fn with_dictionary(&mut self) -> io::Result<&mut Compressor<'static>> {
        let compressor = match self.with_dictionary.take() {
            Some(compressor) => compressor,
            None => Compressor::with_prepared_dictionary(&DICTIONARY.prepared)?,
        };
        Ok(self.with_dictionary.insert(compressor))
    }

    /// Reuses the memory of an artifact that was appended.
    pub(crate) fn take_back(&mut self, encoded: Encoded) {
        self.buffer = encoded.stored;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES_MAX);
    }
}

/// Compresses `raw` as its difference to the artifact `base`.
///
/// `None` if one of them is too long, or if `base` begins like a trained dictionary, which other
/// readers would take it for.
pub(crate) fn encode_delta(
    id: ArtifactId,
    raw: &[u8],
    base: (ArtifactId, &[u8]),
) -> io::Result<Option<Encoded>> {
    let (base_id, base) = base;
    let longest = raw.len().max(base.len()) as u64;
    if longest > DELTA_RAW_BYTES_MAX || raw.is_empty() || base.starts_with(&DICTIONARY_MAGIC) {
        return Ok(None);
    }
    let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
    // The window has to reach from the end of the artifact to the start of its base.
    let window_log = (raw.len() + base.len()).next_power_of_two().ilog2().clamp(10, 24);
    for parameter in [CParameter::CompressionLevel(DELTA_LEVEL), CParameter::WindowLog(window_log)]
    {
        context.set_parameter(parameter).map_err(zstd_error)?;
    }
    context.ref_prefix(base).map_err(zstd_error)?;
    let mut stored = Vec::with_capacity(compress_bound(raw.len()));
    context.compress2(&mut stored, raw).map_err(zstd_error)?;
    Ok(Some(Encoded::new(id, raw, CODEC_DELTA, BaseKey::of(&base_id), stored)))
}

/// The first bytes of a trained dictionary of zstd.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

fn zstd_error(code: zstd_safe::ErrorCode) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}
