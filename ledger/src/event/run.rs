//! The run itself: opened, closed, its conversations, and what was kept without understanding.

use bincode::{Decode, Encode};

use super::redaction::RedactionConfigured;
use crate::content::Content;
use crate::id::{RunId, SessionId};

/// How a run came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Origin {
    /// Recorded by the caller's own code.
    Api,
    /// Imported from a HAR file.
    Har,
    /// Recorded by a proxy while the client ran.
    Proxy,
    /// Imported from what a client, or a tool that watched it, wrote about the run.
    Transcript,
    /// Imported from a log of protocol messages between a client and its agent.
    Acp,
    /// Recorded on the standard streams between a client and its agent while both ran.
    Stdio,
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunOpened {
    /// Its identity.
    pub run: RunId,
    /// How it came in.
    pub origin: Origin,
    /// Name of the source (a file name without its folder), as given.
    pub source: Option<Content>,
    /// Version of the program that recorded it.
    pub recorder: String,
    /// Redaction rule set: id, version, digest of its rules.
    pub ruleset: (String, u32, [u8; 32]),
    /// When it was recorded, Unix nanoseconds; information, not order.
    pub opened_unix_ns: u64,
}

impl RunOpened {
    /// How texts are redacted from the run's beginning.
    pub fn redaction(&self) -> RedactionConfigured {
        let ruleset = self.ruleset.clone();
        RedactionConfigured { ruleset, key: None, known: Vec::new(), known_values: 0 }
    }
}

/// A run ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunClosed {
    /// The source was read to its end.
    pub complete: bool,
    /// SHA-256 of the redacted source, where the run was imported.
    pub source_digest: Option<[u8; 32]>,
    /// Records of the source that were read.
    pub source_records: u64,
    /// Records of the source that were not understood, all of them kept as `imported_record`.
    pub source_unknown: u64,
}

/// Why a request opened a conversation of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SessionBasis {
    /// The client names the conversation in a header or field.
    Header,
    /// Nothing is shared with an earlier request.
    Content,
    /// The client names the conversation, but this is a side request of it (title, classifier).
    Side,
}

/// A conversation began.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SessionOpened {
    /// Its identity.
    pub session: SessionId,
    /// The conversation that it belongs to, where the client says so.
    pub parent: Option<SessionId>,
    /// Why it is one of its own.
    pub basis: SessionBasis,
    /// The client's own id of it.
    pub client_session: Option<Content>,
    /// Tool aliases that the client advertised when it opened the session.
    pub aliases: Vec<Content>,
}

/// A foreign record, kept as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ImportedRecord {
    /// Position in the source, from 0.
    pub index: u64,
    /// Byte offset in the source.
    pub offset: u64,
    /// Why it is not a request: a fixed phrase, never content.
    pub reason: String,
    /// The record, redacted.
    pub bytes: Content,
}

/// Reasons of records that a recorder writes of its own accord, beside what it was given.
pub mod notes {
    /// What a run rests on beside its requests: folder, date, versions.
    pub const ENVIRONMENT: &str = "environment of the run";
    /// How far a client read an answer before it hung up.
    pub const HUNG_UP: &str = "client hung up before the answer's end";
    /// A request that came as a message on a WebSocket, and the response that it goes on from.
    pub const SOCKET: &str = "request that came over a websocket";
    /// A message of a client's tool hook.
    pub const HOOK: &str = "message of a tool hook";
    /// How a request and its answer went over their connections: which, when, in what pieces.
    /// Its index is that of the request, from 0.
    pub const EXCHANGE: &str = "how the exchange went over its connections";
    /// A file that a sent text names as the whole output was there and could not be taken.
    pub const SPILL: &str = "saved output that was not taken";
    /// All of them.
    pub const ALL: [&str; 6] = [ENVIRONMENT, HUNG_UP, SOCKET, HOOK, EXCHANGE, SPILL];
}

impl ImportedRecord {
    /// True for what the recorder noted of its own accord: no exchange is behind it.
    pub fn is_note(&self) -> bool {
        notes::ALL.contains(&self.reason.as_str())
    }
}
