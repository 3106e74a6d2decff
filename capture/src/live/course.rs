//! How an exchange went over its connections: which ones, when, and in what pieces the answer came.

use std::time::Instant;

use serde_json::{Value, json};

use super::connection::OnUpstream;
use super::listen::OnConnection;

/// Pieces of one answer that are told apart. Streams of models have a few thousand; what comes
/// beyond is told as part of the last one.
const PIECES_MAX: usize = 1 << 14;

/// The pieces of an answer as they came.
#[derive(Debug)]
pub(super) struct Pieces {
    last: Instant,
    /// Microseconds since the piece before, and bytes.
    list: Vec<(u64, u64)>,
    merged: u64,
}

impl Pieces {
    /// Waits for the first piece from `begun` on.
    pub(super) fn since(begun: Instant) -> Self {
        Self { last: begun, list: Vec::new(), merged: 0 }
    }

    /// Takes a piece that came now.
    pub(super) fn came(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let bytes = bytes as u64;
        if self.list.len() == PIECES_MAX {
            self.merged += 1;
            if let Some((_, last)) = self.list.last_mut() {
                *last += bytes;
            }
            return;
        }
        let now = Instant::now();
        self.list.push((micros(now.duration_since(self.last)), bytes));
        self.last = now;
    }
}

/// An exchange on its way.
#[derive(Debug)]
pub(super) struct Course {
    /// `None` for one that came as a message on a socket.
    pub(super) client: Option<OnConnection>,
    /// `None` where no upstream was reached.
    pub(super) upstream: Option<OnUpstream>,
    /// From the end of the request's body until the request was on the disk.
    pub(super) captured_us: u64,
    /// From sending until the fields of the answer.
    pub(super) head_us: Option<u64>,
    pub(super) pieces: Pieces,
}

impl Course {
    /// The facts as JSON; `request` is the request's number, from 1.
    pub(super) fn told(&self, request: u64) -> String {
        let client = self
            .client
            .map(|on| json!({ "connection": on.connection, "nth_on_connection": on.nth }));
        let upstream = self.upstream.as_ref().map(|on| {
            let tls = on.tls.as_deref();
            json!({ "connection": on.connection, "nth_on_connection": on.nth, "tls": tls })
        });
        let pieces: Vec<Value> =
            self.pieces.list.iter().map(|(after, bytes)| json!([after, bytes])).collect();
        json!({
            "request": request,
            "client": client,
            "upstream": upstream,
            "captured_us": self.captured_us,
            "head_us": self.head_us,
            "pieces": pieces,
            "pieces_merged": self.pieces.merged,
        })
        .to_string()
    }
}

/// A duration in whole microseconds.
pub(super) fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
