//! The policies that can be named: built-in ones by id, others by the path of a TOML file.

mod explain;
pub(crate) mod json_schema;
pub(crate) mod page;
mod params;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use projector::Policy;
use projector::policy::presets::{self, PRESETS, Preset};
use projector::policy::{About, PolicyError, Setting};

use crate::error::{Failure, Kind, file};
use crate::inputs::closest;

pub(crate) use explain::explain;
pub(crate) use params::{PolicyParams, params, words};

/// Longest policy file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The policy that was in force; built in code, since it has no step.
pub(crate) const RECORDED: &str = "recorded";

const RECORDED_TOML: &str = "\
# The policy that was in force when the run was recorded: every request as it was sent.
name = \"recorded\"
estimator = \"b4ceil\"
";

/// A policy with the name that reports use.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) policy: Policy,
}

/// All built-in policies, `recorded` first.
pub(crate) fn builtin() -> Result<Vec<Named>, Failure> {
    let recorded = Named { id: RECORDED.to_owned(), policy: Policy::recorded() };
    let mut all = vec![recorded];
    for Preset { id, toml } in PRESETS {
        all.push(parse(toml, id, id)?);
    }
    Ok(all)
}

/// A built-in policy as lists show it.
pub(crate) struct Listed {
    pub(crate) id: &'static str,
    pub(crate) about: Option<About>,
    pub(crate) unknown: Vec<String>,
    /// None where constants have to be set first.
    pub(crate) policy: Option<Policy>,
}

/// All built-in policies, `recorded` first, those of known programs last.
pub(crate) fn listed() -> Result<Vec<Listed>, Failure> {
    let recorded = Policy::recorded();
    let recorded =
        Listed { id: RECORDED, about: None, unknown: Vec::new(), policy: Some(recorded) };
    let mut all = vec![recorded];
    for Preset { id, toml } in presets::every() {
        let outline = Policy::outline(toml).map_err(|error| explain(&error, toml, id))?;
        let policy = match outline.unknown.as_slice() {
            [] => Some(parse(toml, id, id)?.policy),
            // Constants that nobody has documented have no value here.
            _ => None,
        };
        all.push(Listed { id, about: outline.about, unknown: outline.unknown, policy });
    }
    Ok(all)
}

/// The policy that a word stands for: a built-in id, else a file.
pub(crate) fn resolve(word: &str) -> Result<Named, Failure> {
    resolve_with(word, &[])
}

/// The same, with parameters that were set as `KEY=VALUE`.
pub(crate) fn resolve_with(word: &str, set: &[String]) -> Result<Named, Failure> {
    let (id, toml, place) = source(word)?;
    let mut named = parse_with(&toml, &id, &place, set)?;
    if id.is_empty() {
        named.id.clone_from(&named.policy.name);
    }
    Ok(named)
}

/// Id (empty for a file), text and place of the policy that a word stands for.
pub(crate) fn source(word: &str) -> Result<(String, String, String), Failure> {
    if word == RECORDED {
        return Ok((word.to_owned(), RECORDED_TOML.to_owned(), word.to_owned()));
    }
    if let Some(Preset { id, toml }) = presets::find(word) {
        return Ok(((*id).to_owned(), (*toml).to_owned(), (*id).to_owned()));
    }
    let path = Path::new(word);
    let looks_like_a_file = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
        || word.contains(std::path::is_separator);
    if looks_like_a_file || path.is_file() {
        return Ok((String::new(), text_of(path)?, path.display().to_string()));
    }
    Err(unknown(word))
}

fn unknown(word: &str) -> Failure {
    let failure = Failure::new(Kind::NotFound, format!("no such policy: {word}"));
    let ids = presets::every().map(|preset| preset.id).chain([RECORDED]);
    match closest(word, ids) {
        Some(id) => failure.hint(format!("did you mean {id}?")),
        None => failure.hint(
            "`counterfold policy list` lists the built-in policies; other policies are named by \
             the path of their TOML file",
        ),
    }
}

/// Reads a policy file.
pub(crate) fn read(path: &Path, set: &[String]) -> Result<Named, Failure> {
    let mut named = parse_with(&text_of(path)?, "", &path.display().to_string(), set)?;
    named.id.clone_from(&named.policy.name);
    Ok(named)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let failed = |error| file("read", path, &error);
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).map_err(failed)?;
    opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    let shown = path.display();
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let words = format!("more than {FILE_BYTES_MAX} bytes: {shown}");
        return Err(Failure::new(Kind::Format, words).hint("is it a policy?"));
    }
    String::from_utf8(bytes).map_err(|_invalid| {
        Failure::new(Kind::Format, format!("not UTF-8 text: {shown}"))
            .hint("a policy is a TOML file; `counterfold policy show cap-4k` prints one")
    })
}

fn parse(toml: &str, id: &str, place: &str) -> Result<Named, Failure> {
    parse_with(toml, id, place, &[])
}

fn parse_with(toml: &str, id: &str, place: &str, set: &[String]) -> Result<Named, Failure> {
    let mut settings = Vec::with_capacity(set.len());
    for words in set {
        let Some((key, value)) = words.split_once('=') else {
            return Err(Failure::new(Kind::Usage, format!("not KEY=VALUE: {words}"))
                .hint("as in `--set cap_text.limit=30000`"));
        };
        settings.push(Setting { key, value });
    }
    let read = |error: PolicyError| explain(&error, toml, place);
    let policy = Policy::from_toml_with(toml, &settings).map_err(read)?;
    Ok(Named { id: id.to_owned(), policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_policy_parses_under_its_own_name() {
        for named in builtin().unwrap() {
            assert_eq!(named.policy.name, named.id);
            let (_, toml, _) = source(&named.id).unwrap();
            let again = Policy::from_toml(&toml).unwrap();
            assert_eq!(again.id(), named.policy.id(), "{}", named.id);
        }
    }

    #[test]
    fn every_built_in_policy_is_another_one() {
        let mut ids: Vec<_> = builtin().unwrap().iter().map(|n| n.policy.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), PRESETS.len() + 1);
    }
}
