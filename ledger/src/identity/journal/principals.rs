//! Principals: given out in one function, bound once, never given out again.

use super::{Journal, Noted};
use crate::event::{
    Continues, MintReason, PrincipalBound, PrincipalForked, PrincipalMinted, PrincipalObserved,
    PrincipalStopped, StopReason,
};
use crate::id::PrincipalId;
use crate::identity::principals::BindError;
use crate::recorder::RecordError;

impl Journal<'_> {
    /// Gives out a new principal: 128 random bits. Every way to need one comes through here.
    ///
    /// # Errors
    /// The system has no randomness, or the fact cannot be written: then there is no principal.
    pub fn mint_principal(
        &mut self,
        reason: MintReason,
        continues: Continues,
    ) -> Noted<PrincipalId> {
        if self.desk.principals().is_damaged() {
            return Err(BindError::Damaged.into());
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_os| RecordError::NoRandomness)?;
        let principal = PrincipalId::from_bytes(bytes);
        self.append(&PrincipalMinted { principal, reason, continues }.into())?;
        Ok(principal)
    }

    /// Binds a principal to an instance. `false`: it was bound to it before, and nothing was
    /// written.
    ///
    /// # Errors
    /// See [`BindError`]; nothing was written then.
    pub fn bind_principal(
        &mut self,
        principal: PrincipalId,
        instance: &[u8],
        process: Option<&[u8]>,
    ) -> Noted<bool> {
        let instance = self.content(instance)?;
        let process = self.optional(process)?;
        let event = PrincipalBound { principal, instance, process };
        if !self.desk.principals().check_bind(&event)? {
            return Ok(false);
        }
        self.append(&event.into())?;
        Ok(true)
    }

    /// Notes that a principal was seen, with the tool's session id of now. The principal stays
    /// what it is, whatever that id does.
    ///
    /// # Errors
    /// It was never minted or was stopped, or the fact cannot be written.
    pub fn observe_principal(
        &mut self,
        principal: PrincipalId,
        tool_session: Option<&[u8]>,
        at_unix_ns: u64,
    ) -> Noted<()> {
        self.desk.principals().minted_here(principal)?;
        let tool_session = self.optional(tool_session)?;
        self.append(&PrincipalObserved { principal, tool_session, at_unix_ns }.into())
    }

    /// Notes that a principal's instance is gone.
    ///
    /// # Errors
    /// It was never minted or was stopped before, or the fact cannot be written.
    pub fn stop_principal(&mut self, principal: PrincipalId, reason: StopReason) -> Noted<()> {
        self.desk.principals().minted_here(principal)?;
        self.append(&PrincipalStopped { principal, reason }.into())
    }

    /// Gives out a principal for a fork of another one: always a new one, with the parent as a
    /// relation.
    ///
    /// # Errors
    /// The parent was never minted, or a fact cannot be written.
    pub fn fork_principal(&mut self, parent: PrincipalId) -> Noted<PrincipalId> {
        if self.desk.principals().get(parent).is_none_or(|known| known.minted.is_none()) {
            return Err(BindError::Unknown { principal: parent }.into());
        }
        let principal = self.mint_principal(MintReason::Fork, Continues::New)?;
        self.append(&PrincipalForked { principal, parent }.into())?;
        Ok(principal)
    }
}
