//! Whole outputs that a client saved to a file and names in the text that it sends instead.
//!
//! Such files go with the client's temporary folder, so they are taken while it runs. A path in an
//! output is a text that anybody can have written: a file is taken only where the text says that
//! it is the whole output, where it is below a folder that was allowed (a link does not lead out of
//! it), and where its beginning or end stands in the text.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use crate::side::join::paths;

/// The longest file that is taken, in bytes.
pub const SPILL_BYTES_MAX: u64 = 64 << 20;
/// Paths of one text that are looked at.
const PATHS_MAX: usize = 16;
/// How far before or behind a path a text says that it is that of the whole output, in bytes.
const SAID_BYTES: usize = 200;
/// How close to its beginning or end a line of an output has to stand, in bytes.
const NEAR_BYTES: usize = 1024;
/// A stretch that an output and a sent text share, in bytes.
const STRETCH_BYTES: usize = 48;
const STRETCH_BYTES_MIN: usize = 16;
/// What clients say: Claude Code, Gemini CLI, opencode, pi, Qwen Code.
const SAID: [&str; 4] = ["ull output", "persisted-output", "complete output", "utput saved to"];

/// What became of a file that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spilled {
    /// It is the whole output.
    Whole(String),
    /// It was not taken: a fixed phrase.
    Not(&'static str),
}

/// Folders below which files may be taken.
#[derive(Debug, Default)]
pub(super) struct Spills(Vec<Root>);

#[derive(Debug)]
struct Root {
    /// As it was named, and as the system names it.
    paths: [PathBuf; 2],
    folder: Dir,
}

impl Spills {
    /// Allows files below these folders; one that is not there allows nothing.
    pub(super) fn below(roots: &[PathBuf]) -> Self {
        let root = |path: &PathBuf| {
            let real = path.canonicalize().ok()?;
            let folder = Dir::open_ambient_dir(&real, ambient_authority()).ok()?;
            Some(Root { paths: [path.clone(), real], folder })
        };
        Self(roots.iter().filter_map(root).collect())
    }

    /// The whole output that a sent text names, where it names one.
    pub(super) fn whole(&self, sent: &str) -> Option<Spilled> {
        if self.0.is_empty() || !SAID.iter().any(|said| sent.contains(said)) {
            return None;
        }
        let named = paths(sent).filter(|path| is_said(sent, path)).take(PATHS_MAX);
        let mut last = None;
        for path in named {
            match self.take(Path::new(path), sent) {
                Some(Spilled::Whole(text)) => return Some(Spilled::Whole(text)),
                other => last = last.or(other),
            }
        }
        last
    }

    /// `None` where the path is below no allowed folder.
    fn take(&self, path: &Path, sent: &str) -> Option<Spilled> {
        let (root, inside) = self.0.iter().find_map(|root| {
            let inside = root.paths.iter().find_map(|own| path.strip_prefix(own).ok());
            inside.filter(|inside| inside.file_name().is_some()).map(|inside| (root, inside))
        })?;
        Some(read(&root.folder, inside).map_or_else(Spilled::Not, |text| {
            if text.len() <= sent.len() {
                Spilled::Not("it is no longer than what was sent")
            } else if shares(sent, &text) {
                Spilled::Whole(text)
            } else {
                Spilled::Not("it has nothing of what was sent")
            }
        }))
    }
}

/// True where an end of the output, or a line close to one, stands in the text.
fn shares(sent: &str, whole: &str) -> bool {
    let first = |text: &str| text.floor_char_boundary(STRETCH_BYTES);
    let last = |text: &str| text.ceil_char_boundary(text.len().saturating_sub(STRETCH_BYTES));
    let stands = |stretch: Option<&str>| {
        stretch.is_some_and(|it| it.len() >= STRETCH_BYTES_MIN && sent.contains(it))
    };
    let whole = whole.trim();
    let head = whole.get(..whole.floor_char_boundary(NEAR_BYTES)).unwrap_or(whole);
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(NEAR_BYTES));
    let tail = whole.get(from..).unwrap_or(whole);
    let heads = std::iter::once(head).chain(head.lines());
    let tails = std::iter::once(tail).chain(tail.lines());
    heads.map(|text| text.get(..first(text))).any(stands)
        || tails.map(|text| text.get(last(text)..)).any(stands)
}

/// True where the text says close to the path that this is the whole output.
fn is_said(sent: &str, path: &str) -> bool {
    let Some(at) = sent.find(path) else { return false };
    let from = sent.floor_char_boundary(at.saturating_sub(SAID_BYTES));
    let end = at + path.len() + SAID_BYTES;
    let around = sent.get(from..sent.floor_char_boundary(end.min(sent.len()))).unwrap_or_default();
    SAID.iter().any(|said| around.contains(said))
}

/// Reads a file below a folder, decoded as clients do.
fn read(folder: &Dir, inside: &Path) -> Result<String, &'static str> {
    let mut how = OpenOptions::new();
    // What is no file must not keep the recorder waiting.
    how.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = folder.open_with(inside, &how).map_err(|_os| "it is not there, or is outside")?;
    let about = file.metadata().map_err(|_os| "it cannot be read")?;
    if !about.is_file() {
        return Err("it is no file");
    }
    if about.len() > SPILL_BYTES_MAX {
        return Err("it is longer than is taken");
    }
    let mut bytes = Vec::new();
    let read = file.take(SPILL_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|_os| "it cannot be read")?;
    if bytes.len() as u64 > SPILL_BYTES_MAX {
        return Err("it is longer than is taken");
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "line one of the whole output\nline two, of which nobody was told, since \
                          it was cut\nline three, with more of the same kind in it\nline four, \
                          which is long as well, so that the whole is longer than what was sent\n\
                          line five, which is the last of them, and ends the output\n";

    fn sent(path: &Path) -> String {
        format!("line one of the whole output\n... [Full output: {}]", path.display())
    }

    #[test]
    fn a_file_is_taken_where_the_text_says_so_and_it_is_below_an_allowed_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        for each in [&inside, &outside] {
            std::fs::create_dir(each).unwrap();
            std::fs::write(each.join("output.log"), OUTPUT).unwrap();
        }
        let spills = Spills::below(&[inside.clone(), folder.path().join("none")]);
        let whole = |path: &Path| spills.whole(&sent(path));
        let taken = Some(Spilled::Whole(OUTPUT.to_owned()));
        assert_eq!(whole(&inside.join("output.log")), taken);
        assert_eq!(whole(&outside.join("output.log")), None);
        let up = whole(&inside.join("../out/output.log"));
        assert_eq!(up, Some(Spilled::Not("it is not there, or is outside")));
        std::os::unix::fs::symlink(outside.join("output.log"), inside.join("link.log")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        for link in ["link.log", "folder/output.log", "none.log"] {
            let found = whole(&inside.join(link));
            assert_eq!(found, Some(Spilled::Not("it is not there, or is outside")), "{link}");
        }
        let unsaid = format!("see {}", inside.join("output.log").display());
        assert_eq!(spills.whole(&unsaid), None);
    }

    #[test]
    fn what_is_no_output_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("other.txt"), "a password of somebody, and much more of it: ".repeat(9))
            .unwrap();
        std::fs::write(at("short.txt"), "line one").unwrap();
        std::fs::create_dir(at("folder.log")).unwrap();
        let long = std::fs::File::create(at("long.txt")).unwrap();
        long.set_len(SPILL_BYTES_MAX + 1).unwrap();
        let pipe = at("pipe.log");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let spills = Spills::below(&[folder.path().to_path_buf()]);
        std::fs::write(at("pins.txt"), "1234\n5678\n".repeat(99)).unwrap();
        for (name, why) in [
            ("pins.txt", "it has nothing of what was sent"),
            ("other.txt", "it has nothing of what was sent"),
            ("short.txt", "it is no longer than what was sent"),
            ("folder.log", "it is no file"),
            ("long.txt", "it is longer than is taken"),
            ("pipe.log", "it is no file"),
        ] {
            assert_eq!(spills.whole(&sent(&at(name))), Some(Spilled::Not(why)), "{name}");
        }
    }
}
