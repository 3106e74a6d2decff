//! The proof that results depend on the recordings alone: this program runs itself in other
//! surroundings, and every line that it prints there has to be the same.
//!
//! What it cannot show is how other machines behave; it is run on them for that.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Failure, Kind, file};

/// Differences that are kept of each run; one is enough to know.
const FINDINGS_MAX: usize = 10;

/// Where a run differed from the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What was different around the run.
    pub(crate) surroundings: &'static str,
    /// The line of the first run; `None` where it has none.
    pub(crate) expected: Option<String>,
    /// The line of the other run; `None` where it has none.
    pub(crate) found: Option<String>,
}

impl Finding {
    /// The finding as one line.
    pub(crate) fn line(&self) -> String {
        let side = |line: &Option<String>| {
            line.as_deref().map_or_else(|| "no line".to_owned(), |line| line.replace('\t', " "))
        };
        let (expected, found) = (side(&self.expected), side(&self.found));
        format!("not the same with {}: {expected}; then {found}", self.surroundings)
    }
}

/// Variables and arguments of a run.
#[derive(Clone, Copy)]
struct Surroundings {
    name: &'static str,
    variables: [(&'static str, &'static str); 4],
    elsewhere: bool,
    reversed: bool,
}

const FIRST: Surroundings = Surroundings {
    name: "nothing changed",
    variables: [("TZ", "UTC"), ("LANG", "C"), ("LC_ALL", "C"), ("RAYON_NUM_THREADS", "1")],
    elsewhere: false,
    reversed: false,
};

/// Runs in all.
pub(crate) const PROCESSES: usize = 1 + OTHERS.len();

/// The other runs. Each differs from the first in one thing, so that a finding names it.
const OTHERS: [Surroundings; 5] = [
    Surroundings {
        name: "another time zone",
        variables: [
            ("TZ", "Asia/Kathmandu"),
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("RAYON_NUM_THREADS", "1"),
        ],
        ..FIRST
    },
    Surroundings {
        name: "another language",
        variables: [
            ("TZ", "UTC"),
            ("LANG", "tr_TR.UTF-8"),
            ("LC_ALL", "de_DE.UTF-8"),
            ("RAYON_NUM_THREADS", "1"),
        ],
        ..FIRST
    },
    Surroundings {
        name: "two threads",
        variables: [("TZ", "UTC"), ("LANG", "C"), ("LC_ALL", "C"), ("RAYON_NUM_THREADS", "2")],
        ..FIRST
    },
    Surroundings { name: "another home and current folder", elsewhere: true, ..FIRST },
    Surroundings { name: "the recordings in reverse order", reversed: true, ..FIRST },
];

/// Runs this program over recordings in several surroundings and compares what it prints.
pub(crate) fn compare(paths: &[PathBuf]) -> Result<Vec<Finding>, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        let failure = Failure::new(Kind::Io, "cannot find this program's own file");
        Failure { causes: vec![error.to_string()], ..failure }
    })?;
    let mut real = Vec::with_capacity(paths.len());
    for path in paths {
        real.push(fs::canonicalize(path).map_err(|error| file("find", path, &error))?);
    }
    let first = lines(&program, &real, FIRST)?;
    let mut findings = Vec::new();
    for other in OTHERS {
        findings.extend(differences(&first, &lines(&program, &real, other)?, other.name));
    }
    Ok(findings)
}

fn lines(program: &Path, paths: &[PathBuf], around: Surroundings) -> Result<Vec<String>, Failure> {
    let failed = |cause: String| {
        let words = format!("cannot run {} with {}", program.display(), around.name);
        Failure { causes: vec![cause], ..Failure::new(Kind::Io, words) }
    };
    let elsewhere = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let home = if around.elsewhere { elsewhere.path() } else { Path::new("/") };
    let mut words: Vec<&OsStr> = paths.iter().map(|path| path.as_os_str()).collect();
    if around.reversed {
        words.reverse();
    }
    let output = Command::new(program)
        .arg("fingerprint")
        .arg("--")
        .args(words)
        .env_clear()
        .envs(around.variables)
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().next().unwrap_or("it said nothing").to_owned()));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Lines that are not the same, place by place.
fn differences(first: &[String], other: &[String], surroundings: &'static str) -> Vec<Finding> {
    let places = 0..first.len().max(other.len());
    let differing = places.filter(|at| first.get(*at) != other.get(*at));
    differing
        .take(FINDINGS_MAX)
        .map(|at| Finding {
            surroundings,
            expected: first.get(at).cloned(),
            found: other.get(at).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_same_lines_are_no_finding() {
        assert_eq!(differences(&lines("a\nb"), &lines("a\nb"), "two threads"), []);
    }

    #[test]
    fn every_line_that_differs_is_a_finding_with_both_sides() {
        let found = differences(&lines("a\tx\nb\nc"), &lines("a\tx\nB"), "two threads");
        let said: Vec<_> = found.iter().map(Finding::line).collect();
        assert_eq!(
            said,
            [
                "not the same with two threads: b; then B",
                "not the same with two threads: c; then no line",
            ]
        );
    }

    #[test]
    fn lines_in_another_order_are_a_finding() {
        assert_eq!(differences(&lines("a\nb"), &lines("b\na"), "two threads").len(), 2);
    }

    #[test]
    fn findings_are_bounded() {
        let many = vec![String::new(); FINDINGS_MAX * 2];
        assert_eq!(differences(&many, &[], "two threads").len(), FINDINGS_MAX);
    }

    #[test]
    fn every_other_run_differs_from_the_first_in_one_thing() {
        for other in OTHERS {
            let pairs = FIRST.variables.iter().zip(&other.variables);
            let variables = pairs.filter(|(a, b)| a != b).count();
            let one_kind = usize::from(variables > 0)
                + usize::from(other.elsewhere)
                + usize::from(other.reversed);
            assert_eq!(one_kind, 1, "{}", other.name);
            assert!(
                other
                    .variables
                    .iter()
                    .map(|(name, _)| name)
                    .eq(FIRST.variables.iter().map(|(name, _)| name))
            );
        }
    }
}
