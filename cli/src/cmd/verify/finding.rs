//! Findings: what is wrong, one by one. Every report for other programs is made of them.

use std::path::{Path, PathBuf};

use replay::{Check, RecordingReport, RequestVerdict};

use super::against::Compared;
use super::{Checked, Verified, VerifyArgs};
use crate::error::Failure;
use crate::text::push;

/// What kind of finding it is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// Other bytes.
    Diverged,
    /// Nobody could look.
    Unverifiable,
    /// The store or the log is damaged.
    Damage,
    /// A rung below the demanded one.
    BelowRung,
    /// Less was captured than demanded.
    Coverage,
    /// Not what was accepted.
    Baseline,
    /// Not the same again in other surroundings.
    Impure,
}

impl Rule {
    pub(super) const ALL: [Self; 7] = [
        Self::Diverged,
        Self::Unverifiable,
        Self::Damage,
        Self::BelowRung,
        Self::Coverage,
        Self::Baseline,
        Self::Impure,
    ];

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Diverged => "counterfold/diverged",
            Self::Unverifiable => "counterfold/unverifiable",
            Self::Damage => "counterfold/damage",
            Self::BelowRung => "counterfold/below-rung",
            Self::Coverage => "counterfold/coverage",
            Self::Baseline => "counterfold/baseline",
            Self::Impure => "counterfold/impure",
        }
    }

    /// One sentence for whoever meets the rule for the first time.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Diverged => "A recorded request does not come back byte for byte.",
            Self::Unverifiable => "It could not be decided whether a request comes back.",
            Self::Damage => "The store or the log of a recording is damaged.",
            Self::BelowRung => "Less can be claimed of a request than was demanded.",
            Self::Coverage => "Less of the reported input was captured than was demanded.",
            Self::Baseline => "A recording is not the one that was accepted.",
            Self::Impure => "A result depends on something that is not in the recording.",
        }
    }

    /// True when nobody could look, as opposed to something that was seen.
    pub(super) fn is_undecided(self) -> bool {
        matches!(self, Self::Unverifiable | Self::Damage)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(super) struct Finding<'r> {
    pub(super) rule: Rule,
    /// The recording among those that were looked at; some findings are about none of them.
    pub(super) recording: Option<usize>,
    /// What reports call the recording.
    pub(super) label: &'r str,
    /// A file of the recording, for programs that show files.
    pub(super) file: PathBuf,
    /// The request, if it is about one.
    pub(super) request: Option<u64>,
    pub(super) message: String,
    /// What differs, over many lines.
    pub(super) detail: Option<&'r str>,
}

impl Finding<'_> {
    /// `codex@12`, or `codex`.
    pub(super) fn place(&self) -> String {
        match self.request {
            Some(request) => format!("{}@{request}", self.label),
            None => self.label.to_owned(),
        }
    }
}

/// Everything that is wrong, recording by recording.
pub(super) fn findings<'r>(args: &'r VerifyArgs, checked: &'r Checked) -> Vec<Finding<'r>> {
    let mut findings: Vec<Finding<'r>> =
        checked.all.iter().enumerate().flat_map(|(index, one)| of(args, index, one)).collect();
    for entry in &checked.baselined.missing {
        findings.push(Finding {
            rule: Rule::Baseline,
            recording: None,
            label: &entry.name,
            file: args.baseline.clone().unwrap_or_default(),
            request: None,
            message: "is in the baseline and was not given".to_owned(),
            detail: None,
        });
    }
    for finding in checked.paranoid.iter().flatten() {
        findings.push(Finding {
            rule: Rule::Impure,
            recording: None,
            label: "counterfold",
            file: args.recordings.recordings.first().cloned().unwrap_or_default(),
            request: None,
            message: finding.line(),
            detail: None,
        });
    }
    if let Some(stop) = &checked.stop {
        findings.push(Finding {
            rule: Rule::Unverifiable,
            recording: None,
            label: "counterfold",
            file: args.recordings.recordings.first().cloned().unwrap_or_default(),
            request: None,
            message: stop.line(),
            detail: None,
        });
    }
    findings
}

fn of<'r>(args: &VerifyArgs, index: usize, verified: &'r Verified) -> Vec<Finding<'r>> {
    let file = file(&verified.path);
    let new = |rule, request, message| Finding {
        rule,
        recording: Some(index),
        label: verified.label.as_str(),
        file: file.clone(),
        request,
        message,
        detail: None,
    };
    let report = match &verified.report {
        Ok(report) => report,
        Err(failure) => return vec![new(Rule::Unverifiable, None, Failure::line(failure))],
    };
    let mut found = Vec::new();
    for damage in &report.damage {
        found.push(new(Rule::Damage, None, damage.clone()));
    }
    found.extend(requests(args, verified, report).into_iter().map(|(rule, verdict, message)| {
        let detail = verified.details.iter().find(|detail| detail.request == verdict.ordinal);
        let detail = detail.filter(|_| rule != Rule::BelowRung).map(|d| d.text.as_str());
        Finding { detail, ..new(rule, Some(verdict.ordinal), message) }
    }));
    if let (Some(covered), Some(min)) = (verified.uncovered, args.min_coverage) {
        let message = format!("{covered} per mille of the reported input captured, below {min}");
        found.push(new(Rule::Coverage, None, message));
    }
    match &verified.compared {
        Compared::New => {
            let message = "is not in the baseline; `counterfold accept` takes it up";
            found.push(new(Rule::Baseline, None, message.to_owned()));
        }
        Compared::Different(how) => {
            found.push(new(Rule::Baseline, None, how.join("; ")));
        }
        Compared::NotAsked | Compared::Same => {}
    }
    found
}

fn requests<'r>(
    args: &VerifyArgs,
    verified: &Verified,
    report: &'r RecordingReport,
) -> Vec<(Rule, &'r RequestVerdict, String)> {
    let mut found = Vec::new();
    for verdict in &report.requests {
        match verdict.worst() {
            Check::Diverged => found.push((Rule::Diverged, verdict, diverged(verdict))),
            Check::Unverifiable => {
                let reason = verdict.reason.as_deref().unwrap_or("no reason is known");
                found.push((Rule::Unverifiable, verdict, format!("unverifiable: {reason}")));
            }
            Check::Identical | Check::NotApplicable => {}
        }
        if let (true, Some(min)) = (verified.below.contains(&verdict.ordinal), args.min_rung) {
            let message = format!("rung {} is below {}", verdict.rung.name(), min.name());
            found.push((Rule::BelowRung, verdict, message));
        }
    }
    found
}

/// `reassembly diverged at byte 12, /messages/0`, or which component drifted.
pub(super) fn diverged(verdict: &RequestVerdict) -> String {
    let checks = [
        ("hash", verdict.hash),
        ("reassembly", verdict.reassembly),
        ("projection", verdict.projection),
    ];
    let which = checks.into_iter().filter(|(_, check)| *check == Check::Diverged);
    let mut words = which.map(|(name, _)| name).collect::<Vec<_>>().join(" and ");
    words.push_str(" diverged");
    if let Some(component) = verdict.drifted {
        words.push_str(&[", first in the ", component].concat());
    }
    if let Some(divergence) = &verdict.divergence {
        let pointer = Some(divergence.pointer.as_str()).filter(|pointer| !pointer.is_empty());
        let pointer = pointer.unwrap_or("the whole body");
        push(&mut words, format_args!(", at byte {}, {pointer}", divergence.offset));
    }
    words
}

/// The file that stands for a recording: programs that show findings want a file, not a folder.
fn file(path: &Path) -> PathBuf {
    let format = path.join("FORMAT");
    if format.is_file() { format } else { path.to_path_buf() }
}
