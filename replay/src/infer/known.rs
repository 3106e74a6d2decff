//! Forms of known programs: a built-in policy that explains more of the sent texts than what was
//! read off them is the better theory. Limits are fitted, everything else is as it is documented.

use std::fmt::Write as _;

use projector::Policy;
use projector::policy::presets::{self, Preset};
use projector::policy::{Amount, At, Op, Setting, Step};

use super::form::{self, quoted};
use super::sample::Sample;
use super::{explains, steps_for};

/// Largest limit that is fitted; larger ones are those of a buffer and not of a budget.
const FITTED_MAX: u64 = 1 << 20;

/// A built-in policy with a limit, and how many samples it explains.
pub(super) struct Known {
    preset: &'static Preset,
    limit: Option<(String, u64)>,
    pub(super) explained: usize,
}

/// The built-in policy that explains the most of `samples`.
pub(super) fn best(samples: &[(String, Sample)]) -> Option<Known> {
    let sizes = form::sizes(samples.iter().map(|(_, sample)| sample));
    let mut best: Option<Known> = None;
    for preset in presets::HARNESSES {
        let Ok(policy) = preset.policy() else { continue };
        let mut limits: Vec<Option<(String, u64)>> = vec![None];
        for key in keys(&policy.steps) {
            limits.extend(sizes.iter().map(|size| Some((key.clone(), *size))));
        }
        for limit in limits {
            let value = limit.as_ref().map(|(_, limit)| limit.to_string());
            let setting = limit.as_ref().zip(value.as_ref());
            let set: Vec<_> =
                setting.iter().map(|((key, _), value)| Setting { key, value }).collect();
            let Ok(policy) = Policy::from_toml_with(preset.toml, &set) else { continue };
            let explained = count(&policy, samples);
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                best = Some(Known { preset, limit, explained });
            }
        }
    }
    best.filter(|best| best.explained > 0)
}

/// How many samples a policy explains.
pub(super) fn count(policy: &Policy, samples: &[(String, Sample)]) -> usize {
    let explained = |(tool, sample): &&(String, Sample)| {
        explains(&steps_for(&policy.steps, tool), tool, sample).is_ok()
    };
    samples.iter().filter(explained).count()
}

/// The parameters that are limits of texts.
fn keys(steps: &[Step]) -> Vec<String> {
    let mut keys = Vec::new();
    let caps = steps.iter().filter_map(|step| match &step.op {
        Op::CapText(cap) => Some((step.at, cap)),
        _ => None,
    });
    for (nth, (at, cap)) in (1..).zip(caps) {
        let buffer = cap.limit.and_then(Amount::fixed).is_some_and(|it| it >= FITTED_MAX);
        if matches!(at, At::Result | At::Request) && cap.limit.is_some() && !buffer {
            keys.push(format!("cap_text.{nth}.limit"));
        }
    }
    keys
}

impl Known {
    /// The policy as TOML.
    pub(super) fn toml(&self, name: &str) -> String {
        let id = self.preset.id;
        let mut out = format!(
            "# What is documented of {id} explains the most of what was sent.\n\
             name = {}\nbase = \"{id}\"\n",
            quoted(name)
        );
        let parts = self.limit.as_ref().and_then(|(key, limit)| {
            let nth = key.split('.').nth(1)?;
            Some((nth, limit))
        });
        if let Some((nth, limit)) = parts {
            // Writing to a string cannot fail.
            let _written =
                write!(out, "\n[[override]]\nop = \"cap_text\"\nnth = {nth}\nlimit = {limit}\n");
        }
        out
    }
}
