//! A counterfactual against the real thing: one run projected under the policy of another run of
//! the same script, compared with what that other run sent.
//!
//! Two runs of one program never agree in everything: ids, times, process numbers. What may differ
//! is declared ([`rules`]), an id must stand for the same id everywhere, and everything else must
//! be the same bytes. What was tolerated is counted.

mod alias;
mod compare;
mod json;
pub mod rules;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::event::Cause;
use ledger::history::{Change, History};
use ledger::id::RequestId;
use ledger::wire::SlotKind;
use projector::{Fidelity, Policy, ProjectError};

use crate::assemble::{AssembleError, Assembler};
use crate::recording::Recording;
use crate::tokens;

pub(crate) use alias::Aliases;
pub(crate) use compare::Compare;
pub use compare::Difference;
pub use rules::{Rules, TextRule};

/// Why two runs could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TwinError {
    /// A request could not be projected.
    #[error("request {ordinal} could not be projected")]
    Project {
        /// Its number, from 1.
        ordinal: u64,
        /// Why.
        source: ProjectError,
    },
    /// A request of the other run could not be put together.
    #[error("request {ordinal} of the other run could not be put together")]
    Assemble {
        /// Its number, from 1.
        ordinal: u64,
        /// Why.
        source: AssembleError,
    },
    /// A text of a recording is missing or damaged.
    #[error(transparent)]
    Get(#[from] artifacts::GetError),
}

/// How one request compares with its counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The same bytes.
    Identical,
    /// The same but for what is declared.
    Equal,
    /// Something else differs: the first place.
    Different(Difference),
    /// Could not be projected under the policy.
    Refused(&'static str),
    /// Has no counterpart.
    Alone,
}

/// One request and its counterpart.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Request of the run that was projected.
    pub projected: Option<RequestId>,
    /// Request of the other run.
    pub other: Option<RequestId>,
    /// How they compare.
    pub outcome: Outcome,
    /// What the projection rests on.
    pub fidelity: Option<Fidelity>,
    /// The policy changed the request.
    pub changed: bool,
}

/// Two runs compared.
#[derive(Clone, Debug)]
pub struct TwinReport {
    /// Request by request, in the order of the run that was projected.
    pub pairs: Vec<Pair>,
    /// Ids that stand for one another.
    pub aliases: u64,
    /// How often each rule was used.
    pub tolerated: BTreeMap<String, u64>,
    /// Texts of the task that differ between the runs and were tolerated.
    pub inputs: u64,
}

impl TwinReport {
    /// True when every request has a counterpart that is the same but for what is declared.
    pub fn is_same(&self) -> bool {
        self.pairs.iter().all(|pair| matches!(pair.outcome, Outcome::Identical | Outcome::Equal))
    }

    /// True when some request could not be judged, and no other one differs.
    pub fn is_undecided(&self) -> bool {
        let differs = |outcome: &Outcome| matches!(outcome, Outcome::Different(_) | Outcome::Alone);
        let refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
        !self.pairs.iter().any(|pair| differs(&pair.outcome))
            && (self.pairs.is_empty() || self.pairs.iter().any(|pair| refused(&pair.outcome)))
    }
}

/// Projects `recording` under `policy` and compares it with what `other` sent.
///
/// Conversations are paired in the order in which they began, requests in the order within.
///
/// # Errors
/// A request of either cannot be read.
pub fn twin(
    recording: &Recording,
    policy: &Policy,
    other: &Recording,
    rules: &Rules,
) -> Result<TwinReport, TwinError> {
    let inputs = if rules.inputs_may_differ {
        inputs(recording)?.into_iter().zip(inputs(other)?).filter(|(a, b)| a != b).collect()
    } else {
        Vec::new()
    };
    let history = recording.history();
    let mut projector = tokens::projector(history, recording.as_source(), policy);
    let mut assembler = Assembler::new(other.history(), other.as_source());
    let mut compare = Compare::new(Arc::new(rules.clone()), Aliases::default(), inputs);
    let mut pairs = Vec::new();
    for (own, others) in paired(history, other.history()) {
        let mut pair = Pair {
            projected: own,
            other: others,
            outcome: Outcome::Alone,
            fidelity: None,
            changed: false,
        };
        if let Some(id) = own {
            let ordinal = id.ordinal();
            let failed = |source| TwinError::Project { ordinal, source };
            let projection = projector.projection(id).map_err(failed)?;
            pair.changed = projection.account.changed;
            if let Some(other) = others {
                let mut body = Vec::new();
                projection.write(history, recording.as_source(), &mut body).map_err(failed)?;
                let ordinal = other.ordinal();
                let sent = assembler
                    .body(other)
                    .map_err(|source| TwinError::Assemble { ordinal, source })?;
                pair.outcome = match &projection.fidelity {
                    Fidelity::Refused(_) => {
                        let reason = projection.fidelity.reason();
                        Outcome::Refused(reason.map_or("refused", |(_, words)| words))
                    }
                    _ => compare.bodies(&body, &sent),
                };
            }
            pair.fidelity = Some(projection.fidelity);
        }
        pairs.push(pair);
    }
    Ok(compare.into_report(pairs))
}

/// Requests that stand in the same place of both runs.
fn paired(own: &History, other: &History) -> Vec<(Option<RequestId>, Option<RequestId>)> {
    let mut pairs = Vec::new();
    for index in 0..own.sessions().len().max(other.sessions().len()) {
        let requests = |history: &History| {
            let session = history.sessions().get(index);
            session.map(|session| session.requests.clone()).unwrap_or_default()
        };
        let (own, other) = (requests(own), requests(other));
        for at in 0..own.len().max(other.len()) {
            pairs.push((own.get(at).copied(), other.get(at).copied()));
        }
    }
    // As they were sent; those that only the other run has come last.
    pairs.sort_by_key(|(own, other)| (own.is_none(), *own, *other));
    pairs
}

/// What the user put in, in order: the texts that no answer and no tool brought.
fn inputs(recording: &Recording) -> Result<Vec<String>, TwinError> {
    let history = recording.history();
    let mut out = Vec::new();
    for request in history.requests() {
        for change in &request.changes {
            let Change::Appended(parts) = change else { continue };
            for (part, _) in parts.iter().filter(|(_, cause)| *cause == Cause::UserInput) {
                let part = history.part(*part);
                let slots = &history.skeleton(part).slots;
                for (hole, _) in
                    part.holes.iter().zip(slots).filter(|(_, s)| s.kind == SlotKind::USER_TEXT)
                {
                    let bytes = history.text(hole).read(recording.as_source())?;
                    out.push(String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
