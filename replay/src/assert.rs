//! [`assert_recording!`](crate::assert_recording): verifies a recording inside a test, and fails
//! it with words that say what differs and where.

use core::fmt;
use std::error::Error;
use std::path::{Path, PathBuf};

use ledger::event::Rung;

use crate::recording::{Recording, find_recordings};
use crate::verify::{Check, Level, RecordingReport, RequestVerdict, verify};

/// Findings that a failure lists; the rest is counted.
const FINDINGS_SHOWN: usize = 8;

/// What a recording has to be, beyond green.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demands {
    min_rung: Option<Rung>,
    head: Option<String>,
}

impl Demands {
    /// Nothing beyond green.
    pub fn none() -> Self {
        Self { min_rung: None, head: None }
    }

    /// At least this rung, of every request.
    #[must_use]
    pub fn min_rung(self, rung: Rung) -> Self {
        Self { min_rung: Some(rung), ..self }
    }

    /// This head, as `counterfold verify` prints it: last sequence number, colon, chain.
    #[must_use]
    pub fn head(self, head: impl Into<String>) -> Self {
        Self { head: Some(head.into()), ..self }
    }
}

/// Why a recording is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    path: PathBuf,
    findings: Vec<String>,
}

impl Complaint {
    /// What was found, one sentence each.
    pub fn findings(&self) -> &[String] {
        &self.findings
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recording does not verify: {}", self.path.display())?;
        for finding in self.findings.iter().take(FINDINGS_SHOWN) {
            write!(f, "\n- {finding}")?;
        }
        match self.findings.len().saturating_sub(FINDINGS_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more"),
        }
    }
}

impl Error for Complaint {}

/// Verifies a recording, or every recording in a folder, at every level.
///
/// # Errors
/// Something differs, is damaged or missing, or there is no request to verify. The first
/// recording that is not what it has to be is told of.
pub fn check(path: &Path, demands: &Demands) -> Result<(), Complaint> {
    let complaint = |path: &Path, findings| Complaint { path: path.to_path_buf(), findings };
    let found =
        find_recordings(path).map_err(|error| complaint(path, vec![with_causes(&error)]))?;
    if demands.head.is_some() && found.len() > 1 {
        let finding = format!("{} recordings, and a head is that of one", found.len());
        return Err(complaint(path, vec![finding]));
    }
    for path in found {
        let findings = match Recording::open(&path) {
            Ok(recording) => findings(&verify(&recording, Level::All, &mut || {}), demands),
            Err(error) => vec![format!("it cannot be opened: {}", with_causes(&error))],
        };
        if !findings.is_empty() {
            return Err(complaint(&path, findings));
        }
    }
    Ok(())
}

fn with_causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        // Some messages contain the one of their cause.
        if !words.ends_with(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    words
}

fn findings(report: &RecordingReport, demands: &Demands) -> Vec<String> {
    let mut findings: Vec<_> =
        report.damage.iter().map(|damage| format!("it is damaged: {damage}")).collect();
    if report.requests.is_empty() {
        findings.push("it holds no request, so that nothing was verified".to_owned());
    }
    for verdict in &report.requests {
        findings.extend(of_request(verdict));
        // The best rung is the smallest.
        if let Some(min) = demands.min_rung.filter(|min| verdict.rung > *min) {
            let (n, rung) = (verdict.ordinal, verdict.rung.name());
            findings.push(format!("request {n} is {rung}, at least {} is demanded", min.name()));
        }
    }
    if let Some(head) = demands.head.as_ref().filter(|head| **head != report.head) {
        findings.push(format!("its head is {}, not {head}: it is another log", report.head));
    }
    findings
}

fn of_request(verdict: &RequestVerdict) -> Option<String> {
    let n = verdict.ordinal;
    match verdict.worst() {
        Check::Identical | Check::NotApplicable => None,
        Check::Unverifiable => {
            let reason = verdict.reason.as_deref().unwrap_or("no reason is known");
            Some(format!("request {n} cannot be verified: {reason}"))
        }
        Check::Diverged => Some(diverged(verdict)),
    }
}

fn diverged(verdict: &RequestVerdict) -> String {
    let checks =
        [("parts", verdict.reassembly), ("fold", verdict.projection), ("components", verdict.hash)];
    let named = checks.into_iter().filter(|(_, check)| *check == Check::Diverged);
    let by = named.map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let drifted = verdict.drifted.map(|component| format!("; its {component} drifted"));
    let place = verdict.divergence.as_ref().map(|at| {
        let pointer = if at.pointer.is_empty() { "the top level" } else { &at.pointer };
        let (offset, part) = (at.offset, &at.part);
        let (recorded, found) = (&at.expected, &at.found);
        format!(
            "; first at byte {offset}, at {pointer}, in {part}: recorded {recorded}, found {found}"
        )
    });
    let (drifted, place) = (drifted.unwrap_or_default(), place.unwrap_or_default());
    format!("request {} is not as recorded (by {by}){drifted}{place}", verdict.ordinal)
}

/// Fails a test unless a recording verifies: every request comes back byte for byte, from its
/// parts and from the fold, and nothing is damaged.
///
/// The first argument is the path of a recording, or of a folder of recordings. Demands follow by
/// name: `min_rung`, and `head` as `counterfold verify` prints it.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let har = fixtures::har("mini-std");
/// # let recording = fixtures::import(&har, folder.path())?.recording;
/// replay::assert_recording!(recording);
/// replay::assert_recording!(&recording, min_rung = replay::Rung::BodyExact);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A failure says what differs, and where:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let har = fixtures::har("mini-std");
/// # let recording = fixtures::import(&har, folder.path())?.recording;
/// let failed = std::panic::catch_unwind(|| {
///     replay::assert_recording!(&recording, min_rung = replay::Rung::WireExact);
/// });
/// let words = failed.unwrap_err().downcast::<String>().expect("a panic with words");
/// assert!(words.starts_with("recording does not verify: "));
/// assert!(words.contains("\n- request 1 is body-exact, at least wire-exact is demanded\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! assert_recording {
    ($path:expr $(, $demand:ident = $value:expr)* $(,)?) => {
        if let ::core::result::Result::Err(complaint) = $crate::assert::check(
            ::std::path::Path::new(&$path),
            &$crate::assert::Demands::none()$(.$demand($value))*,
        ) {
            ::core::panic!("{complaint}")
        }
    };
}
