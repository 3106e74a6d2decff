//! What can go wrong with a listener, an upstream, or the recording behind them.

use std::net::SocketAddr;
use std::path::PathBuf;

use ledger::recorder::RecordError;

/// Why a live recording could not be begun, or not be ended well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The recording cannot be created or written.
    #[error("recording cannot be written: {}", recording.display())]
    Record {
        /// Its folder.
        recording: PathBuf,
        /// Why.
        source: RecordError,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The system gives no threads or timers.
    #[error("cannot start the listener's threads")]
    Runtime {
        /// The system's answer.
        source: std::io::Error,
    },
    /// The system's root certificates cannot be read, so that no upstream could be trusted.
    #[error("cannot read the system's root certificates")]
    Roots {
        /// The system's answer.
        source: std::io::Error,
    },
    /// A thread of the listener is gone.
    #[error("the listener's thread has died")]
    Died,
}

/// Why an upstream address is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It does not parse.
    #[error("not a URL")]
    NotAUrl,
    /// Neither `http` nor `https`.
    #[error("scheme is neither http nor https")]
    Scheme,
    /// It has no host.
    #[error("no host")]
    NoHost,
    /// It has a query, a fragment or a password.
    #[error("only scheme, host, port and path are allowed")]
    MoreThanABase,
}
