//! Imports one HAR file: the clock and the progress bar that the library does without.

use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use capture::import::{ImportError, ImportOptions, ImportReport, import_har, recording_name};
use capture::side::archive;

use crate::fresh::now_unix_ns;
use crate::report::number;
use crate::ui::Ui;

/// Where to look for what the client wrote beside the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// Beside the file, under its name.
    Beside,
    /// Nowhere.
    Nowhere,
    /// There.
    At(PathBuf),
}

impl Session {
    fn of(&self, file: &Path) -> Option<PathBuf> {
        match self {
            Self::Beside => {
                let folder = file.parent().unwrap_or(Path::new(""));
                archive::beside(folder, &recording_name(file)?)
            }
            Self::Nowhere => None,
            Self::At(path) => Some(path.clone()),
        }
    }
}

/// How a file is made a recording.
pub(crate) struct ImportSpec<'s> {
    /// Name of the recording; that of the file otherwise.
    pub(crate) name: Option<&'s str>,
    pub(crate) session: &'s Session,
    pub(crate) redactor: Redactor,
}

/// Makes a recording of `file` below `into`.
pub(crate) fn import(
    file: &Path,
    into: &Path,
    spec: ImportSpec<'_>,
    ui: &Ui,
) -> Result<ImportReport, ImportError> {
    let ImportSpec { name, session, redactor } = spec;
    let session = session.of(file);
    let progress = ui.progress(&format!("importing {}", file.display()), 0);
    let mut told = |entries, bytes| {
        progress
            .message(|| format!("{}, {}", number::counted(entries, "entry"), number::bytes(bytes)));
    };
    let mut options = ImportOptions {
        name,
        session: session.as_deref(),
        recorder: concat!("counterfold ", env!("CARGO_PKG_VERSION")),
        now_unix_ns: now_unix_ns(),
        identity: None,
        redactor,
        progress: &mut told,
    };
    import_har(file, into, &mut options)
}
