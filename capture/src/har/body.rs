//! The bytes of a request or response: how they stood in the HAR and what was undone.
//!
//! Two codings can lie on top of each other. The *transfer* is the file's own (`encoding:
//! "base64"`) and is always undone. The *content coding* was on the wire (`content-encoding`)
//! and is undone only if the bytes really are so coded: many programs write the decoded body
//! beside a header that still says gzip.

use std::fmt;
use std::io::Read;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};

use super::entry::Header;
use super::source::{GZIP_MAGIC, ZSTD_MAGIC, ZSTD_WINDOW_LOG_MAX};
use super::window::len64;

/// The largest body that a content coding may grow to when it is undone.
pub const BODY_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The most content codings on one body that are undone.
pub const CODINGS_MAX: usize = 4;

/// Base64 as programs write it: with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A body as the HAR keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Body {
    /// There was none, or nothing says that there was one.
    #[default]
    Absent,
    /// There was one, but its bytes are not to be had from the file.
    Unread(Unread),
    /// Its bytes are here.
    Present(Payload),
}

/// Why the bytes of a body are not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// The file counts its bytes but does not hold them.
    NotKept,
    /// It stands as a list of form fields, whose own coding is lost.
    Params,
    /// It is marked as base64 and is none.
    BadBase64,
    /// It is marked with an encoding other than base64.
    UnknownTransfer,
}

/// The bytes of a body and what is known about them.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// The body; without its content coding if `decoding` is [`Decoding::Undone`].
    pub bytes: Vec<u8>,
    /// How the bytes stood in the file.
    pub transfer: Transfer,
    /// The content codings that the headers declare, in the order they were applied; cut
    /// behind [`CODINGS_MAX`] and one more.
    pub content_encoding: Vec<Coding>,
    /// What became of these codings.
    pub decoding: Decoding,
    /// The length before decoding, if a content coding was undone.
    pub coded_bytes: Option<u64>,
    /// The file's `bodySize`, the length on the wire; -1 means that the file does not know.
    pub declared_bytes: Option<i64>,
    /// Whether the file declares exactly the length that the bytes had before decoding.
    pub declared_matches: bool,
    /// Whether the text was no well-formed UTF-8, as with a lone surrogate. Then these are
    /// not the bytes that were sent. Never set for base64, which can hold any bytes.
    pub not_utf8: bool,
}

/// Shows lengths and codings: a body may hold prompts.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("bytes", &self.bytes.len())
            .field("transfer", &self.transfer)
            .field("content_encoding", &self.content_encoding)
            .field("decoding", &self.decoding)
            .field("coded_bytes", &self.coded_bytes)
            .field("declared_bytes", &self.declared_bytes)
            .field("declared_matches", &self.declared_matches)
            .field("not_utf8", &self.not_utf8)
            .finish()
    }
}

/// How a body stood in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// As a JSON string, whose UTF-8 the bytes are.
    Text,
    /// As base64 of the bytes.
    Base64,
}

/// A content coding of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coding {
    /// `gzip` or `x-gzip`.
    Gzip,
    /// `deflate`, which is the zlib format.
    Deflate,
    /// `zstd`.
    Zstd,
    /// `br`, which is not undone.
    Brotli,
    /// Any other, which is not undone.
    Other,
}

/// What became of the content codings that the headers declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoding {
    /// None is declared.
    Plain,
    /// All were undone.
    Undone,
    /// The bytes do not start as the declared coding does: most likely the program that wrote
    /// the file had decoded them. They are kept as they stood.
    NotAsDeclared,
    /// A declared coding cannot be undone here; the bytes are kept coded.
    Unsupported,
    /// The bytes start as the coding does but are cut or damaged; they are kept coded.
    Damaged,
    /// Undone, the body would be larger than [`BODY_BYTES_MAX`]; the bytes are kept coded.
    TooLarge,
}

/// A body as the members of `postData` or `content` describe it.
#[derive(Default)]
pub(crate) struct Described {
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) encoding: Option<String>,
    pub(crate) has_params: bool,
    /// `content.size`.
    pub(crate) content_bytes: Option<i64>,
}

impl Body {
    /// Reads what the file describes, `wire_bytes` being the length that it declares.
    pub(crate) fn read(described: Described, wire_bytes: Option<i64>, headers: &[Header]) -> Self {
        let Described { text, encoding, has_params, content_bytes } = described;
        let text = match text {
            Some(text) if !(text.is_empty() && has_params) => text,
            _ if has_params => return Self::Unread(Unread::Params),
            _ if wire_bytes.max(content_bytes) > Some(0) => return Self::Unread(Unread::NotKept),
            _ => return Self::Absent,
        };
        let (transfer, bytes) = match encoding.as_deref() {
            None | Some("") => (Transfer::Text, text),
            Some(name) if name.eq_ignore_ascii_case("base64") => match base64(text) {
                Some(bytes) => (Transfer::Base64, bytes),
                None => return Self::Unread(Unread::BadBase64),
            },
            Some(_) => return Self::Unread(Unread::UnknownTransfer),
        };
        let not_utf8 = transfer == Transfer::Text && std::str::from_utf8(&bytes).is_err();
        let content_encoding = codings(headers);
        let stood_bytes = len64(bytes.len());
        let (bytes, decoding) = match undo(&bytes, &content_encoding, BODY_BYTES_MAX) {
            Ok(plain) => (plain, Decoding::Undone),
            Err(decoding) => (bytes, decoding),
        };
        Self::Present(Payload {
            bytes,
            transfer,
            content_encoding,
            decoding,
            coded_bytes: (decoding == Decoding::Undone).then_some(stood_bytes),
            declared_bytes: wire_bytes,
            declared_matches: wire_bytes.and_then(|declared| u64::try_from(declared).ok())
                == Some(stood_bytes),
            not_utf8,
        })
    }
}

/// Decodes base64, with line breaks too.
fn base64(mut text: Vec<u8>) -> Option<Vec<u8>> {
    if let Ok(bytes) = BASE64.decode(&text) {
        return Some(bytes);
    }
    text.retain(|byte| !byte.is_ascii_whitespace());
    BASE64.decode(&text).ok()
}

/// The codings of all `content-encoding` headers, in the order they were applied.
fn codings(headers: &[Header]) -> Vec<Coding> {
    headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("content-encoding"))
        .flat_map(|header| header.value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"))
        .map(Coding::decode)
        .take(CODINGS_MAX + 1)
        .collect()
}

impl Coding {
    fn decode(name: &[u8]) -> Self {
        match name.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Self::Gzip,
            b"deflate" => Self::Deflate,
            b"zstd" => Self::Zstd,
            b"br" => Self::Brotli,
            _ => Self::Other,
        }
    }
}

/// Undoes all `codings`, the last applied first, or none of them.
pub(crate) fn undo(
    bytes: &[u8],
    codings: &[Coding],
    bytes_max: usize,
) -> Result<Vec<u8>, Decoding> {
    if codings.len() > CODINGS_MAX {
        return Err(Decoding::Unsupported);
    }
    let Some((outermost, inner)) = codings.split_last() else {
        return Err(Decoding::Plain);
    };
    let mut plain = undo_one(bytes, *outermost, bytes_max)?;
    for coding in inner.iter().rev() {
        plain = undo_one(&plain, *coding, bytes_max)?;
    }
    Ok(plain)
}

fn undo_one(bytes: &[u8], coding: Coding, bytes_max: usize) -> Result<Vec<u8>, Decoding> {
    match coding {
        Coding::Gzip if !bytes.starts_with(&GZIP_MAGIC) => Err(Decoding::NotAsDeclared),
        Coding::Zstd if !bytes.starts_with(&ZSTD_MAGIC) => Err(Decoding::NotAsDeclared),
        Coding::Deflate if !starts_as_zlib(bytes) => Err(Decoding::NotAsDeclared),
        Coding::Gzip => read_bounded(MultiGzDecoder::new(bytes), bytes_max),
        Coding::Deflate => {
            let mut decoder = ZlibDecoder::new(bytes);
            let plain = read_bounded(&mut decoder, bytes_max)?;
            let rest: &[u8] = decoder.get_ref();
            if rest.is_empty() { Ok(plain) } else { Err(Decoding::Damaged) }
        }
        Coding::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes).and_then(|mut it| {
                it.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Ok(it)
            });
            match decoder {
                Ok(decoder) => read_bounded(decoder, bytes_max),
                Err(_) => Err(Decoding::Damaged),
            }
        }
        Coding::Brotli | Coding::Other => Err(Decoding::Unsupported),
    }
}

/// The two bytes of a zlib header: method 8, and a multiple of 31 as a whole.
fn starts_as_zlib(bytes: &[u8]) -> bool {
    match bytes {
        [method, flags, ..] => {
            method & 0x0f == 8 && (u16::from(*method) * 256 + u16::from(*flags)) % 31 == 0
        }
        _ => false,
    }
}

fn read_bounded(decoder: impl Read, bytes_max: usize) -> Result<Vec<u8>, Decoding> {
    let mut plain = Vec::new();
    match decoder.take(len64(bytes_max).saturating_add(1)).read_to_end(&mut plain) {
        Ok(_) if plain.len() > bytes_max => Err(Decoding::TooLarge),
        Ok(_) => Ok(plain),
        Err(_) => Err(Decoding::Damaged),
    }
}
