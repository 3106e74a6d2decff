//! Sessions of opencode: sessions, messages and parts, each with a payload of JSON. A part of a
//! call holds its input and its output, as the model saw it and longer.
//!
//! They are kept in a database (`opencode.db`), before that as a tree of files under `storage/`,
//! and `opencode export` writes one document.

#[cfg(feature = "sqlite")]
mod database;
mod document;
mod turn;

#[cfg(feature = "sqlite")]
pub(super) use database::OpencodeDatabase;
pub(super) use document::OpencodeDocument;
