//! Connections to upstreams, numbered as they are opened, so that the record can tell a new one
//! from one that is used again, and say how it is secured.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

type Inner = HttpsConnector<HttpConnector>;
type Opened = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection to an upstream, as it stands among the extensions of an answer.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    connection: u64,
    tls: Option<Arc<str>>,
    asked: Arc<AtomicU64>,
}

/// Which connection a request went upstream on, and its place on it, both from 1.
#[derive(Clone, Debug)]
pub(super) struct OnUpstream {
    pub(super) connection: u64,
    pub(super) nth: u64,
    /// Version of TLS; `None` where the connection is plain.
    pub(super) tls: Option<Arc<str>>,
}

impl OnUpstream {
    /// Takes a request as sent on the connection that this answer came on.
    pub(super) fn of<B>(answer: &hyper::Response<B>) -> Option<Self> {
        let facts = answer.extensions().get::<Facts>()?;
        let nth = facts.asked.fetch_add(1, Ordering::Relaxed) + 1;
        Some(Self { connection: facts.connection, nth, tls: facts.tls.clone() })
    }
}

/// Opens connections and numbers them.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    inner: Inner,
    opened: Arc<AtomicU64>,
}

impl Numbered {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner, opened: Arc::default() }
    }
}

impl Service<Uri> for Numbered {
    type Response = Stream;
    type Error = <Inner as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let opening = self.inner.call(to);
        let opened = Arc::clone(&self.opened);
        Box::pin(async move {
            let inner = opening.await?;
            let tls = match &inner {
                MaybeHttpsStream::Http(_) => None,
                MaybeHttpsStream::Https(stream) => {
                    let version = stream.inner().get_ref().1.protocol_version();
                    Some(version.map_or_else(|| "TLS".into(), |it| format!("{it:?}").into()))
                }
            };
            let connection = opened.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(Stream { inner, facts: Facts { connection, tls, asked: Arc::default() } })
        })
    }
}

/// A numbered connection.
#[derive(Debug)]
pub(super) struct Stream {
    inner: Opened,
    facts: Facts,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.inner.connected().extra(self.facts.clone())
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
