//! A folder for recordings that live as long as the command: HAR files that stand where a
//! recording is asked for.

use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use capture::import::ImportError;
use tempfile::TempDir;

use super::{ImportSpec, Place, Session, import};
use crate::error::{Failure, Kind, map};
use crate::text::one_line;
use crate::ui::Ui;

/// The folder. It is made with the first file, and removed with everything in it on drop.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    folder: Option<TempDir>,
    imported: u64,
}

impl Scratch {
    /// Imports a file and says so.
    ///
    /// A file that is cut is a failure: a check of what came before the cut would be green.
    pub(super) fn import(&mut self, file: &Path, ui: &Ui) -> Result<Place, Failure> {
        // Two files may have the same name.
        self.imported += 1;
        let into = self.folder()?.join(self.imported.to_string());
        let spec = ImportSpec { name: None, session: &Session::Beside, redactor: Redactor::core() };
        let report = import(file, &into, spec, ui).map_err(|error| failure(&error))?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        ui.note(format_args!(
            "imported {} for this command; `counterfold import har` keeps it",
            one_line(&name)
        ));
        Ok(Place { shown: file.to_path_buf(), folder: report.recording })
    }

    fn folder(&mut self) -> Result<PathBuf, Failure> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => tempfile::Builder::new().prefix("counterfold-").tempdir().map_err(|error| {
                let failure = Failure::new(Kind::Io, "cannot make a temporary folder");
                Failure { causes: vec![error.to_string()], ..failure }
                    .hint("set TMPDIR to a folder that you may write to")
            })?,
        };
        Ok(self.folder.insert(folder).path().to_path_buf())
    }
}

fn failure(error: &ImportError) -> Failure {
    match error {
        ImportError::Har { kept: Some(_), .. } => Failure {
            hint: Some(
                "get the whole file; `counterfold import har` keeps what comes before that place"
                    .to_owned(),
            ),
            ..map::import(error)
        },
        _ => map::import(error),
    }
}
