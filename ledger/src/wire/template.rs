//! Cuts one part into a literal and the slots in it: strings that stand for themselves.
//!
//! A slot is the inside of a JSON string (or a whole JSON value, for arguments sent as an
//! object). Its text plus its escape switches give exactly the bytes that stood there: that is
//! proven here, and a string that cannot be proven stays in the literal.

use core::ops::Range;
use std::borrow::Cow;

use super::escape::{Escape, unescape};
use super::rules::{self, Step, Take};
use super::span::{Cursor, ScanError, ValueKind};
use super::{Dialect, PartKind, Role, SlotKind};

/// A string of at least this many bytes becomes a slot wherever it stands, so that it is stored
/// once however often the text around it changes.
const LONG_STRING_BYTES: usize = 256;
/// Values nested deeper than this inside an item are not looked into.
const WALK_DEPTH_MAX: usize = 16;
/// Most slots of one part; further strings stay in the literal.
pub const SLOTS_MAX: usize = 4096;

/// One slot of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot<'a> {
    /// Where its escaped text stands in the part.
    pub span: Range<usize>,
    /// What it is.
    pub kind: SlotKind,
    /// Which call or result of the part it belongs to: the index of the block it stands in, or 0
    /// where the part is a single one.
    pub group: u16,
    /// Its text.
    pub text: Cow<'a, str>,
    /// How it is escaped.
    pub escape: Escape,
}

/// A part, cut.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Template<'a> {
    /// Who speaks.
    pub role: Role,
    /// The slots, in order, without overlap.
    pub slots: Vec<Slot<'a>>,
    /// Strings that should have been slots but have no provable escape rule.
    pub unproven: u32,
}

impl Template<'_> {
    /// The part without its slots, and the offset of each slot in it.
    pub fn literal(&self, part: &[u8]) -> (Vec<u8>, Vec<usize>) {
        let mut literal = Vec::new();
        let mut offsets = Vec::with_capacity(self.slots.len());
        let mut at = 0;
        for slot in &self.slots {
            literal.extend_from_slice(part.get(at..slot.span.start).unwrap_or_default());
            offsets.push(literal.len());
            at = slot.span.end;
        }
        literal.extend_from_slice(part.get(at..).unwrap_or_default());
        (literal, offsets)
    }
}

/// Cuts `part`. `hint` is the escape rule that other strings of the body were seen to follow.
///
/// Never fails: a part that cannot be walked has no slots.
pub fn cut(dialect: Dialect, kind: PartKind, part: &[u8], hint: Escape) -> Template<'_> {
    let mut cut = Cut {
        rules: &[],
        group_list: rules::group_list(dialect),
        hint,
        path: Vec::new(),
        result: false,
        scratch: Vec::new(),
        template: Template::default(),
    };
    if kind == PartKind::Glue || kind == PartKind::Verbatim {
        return cut.template;
    }
    let mut start = 0;
    if kind == PartKind::Item {
        cut.rules = rules::rules(dialect);
        let (role, item_type) = speaker(part);
        cut.template.role = rules::role(role, item_type);
        cut.result = item_type.is_some_and(rules::is_result_type);
    } else {
        // Other pieces are members: the key and its colon stay in the literal.
        let mut cursor = Cursor::new(part, 0);
        if cursor.skip_value().is_ok() && cursor.expect(b':').is_ok() {
            start = cursor.pos();
        }
        if kind == PartKind::System {
            cut.template.role = Role::System;
        }
    }
    let mut cursor = Cursor::new(part, start);
    if cut.value(&mut cursor).is_err() {
        cut.template.slots.clear();
    }
    cut.template
}

/// Who speaks in an item.
pub fn role(item: &[u8]) -> Role {
    let (role, item_type) = speaker(item);
    rules::role(role, item_type)
}

/// The item's `role` and `type`, without quotes.
fn speaker(item: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let [role, item_type] = string_members(item, [b"\"role\"", b"\"type\""]);
    (role, item_type)
}

/// String members of an object by their quoted keys, as they stand between their quotes.
///
/// All are `None` when the text is no object; the last of several with one key wins.
pub fn string_members<'a, const N: usize>(
    object: &'a [u8],
    keys: [&[u8]; N],
) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    let mut cursor = Cursor::new(object, 0);
    let mut read = || -> Result<(), ScanError> {
        cursor.expect(b'{')?;
        let mut first = true;
        while let Some(key) = cursor.next_key(first)? {
            first = false;
            let value = cursor.skip_value()?;
            if value.kind != ValueKind::String {
                continue;
            }
            for (wanted, slot) in keys.iter().zip(&mut found) {
                if object.get(key.clone()) == Some(*wanted) {
                    *slot = object.get(value.span.start + 1..value.span.end - 1);
                }
            }
        }
        Ok(())
    };
    if read().is_err() {
        return [None; N];
    }
    found
}

/// One step of the path to the value that is looked at.
#[derive(Clone, Copy)]
enum At<'a> {
    Key(&'a [u8]),
    Index(usize),
}

struct Cut<'a> {
    rules: &'static [rules::Rule],
    group_list: Option<&'static str>,
    hint: Escape,
    path: Vec<At<'a>>,
    /// The item is a result, so that `call_id` names another item's call.
    result: bool,
    scratch: Vec<u8>,
    template: Template<'a>,
}

impl<'a> Cut<'a> {
    fn value(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ScanError> {
        let kind = cursor.kind()?;
        let take = self.take();
        match (kind, take) {
            (_, Some(Take::Json(slot))) if kind != ValueKind::String => {
                let value = cursor.skip_value()?;
                self.slot(cursor.bytes(), value.span, slot, true);
                Ok(())
            }
            (ValueKind::String, take) => {
                let value = cursor.skip_value()?;
                let inside = value.span.start + 1..value.span.end - 1;
                if let Some(slot) = take.map(|take| self.kind_of(take)) {
                    self.slot(cursor.bytes(), inside, slot, false);
                } else if inside.len() >= LONG_STRING_BYTES {
                    self.slot(cursor.bytes(), inside, SlotKind::OTHER, false);
                }
                Ok(())
            }
            (ValueKind::Object, _) if self.path.len() < WALK_DEPTH_MAX => self.object(cursor),
            (ValueKind::Array, _) if self.path.len() < WALK_DEPTH_MAX => self.array(cursor),
            _ => cursor.skip_value().map(|_value| ()),
        }
    }

    fn object(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ScanError> {
        cursor.expect(b'{')?;
        let mut first = true;
        while let Some(key) = cursor.next_key(first)? {
            first = false;
            let name = cursor.bytes().get(key.start + 1..key.end - 1).unwrap_or_default();
            self.path.push(At::Key(name));
            self.value(cursor)?;
            self.path.pop();
        }
        Ok(())
    }

    fn array(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ScanError> {
        cursor.expect(b'[')?;
        let mut index = 0;
        while cursor.next_element(index == 0)? {
            self.path.push(At::Index(index));
            self.value(cursor)?;
            self.path.pop();
            index += 1;
        }
        Ok(())
    }

    fn take(&self) -> Option<Take> {
        self.rules.iter().find(|(pattern, _)| self.matches(pattern)).map(|(_, take)| *take)
    }

    fn matches(&self, pattern: &[Step]) -> bool {
        let mut at = self.path.iter();
        for step in pattern {
            let matched = match (step, at.next()) {
                (Step::Below, here) => return here.is_some(),
                (Step::Key(key), Some(At::Key(name))) => key.as_bytes() == *name,
                (Step::Any, Some(At::Index(_))) => true,
                _ => false,
            };
            if !matched {
                return false;
            }
        }
        at.next().is_none()
    }

    fn kind_of(&self, take: Take) -> SlotKind {
        match take {
            Take::Text => rules::text_kind(self.template.role),
            Take::Kind(kind) | Take::Json(kind) => kind,
            Take::CallOrResultId if self.result => SlotKind::RESULT_CALL_ID,
            Take::CallOrResultId => SlotKind::CALL_ID,
        }
    }

    fn group(&self) -> u16 {
        match self.path.as_slice() {
            [At::Key(list), At::Index(index), ..]
                if self.group_list.is_some_and(|name| name.as_bytes() == *list) =>
            {
                u16::try_from(*index).unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn slot(&mut self, bytes: &'a [u8], span: Range<usize>, kind: SlotKind, verbatim: bool) {
        let raw = bytes.get(span.clone()).unwrap_or_default();
        let proven = if verbatim {
            std::str::from_utf8(raw).ok().map(|text| (Cow::Borrowed(text), Escape::VERBATIM))
        } else {
            self.prove(raw)
        };
        match proven {
            Some((text, escape)) if self.template.slots.len() < SLOTS_MAX => {
                let group = self.group();
                self.template.slots.push(Slot { span, kind, group, text, escape });
            }
            _ => self.template.unproven += 1,
        }
    }

    /// The text of an escaped string and the rule that writes it exactly so.
    fn prove(&mut self, raw: &'a [u8]) -> Option<(Cow<'a, str>, Escape)> {
        let text = unescape(raw).ok()?;
        let seen = Escape::detect(raw);
        [self.hint, Escape::JSON, seen, self.hint.union(seen)]
            .into_iter()
            .find(|escape| escape.reproduces(&text, raw, &mut self.scratch))
            .map(|escape| (text, escape))
    }
}

#[cfg(test)]
mod tests;
