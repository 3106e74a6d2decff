//! Who acts: a fold from events to bindings, and a lookup that never guesses.
//!
//! An instance's name is not an identity: it is looked up by principal only, and a name that a
//! newer principal holds resolves to nobody for the older one. What is damaged resolves to nobody.

use std::collections::BTreeMap;

use super::desk::ContentKey;
use crate::content::Content;
use crate::event::{
    Continues, IdentityEvent, MintReason, PrincipalBound, PrincipalMinted, PrincipalObserved,
    StopReason,
};
use crate::id::PrincipalId;

/// Where a principal is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The instance's name.
    pub instance: Content,
    /// Its process, where it is known.
    pub process: Option<Content>,
}

/// What is on record of one principal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// Why it was minted; `None` when that record is missing.
    pub minted: Option<(MintReason, Continues)>,
    /// Every binding that was told of. More than one contradict each other.
    pub bindings: Vec<Binding>,
    /// The tool's session ids that were seen, oldest first, each once in a row.
    pub sessions: Vec<Content>,
    /// When it was last seen, Unix nanoseconds: how fresh the mapping is. No clock is read here.
    pub last_observed_unix_ns: Option<u64>,
    /// Why its instance is gone.
    pub stopped: Option<StopReason>,
    /// What it was forked from.
    pub parent: Option<PrincipalId>,
}

/// What a principal leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is bound, and everything on record agrees. Known as of the last event, not live.
    Resolved {
        /// The instance.
        binding: Binding,
        /// The tool's session that was seen last.
        session: Option<Content>,
        /// When that was, Unix nanoseconds.
        last_observed_unix_ns: Option<u64>,
    },
    /// It is on record and leads nowhere now.
    Unresolved {
        /// The instance that it was bound to, for people; not to be routed to.
        recorded: Option<Content>,
    },
    /// Something claims it and the record of its minting or binding is missing.
    MissingBinding {
        /// Instances that claim it: a diagnosis, never a route.
        claims: Vec<Content>,
    },
    /// It was never told of.
    Unknown,
}

/// Why a fact about a principal is not accepted. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// It was never minted here.
    #[error("unknown principal {principal}")]
    Unknown {
        /// The principal.
        principal: PrincipalId,
    },
    /// It is bound to another instance.
    #[error("principal {principal} is bound to another instance")]
    BoundElsewhere {
        /// The principal.
        principal: PrincipalId,
    },
    /// Another principal holds the instance.
    #[error("the instance is held by principal {holder}")]
    InstanceHeld {
        /// Who holds it.
        holder: PrincipalId,
    },
    /// Its instance is gone; it is never given out again.
    #[error("principal {principal} was stopped")]
    Stopped {
        /// The principal.
        principal: PrincipalId,
    },
    /// An instance without a name.
    #[error("instance without a name")]
    NoName,
    /// What is on record is damaged; nothing is added to it.
    #[error("the records of principals are damaged")]
    Damaged,
}

/// All principals of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principals {
    known: BTreeMap<PrincipalId, Principal>,
    /// Who was bound to an instance of this name last.
    holders: BTreeMap<ContentKey, PrincipalId>,
    damaged: bool,
}

impl Principals {
    /// Takes the next fact. What contradicts is kept, so that it resolves to nobody.
    pub fn observe(&mut self, event: &IdentityEvent) {
        match event {
            IdentityEvent::PrincipalMinted(event) => self.minted(event),
            IdentityEvent::PrincipalBound(event) => self.bound(event),
            IdentityEvent::PrincipalObserved(event) => self.observed(event),
            IdentityEvent::PrincipalStopped(event) => {
                self.known.entry(event.principal).or_default().stopped = Some(event.reason);
            }
            IdentityEvent::PrincipalForked(event) => {
                self.known.entry(event.principal).or_default().parent = Some(event.parent);
            }
            _ => {}
        }
    }

    /// Says that records are missing or damaged: from now on nobody resolves.
    pub fn set_damaged(&mut self) {
        self.damaged = true;
    }

    /// True when records are missing or damaged.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// All principals, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (PrincipalId, &Principal)> {
        self.known.iter().map(|(id, principal)| (*id, principal))
    }

    /// What is on record of one.
    pub fn get(&self, principal: PrincipalId) -> Option<&Principal> {
        self.known.get(&principal)
    }

    /// What a principal leads to: by its id alone, never by a name or by what was last.
    pub fn lookup(&self, principal: PrincipalId) -> Lookup {
        let Some(known) = self.known.get(&principal) else {
            return if self.damaged {
                Lookup::Unresolved { recorded: None }
            } else {
                Lookup::Unknown
            };
        };
        let recorded = || known.bindings.first().map(|binding| binding.instance.clone());
        if self.damaged {
            return Lookup::Unresolved { recorded: recorded() };
        }
        if known.minted.is_none() {
            let claims = known.bindings.iter().map(|binding| binding.instance.clone());
            return Lookup::MissingBinding { claims: claims.collect() };
        }
        let [binding] = known.bindings.as_slice() else {
            return Lookup::Unresolved { recorded: recorded() };
        };
        let holds = self.holders.get(&ContentKey::of(&binding.instance)) == Some(&principal);
        if known.stopped.is_some() || !holds {
            return Lookup::Unresolved { recorded: recorded() };
        }
        Lookup::Resolved {
            binding: binding.clone(),
            session: known.sessions.last().cloned(),
            last_observed_unix_ns: known.last_observed_unix_ns,
        }
    }

    /// Checks a binding before it is written. `Ok(false)`: it stands already, word for word.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn check_bind(&self, wanted: &PrincipalBound) -> Result<bool, BindError> {
        let principal = wanted.principal;
        if self.damaged {
            return Err(BindError::Damaged);
        }
        if wanted.instance.is_empty() {
            return Err(BindError::NoName);
        }
        let known = self.minted_here(principal)?;
        if let Some(binding) = known.bindings.first() {
            let same = binding.instance == wanted.instance && binding.process == wanted.process;
            return if same { Ok(false) } else { Err(BindError::BoundElsewhere { principal }) };
        }
        if let Some(&holder) = self.holders.get(&ContentKey::of(&wanted.instance))
            && matches!(self.lookup(holder), Lookup::Resolved { .. })
        {
            return Err(BindError::InstanceHeld { holder });
        }
        Ok(true)
    }

    /// A principal that was minted and is not stopped.
    ///
    /// # Errors
    /// It was never minted, or it was stopped.
    pub fn minted_here(&self, principal: PrincipalId) -> Result<&Principal, BindError> {
        let known = self.known.get(&principal).filter(|known| known.minted.is_some());
        let known = known.ok_or(BindError::Unknown { principal })?;
        if known.stopped.is_some() {
            return Err(BindError::Stopped { principal });
        }
        Ok(known)
    }

    fn minted(&mut self, event: &PrincipalMinted) {
        let known = self.known.entry(event.principal).or_default();
        if known.minted.is_some() {
            // An id is given out once. A second time, it can be trusted for nobody.
            self.damaged = true;
        }
        known.minted = Some((event.reason, event.continues));
    }

    fn bound(&mut self, event: &PrincipalBound) {
        let binding = Binding { instance: event.instance.clone(), process: event.process.clone() };
        let known = self.known.entry(event.principal).or_default();
        if known.bindings.contains(&binding) {
            return;
        }
        known.bindings.push(binding);
        self.holders.insert(ContentKey::of(&event.instance), event.principal);
    }

    fn observed(&mut self, event: &PrincipalObserved) {
        let known = self.known.entry(event.principal).or_default();
        known.last_observed_unix_ns = Some(event.at_unix_ns);
        if let Some(session) = &event.tool_session
            && known.sessions.last() != Some(session)
        {
            known.sessions.push(session.clone());
        }
    }
}
