//! Reports for other programs: files for build servers, commands for the one that runs this.

mod diffs;
pub(super) mod github;
mod junit;
mod markdown;
mod sarif;

use std::path::PathBuf;

use clap::Args;

use super::finding::Finding;
use super::{Checked, VerifyArgs};
use crate::args::Format;
use crate::error::{Failure, Kind};
use crate::output;

/// Bytes of a detail that a report for many requests carries.
const DETAIL_BYTES_MAX: usize = 16 << 10;

/// Reports beside the result.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reports")]
pub(super) struct ReportArgs {
    /// Write a `JUnit` XML file: a suite per recording, a test case per request
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a SARIF 2.1.0 file: a result per finding
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write a summary as Markdown, for example for `$GITHUB_STEP_SUMMARY`
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write what differs in each request that failed to a file of its own in this folder
    #[arg(long, value_name = "DIR")]
    diff_dir: Option<PathBuf>,
    /// Print workflow commands that make GitHub show findings; nothing else that is printed can
    /// be taken for such a command
    #[arg(long)]
    pub(super) github: bool,
}

impl ReportArgs {
    /// Refuses what does not go together.
    pub(super) fn check(&self, format: Format) -> Result<(), Failure> {
        if self.github && format == Format::Json {
            let words = "--github and --format json both write to standard output";
            return Err(Failure::new(Kind::Usage, words)
                .hint("leave one out; --sarif and --junit write files"));
        }
        Ok(())
    }

    /// True when some report says what differs.
    pub(super) fn want_details(&self) -> bool {
        self.junit.is_some() || self.markdown.is_some() || self.diff_dir.is_some()
    }

    /// Writes the files. One that fails does not stop the others.
    pub(super) fn write(
        &self,
        args: &VerifyArgs,
        checked: &Checked,
        findings: &[Finding<'_>],
    ) -> Vec<Failure> {
        let mut results = Vec::new();
        if let Some(path) = &self.junit {
            let text = junit::document(args, checked, findings);
            results.push(output::write(path, text.as_bytes()));
        }
        if let Some(path) = &self.sarif {
            let text = sarif::document(checked, findings);
            results.push(output::write(path, text.as_bytes()));
        }
        if let Some(path) = &self.markdown {
            let text = markdown::document(checked, findings);
            results.push(output::write(path, text.as_bytes()));
        }
        if let Some(folder) = &self.diff_dir {
            results.push(diffs::write(folder, checked));
        }
        results.into_iter().filter_map(Result::err).collect()
    }
}

/// A detail that is not longer than a report has room for.
fn shortened(detail: &str) -> String {
    if detail.len() <= DETAIL_BYTES_MAX {
        return detail.to_owned();
    }
    let end = detail.floor_char_boundary(DETAIL_BYTES_MAX);
    let head = detail.get(..end).unwrap_or_default();
    format!("{head}\n(cut; --diff-dir writes all of it)\n")
}
