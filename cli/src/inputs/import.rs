//! Imports one HAR file: the clock and the progress bar that the library does without.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use capture::import::{ImportError, ImportOptions, ImportReport, import_har};

use crate::report::number;
use crate::ui::Ui;

/// Makes a recording of `file` below `into`.
pub(crate) fn import(file: &Path, into: &Path, ui: &Ui) -> Result<ImportReport, ImportError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let progress = ui.progress(&format!("importing {}", file.display()), 0);
    let mut told = |entries, bytes| {
        progress
            .message(|| format!("{}, {}", number::counted(entries, "entry"), number::bytes(bytes)));
    };
    let mut options = ImportOptions {
        recorder: concat!("counterfold ", env!("CARGO_PKG_VERSION")),
        now_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        identity: None,
        progress: &mut told,
    };
    import_har(file, into, &mut options)
}
