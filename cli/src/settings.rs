//! `.counterfold.toml`: what a project wants of `record` and `serve` whoever runs them. It is
//! looked for in the folder where a command is started and in those above it; what is said on the
//! command line counts more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use capture::live::{Target, Upstreams};
use projector::PolicyError;
use serde::Deserialize;

use crate::error::{Failure, Kind, file};
use crate::policies::explain;

/// Name of the file.
const NAME: &str = ".counterfold.toml";
/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// What the file may hold, for whoever wrote something else.
const SECTIONS: &str = "the file has [upstreams], [record], [redaction], [serve], \
                        [serve.rebind], [serve.aliases] and [budgets.main], [budgets.subagent], \
                        [budgets.side]; docs/guide/record.md shows each";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    upstreams: UpstreamUrls,
    record: Record,
    redaction: Redaction,
    serve: Serve,
    budgets: Budgets,
    /// Its folder: what paths in it start from.
    #[serde(skip)]
    folder: PathBuf,
}

/// Base URLs, by API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UpstreamUrls {
    all: Option<Base>,
    openai: Option<Base>,
    anthropic: Option<Base>,
    gemini: Option<Base>,
}

/// A base URL that was read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Base(Target);

impl TryFrom<String> for Base {
    type Error = String;

    fn try_from(url: String) -> Result<Self, String> {
        Target::parse(&url).map(Self).map_err(|error| format!("no base URL: {error}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Record {
    websocket: bool,
    /// Folders with saved outputs; `None` leaves those of the known clients.
    saved_outputs: Option<Vec<PathBuf>>,
}

impl Default for Record {
    fn default() -> Self {
        Self { websocket: true, saved_outputs: None }
    }
}

/// What conversations may ask for, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budgets {
    /// Those that the user has.
    pub(crate) main: Budget,
    /// Those that another one began.
    pub(crate) subagent: Budget,
    /// Titles, classifiers and the like.
    pub(crate) side: Budget,
}

/// What one conversation may ask for; what is not named is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "the names are those of the settings file")]
pub(crate) struct Budget {
    /// Requests, attempts counted one by one.
    pub(crate) requests_max: Option<u64>,
    /// Bytes of the largest body.
    pub(crate) request_bytes_max: Option<u64>,
    /// Bytes of all bodies together.
    pub(crate) total_bytes_max: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Redaction {
    /// `core`, `extended`, or a file.
    rules: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Serve {
    places: Vec<String>,
    members: Vec<String>,
    unordered: Vec<String>,
    rebind: BTreeMap<String, String>,
    aliases: BTreeMap<String, String>,
}

impl Settings {
    /// The settings of the folder where the program runs; empty ones where there is no file.
    pub(crate) fn of_this_folder() -> Result<Self, Failure> {
        let Ok(here) = std::env::current_dir() else { return Ok(Self::default()) };
        let mut all = here.ancestors().map(|folder| folder.join(NAME));
        all.find(|path| path.is_file()).map_or_else(|| Ok(Self::default()), |path| read(&path))
    }

    /// Where requests go, over what the variables say.
    pub(crate) fn upstreams(&self, mut upstreams: Upstreams) -> Upstreams {
        if let Some(Base(all)) = &self.upstreams.all {
            upstreams = Upstreams::all(all);
        }
        let own = &self.upstreams;
        for (target, base) in [
            (&mut upstreams.openai, &own.openai),
            (&mut upstreams.anthropic, &own.anthropic),
            (&mut upstreams.gemini, &own.gemini),
        ] {
            if let Some(Base(base)) = base {
                target.clone_from(base);
            }
        }
        upstreams
    }

    /// False where clients are to send plain requests.
    pub(crate) fn websocket(&self) -> bool {
        self.record.websocket
    }

    /// Folders with outputs that clients save, where they are named.
    pub(crate) fn saved_outputs(&self) -> Option<Vec<PathBuf>> {
        let named = self.record.saved_outputs.as_ref()?;
        Some(named.iter().map(|path| self.folder.join(path)).collect())
    }

    /// What conversations may ask for.
    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Words of the recording, and what stands for each here.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let pairs = self.serve.aliases.iter();
        pairs.map(|(recorded, here)| (recorded.clone(), here.clone()))
    }

    /// The redaction rules: two words, else a path.
    pub(crate) fn rules(&self) -> String {
        match self.redaction.rules.as_deref() {
            None => "core".to_owned(),
            Some(word @ ("core" | "extended")) => word.to_owned(),
            Some(path) => self.folder.join(path).display().to_string(),
        }
    }

    /// Places in texts that may differ.
    pub(crate) fn places(&self) -> &[String] {
        &self.serve.places
    }

    /// Members that may differ.
    pub(crate) fn members(&self) -> &[String] {
        &self.serve.members
    }

    /// Objects whose members come in any order.
    pub(crate) fn unordered(&self) -> &[String] {
        &self.serve.unordered
    }

    /// Texts of the recording, mostly paths, and what stands for them here.
    pub(crate) fn rebind(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.serve.rebind.iter().map(|(recorded, here)| {
            let here = if here == "." || here.starts_with("./") {
                self.folder.join(here.trim_start_matches('.').trim_start_matches('/'))
            } else {
                PathBuf::from(here)
            };
            let here = here.display().to_string();
            (recorded.clone(), here.trim_end_matches('/').to_owned())
        })
    }
}

fn read(path: &Path) -> Result<Settings, Failure> {
    let failed = |error| file("read", path, &error);
    if std::fs::metadata(path).map_err(failed)?.len() > FILE_BYTES_MAX {
        let words = format!("more than {FILE_BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let mut settings = parse(&text, &path.display().to_string())?;
    settings.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(settings)
}

fn parse(text: &str, place: &str) -> Result<Settings, Failure> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let reason = error.message().to_owned();
        let failure = explain(&PolicyError { line, column, reason }, text, place);
        let is_meant = failure.hint.as_ref().is_some_and(|hint| hint.starts_with("did you mean"));
        if is_meant { failure } else { failure.hint(SECTIONS) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read() {
        let text = "\
[upstreams]
all = \"https://a.example/x\"
gemini = \"http://127.0.0.1:9\"
[record]
websocket = false
saved_outputs = [\"out\", \"/var/out\"]
[budgets.side]
requests_max = 3
[redaction]
rules = \"secrets.toml\"
[serve]
places = [\"Build {number} of\"]
members = [\"build\"]
unordered = [\"labels\"]
[serve.rebind]
\"/srv/project\" = \"./work\"
\"/home/dev\" = \"/root\"
[serve.aliases]
staging = \"stage\"
";
        let mut settings = parse(text, "x").unwrap();
        settings.folder = PathBuf::from("/repo");
        let upstreams = settings.upstreams(Upstreams::providers());
        assert_eq!(upstreams.openai, Target::parse("https://a.example/x").unwrap());
        assert_eq!(upstreams.gemini, Target::parse("http://127.0.0.1:9").unwrap());
        assert!(!settings.websocket());
        let folders = ["/repo/out", "/var/out"].map(PathBuf::from);
        assert_eq!(settings.saved_outputs().unwrap(), folders);
        let side = Budget { requests_max: Some(3), ..Budget::default() };
        assert_eq!(*settings.budgets(), Budgets { side, ..Budgets::default() });
        assert!(settings.aliases().eq([("staging".to_owned(), "stage".to_owned())]));
        assert_eq!(settings.rules(), "/repo/secrets.toml");
        let places = [settings.places(), settings.members(), settings.unordered()].concat();
        assert_eq!(places, ["Build {number} of", "build", "labels"]);
        let rebind: Vec<_> = settings.rebind().collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rebind, [pair("/home/dev", "/root"), pair("/srv/project", "/repo/work")]);
    }

    #[test]
    fn a_mistake_is_shown_in_its_line_with_what_was_meant() {
        let failure = parse("[serve]\nmember = []\n", "p").unwrap_err();
        assert!(failure.message.starts_with("p:2:1: unknown field `member`"), "{failure:?}");
        assert_eq!(failure.hint.as_deref(), Some("did you mean `members`?"));
        let failure = parse("[upstreams]\nall = \"ftp://x\"\n", "p").unwrap_err();
        assert!(failure.message.starts_with("p:2:7: no base URL"), "{failure:?}");
        let failure = parse("[x]\n", "p").unwrap_err();
        assert_eq!(failure.hint.as_deref(), Some(SECTIONS));
    }
}
