//! Tells the recording around this one what an agent says of its tools' outputs.

use std::io::{self, Write};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use crate::handover;

/// Messages that may wait to be handed over; the agent's next one then waits as well.
const WAITING_MAX: usize = 64;
/// What a message has that tells an output.
const TELLS: &[u8] = b"\"rawOutput\"";

/// Hands messages over in a thread of its own.
pub(super) struct Also {
    messages: SyncSender<Vec<u8>>,
    /// Ends with the number of messages that were not taken.
    thread: JoinHandle<u64>,
}

impl Also {
    /// Hands messages to the recorder at `url`.
    pub(super) fn start(url: String) -> Self {
        let (messages, waiting) = mpsc::sync_channel::<Vec<u8>>(WAITING_MAX);
        let thread = std::thread::spawn(move || {
            let taken = |message: Vec<u8>| handover::to_recorder(&url, &message).is_ok();
            waiting.into_iter().map(taken).filter(|taken| !taken).count() as u64
        });
        Self { messages, thread }
    }

    /// Waits until all messages are handed over, and returns how many were not taken.
    pub(super) fn finish(self) -> u64 {
        drop(self.messages);
        self.thread.join().unwrap_or_default()
    }
}

/// A writer of whole lines that tells of them.
pub(super) struct Told<'a, W> {
    to: W,
    also: Option<&'a Also>,
}

impl<'a, W> Told<'a, W> {
    pub(super) fn new(to: W, also: Option<&'a Also>) -> Self {
        Self { to, also }
    }
}

impl<W: Write> Write for Told<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    /// Lines come here, each in one piece.
    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        self.to.write_all(line)?;
        let tells = line.windows(TELLS.len()).any(|window| window == TELLS);
        if let Some(also) = self.also.filter(|_also| tells) {
            // A thread that is gone is counted at the end.
            let _gone = also.messages.send(line.to_vec());
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
