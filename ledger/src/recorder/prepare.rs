//! A request body outlined and named part by part, before it is known which conversation it
//! belongs to.

use core::ops::Range;

use sha2::{Digest as _, Sha256};

use super::parts::RawKey;
use crate::wire::outline::{Outline, outline};
use crate::wire::overlay::{self, Mark};
use crate::wire::span::{Cursor, ScanError, ValueKind};
use crate::wire::{Dialect, PartKind};

/// What the marks of one body may add up to: all of them are told in one event. Real bodies have
/// four marks of 40 bytes; where there are more than fit, they stay in their items.
const MARKS_BYTES_MAX: usize = 1 << 20;
/// What a mark adds beside its own bytes.
const MARK_BYTES: usize = 24;

/// One item of a prepared body.
#[derive(Clone, Debug)]
pub struct PreparedItem {
    /// Where it stands in the body.
    pub span: Range<usize>,
    /// Names its bytes without overlays.
    pub key: RawKey,
    /// SHA-256 of those bytes; of no use to anybody who stores, unless redaction leaves them.
    pub(super) digest: [u8; 32],
    /// Its overlays; offsets are in the item without them.
    pub marks: Vec<Mark>,
}

/// A body, outlined.
#[derive(Clone, Debug)]
pub struct Prepared<'a> {
    /// The body as sent, content coding undone.
    pub body: &'a [u8],
    /// Its dialect.
    pub dialect: Dialect,
    pub(super) shape: Result<Outline, String>,
    /// Its items; empty when the body could not be split.
    pub items: Vec<PreparedItem>,
}

impl<'a> Prepared<'a> {
    /// Outlines `body`. Never fails: a body without the shape of its dialect is kept whole.
    pub fn new(dialect: Dialect, body: &'a [u8]) -> Self {
        let shape = outline(dialect, body).map_err(|error| error.to_string());
        let mut items = Vec::new();
        if let Ok(outline) = &shape {
            items = outline.items.iter().map(|span| item(body, span.clone())).collect();
            let marks = items.iter().flat_map(|item| &item.marks);
            if marks.map(|mark| MARK_BYTES + mark.bytes.len()).sum::<usize>() > MARKS_BYTES_MAX {
                items = outline.items.iter().map(|span| whole_item(body, span.clone())).collect();
            }
        }
        Self { body, dialect, shape, items }
    }

    /// Outlines `body` and leaves the marks on its items where they are.
    pub(super) fn whole(dialect: Dialect, body: &'a [u8]) -> Self {
        let shape = outline(dialect, body).map_err(|error| error.to_string());
        let spans = shape.as_ref().map(|outline| outline.items.as_slice()).unwrap_or_default();
        let items = spans.iter().map(|span| whole_item(body, span.clone())).collect();
        Self { body, dialect, shape, items }
    }

    /// Why the body is kept whole, if it is.
    pub fn unsplit(&self) -> Option<&str> {
        self.shape.as_ref().err().map(String::as_str)
    }

    /// The text of the `model` member, as it stands between its quotes.
    pub fn model(&self) -> Option<&'a [u8]> {
        let span = self.shape.as_ref().ok()?.model.clone()?;
        self.body.get(span.start + 1..span.end.checked_sub(1)?)
    }

    /// True when the body offers tools to the model.
    pub fn has_tools(&self) -> bool {
        let Ok(outline) = &self.shape else { return false };
        outline.head.iter().chain(&outline.tail).any(|piece| {
            let bytes = self.body.get(piece.span.clone()).unwrap_or_default();
            piece.kind == PartKind::Tools && has_some(bytes).unwrap_or(false)
        })
    }
}

/// True when the value of a member is an object or a list with an element.
fn has_some(member: &[u8]) -> Result<bool, ScanError> {
    let mut cursor = Cursor::new(member, 0);
    cursor.skip_value()?;
    cursor.expect(b':')?;
    match cursor.kind()? {
        ValueKind::Object => Ok(true),
        ValueKind::Array => {
            cursor.expect(b'[')?;
            cursor.next_element(true)
        }
        _ => Ok(false),
    }
}

fn whole_item(body: &[u8], span: Range<usize>) -> PreparedItem {
    let digest = Sha256::digest(body.get(span.clone()).unwrap_or_default()).into();
    PreparedItem { span, key: RawKey::of_digest(&digest), digest, marks: Vec::new() }
}

fn item(body: &[u8], span: Range<usize>) -> PreparedItem {
    let stripped = overlay::strip(body.get(span.clone()).unwrap_or_default());
    let digest = Sha256::digest(&stripped.base).into();
    PreparedItem { span, key: RawKey::of_digest(&digest), digest, marks: stripped.marks }
}
