//! Walks JSON text token by token, keeping every byte.

/// Deeper values are not compared.
pub(super) const DEPTH_MAX: usize = 512;

/// A place in a JSON text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// The text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotJson;

impl<'b> Walk<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes white space.
    pub(super) fn space(&mut self) -> &'b [u8] {
        self.while_true(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Takes one byte.
    pub(super) fn byte(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Takes a string and returns what stands between its quotes.
    pub(super) fn string(&mut self) -> Result<&'b [u8], NotJson> {
        self.byte(b'"')?;
        let start = self.at;
        loop {
            match self.peek().ok_or(NotJson)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let inside = self.bytes.get(start..self.at).ok_or(NotJson)?;
        self.byte(b'"')?;
        Ok(inside)
    }

    /// Takes a number or a word.
    pub(super) fn scalar(&mut self) -> Result<&'b [u8], NotJson> {
        let taken = self
            .while_true(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
        if taken.is_empty() { Err(NotJson) } else { Ok(taken) }
    }

    /// Takes a whole value and returns a walk over it alone.
    pub(super) fn value(&mut self, depth: usize) -> Result<Self, NotJson> {
        if depth > DEPTH_MAX {
            return Err(NotJson);
        }
        let start = self.at;
        match self.peek().ok_or(NotJson)? {
            b'"' => self.string().map(drop)?,
            b'{' => self.members(depth, &mut |_key, _value| Ok(()))?,
            b'[' => self.elements(depth)?,
            _ => self.scalar().map(drop)?,
        }
        let bytes = self.bytes.get(..self.at).ok_or(NotJson)?;
        Ok(Self { bytes, at: start })
    }

    /// Takes an object and calls `each` with every key, as written, and its value.
    pub(super) fn members(
        &mut self,
        depth: usize,
        each: &mut dyn FnMut(&'b [u8], Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.byte(b'{')?;
        self.space();
        if self.peek() == Some(b'}') {
            return self.byte(b'}');
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.byte(b':')?;
            self.space();
            each(key, self.value(depth + 1)?)?;
            self.space();
            if self.peek() == Some(b'}') {
                return self.byte(b'}');
            }
            self.byte(b',')?;
        }
    }

    fn elements(&mut self, depth: usize) -> Result<(), NotJson> {
        self.byte(b'[')?;
        self.space();
        if self.peek() == Some(b']') {
            return self.byte(b']');
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            if self.peek() == Some(b']') {
                return self.byte(b']');
            }
            self.byte(b',')?;
        }
    }

    fn while_true(&mut self, holds: impl Fn(u8) -> bool) -> &'b [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().position(|byte| !holds(*byte)).unwrap_or(rest.len());
        self.at += count;
        rest.get(..count).unwrap_or_default()
    }
}
