//! A pull scanner over JSON text that reports where values stand, never what they mean.
//!
//! It keeps every byte: a caller that concatenates the spans and what lies between them has the
//! body again. It is not a parser for values (numbers are checked but not read, strings are not
//! unescaped) and it does not recurse, so nesting costs no stack.

use core::ops::Range;

use memchr::memchr2;

/// Deepest nesting that is scanned; a body beyond it is kept verbatim. Real bodies stay below 40.
pub const NESTING_MAX: usize = 512;

/// What kind of JSON value a span holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`, quotes included in the span.
    String,
    /// A number of any size.
    Number,
    /// `true`, `false` or `null`.
    Literal,
}

/// One value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its kind.
    pub kind: ValueKind,
    /// Its bytes, without surrounding white space.
    pub span: Range<usize>,
}

/// Why a text could not be scanned. Carries the byte offset only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The text ends inside a value.
    #[error("json ends early at offset {offset}")]
    Truncated {
        /// Offset of the end.
        offset: usize,
    },
    /// A byte that cannot stand here.
    #[error("unexpected byte at offset {offset}")]
    Unexpected {
        /// Offset of the byte.
        offset: usize,
    },
    /// More than [`NESTING_MAX`] levels.
    #[error("nesting deeper than {NESTING_MAX} at offset {offset}")]
    TooDeep {
        /// Offset of the bracket that goes too deep.
        offset: usize,
    },
}

/// Position in a JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at `pos`.
    pub fn new(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    /// Offset of the next unread byte.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// The text that is scanned.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn peek(&self) -> Result<u8, ScanError> {
        self.bytes.get(self.pos).copied().ok_or(ScanError::Truncated { offset: self.pos })
    }

    fn unexpected<T>(&self) -> Result<T, ScanError> {
        Err(ScanError::Unexpected { offset: self.pos })
    }

    /// Skips white space.
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
    }

    /// Steps over `byte` (after white space) or fails.
    pub fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        self.skip_space();
        if self.peek()? == byte {
            self.pos += 1;
            return Ok(());
        }
        self.unexpected()
    }

    /// Kind of the next value, without moving past it (white space is skipped).
    pub fn kind(&mut self) -> Result<ValueKind, ScanError> {
        self.skip_space();
        match self.peek()? {
            b'{' => Ok(ValueKind::Object),
            b'[' => Ok(ValueKind::Array),
            b'"' => Ok(ValueKind::String),
            b'-' | b'0'..=b'9' => Ok(ValueKind::Number),
            b't' | b'f' | b'n' => Ok(ValueKind::Literal),
            _ => self.unexpected(),
        }
    }

    /// Reads the next key of an object that was entered with `expect(b'{')`, and its colon.
    ///
    /// `first` is true before the first member. Returns the key's span with quotes, or `None`
    /// after the closing brace.
    pub fn next_key(&mut self, first: bool) -> Result<Option<Range<usize>>, ScanError> {
        if !self.next_slot(first, b'}')? {
            return Ok(None);
        }
        self.skip_space();
        let start = self.pos;
        if self.peek()? != b'"' {
            return self.unexpected();
        }
        self.skip_string()?;
        let key = start..self.pos;
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Moves to the next element of an array that was entered with `expect(b'[')`.
    ///
    /// Returns false after the closing bracket.
    pub fn next_element(&mut self, first: bool) -> Result<bool, ScanError> {
        let more = self.next_slot(first, b']')?;
        if more {
            self.skip_space();
        }
        Ok(more)
    }

    fn next_slot(&mut self, first: bool, close: u8) -> Result<bool, ScanError> {
        self.skip_space();
        match self.peek()? {
            b if b == close => {
                self.pos += 1;
                Ok(false)
            }
            _ if first => Ok(true),
            b',' => {
                self.pos += 1;
                Ok(true)
            }
            _ => self.unexpected(),
        }
    }

    /// Skips one value of any kind and returns where it stood.
    pub fn skip_value(&mut self) -> Result<Value, ScanError> {
        let kind = self.kind()?;
        let start = self.pos;
        match kind {
            ValueKind::String => self.skip_string()?,
            ValueKind::Number => self.skip_number()?,
            ValueKind::Literal => self.skip_literal()?,
            ValueKind::Object | ValueKind::Array => self.skip_nested()?,
        }
        Ok(Value { kind, span: start..self.pos })
    }

    fn skip_string(&mut self) -> Result<(), ScanError> {
        self.pos += 1;
        loop {
            let rest = self.bytes.get(self.pos..).unwrap_or_default();
            let Some(hit) = memchr2(b'"', b'\\', rest) else {
                return Err(ScanError::Truncated { offset: self.bytes.len() });
            };
            self.pos += hit + 1;
            if rest.get(hit) == Some(&b'"') {
                return Ok(());
            }
            match self.peek()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.pos += 1,
                b'u' => {
                    let digits = self.bytes.get(self.pos + 1..self.pos + 5);
                    if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                        return self.unexpected();
                    }
                    self.pos += 5;
                }
                _ => return self.unexpected(),
            }
        }
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let start = self.pos;
        while self.bytes.get(self.pos).is_some_and(u8::is_ascii_digit) {
            self.pos += 1;
        }
        if self.pos == start { self.unexpected() } else { Ok(()) }
    }

    fn skip_number(&mut self) -> Result<(), ScanError> {
        if self.peek()? == b'-' {
            self.pos += 1;
        }
        if self.peek()? == b'0' {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.pos) {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.pos) {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn skip_literal(&mut self) -> Result<(), ScanError> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let word: &[u8] = match rest.first() {
            Some(b't') => b"true",
            Some(b'f') => b"false",
            _ => b"null",
        };
        if rest.starts_with(word) {
            self.pos += word.len();
            return Ok(());
        }
        self.unexpected()
    }

    /// Skips an object or array with a stack of one bit per level.
    fn skip_nested(&mut self) -> Result<(), ScanError> {
        let mut stack = BracketStack::default();
        stack.push(self.peek()? == b'{', self.pos)?;
        self.pos += 1;
        let mut first = true;
        while let Some(object) = stack.top() {
            let more =
                if object { self.next_key(first)?.is_some() } else { self.next_element(first)? };
            first = false;
            if !more {
                stack.pop();
                continue;
            }
            match self.kind()? {
                ValueKind::String => self.skip_string()?,
                ValueKind::Number => self.skip_number()?,
                ValueKind::Literal => self.skip_literal()?,
                kind @ (ValueKind::Object | ValueKind::Array) => {
                    stack.push(kind == ValueKind::Object, self.pos)?;
                    self.pos += 1;
                    first = true;
                }
            }
        }
        Ok(())
    }
}

/// Which brackets are open: one bit per level, so that depth costs no allocation.
#[derive(Default)]
struct BracketStack {
    bits: [u64; NESTING_MAX / 64],
    depth: usize,
}

impl BracketStack {
    fn push(&mut self, object: bool, offset: usize) -> Result<(), ScanError> {
        let word = self.bits.get_mut(self.depth / 64).ok_or(ScanError::TooDeep { offset })?;
        let bit = 1_u64 << (self.depth % 64);
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn top(&self) -> Option<bool> {
        let level = self.depth.checked_sub(1)?;
        Some(self.bits.get(level / 64)? >> (level % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests;
