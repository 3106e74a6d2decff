//! Which redaction rules a command uses, which values it protects, and with which key.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use artifacts::redact::{KEY_BYTES, Redactor, TagKey};
use clap::Args;

use crate::error::{Failure, Kind, file};
use crate::ui::Ui;

/// The largest file of values, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Names of variables whose values `record` protects unasked.
const SECRET_NAMES: [&str; 9] = [
    "*_KEY",
    "*_TOKEN",
    "*_SECRET",
    "*_PASSWORD",
    "*_PASSWD",
    "*_CREDENTIALS",
    "*APIKEY",
    "PGPASSWORD",
    "*_PAT",
];

/// The words that name rules.
#[derive(Clone, Debug, Args)]
pub(crate) struct RulesArgs {
    /// Which rules: `core`, `extended`, a TOML file with more of them, or `off`
    ///
    /// With `off` nothing is replaced, and the recording says so.
    #[arg(long, value_name = "RULES", default_value = "extended")]
    rules: String,
    #[command(flatten)]
    known: KnownArgs,
}

/// Values that are replaced wherever they stand, and the key of placeholders.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KnownArgs {
    /// Protect the values of environment variables with this name; `*` stands for any letters
    #[arg(id = "known-env", long = "known-env", value_name = "NAME")]
    env: Vec<String>,
    /// Protect the values in this file: one a line, or NAME=value
    #[arg(id = "known-file", long = "known-file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Tag secrets with the key in this file, so that equal ones are told in all recordings
    ///
    /// 32 bytes, readable by you alone (mode 0600), outside of recordings. Without it, secrets
    /// are numbered in each recording. `COUNTERFOLD_REDACTION_KEY` can name the file, too.
    #[arg(id = "redaction-key", long = "redaction-key", value_name = "FILE")]
    key: Option<PathBuf>,
}

impl RulesArgs {
    /// A redactor of these rules.
    pub(crate) fn redactor(&self, ui: &Ui) -> Result<Redactor, Failure> {
        let redactor = if self.rules == "off" { Redactor::off() } else { of_word(&self.rules)? };
        self.known.of(redactor, &[], ui)
    }
}

impl KnownArgs {
    /// A redactor that protects what a command finds in its environment, too.
    pub(crate) fn for_command(&self, redactor: Redactor, ui: &Ui) -> Result<Redactor, Failure> {
        self.of(redactor, &SECRET_NAMES, ui)
    }

    fn of(&self, redactor: Redactor, unasked: &[&str], ui: &Ui) -> Result<Redactor, Failure> {
        let mut values = Vec::new();
        let mut asked = BTreeSet::new();
        for (name, value) in std::env::vars_os() {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            let is_asked = self.env.iter().any(|pattern| fits(name, pattern));
            if is_asked || unasked.iter().any(|pattern| fits(name, pattern)) {
                values.push((name.to_owned(), value.as_bytes().to_vec()));
            }
            if is_asked {
                asked.insert(name.to_owned());
            }
        }
        // The order of the environment is nobody's; that of names is the same for all.
        values.sort();
        for path in &self.files {
            let found = in_file(path)?;
            asked.extend(found.iter().map(|(name, _)| name.clone()));
            values.extend(found);
        }
        let (redactor, left) = redactor.knowing(&values);
        for name in left.iter().filter(|name| asked.contains(*name)) {
            ui.note(format_args!(
                "note: a value of {name} is not protected: shorter than 8 bytes, a number or a word"
            ));
        }
        let named = || std::env::var_os("COUNTERFOLD_REDACTION_KEY").map(PathBuf::from);
        match self.key.clone().or_else(named) {
            None => Ok(redactor),
            Some(path) => Ok(redactor.with_key(key(&path)?)),
        }
    }
}

/// Returns true if a name fits a pattern in which `*` stands for any letters.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| fits(name, rest)))
}

/// The values in a file, each with the name of the file or of the value.
fn in_file(path: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let failed = |error| file("read", path, &error);
    if fs::metadata(path).map_err(failed)?.len() > FILE_BYTES_MAX {
        let words = format!("more than {FILE_BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let value = |line: &str| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let named = line.split_once('=').filter(|(name, _)| {
            let mut letters = name.bytes();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
                && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        let (name, value) = named.unwrap_or((&own, line));
        let value = ['"', '\''].iter().find_map(|quote| {
            value.strip_prefix(*quote).and_then(|value| value.strip_suffix(*quote))
        });
        let value = value.unwrap_or(named.map_or(line, |(_, value)| value));
        (name.to_owned(), value.as_bytes().to_vec())
    };
    // The first and the last line of a key are the same in all keys.
    let kept = |line: &&str| !line.starts_with('#') && !line.starts_with("-----");
    Ok(lines.filter(kept).map(value).collect())
}

/// The key in a file.
fn key(path: &Path) -> Result<TagKey, Failure> {
    let failed = |error| {
        file("read", path, &error).hint(format!(
            "a key is 32 random bytes: (umask 077; head -c {KEY_BYTES} /dev/urandom > FILE)"
        ))
    };
    let refused = |words: &str| {
        let refused = Failure::new(Kind::Format, format!("{words}: {}", path.display()));
        refused.hint("a lost key is not made anew: whoever makes another gets other tags")
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            let hint = format!("chmod 600 {}", path.display());
            return Err(refused("others can read the key").hint(hint));
        }
    }
    if metadata.len() != KEY_BYTES as u64 {
        return Err(refused(&format!("{} bytes where a key has {KEY_BYTES}", metadata.len())));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let bytes = <[u8; KEY_BYTES]>::try_from(bytes).map_err(|_changed| refused("no key"))?;
    Ok(TagKey::new(bytes))
}

/// A redactor of the rules that a word names.
pub(crate) fn of_word(word: &str) -> Result<Redactor, Failure> {
    match word {
        "core" => Ok(Redactor::core()),
        "extended" => Ok(Redactor::extended()),
        path => {
            let path = Path::new(path);
            let text = fs::read_to_string(path).map_err(|error| {
                file("read", path, &error)
                    .hint("rules are `core`, `extended`, or the path of a TOML file")
            })?;
            Redactor::with_rules(&text)
                .map_err(|error| Failure::new(Kind::Format, format!("{}, {error}", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (name, pattern) in
            [("A_KEY", "*_KEY"), ("KEY", "KEY"), ("A_KEY_B", "A*KEY*"), ("A", "*"), ("AB", "*A*B*")]
        {
            assert!(fits(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("A_KEYS", "*_KEY"), ("key", "KEY"), ("", "KEY"), ("AKE", "A*KEY")]
        {
            assert!(!fits(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn files_hold_values_and_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        fs::write(&path, "# c\nA_KEY=\"one two\"\nexport B='x'\n\nplain-value==\n-----BEGIN X\n")
            .unwrap();
        let found = in_file(&path).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        assert_eq!(
            found,
            [pair("A_KEY", "one two"), pair("B", "x"), pair("values", "plain-value==")]
        );
        for (bytes, mode, good) in [(32, 0o600, true), (31, 0o600, false), (32, 0o644, false)] {
            use std::os::unix::fs::PermissionsExt as _;
            let path = folder.path().join("key");
            fs::write(&path, vec![7; bytes]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(key(&path).is_ok(), good, "{bytes} {mode:o}");
        }
    }
}
