//! The two headers of a pack file as bytes; no file is touched here.
//!
//! A pack is a header of 128 bytes, then records. A record is a header of 72 bytes, the stored
//! bytes, and zeros up to the next multiple of 8. Integers are little-endian. Each header ends
//! in a CRC-32 (IEEE) of the bytes before it, so that no length is used before it was checked.

use crate::error::DamageReason;
use crate::fs::PackIdent;
use crate::id::{ArtifactId, ID_BYTES};

/// Bytes in a pack header.
pub(crate) const PACK_HEADER_BYTES: usize = 128;
/// Bytes in a record header.
pub(crate) const RECORD_HEADER_BYTES: usize = 72;
/// Records start at multiples of this.
pub(crate) const ALIGN_BYTES: u64 = 8;
/// The longest artifact that is stored or read: 1 GiB.
pub const ARTIFACT_BYTES_MAX: u64 = 1 << 30;
/// The longest stored form of an artifact. Compression is used only where it shortens.
pub(crate) const STORED_BYTES_MAX: u64 = ARTIFACT_BYTES_MAX;

/// The major version that is written, and the highest that is read.
pub(crate) const FORMAT_MAJOR: u16 = 1;
/// The minor version that is written. Any minor version is read.
pub(crate) const FORMAT_MINOR: u16 = 0;

const PACK_MAGIC: [u8; 8] = *b"\x89EVP\r\n\x1a\n";
const RECORD_MAGIC: [u8; 4] = *b"EVA1";

/// The stored bytes are the artifact.
pub(crate) const CODEC_RAW: u16 = 0;
/// The stored bytes are zstd frames that decompress to the artifact.
pub(crate) const CODEC_ZSTD: u16 = 1;
/// As [`CODEC_ZSTD`], with a dictionary that stands in the same pack.
pub(crate) const CODEC_DICTIONARY: u16 = 2;
/// As [`CODEC_ZSTD`], with another artifact of the same pack in front of the artifact.
pub(crate) const CODEC_DELTA: u16 = 3;
/// The longest artifact that is compressed with a dictionary: 64 KiB.
pub const DICTIONARY_RAW_BYTES_MAX: u64 = 64 << 10;
/// The longest dictionary: 128 KiB.
pub const DICTIONARY_BYTES_MAX: u64 = 128 << 10;
/// The longest artifact that is stored as its difference to another, and the longest such other:
/// 8 MiB. Both together fit the largest window.
pub const DELTA_RAW_BYTES_MAX: u64 = 8 << 20;
/// Flag of a record: a dictionary of its pack, and no artifact of a run.
const FLAG_DICTIONARY: u16 = 1;

/// Says why the first 128 bytes of a file are not a pack header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The bytes are damaged.
    Damaged(DamageReason),
    /// The magic shows the marks of a conversion that is meant for text.
    ConvertedAsText,
    /// A later version wrote the file.
    Version(u16),
}

/// What a pack says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackHeader {
    pub(crate) ident: PackIdent,
    pub(crate) number: u32,
}

impl PackHeader {
    /// Lays out the header.
    ///
    /// | offset | bytes | field |
    /// |---|---|---|
    /// | 0 | 8 | magic `89 'E' 'V' 'P' 0D 0A 1A 0A` |
    /// | 8 | 2 | format major |
    /// | 10 | 2 | format minor |
    /// | 12 | 4 | header length, 128 |
    /// | 16 | 16 | ledger id |
    /// | 32 | 8 | zero (a first sequence number in a log segment) |
    /// | 40 | 4 | pack number |
    /// | 44 | 4 | writer epoch |
    /// | 48 | 8 | created, ns since the Unix epoch; information only |
    /// | 56 | 40 | zero (length and chain of the predecessor in a log segment) |
    /// | 96 | 4 | flags, zero: CRC-32 IEEE and SHA-256 |
    /// | 100 | 24 | zero |
    /// | 124 | 4 | CRC-32 of bytes 0..124 |
    pub(crate) fn encode(&self) -> [u8; PACK_HEADER_BYTES] {
        let mut out = Fields::<PACK_HEADER_BYTES>::new();
        out.put(&PACK_MAGIC);
        out.put(&FORMAT_MAJOR.to_le_bytes());
        out.put(&FORMAT_MINOR.to_le_bytes());
        out.put(&HEADER_BYTES_FIELD.to_le_bytes());
        out.put(&self.ident.ledger_id);
        out.put(&[0; 8]);
        out.put(&self.number.to_le_bytes());
        out.put(&self.ident.epoch.to_le_bytes());
        out.put(&self.ident.created_unix_ns.to_le_bytes());
        out.put(&[0; 40 + 4 + 24]);
        out.seal()
    }

    /// Reads the header back; the checksum is checked before any field but the magic.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        if looks_converted(bytes, *b"EVP") {
            return Err(HeaderError::ConvertedAsText);
        }
        let header = checked::<PACK_HEADER_BYTES>(bytes, &PACK_MAGIC)?;
        let mut fields = Taken(header);
        let minor = fields.format()?;
        let ledger_id = fields.array();
        let first_seq = fields.array::<8>();
        let number = u32::from_le_bytes(fields.array());
        let epoch = u32::from_le_bytes(fields.array());
        let created_unix_ns = u64::from_le_bytes(fields.array());
        let predecessor = fields.array::<40>();
        let flags = fields.array::<4>();
        let reserved = fields.array::<24>();
        // A later minor version may give the reserved bytes a meaning that can be ignored.
        let zero = first_seq == [0; 8] && predecessor == [0; 40] && reserved == [0; 24];
        fields.expect_that("reserved", zero || minor > FORMAT_MINOR)?;
        fields.expect_that("flags", flags == [0; 4])?;
        Ok(Self { ident: PackIdent { ledger_id, epoch, created_unix_ns }, number })
    }
}

/// The header length field of packs and indexes.
pub(crate) const HEADER_BYTES_FIELD: u32 = 128;

/// Describes one stored artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) codec: u16,
    /// The record is a dictionary of its pack, and no artifact of a run.
    pub(crate) is_dictionary: bool,
    pub(crate) raw_bytes: u64,
    pub(crate) stored_bytes: u64,
    /// What else of the pack is needed to read it; zeros if nothing.
    pub(crate) base: BaseKey,
    pub(crate) id: ArtifactId,
    pub(crate) stored_crc: u32,
}

/// The first bytes of the id of a dictionary or base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaseKey(pub(crate) [u8; 8]);

impl BaseKey {
    /// The key of the record with this id.
    pub(crate) fn of(id: &ArtifactId) -> Self {
        let (key, _) = id.as_bytes().split_first_chunk().expect("an id has 32 bytes");
        Self(*key)
    }

    /// The lowest id with this key.
    pub(crate) fn first_id(self) -> ArtifactId {
        let mut id = [0; ID_BYTES];
        let (key, _) = id.split_at_mut(self.0.len());
        key.copy_from_slice(&self.0);
        ArtifactId::from_bytes(id)
    }
}

impl RecordHeader {
    /// Lays out the header.
    ///
    /// | offset | bytes | field |
    /// |---|---|---|
    /// | 0 | 4 | magic `EVA1` |
    /// | 4 | 2 | codec: 0 raw, 1 zstd, 2 zstd with a dictionary, 3 zstd over a base blob |
    /// | 6 | 2 | flags; bit 0: a dictionary of this pack |
    /// | 8 | 8 | raw length, at most 1 GiB |
    /// | 16 | 8 | stored length, at most 1 GiB |
    /// | 24 | 8 | first bytes of the id of the dictionary or base; zero for codecs 0 and 1 |
    /// | 32 | 32 | id: SHA-256 of the raw bytes |
    /// | 64 | 4 | CRC-32 of the stored bytes |
    /// | 68 | 4 | CRC-32 of bytes 0..68 |
    pub(crate) fn encode(&self) -> [u8; RECORD_HEADER_BYTES] {
        let mut out = Fields::<RECORD_HEADER_BYTES>::new();
        out.put(&RECORD_MAGIC);
        out.put(&self.codec.to_le_bytes());
        out.put(&self.flags().to_le_bytes());
        out.put(&self.raw_bytes.to_le_bytes());
        out.put(&self.stored_bytes.to_le_bytes());
        out.put(&self.base.0);
        out.put(self.id.as_bytes());
        out.put(&self.stored_crc.to_le_bytes());
        out.seal()
    }

    /// Reads the header back; the lengths it returns are within their maxima.
    ///
    /// A codec that this version cannot read is no error here, so that the record can be listed
    /// and skipped.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DamageReason> {
        let header = checked::<RECORD_HEADER_BYTES>(bytes, &RECORD_MAGIC)?;
        let mut fields = Taken(header);
        fields.array::<4>();
        let codec = u16::from_le_bytes(fields.array());
        let flags = u16::from_le_bytes(fields.array());
        let raw_bytes = u64::from_le_bytes(fields.array());
        let stored_bytes = u64::from_le_bytes(fields.array());
        let base = BaseKey(fields.array());
        let id = ArtifactId::from_bytes(fields.array::<ID_BYTES>());
        let stored_crc = u32::from_le_bytes(fields.array());
        fields.expect_that("stored length", stored_bytes <= STORED_BYTES_MAX)?;
        let is_dictionary = flags & FLAG_DICTIONARY != 0;
        let header = Self { codec, is_dictionary, raw_bytes, stored_bytes, base, id, stored_crc };
        if codec <= CODEC_DELTA {
            fields.expect_that("flags", flags == header.flags())?;
            fields.expect_that("raw length", raw_bytes <= header.raw_bytes_max())?;
            fields.expect_that("raw length", codec != CODEC_RAW || raw_bytes == stored_bytes)?;
            fields.expect_that("base", header.needs_base() || base == BaseKey::default())?;
            fields.expect_that("flags", !(is_dictionary && header.needs_base()))?;
        }
        Ok(header)
    }

    /// Returns true if the record is read with the help of another one.
    pub(crate) fn needs_base(&self) -> bool {
        matches!(self.codec, CODEC_DICTIONARY | CODEC_DELTA)
    }

    fn flags(&self) -> u16 {
        if self.is_dictionary { FLAG_DICTIONARY } else { 0 }
    }

    /// The longest artifact that this kind of record holds.
    fn raw_bytes_max(&self) -> u64 {
        match self.codec {
            _ if self.is_dictionary => DICTIONARY_BYTES_MAX,
            CODEC_DICTIONARY => DICTIONARY_RAW_BYTES_MAX,
            CODEC_DELTA => DELTA_RAW_BYTES_MAX,
            _ => ARTIFACT_BYTES_MAX,
        }
    }

    /// Returns the length of the whole record: header, stored bytes, padding.
    pub(crate) fn record_bytes(&self) -> u64 {
        HEADER_U64 + self.stored_bytes.next_multiple_of(ALIGN_BYTES)
    }
}

/// [`RECORD_HEADER_BYTES`] as the type of offsets.
pub(crate) const HEADER_U64: u64 = 72;
/// [`PACK_HEADER_BYTES`] as the type of offsets.
pub(crate) const PACK_HEADER_U64: u64 = 128;
const _: () = assert!(HEADER_U64 == RECORD_HEADER_BYTES as u64);
const _: () = assert!(PACK_HEADER_U64 == PACK_HEADER_BYTES as u64);

/// Returns true where a record header could start.
pub(crate) fn has_record_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&RECORD_MAGIC)
}

/// Recognizes what line-end conversion, 7-bit transfer or re-encoding make of a magic.
pub(crate) fn looks_converted(bytes: &[u8], name: [u8; 3]) -> bool {
    let after = |lead: &[u8]| bytes.strip_prefix(lead)?.strip_prefix(&name);
    let line_ends = after(b"\x89").is_some_and(|ends| {
        let to_lf = ends.starts_with(b"\n\x1a\n");
        let to_crlf = ends.starts_with(b"\r\r\n\x1a") || ends.starts_with(b"\r\n\x1a\r\n");
        let to_cr = ends.starts_with(b"\r\x1a\r") || ends.starts_with(b"\r\r\x1a\r");
        to_lf || to_crlf || to_cr
    });
    let leads: [&[u8]; 4] = [b"\x09", b"\xc2\x89", b"\xef\xbf\xbd", b"?"];
    line_ends || leads.iter().any(|lead| after(lead).is_some())
}

/// Takes a header off the front: whole, with its magic, and with its checksum.
pub(crate) fn checked<'a, const N: usize>(
    bytes: &'a [u8],
    magic: &[u8],
) -> Result<&'a [u8], DamageReason> {
    let Some(header) = bytes.get(..N) else {
        let [found_bytes, expected_bytes] = [bytes.len(), N].map(|len| len as u64);
        return Err(DamageReason::Cut { found_bytes, expected_bytes });
    };
    let (body, crc) = header.split_last_chunk::<4>().ok_or(DamageReason::Magic)?;
    if !header.starts_with(magic) {
        return Err(DamageReason::Magic);
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return Err(DamageReason::HeaderChecksum);
    }
    Ok(body)
}

/// Writes fields one behind the other; [`Fields::seal`] asserts that they fill the header.
pub(crate) struct Fields<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Fields<N> {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; N], used: 0 }
    }

    pub(crate) fn put(&mut self, field: &[u8]) {
        let slot = self.bytes.get_mut(self.used..self.used + field.len());
        slot.expect("the byte table fits its header").copy_from_slice(field);
        self.used += field.len();
    }

    /// Appends the CRC-32 of everything before it.
    pub(crate) fn seal(mut self) -> [u8; N] {
        let (body, _) = self.bytes.split_at(self.used);
        let crc = crc32fast::hash(body);
        self.put(&crc.to_le_bytes());
        assert_eq!(self.used, N, "the byte table fills its header");
        self.bytes
    }
}

/// Reads fields one behind the other from a header that [`checked`] returned.
pub(crate) struct Taken<'a>(pub(crate) &'a [u8]);

impl Taken<'_> {
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the byte table fits its header");
        self.0 = rest;
        *field
    }

    /// Takes the magic, which was checked, the versions and the header length; returns the minor
    /// version.
    pub(crate) fn format(&mut self) -> Result<u16, HeaderError> {
        self.array::<8>();
        let major = u16::from_le_bytes(self.array());
        if major > FORMAT_MAJOR {
            return Err(HeaderError::Version(major));
        }
        let minor = u16::from_le_bytes(self.array());
        self.expect_that("format major", major == FORMAT_MAJOR)?;
        let header_bytes = u32::from_le_bytes(self.array());
        self.expect_that("header length", header_bytes == HEADER_BYTES_FIELD)?;
        Ok(minor)
    }

    #[expect(clippy::unused_self, reason = "reads as a step of taking the fields")]
    pub(crate) fn expect_that(&self, field: &'static str, ok: bool) -> Result<(), DamageReason> {
        if ok { Ok(()) } else { Err(DamageReason::HeaderField { field }) }
    }
}

impl From<DamageReason> for HeaderError {
    fn from(reason: DamageReason) -> Self {
        Self::Damaged(reason)
    }
}

#[cfg(test)]
mod tests;
