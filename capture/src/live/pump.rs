//! Passes an answer on as it arrives and keeps a copy of what was handed over.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::Stream;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::body::Room;
use super::course::Pieces;
use super::http::Cut;
use super::listen::turned;
use super::scribe::AnswerEnd;

/// Frames that may wait for a slow client; then the upstream is not read on.
const FRAMES_MAX: usize = 4;

/// A copy of bytes up to a limit, and of the pieces in which they came.
#[derive(Debug)]
pub(super) struct Copy {
    bytes: Option<Vec<u8>>,
    bytes_max: usize,
    room: Room,
    held: Option<OwnedSemaphorePermit>,
    pieces: Pieces,
}

/// What was copied.
#[derive(Debug)]
pub(super) struct Copied {
    /// The bytes, unless there were more than the limit, or than there was room for.
    pub(super) bytes: Option<Vec<u8>>,
    /// The room that they take until it is dropped.
    pub(super) room: Option<OwnedSemaphorePermit>,
    pub(super) pieces: Pieces,
}

impl Copy {
    /// Takes up to `bytes_max` bytes where there is room; pieces are timed from `begun` on.
    pub(super) fn up_to(bytes_max: usize, room: &Room, begun: Instant) -> Self {
        let (room, pieces) = (room.clone(), Pieces::since(begun));
        Self { bytes: Some(Vec::new()), bytes_max, room, held: None, pieces }
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        self.pieces.came(more.len());
        let Some(bytes) = &mut self.bytes else { return };
        let length = bytes.len() + more.len();
        if length <= self.bytes_max && self.room.grow(&mut self.held, length) {
            bytes.extend_from_slice(more);
        } else {
            (self.bytes, self.held) = (None, None);
        }
    }

    /// What there is.
    pub(super) fn end(self) -> Copied {
        Copied { bytes: self.bytes, room: self.held, pieces: self.pieces }
    }
}

/// What travels to the client.
pub(super) type Passed = Result<Frame<Bytes>, Cut>;

/// A channel of frames whose reading end is the body of an answer.
pub(super) fn channel() -> (mpsc::Sender<Passed>, Frames) {
    let (to, from) = mpsc::channel(FRAMES_MAX);
    (to, Frames(from))
}

/// The frames of a body, as they come.
pub(super) struct Frames(mpsc::Receiver<Passed>);

impl Stream for Frames {
    type Item = Passed;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Passed>> {
        self.0.poll_recv(context)
    }
}

/// How long what was passed on has to reach the client before its connection is broken off:
/// HTTP libraries drop what they still hold when a body ends in an error.
const FLUSH_GRACE: Duration = Duration::from_millis(30);

/// Breaks an answer off, so that the client sees that this is not its end.
pub(super) async fn break_off(client: &mpsc::Sender<Passed>) {
    tokio::time::sleep(FLUSH_GRACE).await;
    // A client that is gone has seen it.
    let _gone = client.send(Err(Cut)).await;
}

/// Passes `body` on to `client` until one of the two ends, or `closing` turns true.
pub(super) async fn pass_on(
    mut body: Incoming,
    client: mpsc::Sender<Passed>,
    copy: &mut Copy,
    closing: &mut watch::Receiver<bool>,
) -> AnswerEnd {
    loop {
        let frame = tokio::select! {
            biased;
            () = turned(closing) => {
                break_off(&client).await;
                return AnswerEnd::HungUp;
            }
            () = client.closed() => return AnswerEnd::HungUp,
            frame = body.frame() => frame,
        };
        match frame {
            None => return AnswerEnd::Finished,
            Some(Err(_)) => {
                break_off(&client).await;
                return AnswerEnd::Cut;
            }
            Some(Ok(frame)) => {
                let data = frame.data_ref().cloned();
                if client.send(Ok(frame)).await.is_err() {
                    return AnswerEnd::HungUp;
                }
                copy.push(&data.unwrap_or_default());
            }
        }
    }
}
