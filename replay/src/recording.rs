//! A recording: its log read into a history, its store opened, nothing written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use artifacts::{Source, StoreReader};
use ledger::event::Event;
use ledger::fs::{LogReader, Tail};
use ledger::history::History;
use ledger::id::RunId;

use crate::cache::CachedSource;

/// Why a recording could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The folder is no recording, or of a version that cannot be read.
    #[error(transparent)]
    Open(#[from] ledger::fs::OpenError),
    /// The log is damaged or its events do not fit together.
    #[error(transparent)]
    Log(#[from] ledger::fs::LoadError),
    /// The artifact store cannot be opened.
    #[error(transparent)]
    Store(#[from] artifacts::OpenError),
    /// A folder cannot be listed.
    #[error("cannot list {}", path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The folder holds no recording.
    #[error("no recording in {}", path.display())]
    NoRecording {
        /// The folder.
        path: PathBuf,
    },
}

/// An opened recording.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    history: History,
    source: CachedSource,
    head: ledger::fs::Head,
    tail: Option<Tail>,
    has_gap: bool,
}

impl Recording {
    /// Opens a recording for reading.
    ///
    /// # Errors
    /// Not a recording, or its log is damaged: with the place.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let mut log = LogReader::open(path)?;
        let history = ledger::fs::history(&mut log)?;
        let store = StoreReader::open(&path.join("art"))?;
        Ok(Self {
            path: path.to_path_buf(),
            history,
            source: CachedSource::new(store),
            head: log.head(),
            tail: log.tail().cloned(),
            has_gap: log.format().log_gap,
        })
    }

    /// The run of a recording, by its first event and nothing else.
    ///
    /// # Errors
    /// Not a recording, or its first event cannot be read or is another one.
    pub fn run_of(path: &Path) -> Result<RunId, LoadError> {
        let mut log = LogReader::open(path)?;
        let damaged = |error: ledger::fs::ReadError| LoadError::Log(error.into());
        let frame = log.frames().next().transpose().map_err(damaged)?;
        let event = frame.map(|frame| Event::decode(frame.kind(), frame.version(), frame.body()));
        match event {
            Some(Ok(Event::RunOpened(opened))) => Ok(opened.run),
            _ => Err(LoadError::NoRecording { path: path.to_path_buf() }),
        }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of its folder.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// What happened.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Its artifacts.
    pub fn source(&self) -> &CachedSource {
        &self.source
    }

    /// Its store.
    pub fn store(&self) -> &StoreReader {
        self.source.store()
    }

    /// Last sequence number and chain value.
    pub fn head(&self) -> ledger::fs::Head {
        self.head
    }

    /// How its log ends.
    pub fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    /// Says that a repair left frames out: what follows the gap is no part of the history.
    pub fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// The client, by the `user-agent` of its first request.
    pub fn client(&self) -> Option<String> {
        let first = self.history.requests().first()?.dispatched.as_ref()?;
        let ledger::event::Headers::Full(fields) = &first.headers else { return None };
        let read = |content: &ledger::content::Content| {
            content.read(self.source()).ok().map(|b| String::from_utf8_lossy(&b).into_owned())
        };
        fields.iter().find_map(|(name, value)| {
            let name = read(name)?;
            name.eq_ignore_ascii_case("user-agent").then(|| read(value)).flatten()
        })
    }

    /// Bytes that its files take.
    ///
    /// # Errors
    /// A folder cannot be listed.
    pub fn disk_bytes(&self) -> Result<u64, LoadError> {
        folder_bytes(&self.path, 0)
    }

    /// Its artifacts as the seam that projections read through.
    pub fn as_source(&self) -> &dyn Source {
        &self.source
    }
}

/// Folders nested deeper than this are not looked into.
const FOLDER_DEPTH_MAX: usize = 8;

fn list(path: &Path) -> Result<Vec<fs::DirEntry>, LoadError> {
    let failed = |source| LoadError::List { path: path.to_path_buf(), source };
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        entries.push(entry.map_err(failed)?);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

fn folder_bytes(path: &Path, depth: usize) -> Result<u64, LoadError> {
    let mut total = 0;
    for entry in list(path)? {
        let failed = |source| LoadError::List { path: entry.path(), source };
        let meta = entry.metadata().map_err(failed)?;
        if meta.is_dir() && depth < FOLDER_DEPTH_MAX {
            total += folder_bytes(&entry.path(), depth + 1)?;
        } else if meta.is_file() {
            total += meta.len();
        }
    }
    Ok(total)
}

/// Finds the recordings that a path stands for: itself, or those in the folder, by name.
///
/// # Errors
/// The folder cannot be listed, or holds none.
pub fn find_recordings(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let mut found = Vec::new();
    search(path, 0, &mut found)?;
    if found.is_empty() {
        return Err(LoadError::NoRecording { path: path.to_path_buf() });
    }
    Ok(found)
}

fn search(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    if path.join("FORMAT").is_file() {
        found.push(path.to_path_buf());
        return Ok(());
    }
    if depth >= FOLDER_DEPTH_MAX {
        return Ok(());
    }
    for entry in list(path)? {
        if entry.path().is_dir() {
            search(&entry.path(), depth + 1, found)?;
        }
    }
    Ok(())
}
