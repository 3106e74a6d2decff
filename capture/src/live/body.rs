//! What bodies may hold: requests, which are taken in whole, and copies of answers.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::REQUEST_BYTES_MAX;

/// What the bodies of requests that are longer than `SMALL_BYTES_MAX` may hold together, in
/// bytes, and once more the copies of answers. A request beyond it is not read until others have
/// gone upstream; an answer beyond it is passed on and recorded without its body.
pub const HELD_BYTES_MAX: usize = 1 << 30;
/// Bodies up to this length wait for nobody. Those of agents are 10 kB to 500 kB.
const SMALL_BYTES_MAX: usize = 1 << 20;
/// Room is counted in units of so many bytes.
const UNIT_BYTES: usize = 64 << 10;

/// Room for bodies.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

/// A body, and the room that it takes until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Bytes,
    /// `None` for a small one.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

/// Why a body was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untaken {
    /// It is longer than [`REQUEST_BYTES_MAX`].
    TooLong,
    /// It ended before its length.
    Cut,
}

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(HELD_BYTES_MAX / UNIT_BYTES)))
    }

    /// Takes room for what grows to `bytes`, beside what it `held` until now; false where there is
    /// none. What is small takes none.
    pub(super) fn grow(&self, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> bool {
        if bytes <= SMALL_BYTES_MAX {
            return true;
        }
        let has = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(bytes.div_ceil(UNIT_BYTES).saturating_sub(has));
        let Ok(more) = more.map(|more| Arc::clone(&self.0).try_acquire_many_owned(more)) else {
            return false;
        };
        match (more, held.as_mut()) {
            (Ok(more), Some(held)) => held.merge(more),
            (Ok(more), None) => *held = Some(more),
            (Err(_full), _) => return false,
        }
        true
    }

    /// Reads a body to its end. One whose length is not declared takes the room of the longest.
    pub(super) async fn take(&self, mut body: Incoming) -> Result<Held, Untaken> {
        let declared = body.size_hint().exact().map(usize::try_from);
        let bytes_max = match declared {
            Some(Ok(declared)) if declared <= REQUEST_BYTES_MAX => declared,
            Some(_) => return Err(Untaken::TooLong),
            None => REQUEST_BYTES_MAX,
        };
        let room = if bytes_max > SMALL_BYTES_MAX {
            let units = u32::try_from(bytes_max.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
            // It is never closed, so that it is always given at last.
            Arc::clone(&self.0).acquire_many_owned(units).await.ok()
        } else {
            None
        };
        let mut bytes = Vec::with_capacity(if declared.is_some() { bytes_max } else { 0 });
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_cut| Untaken::Cut)?;
            let Some(data) = frame.data_ref() else { continue };
            if bytes.len() + data.len() > bytes_max {
                return Err(Untaken::TooLong);
            }
            bytes.extend_from_slice(data);
        }
        Ok(Held { bytes: bytes.into(), room })
    }
}
