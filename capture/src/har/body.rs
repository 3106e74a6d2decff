//! The bytes of a request or response: how they stood in the HAR and what was undone.
//!
//! Two codings can lie on top of each other. The *transfer* is the file's own (`encoding:
//! "base64"`) and is always undone. The *content coding* was on the wire (`content-encoding`)
//! and is undone only if the bytes really are so coded: many programs write the decoded body
//! beside a header that still says gzip.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::entry::Header;
use super::window::len64;
use crate::coding::{BODY_BYTES_MAX, Coding, Decoding, codings, undo};

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
    /// behind [`CODINGS_MAX`](crate::har::CODINGS_MAX) and one more.
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
        let content_encoding =
            codings(headers.iter().map(|header| (header.name.as_str(), header.value.as_slice())));
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
