//! Where the blocks of a message stand in its literal, so that one can be taken out.
//!
//! A literal is JSON with slots in it. Objects and arrays are *containers* of items; to take an
//! item out is to cut its bytes and one separator. What was not asked to go stays byte for byte.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// Deepest nesting of a literal that is looked at.
const DEPTH_MAX: usize = 64;

/// An item by its container and its place there.
pub(crate) type ItemNo = (usize, usize);

/// The containers of a literal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// The first one is the message itself.
    containers: Vec<Container>,
    /// Offsets of the slots that stand outside strings.
    bare: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
struct Container {
    /// The item that it is the value of.
    parent: Option<ItemNo>,
    items: Vec<Item>,
}

#[derive(Clone, Debug)]
struct Item {
    /// Of a member: its key.
    key: Range<usize>,
    /// From its first byte to behind its last; of a member, with the key.
    range: Range<usize>,
    value: Range<usize>,
    /// The container that it holds.
    inner: Option<usize>,
}

/// Bytes that stand in the place of an item, and the layer that put them there.
pub(crate) type Instead = (usize, Arc<[u8]>);

/// A stretch of a literal that is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) range: Range<usize>,
    /// Bytes that stand in its place, and the layer that put them there.
    pub(crate) instead: Option<Instead>,
}

/// What is left of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: the message was nothing else.
    Nothing,
    /// What stands outside the cuts says nothing.
    Empty(Vec<Cut>),
    /// What stands outside the cuts, which ascend and do not overlap.
    Without(Vec<Cut>),
}

impl Cut {
    /// True when a slot at this offset is not shown.
    pub(crate) fn hides(&self, offset: usize) -> bool {
        self.range.start < offset && offset <= self.range.end
    }
}

impl Blocks {
    /// Reads a literal; `None`: it is no JSON object with slots.
    pub(crate) fn of(literal: &[u8], slots: &[usize]) -> Option<Self> {
        let mut reader = Reader { literal, slots, at: 0, blocks: Self::default() };
        reader.space();
        if reader.peek() != Some(b'{') {
            return None;
        }
        reader.value(None, 0)?;
        reader.space();
        (reader.at == literal.len()).then_some(reader.blocks)
    }

    fn item(&self, (container, index): ItemNo) -> Option<&Item> {
        self.containers.get(container)?.items.get(index)
    }

    /// True when the item holds the slot at an offset.
    fn holds(&self, item: &Item, offset: usize) -> bool {
        let Range { start, end } = item.range;
        start < offset && (offset < end || (offset == end && self.bare.contains(&offset)))
    }

    fn find(&self, container: usize, offset: usize) -> Option<ItemNo> {
        let items = &self.containers.get(container)?.items;
        let index = items.iter().position(|item| self.holds(item, offset))?;
        Some((container, index))
    }

    /// The member of the message with a key.
    fn member(&self, literal: &[u8], key: &[u8]) -> Option<ItemNo> {
        let items = &self.containers.first()?.items;
        let is = |item: &Item| literal.get(item.key.clone()) == Some(key);
        Some((0, items.iter().position(is)?))
    }

    /// The bytes of the value of a member of the message.
    pub(crate) fn value_of<'l>(&self, literal: &'l [u8], key: &[u8]) -> Option<&'l [u8]> {
        let item = self.item(self.member(literal, key)?)?;
        literal.get(item.value.clone())
    }

    /// Where the values of the members of the message stand.
    pub(crate) fn values(&self) -> impl Iterator<Item = Range<usize>> {
        let items = self.containers.first().map(|container| container.items.as_slice());
        items.unwrap_or_default().iter().map(|item| item.value.clone())
    }

    /// The element of a list of the message that holds a slot.
    pub(crate) fn element(&self, offset: usize) -> Option<ItemNo> {
        let list = self.item(self.find(0, offset)?)?.inner?;
        let element = self.find(list, offset)?;
        // An object of the message is no list.
        self.item(element).filter(|item| item.key.is_empty()).map(|_| element)
    }

    /// The member of a block, or of the message, that holds a slot.
    pub(crate) fn member_at(&self, offset: usize) -> Option<ItemNo> {
        match self.element(offset) {
            Some(element) => self.find(self.item(element)?.inner?, offset),
            None => self.find(0, offset),
        }
    }

    /// The elements of the list of the message under a key, in order.
    pub(crate) fn elements(&self, literal: &[u8], key: &[u8]) -> Vec<ItemNo> {
        self.member(literal, key).map(|member| self.elements_in(member)).unwrap_or_default()
    }

    /// The member of the object that an item holds, by its key.
    pub(crate) fn field(&self, literal: &[u8], item: ItemNo, key: &[u8]) -> Option<ItemNo> {
        let inner = self.item(item)?.inner?;
        let items = &self.containers.get(inner)?.items;
        let is = |item: &Item| literal.get(item.key.clone()) == Some(key);
        Some((inner, items.iter().position(is)?))
    }

    /// The items of the list or object that an item holds, in order.
    pub(crate) fn elements_in(&self, item: ItemNo) -> Vec<ItemNo> {
        let inner = self.item(item).and_then(|item| item.inner);
        let count = inner.and_then(|at| self.containers.get(at)).map_or(0, |it| it.items.len());
        (0..count).filter_map(|index| Some((inner?, index))).collect()
    }

    /// The bytes of an item.
    pub(crate) fn bytes<'l>(&self, literal: &'l [u8], item: ItemNo) -> &'l [u8] {
        let range = self.item(item).map(|item| item.value.clone()).unwrap_or_default();
        literal.get(range).unwrap_or_default()
    }

    /// True when an offset stands in an item.
    pub(crate) fn is_in(&self, item: ItemNo, offset: usize) -> bool {
        self.item(item).is_some_and(|item| self.holds(item, offset))
    }

    /// What is left when items are taken out, or bytes stand in their place. `filled` tells
    /// whether a member of the message still says something.
    pub(crate) fn without(
        &self,
        literal: &[u8],
        gone: &[(ItemNo, Option<Instead>)],
        filled: &dyn Fn(&[u8], Range<usize>) -> bool,
    ) -> Left {
        let mut out: BTreeSet<ItemNo> = BTreeSet::new();
        let mut cuts = Vec::new();
        for (item, instead) in gone {
            match (instead, self.item(*item)) {
                (Some(instead), Some(found)) => {
                    cuts.push(Cut { range: found.value.clone(), instead: Some(instead.clone()) });
                }
                _ => {
                    out.insert(*item);
                }
            }
        }
        self.lists_that_are_empty(literal, &mut out);
        let says = self.says_something(literal, &out, filled);
        for (number, container) in self.containers.iter().enumerate() {
            let gone: BTreeSet<_> =
                out.range((number, 0)..(number + 1, 0)).map(|(_, index)| *index).collect();
            if !gone.is_empty() {
                cuts.extend(container.cuts(&gone));
            }
        }
        if says { Left::Without(merged(cuts)) } else { Left::Empty(merged(cuts)) }
    }

    /// A list of calls may not be empty: its member goes with the last of them.
    fn lists_that_are_empty(&self, literal: &[u8], out: &mut BTreeSet<ItemNo>) {
        for (number, container) in self.containers.iter().enumerate() {
            let all = !container.items.is_empty()
                && (0..container.items.len()).all(|index| out.contains(&(number, index)));
            let Some(parent) = container.parent.filter(|_| all) else { continue };
            let key = self.item(parent).and_then(|item| literal.get(item.key.clone()));
            if key == Some(b"tool_calls") {
                out.insert(parent);
            }
        }
    }

    fn says_something(
        &self,
        literal: &[u8],
        out: &BTreeSet<ItemNo>,
        filled: &dyn Fn(&[u8], Range<usize>) -> bool,
    ) -> bool {
        let Some(message) = self.containers.first() else { return true };
        message.items.iter().enumerate().any(|(index, item)| {
            let key = literal.get(item.key.clone()).unwrap_or_default();
            if !matches!(
                key,
                b"content" | b"parts" | b"tool_calls" | b"reasoning_content" | b"output"
            ) || out.contains(&(0, index))
            {
                return false;
            }
            match item.inner {
                Some(inner) => {
                    let items = self.containers.get(inner).map_or(0, |it| it.items.len());
                    (0..items).any(|index| !out.contains(&(inner, index)))
                }
                None => filled(literal, item.value.clone()),
            }
        })
    }
}

impl Container {
    /// The bytes that go with some of the items. One separator goes with each, so that those that
    /// stay are parted as they were.
    fn cuts(&self, gone: &BTreeSet<usize>) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let first_kept = (0..self.items.len()).find(|index| !gone.contains(index));
        for index in gone {
            let Some(item) = self.items.get(*index) else { continue };
            let before = index.checked_sub(1).and_then(|before| self.items.get(before));
            let range = match (first_kept, before) {
                (Some(kept), _) if *index < kept => {
                    let next = self.items.get(index + 1);
                    item.range.start..next.map_or(item.range.end, |next| next.range.start)
                }
                // Where nothing stays, separators go with the items behind them.
                (_, Some(before)) => before.range.end..item.range.end,
                (_, None) => item.range.clone(),
            };
            cuts.push(Cut { range, instead: None });
        }
        cuts
    }
}

/// Cuts in order, those inside others left out.
fn merged(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, core::cmp::Reverse(cut.range.end)));
    let mut out: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match out.last_mut() {
            Some(last) if cut.range.start < last.range.end => {
                if cut.range.end > last.range.end {
                    last.range.end = cut.range.end;
                }
            }
            Some(last)
                if last.instead.is_none()
                    && cut.instead.is_none()
                    && cut.range.start == last.range.end =>
            {
                last.range.end = cut.range.end;
            }
            _ => out.push(cut),
        }
    }
    out
}

/// What a value is.
enum Held {
    Container(usize),
    Leaf,
}

struct Reader<'l> {
    literal: &'l [u8],
    slots: &'l [usize],
    at: usize,
    blocks: Blocks,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.literal.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Reads a value.
    fn value(&mut self, parent: Option<ItemNo>, depth: usize) -> Option<Held> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek() {
            Some(b'{') => self.container(parent, depth, b'}').map(Held::Container),
            Some(b'[') => self.container(parent, depth, b']').map(Held::Container),
            Some(b'"') => self.string().map(|_| Held::Leaf),
            Some(b',' | b'}' | b']') | None => {
                self.slots.binary_search(&self.at).ok()?;
                self.blocks.bare.insert(self.at);
                Some(Held::Leaf)
            }
            Some(_) => {
                let rest = self.literal.get(self.at..)?;
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                Some(Held::Leaf)
            }
        }
    }

    /// Reads a string and gives what stands between its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            match *self.literal.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(start..at)
    }

    fn container(&mut self, parent: Option<ItemNo>, depth: usize, end: u8) -> Option<usize> {
        let number = self.blocks.containers.len();
        self.blocks.containers.push(Container { parent, items: Vec::new() });
        self.at += 1;
        self.space();
        if self.peek() == Some(end) && self.slots.binary_search(&self.at).is_err() {
            self.at += 1;
            return Some(number);
        }
        loop {
            self.space();
            let start = self.at;
            let mut key = 0..0;
            if end == b'}' {
                if self.peek() != Some(b'"') {
                    return None;
                }
                key = self.string()?;
                self.space();
                if self.peek() != Some(b':') {
                    return None;
                }
                self.at += 1;
                self.space();
            }
            let index = self.blocks.containers.get(number)?.items.len();
            let value = self.at;
            let place = Item { key, range: start..value, value: value..value, inner: None };
            self.blocks.containers.get_mut(number)?.items.push(place);
            let inner = self.value(Some((number, index)), depth + 1)?;
            let item = self.blocks.containers.get_mut(number)?.items.get_mut(index)?;
            item.range.end = self.at;
            item.value.end = self.at;
            item.inner = match inner {
                Held::Container(inner) => Some(inner),
                Held::Leaf => None,
            };
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => {
                    self.at += 1;
                    return Some(number);
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
