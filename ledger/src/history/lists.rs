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

/// Where a walk stands: each conversation's request, and its lists. It belongs to one history.
#[derive(Debug, Default)]
pub struct Walked(HashMap<SessionId, (RequestId, BodyLists)>);

/// Walks requests in order of capture and keeps each conversation's lists.
#[derive(Debug)]
pub struct ListWalker<'h> {
    history: &'h History,
    lists: HashMap<SessionId, (RequestId, BodyLists)>,
}

impl<'h> ListWalker<'h> {
    /// Starts before the first request.
    pub fn new(history: &'h History) -> Self {
        Self::resume(history, Walked::default())
    }

    /// Goes on where a walk of the same history stood.
    pub fn resume(history: &'h History, walked: Walked) -> Self {
        Self { history, lists: walked.0 }
    }

    /// Leaves the walk, for [`ListWalker::resume`].
    pub fn leave(self) -> Walked {
        Walked(self.lists)
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
        let held = self.lists.get(&session).map(|(at, _)| *at);
        if held != Some(request) {
            let mut chain = vec![info];
            while let Some(base) = chain.last().and_then(|info| info.captured.base) {
                if held == Some(base) {
                    break;
                }
                chain.push(self.history.request(base).ok_or(unknown)?);
            }
            // Held again only when every change fits: half of them would be other lists. A chain
            // that does not meet the held request ends at one without base, which starts anew.
            let (_, mut lists) =
                self.lists.remove(&session).unwrap_or((request, BodyLists::default()));
            for info in chain.iter().rev() {
                lists.step(info)?;
            }
            self.lists.insert(session, (request, lists));
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
