//! Workloads that the benches share: recorded runs, imported once.
//!
//! Every bench names its workload and counts bytes or requests, so that its output is a rate.
//! Compare rates within one run: machines are noisy, ratios are not.

use std::fs;
use std::io;
use std::path::PathBuf;

use replay::Recording;
use tempfile::TempDir;

/// A recorded run, imported into a folder that lives as long as this.
#[derive(Debug)]
pub struct Workload {
    /// The run.
    pub recording: Recording,
    /// Sum of its request bodies, in bytes.
    pub request_bytes: u64,
    /// Its requests.
    pub requests: u64,
    folder: TempDir,
}

impl Workload {
    /// Imports a case.
    ///
    /// # Panics
    /// The fixture cannot be imported: a bench has nothing to measure then.
    #[must_use]
    pub fn new(case: &str) -> Self {
        let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
        let report = fixtures::import(&fixtures::har(case), folder.path())
            .expect("fixtures are valid HAR files");
        let recording =
            Recording::open(&report.recording).expect("what was imported can be opened");
        Self { recording, request_bytes: report.request_bytes, requests: report.requests, folder }
    }

    /// A folder for further files.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

/// The HAR of a case without its compression, in a file of its own.
///
/// # Errors
/// The file cannot be read or written.
pub fn plain_har(case: &str, folder: &TempDir) -> io::Result<PathBuf> {
    let mut reader = fixtures::plain(case)?;
    let path = folder.path().join(format!("{case}.har"));
    let mut file = fs::File::create(&path)?;
    io::copy(&mut reader, &mut file)?;
    Ok(path)
}
