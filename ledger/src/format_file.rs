//! The FORMAT file: a few lines of text that say what a recording is. No IO.
//!
//! ```text
//! counterfold recording
//! format 1.0
//! ledger 00112233445566778899aabbccddeeff
//! incompat
//! ro_compat
//! compat
//! ```
//!
//! The last three lines list feature names, separated by spaces. A reader that does not know an
//! `incompat` feature refuses, one that does not know a `ro_compat` feature may read but not
//! append, and `compat` features are for information. A later minor may add lines.

#[cfg(test)]
mod tests;

use core::fmt;

use crate::segment::{FORMAT_MAJOR, FORMAT_MINOR, LedgerId};

/// Longest FORMAT file that is read: 4 KiB.
pub const FORMAT_BYTES_MAX: usize = 4096;

const MAGIC_LINE: &str = "counterfold recording";
/// The one incompatible feature that this version knows.
const LOG_GAP: &str = "log-gap";

/// The decoded FORMAT file of a recording that this version can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatFile {
    /// Minor of the format; the major is [`FORMAT_MAJOR`].
    pub minor: u16,
    /// The ledger that all segments belong to.
    pub ledger_id: LedgerId,
    /// Frames are missing, and the log says where: the feature `log-gap`, without which a reader
    /// would take the rest for all.
    pub log_gap: bool,
    /// Features that a writer must know; this version knows none.
    pub ro_compat: Vec<String>,
    /// Features for information.
    pub compat: Vec<String>,
}

impl FormatFile {
    /// Returns the FORMAT file of a new recording.
    pub fn new(ledger_id: LedgerId) -> Self {
        let (ro_compat, compat) = (Vec::new(), Vec::new());
        Self { minor: FORMAT_MINOR, ledger_id, log_gap: false, ro_compat, compat }
    }

    /// Decodes the file; the versions come before everything that they may have changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if bytes.len() > FORMAT_BYTES_MAX {
            return Err(FormatError::TooLong { found: bytes.len(), max: FORMAT_BYTES_MAX });
        }
        let text = str::from_utf8(bytes).map_err(|source| FormatError::NotText { source })?;
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC_LINE) {
            return Err(FormatError::NotARecording);
        }
        let version = field(lines.next(), "format", 2)?;
        let (major, minor) = parse_version(version).ok_or(FormatError::Line { line: 2 })?;
        if major != FORMAT_MAJOR {
            return Err(FormatError::Major { found: major, expected: FORMAT_MAJOR });
        }
        let ledger = field(lines.next(), "ledger", 3)?;
        let ledger_id = LedgerId::parse(ledger).ok_or(FormatError::Line { line: 3 })?;
        let incompat = features(lines.next(), "incompat", 4)?;
        let log_gap = incompat.iter().any(|feature| feature == LOG_GAP);
        if let Some(feature) = incompat.into_iter().find(|feature| feature != LOG_GAP) {
            return Err(FormatError::Incompat { feature });
        }
        let ro_compat = features(lines.next(), "ro_compat", 5)?;
        let compat = features(lines.next(), "compat", 6)?;
        // A file without its last line end is cut, and a later minor may add lines.
        if !text.ends_with('\n') || (minor == FORMAT_MINOR && lines.next().is_some()) {
            return Err(FormatError::Line { line: 7 });
        }
        Ok(Self { minor, ledger_id, log_gap, ro_compat, compat })
    }

    /// Checks that this version may append to the recording.
    pub fn check_writable(&self) -> Result<(), FormatError> {
        match self.ro_compat.first() {
            Some(feature) => Err(FormatError::ReadOnly { feature: feature.clone() }),
            None => Ok(()),
        }
    }
}

/// Encodes the file: its text is its only form.
impl fmt::Display for FormatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC_LINE}")?;
        writeln!(f, "format {FORMAT_MAJOR}.{}", self.minor)?;
        writeln!(f, "ledger {}", self.ledger_id)?;
        writeln!(f, "incompat{}", if self.log_gap { " log-gap" } else { "" })?;
        for (key, names) in [("ro_compat", &self.ro_compat), ("compat", &self.compat)] {
            write!(f, "{key}")?;
            names.iter().try_for_each(|name| write!(f, " {name}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Why a FORMAT file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file is longer than any writer makes it.
    #[error("FORMAT of {found} bytes, expected at most {max}")]
    TooLong {
        /// Bytes that were read.
        found: usize,
        /// [`FORMAT_BYTES_MAX`].
        max: usize,
    },
    /// The file is not UTF-8.
    #[error("FORMAT is not text")]
    NotText {
        /// Where it stops being text.
        source: core::str::Utf8Error,
    },
    /// The first line is not that of a recording.
    #[error("FORMAT does not start with `{MAGIC_LINE}`")]
    NotARecording,
    /// A line is missing, malformed or too much.
    #[error("FORMAT line {line} is missing or malformed")]
    Line {
        /// Number of the line, from 1.
        line: u32,
    },
    /// Another major version.
    #[error("recording format {found}, expected {expected}: open it with a version that knows it")]
    Major {
        /// Major in the file.
        found: u16,
        /// [`FORMAT_MAJOR`].
        expected: u16,
    },
    /// A feature without which the recording cannot be read.
    #[error(
        "recording needs the feature `{feature}`, which this version does not know: open it with \
         a newer version"
    )]
    Incompat {
        /// Name of the feature.
        feature: String,
    },
    /// A feature without which the recording can be read, but not continued.
    #[error(
        "recording uses the feature `{feature}`, which this version does not know: it can be \
         read here, but only a newer version may append to it"
    )]
    ReadOnly {
        /// Name of the feature.
        feature: String,
    },
}

/// Returns what follows `key` and a space.
fn field<'a>(line: Option<&'a str>, key: &str, number: u32) -> Result<&'a str, FormatError> {
    line.and_then(|line| line.strip_prefix(key)?.strip_prefix(' '))
        .ok_or(FormatError::Line { line: number })
}

fn features(line: Option<&str>, key: &str, number: u32) -> Result<Vec<String>, FormatError> {
    let malformed = FormatError::Line { line: number };
    let names = line.and_then(|line| line.strip_prefix(key)).ok_or(malformed.clone())?;
    // Splitting at the space before each name leaves one empty piece in front.
    let mut pieces = names.split(' ');
    if pieces.next() != Some("") {
        return Err(malformed);
    }
    let names: Vec<&str> = pieces.collect();
    if names.iter().all(|name| is_feature_name(name)) {
        Ok(names.into_iter().map(str::to_owned).collect())
    } else {
        Err(malformed)
    }
}

/// Names are plain, so that they can be printed as they are.
fn is_feature_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// Parses `major.minor`; the only accepted spelling is the one that is written.
fn parse_version(text: &str) -> Option<(u16, u16)> {
    let (major, minor) = text.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    (format!("{}.{}", version.0, version.1) == text).then_some(version)
}
