//! Finds where one JSON value ends, a chunk at a time. Pure: no reading, no parsing.
//!
//! It looks at strings and brackets only. What it frames may still be broken inside; the
//! parser of the framed bytes says so, and only of these.

use memchr::memchr2;

/// Finds the end of one value over any number of chunks.
#[derive(Debug)]
pub(crate) struct Framer {
    state: State,
    depth: usize,
    /// The closing brackets that are owed, outermost first; the first `depth_max` of them.
    closers: Vec<u8>,
    depth_max: usize,
    too_deep: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Between,
    Text,
    Escape,
    Scalar,
    Done,
}

/// A byte that can stand in no JSON at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its place in the chunk that was fed.
    pub(crate) at: usize,
    /// What should have stood there.
    pub(crate) expected: &'static str,
}

impl Framer {
    /// Stands before a value, whose first byte is the first one fed.
    ///
    /// Brackets deeper than `depth_max` are counted, but no longer told apart.
    pub(crate) fn new(depth_max: usize) -> Self {
        Self { state: State::Start, depth: 0, closers: Vec::new(), depth_max, too_deep: false }
    }

    /// Takes the next chunk; returns the number of its bytes up to the end of the value.
    ///
    /// `None` asks for the next chunk. A number or word ends before the byte that follows it,
    /// so at the end of a file it never does.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Result<Option<usize>, Fault> {
        let mut at = 0;
        while at < chunk.len() {
            at = match self.state {
                State::Start => self.start(chunk, at)?,
                State::Between => self.between(chunk, at)?,
                State::Text => self.text(chunk, at),
                State::Escape => {
                    self.state = State::Text;
                    at + 1
                }
                State::Scalar => self.scalar(chunk, at),
                State::Done => return Ok(Some(at)),
            };
        }
        Ok((self.state == State::Done).then_some(at))
    }

    /// Tells whether the value was nested deeper than `depth_max`.
    pub(crate) fn too_deep(&self) -> bool {
        self.too_deep
    }

    fn start(&mut self, chunk: &[u8], at: usize) -> Result<usize, Fault> {
        match chunk.get(at) {
            Some(b'"') => self.state = State::Text,
            Some(b'{') => self.opened(b'}'),
            Some(b'[') => self.opened(b']'),
            Some(byte) if is_scalar(*byte) => self.state = State::Scalar,
            _ => return Err(Fault { at, expected: "a value" }),
        }
        Ok(at + 1)
    }

    fn between(&mut self, chunk: &[u8], at: usize) -> Result<usize, Fault> {
        let rest = chunk.get(at..).unwrap_or_default();
        let Some((skipped, byte)) = rest
            .iter()
            .enumerate()
            .find(|(_, byte)| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))
        else {
            return Ok(chunk.len());
        };
        let here = at + skipped;
        match byte {
            b'"' => self.state = State::Text,
            b'{' => self.opened(b'}'),
            b'[' => self.opened(b']'),
            closer => self.closed(*closer, here)?,
        }
        Ok(here + 1)
    }

    fn text(&mut self, chunk: &[u8], mut at: usize) -> usize {
        while let Some(found) = memchr2(b'"', b'\\', chunk.get(at..).unwrap_or_default()) {
            let here = at + found;
            if chunk.get(here) == Some(&b'"') {
                self.state = if self.depth == 0 { State::Done } else { State::Between };
                return here + 1;
            }
            if here + 1 == chunk.len() {
                self.state = State::Escape;
                return chunk.len();
            }
            // The byte behind a backslash is part of the escape, whatever it is.
            at = here + 2;
        }
        chunk.len()
    }

    fn scalar(&mut self, chunk: &[u8], at: usize) -> usize {
        let rest = chunk.get(at..).unwrap_or_default();
        let Some(taken) = rest.iter().position(|byte| !is_scalar(*byte)) else {
            return chunk.len();
        };
        self.state = State::Done;
        // `feed` must see the end even if it is the first byte of a chunk.
        at + taken
    }

    fn opened(&mut self, closer: u8) {
        self.state = State::Between;
        self.depth += 1;
        if self.depth <= self.depth_max {
            self.closers.push(closer);
        } else {
            self.too_deep = true;
        }
    }

    fn closed(&mut self, closer: u8, at: usize) -> Result<(), Fault> {
        if self.depth == self.closers.len() {
            match self.closers.pop() {
                Some(owed) if owed == closer => {}
                Some(b'}') => return Err(Fault { at, expected: "\"}\"" }),
                _ => return Err(Fault { at, expected: "\"]\"" }),
            }
        }
        self.depth -= 1;
        if self.depth == 0 {
            self.state = State::Done;
        }
        Ok(())
    }
}

/// The bytes of numbers, `true`, `false`, `null` and of misspellings of these.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Names the kind of thing that starts with `byte`, without showing it.
pub(crate) fn kind_of(byte: u8) -> &'static str {
    match byte {
        b'"' => "a string",
        b'{' => "an object",
        b'[' => "an array",
        b'}' | b']' => "a closing bracket",
        b',' => "a comma",
        b':' => "a colon",
        byte if is_scalar(byte) => "a number or word",
        _ => "a byte that is not JSON",
    }
}
