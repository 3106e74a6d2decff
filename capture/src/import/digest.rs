//! Digests a source while it is read, after redaction: the digest of raw bytes could confirm a
//! guess of a secret in them.

use std::io::{self, Read};

use artifacts::redact::{RedactStream, Redactor};
use sha2::{Digest as _, Sha256};

/// Passes bytes through and digests their redacted form.
pub(crate) struct DigestReader<'r, R> {
    inner: R,
    stream: RedactStream<'r>,
    clean: Vec<u8>,
    hash: Sha256,
}

impl<'r, R: Read> DigestReader<'r, R> {
    pub(crate) fn new(inner: R, redactor: &'r Redactor) -> Self {
        Self { inner, stream: redactor.stream(), clean: Vec::new(), hash: Sha256::new() }
    }

    /// Reads what is left.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        io::copy(self, &mut io::sink()).map(|_bytes| ())
    }

    /// The digest of everything that was read.
    pub(crate) fn finish(mut self) -> [u8; 32] {
        self.clean.clear();
        let _spans = self.stream.finish(&mut self.clean);
        self.hash.update(&self.clean);
        self.hash.finalize().into()
    }
}

impl<R: Read> Read for DigestReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.clean.clear();
        self.stream.push(buffer.get(..count).unwrap_or_default(), &mut self.clean);
        self.hash.update(&self.clean);
        Ok(count)
    }
}
