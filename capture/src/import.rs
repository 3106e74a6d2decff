//! Makes a recording of a HAR file: one file, one run, one folder.
//!
//! Every entry becomes a request with its answer or an `imported_record` with its bytes; nothing
//! is dropped. A file that is cut keeps what came before the cut.

pub(crate) mod credentials;
pub(crate) mod digest;
mod entry;
mod file;
mod report;
mod taken;

use std::fs;
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use ledger::event::{Origin, RunClosed};
use ledger::recorder::{Durability, Identity, RecordError, Recorder, RunSpec};

pub use file::FileError;
pub use report::{ImportReport, Note, NoteKind};
pub use taken::NameTaken;

use crate::har::{HarError, HarReader, Limits, sniff};
use crate::side;
use digest::DigestReader;
use entry::Importer;
pub(crate) use taken::Holder;

/// Why a file was not imported, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is no HAR, or cannot be read on. What was read before is in the recording, if
    /// there is one.
    #[error("{}", path.display())]
    Har {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: HarError,
        /// What was kept.
        kept: Option<Box<ImportReport>>,
    },
    /// The file does not open, or its recording cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

/// How an import is done.
pub struct ImportOptions<'a> {
    /// Version of the program, for the record.
    pub recorder: &'a str,
    /// Wall time, Unix nanoseconds; information only.
    pub now_unix_ns: u64,
    /// Fixed identities for fixtures; random ones otherwise.
    pub identity: Option<Identity>,
    /// Name of the recording; that of the file otherwise.
    pub name: Option<&'a str>,
    /// Replaces secrets in what is recorded. The digest that names the source is by the core rules
    /// whatever these are.
    pub redactor: Redactor,
    /// What the client wrote beside the wire: an archive or a folder.
    pub session: Option<&'a Path>,
    /// Called now and then with the entries and bytes read so far.
    pub progress: &'a mut dyn FnMut(u64, u64),
}

impl core::fmt::Debug for ImportOptions<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ImportOptions").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

/// Name of the recording that a file makes: its name without `.har`, `.har.zst` or `.har.gz`.
pub fn recording_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = [".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.strip_suffix(".har").or_else(|| name.strip_suffix(".json")).unwrap_or(name);
    let usable = !name.is_empty() && name != "." && name != "..";
    usable.then(|| name.to_owned())
}

/// Imports a HAR file into a new folder below `into`.
///
/// # Errors
/// See [`ImportError`]. With [`ImportError::Har`] the entries before the trouble are recorded.
pub fn import_har(
    path: &Path,
    into: &Path,
    options: &mut ImportOptions<'_>,
) -> Result<ImportReport, ImportError> {
    let own = || recording_name(path);
    let name = options.name.map(str::to_owned).or_else(own);
    let name = name.ok_or_else(|| FileError::NoName { path: path.to_path_buf() })?;
    let recording = into.join(&name);
    let redactor = Redactor::core();
    if recording.exists() {
        return compare(path, &recording, &name, &redactor);
    }
    let har = |source, kept| ImportError::Har { path: path.to_path_buf(), source, kept };
    let mut reader = open(path, &redactor)?;
    // The folder is made when the file has turned out to be a HAR, and not before.
    let mut import = None;
    let failed = |source| FileError::Record { recording: recording.clone(), source };
    let stop = loop {
        let next = reader.next_entry();
        let import = match (&mut import, &next) {
            (Some(import), _) => import,
            (None, Err(error)) if error.is_final() => {
                return Err(har(next.err().unwrap_or(HarError::Stopped { offset: 0 }), None));
            }
            (none, _) => none.insert(begin(&recording, &name, options).map_err(failed)?),
        };
        match next {
            Ok(Some(raw)) => {
                (options.progress)(raw.index, raw.offset);
                if let Err(error) = import.entry(raw.index, raw.offset, raw.bytes) {
                    break Stop::Record(error);
                }
            }
            Ok(None) => break Stop::End,
            Err(error) if error.is_final() => break Stop::Source(error),
            Err(error) => import.skipped(&error),
        }
    };
    let Some(mut import) = import else { return Err(har(HarError::Stopped { offset: 0 }, None)) };
    if let (Some(session), false) = (options.session, matches!(stop, Stop::Record(_))) {
        import.join(session).map_err(failed)?;
    }
    let source_digest = match stop {
        Stop::End => digest(reader),
        Stop::Source(error) => Err(error),
        Stop::Record(error) => {
            // What was recorded before is written out as far as that is still possible; the
            // first failure is the one to tell.
            let _unfinished = import.close(None, &recording);
            return Err(failed(error).into());
        }
    };
    match source_digest {
        Ok(digest) => Ok(import.close(Some(digest), &recording).map_err(failed)?),
        Err(error) => {
            let report = import.close(None, &recording).map_err(failed)?;
            Err(har(error, Some(Box::new(report))))
        }
    }
}

/// Why no more entries were taken.
enum Stop {
    End,
    Source(HarError),
    Record(RecordError),
}

type Source<'r> = HarReader<DigestReader<'r, Box<dyn std::io::Read>>>;

fn open<'r>(path: &Path, redactor: &'r Redactor) -> Result<Source<'r>, ImportError> {
    let failed = |source| FileError::Open { path: path.to_path_buf(), source };
    let file = fs::File::open(path).map_err(failed)?;
    let plain = sniff(file).map_err(failed)?;
    Ok(HarReader::new(DigestReader::new(plain, redactor), Limits::STANDARD))
}

/// The digest of the redacted source, after reading what is left of it.
fn digest(reader: Source<'_>) -> Result<[u8; 32], HarError> {
    let mut source = reader.into_inner();
    source.drain().map_err(|source| HarError::Io { offset: 0, entries_read: 0, source })?;
    Ok(source.finish())
}

fn begin(
    recording: &Path,
    name: &str,
    options: &ImportOptions<'_>,
) -> Result<Importer, RecordError> {
    let identity = match options.identity {
        Some(identity) => identity,
        None => Identity::random(options.now_unix_ns)?,
    };
    let spec = RunSpec {
        identity,
        origin: Origin::Har,
        source: Some(name),
        recorder: options.recorder,
        durability: Durability::Batched,
    };
    Ok(Importer::new(Recorder::create(recording, options.redactor.clone(), &spec)?, name))
}

/// A name that is taken: fine when it is the same source, else an error.
fn compare(
    path: &Path,
    recording: &Path,
    name: &str,
    redactor: &Redactor,
) -> Result<ImportReport, ImportError> {
    let holder = Holder::read(recording, Origin::Har).map_err(FileError::from)?;
    let found = digest(open(path, redactor)?).map_err(|source| ImportError::Har {
        path: path.to_path_buf(),
        source,
        kept: None,
    })?;
    let history = holder.same(found).map_err(FileError::from)?;
    Ok(ImportReport::skipped(name, recording, history.requests().len() as u64))
}

impl Importer {
    /// Reads what the client wrote beside the wire, as far as that is possible.
    fn join(&mut self, session: &Path) -> Result<(), RecordError> {
        let mut report = side::read(session, self.recorder())?;
        report.path = session.to_path_buf();
        self.report_mut().side = Some(report);
        Ok(())
    }

    fn close(
        self,
        source_digest: Option<[u8; 32]>,
        recording: &Path,
    ) -> Result<ImportReport, RecordError> {
        let (recorder, mut report) = self.finish();
        let closed = recorder.close(&RunClosed {
            complete: source_digest.is_some(),
            source_digest,
            source_records: report.entries,
            source_unknown: report.records,
        })?;
        report.recording = recording.to_path_buf();
        report.complete = source_digest.is_some();
        report.head = Some(closed.head);
        Ok(report)
    }
}
