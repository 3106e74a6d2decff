//! Whether a log's lanes and dispatches are what its own session snapshots make of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ledger::content::Content;
use ledger::event::{
    AliasesAdvertised, Correlation, Event, IdentityEvent, Lane, ToolDispatched, ToolObserved,
};
use ledger::id::{SessionId, ToolCallId};
use ledger::identity::lanes::{AliasSet, Queue};

/// Something about lanes that a reader ought to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneFinding {
    /// The log says another lane than the session's aliases give.
    Differs {
        /// The call.
        call: ToolCallId,
        /// As recorded.
        recorded: Lane,
        /// As the aliases give it.
        computed: Lane,
    },
    /// Only the bare name of an advertised tool matched.
    Ambiguous {
        /// The call.
        call: ToolCallId,
    },
    /// A native call whose name holds an advertised tool's: perhaps a form of name that is not
    /// known here.
    Resembles {
        /// The call.
        call: ToolCallId,
    },
    /// A dispatch that is said to be for the oldest waiting call and is for another one.
    OutOfOrder {
        /// The call that was dispatched.
        call: ToolCallId,
        /// The call that was the oldest.
        oldest: Option<ToolCallId>,
    },
    /// A dispatch that no shown call waited for.
    Uncorrelated {
        /// The call that was minted for it.
        call: ToolCallId,
    },
}

/// The fold. Its state is one alias set and one queue per open session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    aliases: BTreeMap<SessionId, AliasSet>,
    queues: BTreeMap<SessionId, Queue>,
    /// Whose a waiting call is.
    owner: BTreeMap<ToolCallId, SessionId>,
}

impl Lanes {
    /// Takes the next event and says what is to be said about it.
    pub fn push(&mut self, event: &Event, findings: &mut Vec<LaneFinding>) {
        let Event::Identity(event) = event else { return };
        match event {
            IdentityEvent::AliasesAdvertised(event) => self.advertised(event),
            IdentityEvent::TurnStarted(event) => self.clear_queue(event.session),
            IdentityEvent::SessionReset(event) => self.gone(event.session),
            IdentityEvent::SessionClosed(event) => self.gone(event.session),
            IdentityEvent::ToolObserved(event) => self.observed(event, findings),
            IdentityEvent::ToolDispatched(event) => self.dispatched(event, findings),
            IdentityEvent::ToolEnded(event) => self.unqueue(event.call),
            _ => {}
        }
    }

    /// Calls of a session that wait for their dispatch.
    pub fn queue(&self, session: SessionId) -> Option<&Queue> {
        self.queues.get(&session)
    }

    /// The names of a session's bridged tools.
    pub fn aliases(&self, session: SessionId) -> Option<&AliasSet> {
        self.aliases.get(&session)
    }

    fn advertised(&mut self, event: &AliasesAdvertised) {
        let set = AliasSet::new(
            event.servers.iter().filter_map(Content::as_inline),
            event.tools.iter().filter_map(Content::as_inline),
        );
        // Immutable: what comes later without a reset changes nothing.
        self.aliases.entry(event.session).or_insert(set);
    }

    fn observed(&mut self, event: &ToolObserved, findings: &mut Vec<LaneFinding>) {
        let call = event.call;
        let names = || event.names.iter().filter_map(|seen| seen.name.as_inline());
        let none = AliasSet::default();
        let aliases = self.aliases.get(&event.session).unwrap_or(&none);
        let (recorded, computed) = (event.lane, aliases.lane(names()));
        if recorded != computed {
            findings.push(LaneFinding::Differs { call, recorded, computed });
        }
        if recorded.is_ambiguous() {
            findings.push(LaneFinding::Ambiguous { call });
        }
        if recorded == Lane::Native && names().any(|name| aliases.resembles(name)) {
            findings.push(LaneFinding::Resembles { call });
        }
        if recorded.is_bridged() {
            self.queues.entry(event.session).or_default().shown(call, recorded);
            self.owner.insert(call, event.session);
        }
    }

    fn dispatched(&mut self, event: &ToolDispatched, findings: &mut Vec<LaneFinding>) {
        let call = event.call;
        if event.correlation == Correlation::None {
            findings.push(LaneFinding::Uncorrelated { call });
        }
        if event.correlation == Correlation::Queue {
            let session = self.owner.get(&call);
            let oldest = session.and_then(|session| self.queues.get(session)?.oldest());
            if oldest != Some(call) {
                findings.push(LaneFinding::OutOfOrder { call, oldest });
            }
        }
        self.unqueue(call);
    }

    fn unqueue(&mut self, call: ToolCallId) {
        let Some(session) = self.owner.remove(&call) else { return };
        if let Some(queue) = self.queues.get_mut(&session) {
            queue.remove(call);
        }
    }

    fn clear_queue(&mut self, session: SessionId) {
        self.queues.remove(&session);
        self.owner.retain(|_, of| *of != session);
    }

    fn gone(&mut self, session: SessionId) {
        self.aliases.remove(&session);
        self.clear_queue(session);
    }
}
