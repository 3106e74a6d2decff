//! Which conversation a request belongs to: by the client's own header where it sends one, else
//! by the longest list of messages that an earlier request began with.
//!
//! Messages are compared without their overlays. Titles, classifiers and other side requests get
//! conversations of their own, so that they do not look like edits of the main one.

use std::collections::HashMap;

use ledger::event::SessionBasis;
use ledger::id::SessionId;
use ledger::recorder::Prepared;
use ledger::wire::{Role, template};
use sha2::{Digest as _, Sha256};

/// Headers that name a conversation, most specific first, and the header that names its parent.
/// Seen in Codex 0.137 and 0.171, Claude Code 2.1, opencode 1.18 and pi 0.73 (Responses).
const SESSION_HEADERS: [(&str, Option<&str>); 5] = [
    ("thread-id", Some("x-codex-parent-thread-id")),
    ("x-claude-code-agent-id", Some("x-claude-code-session-id")),
    ("x-claude-code-session-id", None),
    ("x-session-id", Some("x-parent-session-id")),
    ("session_id", None),
];

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lane {
    /// A conversation that is known.
    Known(SessionId),
    /// A new one.
    New {
        /// Why it is one of its own.
        basis: SessionBasis,
        /// The conversation that it belongs to.
        parent: Option<SessionId>,
        /// The client's own id of it.
        client_session: Option<Vec<u8>>,
    },
}

type Chain = [u8; 16];

#[derive(Clone, Copy, Debug)]
struct Main {
    session: SessionId,
    has_tools: bool,
}

/// Conversations seen so far.
#[derive(Debug, Default)]
pub struct Lanes {
    /// Beginnings of message lists, by the hash of the client's session id and the messages.
    beginnings: HashMap<Chain, SessionId>,
    /// The main conversation of each client session.
    mains: HashMap<Vec<u8>, Main>,
}

/// What assigning a request worked out, to be handed back once its conversation has an id.
#[derive(Debug)]
pub struct Assigned {
    /// Where it goes.
    pub lane: Lane,
    chains: Vec<Chain>,
    client_session: Option<Vec<u8>>,
    has_tools: bool,
}

impl Lanes {
    /// Finds the conversation of a request.
    pub fn assign(&self, prepared: &Prepared<'_>, headers: &[(String, Vec<u8>)]) -> Assigned {
        let (client_session, parent) = named(headers);
        let chains = chains(client_session, prepared);
        let has_tools = prepared.has_tools();
        let lane = self.lane(prepared, client_session, parent, &chains, has_tools);
        Assigned { lane, chains, client_session: client_session.map(<[u8]>::to_vec), has_tools }
    }

    fn lane(
        &self,
        prepared: &Prepared<'_>,
        client_session: Option<&[u8]>,
        parent: Option<&[u8]>,
        chains: &[Chain],
        has_tools: bool,
    ) -> Lane {
        let told = told_from(prepared);
        let begun = chains.iter().skip(told).rev().find_map(|chain| self.beginnings.get(chain));
        if let Some(session) = begun {
            return Lane::Known(*session);
        }
        let main = client_session.and_then(|id| self.mains.get(id));
        match (client_session, main) {
            // The same session with a rewritten history: compaction.
            (Some(_), Some(main)) if main.has_tools == has_tools => Lane::Known(main.session),
            (Some(id), Some(main)) => Lane::New {
                basis: if has_tools { SessionBasis::Header } else { SessionBasis::Side },
                parent: (!has_tools).then_some(main.session),
                client_session: Some(id.to_vec()),
            },
            (Some(id), None) => Lane::New {
                basis: SessionBasis::Header,
                parent: parent.and_then(|id| self.mains.get(id)).map(|main| main.session),
                client_session: Some(id.to_vec()),
            },
            (None, _) => {
                Lane::New { basis: SessionBasis::Content, parent: None, client_session: None }
            }
        }
    }

    /// Remembers a request that was captured in `session`.
    pub fn remember(&mut self, assigned: Assigned, session: SessionId) {
        for chain in assigned.chains {
            self.beginnings.entry(chain).or_insert(session);
        }
        if let Some(id) = assigned.client_session {
            let main = Main { session, has_tools: assigned.has_tools };
            let known = self.mains.entry(id).or_insert(main);
            // A title may come before the conversation that it names.
            if assigned.has_tools && !known.has_tools {
                *known = main;
            }
        }
    }
}

/// The client's id of the conversation and of its parent.
fn named(headers: &[(String, Vec<u8>)]) -> (Option<&[u8]>, Option<&[u8]>) {
    let value = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_slice()).filter(|value| !value.is_empty())
    };
    for (session, parent) in SESSION_HEADERS {
        if let Some(id) = value(session) {
            return (Some(id), parent.and_then(value));
        }
    }
    (None, None)
}

/// One hash per beginning of the message list: the client's session id, then message by message.
fn chains(client_session: Option<&[u8]>, prepared: &Prepared<'_>) -> Vec<Chain> {
    let mut last = half(Sha256::digest(client_session.unwrap_or_default()).into());
    let mut out = Vec::with_capacity(prepared.items.len());
    for item in &prepared.items {
        let mut hash = Sha256::new();
        hash.update([prepared.dialect.tag()]);
        hash.update(last);
        hash.update(item.key.as_bytes());
        last = half(hash.finalize().into());
        out.push(last);
    }
    out
}

fn half(digest: [u8; 32]) -> Chain {
    let mut chain = [0; 16];
    chain.copy_from_slice(&digest[..16]);
    chain
}

/// Index of the first message that tells conversations apart: system and developer messages are
/// the same in all of them.
fn told_from(prepared: &Prepared<'_>) -> usize {
    let is_system = |index: &usize| {
        let item = prepared.items.get(*index);
        let bytes = item.and_then(|item| prepared.body.get(item.span.clone()));
        bytes.is_some_and(|bytes| template::role(bytes) == Role::System)
    };
    (0..prepared.items.len()).find(|index| !is_system(index)).unwrap_or(prepared.items.len())
}

#[cfg(test)]
mod tests;
