//! One conversation of a session as a live list over a tree of rows.
//!
//! Most rows follow the row before. A row whose parent is further back is either one of several
//! results of one answer, and goes to the end as well, or the beginning of another branch: then
//! the list is cut back to the parent, or put together again along the parents.

use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};

use ledger::id::RequestId;
use ledger::recorder::{RawKey, RecordError};
use ledger::wire::Dialect;

use super::anthropic::Answer;
use super::scribe::{Entry, Scribe, Setting, Tag, Talk};

/// What messages of abandoned branches may hold in memory, in bytes.
const ATTIC_BYTES_MAX: usize = 16 << 20;

/// A row of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Number of its chain.
    pub(crate) chain: usize,
    parent: Option<RawKey>,
    /// Length of the live list behind it, and the last message there.
    length: usize,
    last: u64,
    entry: Weak<Entry>,
}

/// All rows that have an id.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: HashMap<RawKey, Node>,
}

impl Tree {
    pub(crate) fn get(&self, key: RawKey) -> Option<&Node> {
        self.nodes.get(&key)
    }

    pub(crate) fn has(&self, key: RawKey) -> bool {
        self.nodes.contains_key(&key)
    }

    /// A row that became a message, or that stands where its chain ends.
    pub(crate) fn add(
        &mut self,
        key: RawKey,
        parent: Option<RawKey>,
        number: usize,
        chain: &Chain,
        scribe: &Scribe,
        entry: Option<&Rc<Entry>>,
    ) {
        let list = scribe.list(chain.talk);
        let last = list.last().map_or(0, |entry| entry.serial());
        let entry = entry.map_or_else(Weak::new, Rc::downgrade);
        let node = Node { chain: number, parent, length: list.len(), last, entry };
        self.nodes.insert(key, node);
    }

    /// A row that became no message: it stands where its parent does.
    pub(crate) fn pass(&mut self, key: RawKey, parent: RawKey) {
        if let Some(node) = self.nodes.get(&parent) {
            let node = Node { parent: Some(parent), entry: Weak::new(), ..node.clone() };
            self.nodes.insert(key, node);
        }
    }

    /// The message of a row.
    pub(crate) fn entry(&self, key: RawKey) -> Option<Rc<Entry>> {
        self.nodes.get(&key)?.entry.upgrade()
    }

    /// The messages along the parents of a row, and whether all of them are still held.
    fn path(&self, from: RawKey) -> (Vec<Rc<Entry>>, bool) {
        let (mut path, mut whole) = (Vec::new(), true);
        let mut next = Some(from);
        // A chain of parents cannot be longer than the tree, unless it goes in a circle.
        for _step in 0..=self.nodes.len() {
            let Some(node) = next.and_then(|key| self.nodes.get(&key)) else { break };
            match node.entry.upgrade() {
                Some(entry) => {
                    let same = |last: &Rc<Entry>| last.serial() == entry.serial();
                    if !path.last().is_some_and(same) {
                        path.push(entry);
                    }
                }
                None => whole &= node.entry.ptr_eq(&Weak::new()),
            }
            next = node.parent;
        }
        path.reverse();
        (path, whole)
    }
}

/// An answer whose rows are still coming.
#[derive(Debug)]
struct Pending {
    id: String,
    request: Option<RequestId>,
    entry: Option<Rc<Entry>>,
    answer: Answer,
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) talk: Talk,
    /// It is not the main one of its session.
    pub(crate) side: bool,
    pending: Option<Pending>,
    closed: HashSet<RawKey>,
    attic: Vec<Rc<Entry>>,
    /// Messages that the compaction which is under way replaces.
    pub(crate) compacting: Option<usize>,
    /// Messages that it leaves behind its summary.
    pub(crate) preserved: Vec<Rc<Entry>>,
}

impl Chain {
    pub(crate) fn open(
        scribe: &mut Scribe,
        parent: Option<Talk>,
        name: Option<&str>,
        side: bool,
    ) -> Result<Self, RecordError> {
        let talk = scribe.open(Dialect::AnthropicMessages, parent, name)?;
        Ok(Self {
            talk,
            side,
            pending: None,
            closed: HashSet::new(),
            attic: Vec::new(),
            compacting: None,
            preserved: Vec::new(),
        })
    }

    /// True while the rows of this answer are coming.
    pub(crate) fn is_pending(&self, id: &str) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.id == id)
    }

    /// True for an answer whose rows had ended.
    pub(crate) fn is_closed(&self, id: &str) -> bool {
        self.closed.contains(&RawKey::of(id.as_bytes()))
    }

    /// Brings the live list to where `parent` is.
    pub(crate) fn attach(&mut self, tree: &Tree, parent: RawKey, tag: Tag, scribe: &mut Scribe) {
        let Some(node) = tree.get(parent) else { return };
        let list = scribe.list(self.talk);
        let place = node.length.checked_sub(1).and_then(|last| list.get(last));
        let stands = match place {
            Some(entry) => entry.serial() == node.last,
            None => node.length == 0,
        };
        if !stands {
            let (path, whole) = tree.path(parent);
            self.leave(0, scribe);
            scribe.restart(self.talk, path, !whole);
            return;
        }
        let behind = list.get(node.length..).unwrap_or_default();
        let branches = behind.iter().any(|it| matches!(it.tag(), Tag::Answer | Tag::Prompt));
        if branches && tag != Tag::Result {
            let length = node.length;
            self.leave(length, scribe);
            scribe.cut(self.talk, length);
        }
    }

    /// Begins a list anew.
    pub(crate) fn restart(&mut self, lossy: bool, scribe: &mut Scribe) {
        self.leave(0, scribe);
        scribe.restart(self.talk, Vec::new(), lossy);
    }

    /// Remembers the messages from `from` on for a while: their branch may be taken up again.
    fn leave(&mut self, from: usize, scribe: &Scribe) {
        self.attic.extend(scribe.list(self.talk).iter().skip(from).cloned());
        let held: usize = self.attic.iter().map(|entry| entry.held()).sum();
        if held > ATTIC_BYTES_MAX {
            self.attic.clear();
        }
    }

    /// Begins an answer: the model was asked with the list as it is.
    pub(crate) fn begin(
        &mut self,
        id: &str,
        model: Option<&str>,
        scribe: &mut Scribe,
    ) -> Result<(), RecordError> {
        let request = scribe.ask(self.talk, &Setting::of_model(model))?;
        let entry = scribe.reserve(self.talk);
        let model = model.map(str::to_owned);
        let answer = Answer { id: Some(id.to_owned()), model, ..Answer::default() };
        self.pending = Some(Pending { id: id.to_owned(), request, entry, answer });
        Ok(())
    }

    /// Adds blocks to the answer that is coming; the last usage and stop reason win.
    pub(crate) fn add(
        &mut self,
        blocks: Vec<Vec<u8>>,
        usage: Option<Vec<u8>>,
        stop: Option<&str>,
    ) -> Option<Rc<Entry>> {
        let pending = self.pending.as_mut()?;
        pending.answer.blocks.extend(blocks);
        if usage.is_some() {
            pending.answer.usage = usage;
        }
        if let Some(stop) = stop {
            pending.answer.stop = Some(stop.to_owned());
        }
        pending.entry.clone()
    }

    /// Ends the answer that is coming, if one is.
    pub(crate) fn close(&mut self, scribe: &mut Scribe) -> Result<(), RecordError> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        self.closed.insert(RawKey::of(pending.id.as_bytes()));
        if let Some(entry) = &pending.entry {
            Scribe::fill(entry, pending.answer.message());
        }
        match pending.request {
            Some(request) => scribe.answer(self.talk, request, &pending.answer.document()),
            None => Ok(()),
        }
    }
}
