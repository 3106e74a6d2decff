//! Finds sources: files that were named, and files in folders, each with what belongs to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::json;
use crate::har::sniff;

/// Folders nested deeper than this are not looked into.
const DEPTH_MAX: usize = 32;
/// Files that are looked at.
const FILES_MAX: usize = 1 << 20;
/// What is read of a file to learn which session it belongs to, in bytes.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;

/// A source with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bundle {
    /// Its own file.
    pub main: PathBuf,
    /// Files of the same session that are read with it: sub-agents and large results.
    pub parts: Vec<PathBuf>,
    /// Files and folders that may hold whole outputs of its calls.
    pub beside: Vec<PathBuf>,
    /// It was named, and not found in a folder.
    pub named: bool,
}

impl Bundle {
    /// Bytes of its files together.
    ///
    /// # Errors
    /// A file is not there.
    pub fn bytes(&self) -> io::Result<u64> {
        let files = core::iter::once(&self.main).chain(&self.parts);
        files.map(|file| file.metadata().map(|about| about.len())).sum()
    }
}

/// The sources that `paths` stand for, each once, in order. `except` is a folder that is not
/// looked into, nor are recordings.
///
/// # Errors
/// A path or folder cannot be read.
pub fn bundles(paths: &[PathBuf], except: Option<&Path>) -> io::Result<Vec<Bundle>> {
    let mut files = BTreeMap::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            search(path, except, 0, &mut found)?;
            for file in found {
                files.entry(file).or_insert(false);
            }
        } else {
            path.metadata()?;
            files.insert(path.clone(), true);
        }
    }
    let mut taken = BTreeSet::new();
    let mut out = Vec::new();
    for (main, named) in &files {
        if !named && owner(main).is_some_and(|owner| owner != *main) {
            continue;
        }
        let parts = parts_of(main)?;
        taken.extend(parts.iter().cloned());
        out.push(Bundle { main: main.clone(), beside: beside(main), parts, named: *named });
    }
    out.retain(|bundle| bundle.named || !taken.contains(&bundle.main));
    Ok(out)
}

fn search(
    folder: &Path,
    except: Option<&Path>,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    if folder.join("FORMAT").is_file() || except.is_some_and(|except| same(folder, except)) {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEPTH_MAX {
            search(&entry.path(), except, depth + 1, found)?;
        } else if kind.is_file() && found.len() < FILES_MAX {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The session whose folder a file stands in, or that a sub-agent's file beside it belongs to.
fn owner(file: &Path) -> Option<PathBuf> {
    for folder in file.ancestors().skip(1).take(DEPTH_MAX) {
        let mut name = folder.file_name()?.to_os_string();
        name.push(".jsonl");
        let session = folder.with_file_name(name);
        if session.is_file() {
            return Some(session);
        }
    }
    sibling_session(file)
}

/// The session that `agent-ID.jsonl` names in its first row, where it stands in the same folder.
fn sibling_session(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    if !name.starts_with("agent-") || file.extension().is_none_or(|end| end != "jsonl") {
        return None;
    }
    let plain = sniff(File::open(file).ok()?).ok()?;
    let mut line = Vec::new();
    BufReader::new(plain.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut line).ok()?;
    let session = json::whole(&line)?.name("sessionId")?.to_owned();
    let usable = !session.contains(['/', '\\']);
    let path = file.with_file_name(format!("{session}.jsonl"));
    (usable && path.is_file()).then_some(path)
}

/// The files that belong to a session: those in its folder, and its sub-agents' beside it.
fn parts_of(main: &Path) -> io::Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    if let Some(log) = log_of(main) {
        return Ok(vec![log]);
    }
    if let Some(storage) = storage_of(main) {
        return tree_of(main, &storage);
    }
    if main.extension().is_none_or(|end| end != "jsonl") {
        return Ok(parts);
    }
    let folder = main.with_extension("");
    if folder.is_dir() {
        search(&folder, None, 0, &mut parts)?;
    }
    let beside = main.parent().unwrap_or(Path::new("."));
    let beside = if beside.as_os_str().is_empty() { Path::new(".") } else { beside };
    let is_agent = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("agent-") && sibling_session(path).is_some_and(|own| same(&own, main))
    };
    let own_name = main.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !own_name.starts_with("agent-") {
        let entries = std::fs::read_dir(beside)?.collect::<io::Result<Vec<_>>>()?;
        let mut agents: Vec<_> =
            entries.iter().map(std::fs::DirEntry::path).filter(is_agent).collect();
        agents.sort();
        parts.extend(agents);
    }
    Ok(parts)
}

/// What a database has not folded in yet: the file that `SQLite` keeps beside it.
fn log_of(main: &Path) -> Option<PathBuf> {
    let mut name = main.file_name()?.to_os_string();
    name.push("-wal");
    let log = main.with_file_name(name);
    log.metadata().is_ok_and(|about| about.is_file() && about.len() > 0).then_some(log)
}

/// The folder of opencode's files that the file of a session stands in, at
/// `session/PROJECT/SESSION.json`.
fn storage_of(main: &Path) -> Option<PathBuf> {
    let kind = main.parent()?.parent()?;
    let is_session = kind.file_name()? == "session" && main.extension()? == "json";
    let storage = kind.parent()?;
    (is_session && storage.join("message").is_dir()).then(|| storage.to_path_buf())
}

/// The files of opencode's messages and parts that belong to a session.
fn tree_of(main: &Path, storage: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut parts) = (Vec::new(), Vec::new());
    let Some(session) = main.file_stem() else { return Ok(files) };
    let messages = storage.join("message").join(session);
    if messages.is_dir() {
        search(&messages, None, 0, &mut files)?;
    }
    for message in &files {
        let folder = message.file_stem().map(|id| storage.join("part").join(id));
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            search(&folder, None, 0, &mut parts)?;
        }
    }
    files.extend(parts);
    Ok(files)
}

/// Where whole outputs may stand: the source itself, and folders of outputs near it.
fn beside(main: &Path) -> Vec<PathBuf> {
    let near = ["tool-output", "tool-outputs"];
    let folders = main.ancestors().skip(1).take(2);
    let found = folders.flat_map(|folder| near.map(|name| folder.join(name)));
    core::iter::once(main.to_path_buf()).chain(found.filter(|path| path.is_dir())).collect()
}
