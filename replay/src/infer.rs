//! Finds the policy that explains what a client sent of the outputs that are known.
//!
//! Two facts are on record: the output as the client had it, and the text that it sent. What leads
//! from one to the other is a theory. It is found by looking at the samples (where the beginning
//! and the end of an output stand in the text, what is around and between them, which numbers
//! count what), written down as a policy, and then tested: a text is explained when the policy,
//! applied to the whole output, gives its very bytes. What is not explained is counted.

mod form;
mod sample;

use std::collections::BTreeMap;

use artifacts::GetError;
use projector::Policy;
use projector::policy::{CapText, Op, PolicyError, Step};
use projector::stage::result::{Made, make};

use crate::recording::Recording;

pub use sample::Sample;

/// Why nothing could be inferred.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// A text of the recording is missing or damaged.
    #[error(transparent)]
    Get(#[from] GetError),
    /// The policy that was found is none.
    #[error("the inferred policy cannot be read back")]
    Policy(#[from] PolicyError),
}

/// How far the texts of one tool are explained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Results that were sent.
    pub sent: u64,
    /// Those whose whole output is known.
    pub whole: u64,
    /// Those of whose output both ends are known.
    pub ends: u64,
    /// Those of the known ones that the policy explains byte for byte.
    pub explained: u64,
    /// Those of the explained ones that were cut.
    pub cut: u64,
    /// The others: call, and the first byte of the sent text that the policy does not give.
    pub unexplained: Vec<(u32, u64)>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The policy as TOML; empty steps where nothing was cut or found out.
    pub toml: String,
    /// The same, read back.
    pub policy: Policy,
    /// By tool.
    pub coverage: BTreeMap<String, Coverage>,
}

impl Inferred {
    /// Sums over tools.
    pub fn total(&self) -> Coverage {
        self.coverage.values().fold(Coverage::default(), |sum, one| Coverage {
            sent: sum.sent + one.sent,
            whole: sum.whole + one.whole,
            ends: sum.ends + one.ends,
            explained: sum.explained + one.explained,
            cut: sum.cut + one.cut,
            unexplained: [sum.unexplained, one.unexplained.clone()].concat(),
        })
    }
}

/// Infers one policy over some recordings of one client.
///
/// # Errors
/// A text of a recording cannot be read.
pub fn infer(recordings: &[Recording], name: &str) -> Result<Inferred, InferError> {
    let mut samples = Vec::new();
    let mut coverage: BTreeMap<String, Coverage> = BTreeMap::new();
    for recording in recordings {
        for (tool, sample) in sample::all(recording)? {
            let counted = coverage.entry(tool.clone()).or_default();
            counted.sent += 1;
            if let Some(sample) = sample {
                counted.whole += u64::from(sample.ends.is_none());
                counted.ends += u64::from(sample.ends.is_some());
                samples.push((tool, sample));
            }
        }
    }
    let toml = toml(name, &samples);
    let policy = Policy::from_toml(&toml)?;
    for (tool, sample) in &samples {
        let Some(counted) = coverage.get_mut(tool) else { continue };
        let caps = caps(&policy.steps, tool);
        match make(&caps, &sample.sent, Some(sample.known())) {
            Made::Text(text, _) if text == sample.sent => {
                counted.explained += 1;
                counted.cut += u64::from(sample.is_cut());
            }
            Made::Text(text, _) => {
                let pairs = text.bytes().zip(sample.sent.bytes());
                let at = pairs.take_while(|(a, b)| a == b).count() as u64;
                counted.unexplained.push((sample.call, at));
            }
            _ => counted.unexplained.push((sample.call, 0)),
        }
    }
    Ok(Inferred { toml, policy, coverage })
}

/// The caps of a policy that are for results of a tool.
fn caps<'p>(steps: &'p [Step], tool: &str) -> Vec<&'p CapText> {
    let for_tool = steps.iter().filter(|step| step.applies.to(Some(tool.as_bytes())));
    for_tool
        .filter_map(|step| match &step.op {
            Op::CapText(cap) => Some(cap),
            _ => None,
        })
        .collect()
}

/// The policy: for each tool the steps that its samples show; steps that are the same for all
/// tools are for all.
fn toml(name: &str, samples: &[(String, Sample)]) -> String {
    let mut by_tool: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for (tool, sample) in samples {
        by_tool.entry(tool).or_default().push(sample);
    }
    let mut found: Vec<(Vec<&str>, Vec<form::Found>)> = Vec::new();
    for (tool, samples) in &by_tool {
        let steps = form::steps(samples);
        if steps.is_empty() {
            continue;
        }
        match found.iter_mut().find(|(_, known)| *known == steps) {
            Some((tools, _)) => tools.push(tool),
            None => found.push((vec![tool], steps)),
        }
    }
    let mut out = format!(
        "# Inferred from recorded outputs and the texts that were sent of them.\n\
         name = {}\nestimator = \"b4ceil\"\n",
        form::quoted(name)
    );
    for (tools, steps) in &found {
        for step in steps {
            out.push_str(&step.toml(tools));
        }
    }
    out
}
