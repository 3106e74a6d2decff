//! The part lists of a request's body, walked from request to request.

use std::collections::HashMap;

use super::{History, Request};
use crate::diff;
use crate::id::{PartNo, RequestId, SessionId};

/// The parts of one body, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyLists {
    /// Parts before the messages.
    pub head: Vec<PartNo>,
    /// Messages.
    pub items: Vec<PartNo>,
    /// Parts after the messages.
    pub tail: Vec<PartNo>,
}

/// A list change that does not fit the list of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The request whose change does not fit.
    pub request: RequestId,
}

/// Walks requests in order of capture and keeps each conversation's lists.
#[derive(Debug)]
pub struct ListWalker<'h> {
    history: &'h History,
    lists: HashMap<SessionId, (RequestId, BodyLists)>,
}

impl<'h> ListWalker<'h> {
    /// Starts before the first request.
    pub fn new(history: &'h History) -> Self {
        Self { history, lists: HashMap::new() }
    }

    /// The lists of `request`. Cheap when the conversation's requests come in order; a request
    /// out of order is walked to from the last full list before it.
    ///
    /// # Errors
    /// A change does not fit the list it is meant for.
    pub fn lists(&mut self, request: RequestId) -> Result<&BodyLists, Base> {
        let unknown = Base { request };
        let info = self.history.request(request).ok_or(unknown)?;
        let session = info.session();
        let mut chain = vec![info];
        let held = self.lists.get(&session).map(|(at, _)| *at);
        let mut start = None;
        while let Some(base) = chain.last().and_then(|info| info.captured.base) {
            if held == Some(base) {
                start = held;
                break;
            }
            chain.push(self.history.request(base).ok_or(unknown)?);
        }
        if held != Some(request) {
            let entry = self.lists.entry(session).or_insert((request, BodyLists::default()));
            if start.is_none() {
                entry.1 = BodyLists::default();
            }
            for info in chain.iter().rev() {
                entry.1.step(info)?;
            }
            entry.0 = request;
        }
        self.lists.get(&session).map(|(_, lists)| lists).ok_or(unknown)
    }
}

impl BodyLists {
    /// Applies a request's changes to its base's lists.
    fn step(&mut self, request: &Request) -> Result<(), Base> {
        let bad = |_index| Base { request: request.captured.request };
        if request.captured.base.is_none() {
            *self = Self::default();
        }
        let splices = &request.splices;
        diff::apply(&mut self.head, &splices.head).map_err(bad)?;
        diff::apply(&mut self.items, &splices.items).map_err(bad)?;
        diff::apply(&mut self.tail, &splices.tail).map_err(bad)
    }
}
