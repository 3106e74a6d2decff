//! What policies would have cost, hidden and broken in a recording, and what the amounts rest on.
//!
//! [`Prepared::new`] reads a recording once, evaluates what was recorded, and measures itself
//! against what the provider has reported; [`Prepared::policy`] evaluates another policy over the
//! same facts.

mod audit;
mod calibrate;
mod draws;
mod dynamics;
pub mod oracle;
mod reread;
mod row;
mod terms;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use projector::metrics::{DataError, Facts, Ground, Line, Picodollars, Scale, Terms, evaluate};
use projector::{Policy, ProjectError};

pub use audit::{Audit, Carrier, Census, Volatile};
pub use calibrate::{Calibration, Error as Deviation};
pub use draws::Draws;
pub use dynamics::{Dynamics, Rewrite};
pub use oracle::Oracle;
pub use reread::{LINE_BYTES_MIN, LINES_PERCENT, Reread};
pub use row::{Breaks, EvaluatedRow};
pub use terms::{Basis, model_of};

use crate::memo::SharedMemo;
use crate::recording::Recording;
use crate::rulebook::Rates;
use crate::tokens::Vocabularies;

/// Why a recording could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// A text is missing or damaged.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The recorded policy cannot be made, which tests rule out.
    #[error("the recorded policy: {0}")]
    Policy(#[from] projector::PolicyError),
    /// A rulebook or price table cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// A recording with everything that is the same for all policies.
#[derive(Debug)]
pub struct Prepared<'r> {
    recording: &'r Recording,
    ground: Ground,
    terms: Vec<Terms<'r>>,
    basis: Basis,
    scale: Scale,
    base: Vec<Line>,
    calibration: Calibration,
    memo: SharedMemo,
    /// By tool, what the record took away.
    rereads: BTreeMap<u32, Reread>,
    oracle: OnceLock<Option<Oracle>>,
}

/// The policy that changes nothing.
const RECORDED: &str = "name = \"recorded\"\nestimator = \"b4ceil\"\n";

impl<'r> Prepared<'r> {
    /// Reads a recording. `price_as` is the model whose rules and prices count where the recorded
    /// one is not known.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub fn new(
        recording: &'r Recording,
        rates: &'r Rates,
        price_as: Option<&str>,
    ) -> Result<Self, EvaluateError> {
        let (history, source) = (recording.history(), recording.as_source());
        let recorded = Policy::from_toml(RECORDED)?;
        let ground = Ground::new(history, source)?;
        let (mut terms, basis) = terms::terms(recording, rates, price_as)?;
        let memo = SharedMemo::default();
        let plain: Vec<Terms<'_>> = vec![Terms::default(); terms.len()];
        let facts = Facts {
            history,
            source,
            ground: &ground,
            memo: &memo,
            counter: Some(&Vocabularies),
            terms: &plain,
            scale: Scale::assumed(),
        };
        let sizes = evaluate(facts, &recorded, None)?;
        let scale = calibrate::scale(history, &sizes);
        calibrate::outputs(history, scale, &mut terms);
        let base = evaluate(Facts { terms: &terms, scale, ..facts }, &recorded, None)?;
        let calibration = Calibration::of(history, &terms, &base);
        let rereads = reread::recorded(&ground, history, source, &base)?;
        let oracle = OnceLock::new();
        Ok(Self {
            recording,
            ground,
            terms,
            basis,
            scale,
            base,
            calibration,
            memo,
            rereads,
            oracle,
        })
    }

    /// Evaluates a policy: a line for each request.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub fn policy(&self, policy: &Policy) -> Result<Vec<Line>, ProjectError> {
        if policy.is_recorded() {
            return Ok(self.base.clone());
        }
        evaluate(self.facts(), policy, Some(&self.base))
    }

    /// The run, and everything that is the same for all policies.
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            history: self.recording.history(),
            source: self.recording.as_source(),
            ground: &self.ground,
            memo: &self.memo,
            counter: Some(&Vocabularies),
            terms: &self.terms,
            scale: self.scale,
        }
    }

    /// A policy's lines, summed up.
    pub fn row(&self, lines: &[Line]) -> EvaluatedRow {
        let mut row = EvaluatedRow::of(lines, &self.base, &self.terms, self.tools());
        row.dynamics = Dynamics::of(lines, &self.base, &self.terms, self.scale);
        row.rereads = self.rereads(lines);
        row
    }

    /// By the name of a tool, what lines hide though it is needed, beside what the record hid.
    fn rereads(&self, lines: &[Line]) -> BTreeMap<String, Reread> {
        let mut rereads = self.rereads.clone();
        for (tool, needed) in reread::needed(&self.ground, lines) {
            rereads.entry(tool).or_default().needed = needed;
        }
        let mut named: BTreeMap<String, Reread> = BTreeMap::new();
        for (tool, reread) in rereads {
            named.entry(self.tool(tool)).or_default().add(&reread);
        }
        named
    }

    fn tool(&self, number: u32) -> String {
        let name = self.tools().get(number as usize);
        String::from_utf8_lossy(name.map_or(&[][..], Vec::as_slice)).into_owned()
    }

    /// The least that any policy could have cost that shows what the recorded answers use, as far
    /// as can be told; `None`: some request has no price.
    pub fn cost_at_least(&self) -> Option<Picodollars> {
        oracle::cost_at_least(&self.base, &self.terms)
    }

    /// The cheapest requests that were found which show what the recorded answers use: what could
    /// have been done, had the future been known. Worked out once; `None`: some request has no
    /// price, or a text is missing.
    pub fn oracle(&self) -> Option<&Oracle> {
        let best = || oracle::best(self.facts(), &self.base).ok().flatten();
        self.oracle.get_or_init(best).as_ref()
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        self.recording
    }

    /// The lines of what was recorded.
    pub fn base(&self) -> &[Line] {
        &self.base
    }

    /// How far the simulation is from what the provider has reported.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// What models, rules and prices the amounts rest on.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Tokens of bytes.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// What no policy changes.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// What each request was sent under.
    pub fn terms(&self) -> &[Terms<'r>] {
        &self.terms
    }

    /// The name of the tool that an output is of.
    pub fn tool_of(&self, text: projector::metrics::outline::TextNo) -> String {
        self.ground.outline.tool_of(text).map_or_else(String::new, |tool| self.tool(tool))
    }

    /// Names of tools.
    pub fn tools(&self) -> &[Vec<u8>] {
        self.ground.outline.tools()
    }
}
