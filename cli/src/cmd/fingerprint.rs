//! `fingerprint`: everything that is worked out of recordings, as lines to compare. Hidden: it is
//! what `verify --paranoid` runs in other surroundings.

use std::path::PathBuf;

use clap::Args;
use projector::policy::presets;
use replay::{Recording, find_recordings, fingerprint};

use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs;
use crate::ui::Ui;

/// Print the verdict of every request and the digest of its body under every built-in policy
#[derive(Clone, Debug, Args)]
pub(crate) struct FingerprintArgs {
    /// Recordings, or folders that hold recordings
    #[arg(value_name = "REC", required = true)]
    recordings: Vec<PathBuf>,
}

pub(crate) fn run(args: &FingerprintArgs, ui: &mut Ui) -> Ended {
    let policies = presets::all()
        .map_err(|error| Failure::new(Kind::Format, format!("built-in policy: {error}")))?;
    let mut paths = Vec::new();
    for word in &args.recordings {
        paths.extend(find_recordings(word).map_err(|error| map::load(&error))?);
    }
    let recordings: Vec<Recording> =
        paths.iter().map(|path| inputs::open(path)).collect::<Result<_, _>>()?;
    let rows = replay::sweep(&recordings, &policies, &|| {});
    let mut all = Vec::new();
    for (recording, rows) in recordings.iter().zip(rows.chunks(policies.len())) {
        let mut lines = fingerprint::lines(recording, &policies);
        lines.extend(policies.iter().zip(rows).map(|(policy, row)| fingerprint::row(policy, row)));
        all.push((recording.path(), lines));
    }
    // Whatever the order of the words, the order of the lines is this one.
    all.sort();
    for (path, lines) in all {
        for line in lines {
            ui.line(format_args!("{}\t{line}", path.display()))?;
        }
    }
    Ok(Outcome::Fine)
}
