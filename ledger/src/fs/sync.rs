//! The lock and the condition variable of the commit queue. Tests put others in their place.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Takes a lock whose holder panicked: what it guards changes in whole steps only.
pub(super) fn recovered<T>(poisoned: PoisonError<T>) -> T {
    poisoned.into_inner()
}
