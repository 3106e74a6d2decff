//! Content codings of HTTP bodies: which are declared, and undoing them within a bound.
//!
//! Undoing never guesses: bytes that do not start as the declared coding does are left alone.

use std::io::Read;

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};

use crate::har::{GZIP_MAGIC, ZSTD_MAGIC, ZSTD_WINDOW_LOG_MAX};

/// The largest body that a content coding may grow to when it is undone.
pub const BODY_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The most content codings on one body that are undone.
pub const CODINGS_MAX: usize = 4;

/// How much the brotli decoder reads at once.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

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
    /// `br`.
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

/// The codings of all `content-encoding` fields, in the order they were applied; cut behind
/// [`CODINGS_MAX`] and one more.
pub(crate) fn codings<'h>(fields: impl Iterator<Item = (&'h str, &'h [u8])>) -> Vec<Coding> {
    fields
        .filter(|(name, _value)| name.eq_ignore_ascii_case("content-encoding"))
        .flat_map(|(_name, value)| value.split(|byte| *byte == b','))
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

/// What a recording calls the codings that were undone.
pub(crate) fn name(codings: &[Coding]) -> &'static str {
    match codings {
        [Coding::Zstd] => "zstd",
        [Coding::Gzip] => "gzip",
        [Coding::Deflate] => "deflate",
        [Coding::Brotli] => "br",
        _ => "several",
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

/// A body as it is read.
#[cfg(feature = "live")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undone<'a> {
    /// Without the codings that were undone.
    pub(crate) bytes: std::borrow::Cow<'a, [u8]>,
    /// What they are called; `None` where the bytes are as sent.
    pub(crate) coding: Option<&'static str>,
}

/// Undoes the codings that header fields declare. A body without a coding, or without the one
/// that is declared, is read as it was sent.
#[cfg(feature = "live")]
pub(crate) fn as_read<'a>(
    body: &'a [u8],
    headers: &[(String, Vec<u8>)],
    bytes_max: usize,
) -> Result<Undone<'a>, Decoding> {
    let codings = declared(headers);
    match undo(body, &codings, bytes_max) {
        Ok(plain) => Ok(Undone { bytes: plain.into(), coding: Some(name(&codings)) }),
        Err(Decoding::Plain | Decoding::NotAsDeclared) => {
            Ok(Undone { bytes: body.into(), coding: None })
        }
        Err(error) => Err(error),
    }
}

/// As much of a body as can be read; `None` where nobody can look into it.
#[cfg(feature = "live")]
pub(crate) fn as_far_as_read(
    body: &[u8],
    headers: &[(String, Vec<u8>)],
    bytes_max: usize,
) -> Option<Vec<u8>> {
    match as_read(body, headers, bytes_max) {
        Ok(undone) => Some(undone.bytes.into_owned()),
        Err(_) => Some(undo_beginning(body, &declared(headers), bytes_max)?.0),
    }
}

#[cfg(feature = "live")]
fn declared(headers: &[(String, Vec<u8>)]) -> Vec<Coding> {
    codings(headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())))
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
        // Brotli has no first bytes of its own, but what it makes is hardly ever text.
        Coding::Brotli => match read_bounded(brotli(bytes), bytes_max) {
            Err(Decoding::Damaged) if std::str::from_utf8(bytes).is_ok() => {
                Err(Decoding::NotAsDeclared)
            }
            undone => undone,
        },
        Coding::Other => Err(Decoding::Unsupported),
    }
}

fn brotli(bytes: &[u8]) -> impl Read + '_ {
    brotli_decompressor::Decompressor::new(bytes, BROTLI_BUFFER_BYTES)
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
    match decoder.take((bytes_max as u64).saturating_add(1)).read_to_end(&mut plain) {
        Ok(_) if plain.len() > bytes_max => Err(Decoding::TooLarge),
        Ok(_) => Ok(plain),
        Err(_) => Err(Decoding::Damaged),
    }
}

/// Undoes all `codings` of a body that may have been cut: as much of it as can be read, at most
/// `bytes_max`, and whether that is all of it. `None` where nothing can be read at all, as with
/// a coding that is not known.
#[cfg(feature = "live")]
fn undo_beginning(bytes: &[u8], codings: &[Coding], bytes_max: usize) -> Option<(Vec<u8>, bool)> {
    if codings.len() > CODINGS_MAX || codings.contains(&Coding::Other) {
        return None;
    }
    let mut plain: Box<dyn Read + '_> = Box::new(bytes);
    for coding in codings.iter().rev() {
        plain = match coding {
            Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(plain)),
            Coding::Deflate => Box::new(flate2::read::ZlibDecoder::new(plain)),
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(plain).ok()?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).ok()?;
                Box::new(decoder)
            }
            Coding::Brotli => {
                Box::new(brotli_decompressor::Decompressor::new(plain, BROTLI_BUFFER_BYTES))
            }
            Coding::Other => return None,
        };
    }
    let mut beginning = Vec::new();
    // What came before an error stays in the buffer.
    let read = plain.take((bytes_max as u64).saturating_add(1)).read_to_end(&mut beginning);
    let whole = read.is_ok() && beginning.len() <= bytes_max;
    beginning.truncate(bytes_max);
    Some((beginning, whole))
}
