//! How many bytes two lists of segments begin with in common, without writing them out.

use alloc::vec::Vec;

use super::prompt::Texts;
use crate::fold::ProjectError;
use crate::view::{Segment, text_of};

/// Unescaped bytes that are written at a time.
const WINDOW_BYTES: usize = 4096;

/// The bytes of segments, a window at a time.
struct Cursor<'c> {
    texts: Texts<'c>,
    segments: core::slice::Iter<'c, Segment>,
    current: Option<(&'c Segment, usize)>,
    window: Vec<u8>,
    read: usize,
}

/// Counts the common beginning.
///
/// # Errors
/// A text is missing or damaged.
pub(crate) fn common(
    texts: Texts<'_>,
    left: &[Segment],
    right: &[Segment],
) -> Result<u64, ProjectError> {
    let mut left = Cursor::new(texts, left);
    let mut right = Cursor::new(texts, right);
    let mut count = 0;
    loop {
        let (have_left, have_right) = (left.fill()?, right.fill()?);
        if !have_left || !have_right {
            return Ok(count);
        }
        let (a, b) = (left.rest(), right.rest());
        let length = a.len().min(b.len());
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        count += same as u64;
        if same < length {
            return Ok(count);
        }
        left.read += length;
        right.read += length;
    }
}

impl<'c> Cursor<'c> {
    fn new(texts: Texts<'c>, segments: &'c [Segment]) -> Self {
        let segments = segments.iter();
        Self { texts, segments, current: None, window: Vec::new(), read: 0 }
    }

    fn rest(&self) -> &[u8] {
        self.window.get(self.read..).unwrap_or_default()
    }

    /// Sees to it that there is something to read; `false` at the end.
    fn fill(&mut self) -> Result<bool, ProjectError> {
        while self.read >= self.window.len() {
            self.window.clear();
            self.read = 0;
            if self.current.is_none() {
                let Some(next) = self.segments.next() else { return Ok(false) };
                self.current = Some((next, 0));
            }
            self.write()?;
        }
        Ok(true)
    }

    /// Writes the next window of the current segment.
    fn write(&mut self) -> Result<(), ProjectError> {
        let Some((segment, at)) = self.current.take() else { return Ok(()) };
        let history = self.texts.history;
        match segment {
            Segment::Literal { part, range } => {
                let skeleton = history.skeleton(history.part(*part));
                let literal = skeleton.literal.read(self.texts.source)?;
                self.window.extend_from_slice(literal.get(range.clone()).unwrap_or_default());
            }
            Segment::Text { part, slot, range, found, escape } => {
                let not_text = ProjectError::NotText { part: part.number(), slot: *slot };
                let text = text_of(history, (*part, *slot), *found).ok_or(not_text.clone())?;
                let bytes = text.read(self.texts.source)?;
                let text = core::str::from_utf8(&bytes).ok();
                let text = text.and_then(|text| text.get(range.clone())).ok_or(not_text)?;
                let mut end = (at + WINDOW_BYTES).min(text.len());
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                escape.escape_into(text.get(at..end).unwrap_or_default(), &mut self.window);
                if end < text.len() {
                    self.current = Some((segment, end));
                }
            }
            Segment::Inserted { text, escape, .. } => escape.escape_into(text, &mut self.window),
            Segment::Added { bytes, .. } => self.window.extend_from_slice(bytes),
            // Neither marks nor what stands between messages is content of a prompt.
            Segment::Separator | Segment::Mark { .. } => {}
        }
        Ok(())
    }
}
