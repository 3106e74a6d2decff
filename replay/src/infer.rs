//! Finds the policy that explains what a client sent of the outputs that are known.
//!
//! Two facts are on record: the output as the client had it, and the text that it sent. What leads
//! from one to the other is a theory. It is found by looking at the samples (where the beginning
//! and the end of an output stand in the text, what is around and between them, which numbers
//! count what), written down as a policy, and then tested: a text is explained when the policy,
//! applied to the whole output, gives its very bytes. What is not explained is counted.

mod form;
mod known;
mod sample;

use std::collections::BTreeMap;

use artifacts::GetError;
use projector::Policy;
use projector::policy::{At, Op, PolicyError, Step, TextKind};
use projector::stage::result::{Made, make};
use projector::text::Context;

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
    /// The others.
    pub unexplained: Vec<Unexplained>,
}

/// A sent text that the policy does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// Number of the call, from 0.
    pub call: u32,
    /// Why not.
    pub why: Why,
}

/// Why a sent text is not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The policy gives another text.
    Differs {
        /// First byte of the sent text that it does not give.
        at: u64,
    },
    /// The sent text is no cut of the known output in any form of the policy.
    NotOfTheForm,
    /// A part of the output that the policy would show is not on record.
    NotOnRecord,
    /// An amount or a value that the policy needs is not on record.
    NotKnown,
}

impl Why {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Differs { .. } => "the policy gives another text",
            Self::NotOfTheForm => "what was sent is no cut of the known output in a known form",
            Self::NotOnRecord => "a part that the policy would show is not on record",
            Self::NotKnown => "the policy needs a value that is not on record",
        }
    }

    /// Where the texts part.
    pub fn at(self) -> Option<u64> {
        match self {
            Self::Differs { at } => Some(at),
            _ => None,
        }
    }
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
    let found = found(&samples);
    let mut toml = toml(name, &found);
    let mut policy = Policy::from_toml(&toml)?;
    if let Some(known) = known::best(&samples)
        && known.explained > known::count(&policy, &samples)
    {
        toml = known.toml(name);
        policy = Policy::from_toml(&toml)?;
    }
    for (tool, sample) in &samples {
        let Some(counted) = coverage.get_mut(tool) else { continue };
        match explains(&steps_for(&policy.steps, tool), tool, sample) {
            Ok(()) => {
                counted.explained += 1;
                counted.cut += u64::from(sample.is_cut());
            }
            Err(why) => counted.unexplained.push(Unexplained { call: sample.call, why }),
        }
    }
    Ok(Inferred { toml, policy, coverage })
}

/// The steps of a policy that cut results of a tool.
fn steps_for<'p>(steps: &'p [Step], tool: &str) -> Vec<&'p Op> {
    let cuts = |step: &&Step| {
        matches!(step.op, Op::CapText(_) | Op::CapLines(_))
            && matches!(step.at, At::Result | At::Request)
            && step.applies.to_kind(TextKind::ToolResult)
            && step.applies.to(Some(tool.as_bytes()))
    };
    steps.iter().filter(cuts).map(|step| &step.op).collect()
}

/// Whether steps give the very text that was sent.
fn explains(steps: &[&Op], tool: &str, sample: &Sample) -> Result<(), Why> {
    let values = &[("tool", tool)];
    let context = Context { values, ..Context::default() };
    match make(steps, &sample.sent, Some(sample.known()), &context) {
        Made::Text(text, _) if text == sample.sent => Ok(()),
        Made::Text(text, _) => {
            let pairs = text.bytes().zip(sample.sent.bytes());
            Err(Why::Differs { at: pairs.take_while(|(a, b)| a == b).count() as u64 })
        }
        Made::Gap => Err(Why::NotOnRecord),
        Made::Unknown(..) => Err(Why::NotKnown),
        Made::Unread => Err(Why::NotOfTheForm),
    }
}

/// Steps that the samples of tools show; tools with the same ones together.
fn found(samples: &[(String, Sample)]) -> Vec<(Vec<&str>, Vec<form::Found>)> {
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
    found
}

/// The policy that was read off the samples.
fn toml(name: &str, found: &[(Vec<&str>, Vec<form::Found>)]) -> String {
    let mut out = format!(
        "# Inferred from recorded outputs and the texts that were sent of them.\n\
         name = {}\nestimator = \"b4ceil\"\n",
        form::quoted(name)
    );
    for (tools, steps) in found {
        for step in steps {
            out.push_str(&step.toml(tools));
        }
    }
    out
}
