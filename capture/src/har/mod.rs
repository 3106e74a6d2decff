//! Reads HAR 1.2 files, one entry at a time, in memory bounded by the largest entry.
//!
//! Three steps, each usable alone: [`open`] undoes the compression of the file (gzip or zstd,
//! told by its first bytes), [`HarReader`] cuts `log.entries` into its elements without parsing
//! them, and [`parse_entry`] reads one element. It does not know runs, events or stores; what
//! an exchange means is decided by the importer.
//!
//! What is certain about the result:
//! - a damaged or cut file yields every complete entry before the error;
//! - an entry that does not parse costs that entry, not the ones behind it;
//! - a body is the bytes of the HAR's string, unescaped once; [`Payload`] says where these
//!   cannot be the bytes that were sent;
//! - no error carries content: places, lengths and names of this module only.
//!
//! Repeated names: elements of every `entries` array of every `log` are read, in file order;
//! anywhere else the last one wins, as in most JSON parsers.

mod body;
mod cursor;
mod entry;
mod error;
mod framer;
mod members;
mod reader;
mod source;
mod window;

#[cfg(test)]
mod tests;

pub use self::body::{Body, Payload, Transfer, Unread};
pub use self::entry::{Entry, HEADERS_MAX, Header, Request, Response, parse_entry};
pub use self::error::{CodedFault, EntryError, HarError, NotHarReason};
pub use self::reader::{
    DEPTH_MAX, ENTRY_BYTES_MAX, HEAD_BYTES_MAX, HarReader, Limits, Product, RawEntry,
};
pub use self::source::{FileCoding, open, sniff};
pub(crate) use self::source::{GZIP_MAGIC, ZSTD_MAGIC, ZSTD_WINDOW_LOG_MAX};
pub use crate::coding::{BODY_BYTES_MAX, CODINGS_MAX, Coding, Decoding};
