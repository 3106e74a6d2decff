//! Reading forward in a text that may not be complete.

use super::Edge;

/// The text ends before the question is answered, and more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short;

/// A text, and what comes behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) edge: Edge,
}

/// A quotation mark, perhaps escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    pub(crate) mark: u8,
    /// Backslashes before it: none in a text, one in a JSON string in it, three in one of those.
    pub(crate) backslashes: usize,
}

impl Quote {
    /// Bytes of the mark with its backslashes.
    pub(crate) const fn len(self) -> usize {
        self.backslashes + 1
    }

    /// Returns true if a mark behind so many backslashes ends what this one began: undoing the
    /// escapes of the strings around leaves an even number.
    const fn is_closed_by(self, mut backslashes: usize) -> bool {
        let mut around = self.backslashes;
        while around > 0 {
            if backslashes.is_multiple_of(2) {
                return false;
            }
            backslashes /= 2;
            around /= 2;
        }
        backslashes.is_multiple_of(2)
    }
}

impl Text<'_> {
    /// The byte at a place; `None` at the end of the text.
    pub(crate) fn byte(&self, at: usize) -> Result<Option<u8>, Short> {
        match self.bytes.get(at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.edge == Edge::More => Err(Short),
            None => Ok(None),
        }
    }

    /// Where the run of bytes that starts at `from` ends, at most `most` bytes on.
    pub(crate) fn run(
        &self,
        from: usize,
        most: usize,
        has: impl Fn(u8) -> bool,
    ) -> Result<usize, Short> {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let rest_most = rest.get(..most).unwrap_or(rest);
        match rest_most.iter().position(|byte| !has(*byte)) {
            Some(length) => Ok(from + length),
            None if rest_most.len() == most || self.edge == Edge::End => Ok(from + rest_most.len()),
            None => Err(Short),
        }
    }

    /// Returns true if `expected`, in any case, stands at `from`.
    pub(crate) fn has_word(&self, from: usize, expected: &[u8]) -> Result<bool, Short> {
        self.has(from, expected.len(), |found| found.eq_ignore_ascii_case(expected), expected)
    }

    /// Returns true if `expected` stands at `from`.
    pub(crate) fn has_text(&self, from: usize, expected: &[u8]) -> Result<bool, Short> {
        self.has(from, expected.len(), |found| found == expected, expected)
    }

    fn has(
        &self,
        from: usize,
        length: usize,
        is: impl Fn(&[u8]) -> bool,
        expected: &[u8],
    ) -> Result<bool, Short> {
        let rest = self.bytes.get(from..).unwrap_or_default();
        if let Some(found) = rest.get(..length) {
            return Ok(is(found));
        }
        let start = expected.get(..rest.len()).unwrap_or_default();
        let could = rest.eq_ignore_ascii_case(start);
        if could && self.edge == Edge::More { Err(Short) } else { Ok(false) }
    }

    /// Returns true if one of `words`, in any case, stands at `from`, and where it ends.
    pub(crate) fn one_of(&self, from: usize, words: &[&[u8]]) -> Result<Option<usize>, Short> {
        for word in words {
            if self.has_word(from, word)? {
                return Ok(Some(from + word.len()));
            }
        }
        Ok(None)
    }

    /// Blanks and tabs from `from` on, at most `most`.
    pub(crate) fn blanks(&self, from: usize, most: usize) -> Result<usize, Short> {
        self.run(from, most, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// The quotation mark at `from`.
    pub(crate) fn quote(&self, from: usize) -> Result<Option<Quote>, Short> {
        let mark_at = self.run(from, 7, |byte| byte == b'\\')?;
        let backslashes = mark_at - from;
        match self.byte(mark_at)? {
            Some(mark @ (b'"' | b'\'' | b'`')) if matches!(backslashes, 0 | 1 | 3 | 7) => {
                Ok(Some(Quote { mark, backslashes }))
            }
            _ => Ok(None),
        }
    }

    /// Where the inside of a quotation that starts at `from` ends; `None` if no mark ends it on
    /// this line within `most` bytes.
    pub(crate) fn quoted_end(
        &self,
        from: usize,
        quote: Quote,
        most: usize,
    ) -> Result<Option<usize>, Short> {
        let mut at = from;
        loop {
            let left = most.saturating_sub(at - from);
            let ends = |byte: u8| byte != quote.mark && byte != b'\n' && byte != b'\\';
            let stop = self.run(at, left, ends)?;
            if stop - from >= most {
                return Ok(None);
            }
            match self.byte(stop)? {
                Some(b'\\') => {
                    let past = self.run(stop, left.max(8), |byte| byte == b'\\')?;
                    let backslashes = past - stop;
                    match self.byte(past)? {
                        Some(byte) if byte == quote.mark => {
                            if quote.is_closed_by(backslashes) && backslashes >= quote.backslashes {
                                return Ok(Some(past - quote.backslashes));
                            }
                            at = past + 1;
                        }
                        Some(_) => {
                            // A mark of the string around ends this one as well.
                            at = past;
                        }
                        None => return Ok(None),
                    }
                }
                Some(byte) if byte == quote.mark => {
                    let closes = quote.backslashes == 0;
                    return Ok(closes.then_some(stop));
                }
                _ => return Ok(None),
            }
        }
    }
}
