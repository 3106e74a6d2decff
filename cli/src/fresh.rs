//! What nothing on record tells: the time, and ids that were never given out.

use std::time::{SystemTime, UNIX_EPOCH};

use ledger::segment::Epoch;

use crate::error::{Failure, Kind};

/// Now, in Unix nanoseconds.
pub(crate) fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The epoch of a new writer.
pub(crate) fn epoch() -> Result<Epoch, Failure> {
    Epoch::random().map_err(|_os| Failure::new(Kind::Io, "no randomness available for new ids"))
}
