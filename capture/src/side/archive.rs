//! Walks a session: a tar archive, plain or compressed, or a folder. Nothing is unpacked, no link
//! is followed, and a file is read by one adapter at most.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use super::join::Joiner;
use super::{SideError, SideFile, adapters};
use crate::har::sniff;

/// Files that are looked at.
const FILES_MAX: u64 = 1 << 17;
/// Folders nested deeper than this are not looked into.
const FOLDER_DEPTH_MAX: usize = 24;
/// Longest name of a file in an archive, in bytes.
const NAME_BYTES_MAX: u64 = 1 << 16;
/// What an adapter sees before it takes a file, in bytes.
const HEAD_BYTES_MAX: usize = 4096;
/// Endings of archives that stand beside a file.
const ENDINGS: [&str; 4] = [".session.tar.zst", ".session.tar.gz", ".session.tar", ".session"];

/// The session that stands beside a file of this name, if there is one.
pub fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let candidates = ENDINGS.iter().map(|ending| folder.join(format!("{name}{ending}")));
    candidates.into_iter().find(|path| path.exists())
}

/// Reads a session and hands everything in it to `joiner`.
///
/// # Errors
/// See [`SideError`]; what was read before is recorded.
pub fn read(path: &Path, joiner: &mut Joiner<'_>) -> Result<(), SideError> {
    if path.is_dir() {
        return folder(path, path, 0, joiner);
    }
    let failed = |source| SideError::Open { path: path.to_path_buf(), source };
    let plain = File::open(path).and_then(sniff).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if [".jsonl", ".json", ".traj"].iter().any(|end| uncoded(&name).ends_with(end)) {
        return one(uncoded(&name), plain, joiner);
    }
    archive(plain, joiner)
}

/// A file name without the ending of a compression.
fn uncoded(name: &str) -> &str {
    [".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn folder(root: &Path, at: &Path, depth: usize, joiner: &mut Joiner<'_>) -> Result<(), SideError> {
    let failed = |source| SideError::Open { path: at.to_path_buf(), source };
    let mut entries: Vec<_> = fs::read_dir(at).and_then(Iterator::collect).map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        if kind.is_dir() && depth < FOLDER_DEPTH_MAX {
            folder(root, &path, depth + 1, joiner)?;
        } else if kind.is_file() {
            let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let opened = File::open(&path);
            let opened = opened.map_err(|source| read_error(&inside, source))?;
            one(&inside, opened, joiner)?;
        }
    }
    Ok(())
}

fn archive(plain: impl Read, joiner: &mut Joiner<'_>) -> Result<(), SideError> {
    let mut archive = tar::Archive::new(plain);
    let outside = |source| read_error("archive", source);
    // Raw, so that this module and not the reader says how long a name may be.
    let entries = archive.entries().map_err(outside)?.raw(true);
    let mut long_name = None;
    for entry in entries {
        let mut entry = entry.map_err(outside)?;
        match entry.header().entry_type() {
            tar::EntryType::GNULongName => {
                long_name = Some(text(&mut entry)?.trim_end_matches('\0').to_owned());
            }
            tar::EntryType::XHeader => long_name = pax_path(&text(&mut entry)?).or(long_name),
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let own = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let path = long_name.take().unwrap_or(own);
                one(path.trim_start_matches("./"), entry, joiner)?;
            }
            _ => long_name = None,
        }
    }
    Ok(())
}

/// The text of an entry that holds a name.
fn text(entry: &mut impl Read) -> Result<String, SideError> {
    let mut bytes = Vec::new();
    let read = entry.take(NAME_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|source| read_error("archive", source))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path of an extended header: records of `length key=value`, ended by line feeds.
fn pax_path(text: &str) -> Option<String> {
    let records = text.split('\n').filter_map(|record| record.split_once(' '));
    records.into_iter().find_map(|(_, pair)| Some(pair.strip_prefix("path=")?.to_owned()))
}

/// Gives a file to the first adapter that takes it.
fn one(path: &str, reader: impl Read, joiner: &mut Joiner<'_>) -> Result<(), SideError> {
    if joiner.count_file() > FILES_MAX {
        return Err(SideError::TooManyFiles { max: FILES_MAX });
    }
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let head = reader.fill_buf().map_err(|source| read_error(path, source))?;
    let head = head.get(..HEAD_BYTES_MAX.min(head.len())).unwrap_or_default();
    let taken = adapters().into_iter().find(|adapter| {
        adapter.takes(path, head) && (!adapter.only_named() || joiner.mentioned(path).is_some())
    });
    let Some(adapter) = taken else { return Ok(()) };
    joiner.begin(adapter.name());
    adapter.read(&mut SideFile { path, reader: &mut reader }, joiner)
}

fn read_error(file: &str, source: io::Error) -> SideError {
    SideError::Read { file: file.to_owned(), source }
}
