//! The policies that can be named: built-in ones by id, others by the path of a TOML file.

mod explain;
mod params;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use projector::Policy;
use projector::policy::presets::{self, PRESETS, Preset};

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

/// A policy with the name that reports use and the text that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) toml: String,
    pub(crate) policy: Policy,
}

/// All built-in policies, `recorded` first.
pub(crate) fn builtin() -> Result<Vec<Named>, Failure> {
    let recorded = Named {
        id: RECORDED.to_owned(),
        toml: RECORDED_TOML.to_owned(),
        policy: Policy::recorded(),
    };
    let mut all = vec![recorded];
    for Preset { id, toml } in PRESETS {
        all.push(parse(toml, id, id)?);
    }
    Ok(all)
}

/// The policy that a word stands for: a built-in id, else a file.
pub(crate) fn resolve(word: &str) -> Result<Named, Failure> {
    if let Some(named) = builtin()?.into_iter().find(|named| named.id == word) {
        return Ok(named);
    }
    if let Some(preset) = presets::find(word) {
        return parse(preset.toml, preset.id, preset.id);
    }
    let path = Path::new(word);
    let looks_like_a_file = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
        || word.contains(std::path::is_separator);
    if looks_like_a_file || path.is_file() {
        return read(path);
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
pub(crate) fn read(path: &Path) -> Result<Named, Failure> {
    let failed = |error| file("read", path, &error);
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).map_err(failed)?;
    opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    let shown = path.display();
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let words = format!("more than {FILE_BYTES_MAX} bytes: {shown}");
        return Err(Failure::new(Kind::Format, words).hint("is it a policy?"));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Failure::new(Kind::Format, format!("not UTF-8 text: {shown}"))
            .hint("a policy is a TOML file; `counterfold policy show cap-4k` prints one"));
    };
    let mut named = parse(&text, "", &shown.to_string())?;
    named.id.clone_from(&named.policy.name);
    Ok(named)
}

fn parse(toml: &str, id: &str, place: &str) -> Result<Named, Failure> {
    let policy = Policy::from_toml(toml).map_err(|error| explain(&error, toml, place))?;
    Ok(Named { id: id.to_owned(), toml: toml.to_owned(), policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_policy_parses_under_its_own_name() {
        for named in builtin().unwrap() {
            assert_eq!(named.policy.name, named.id);
            let again = Policy::from_toml(&named.toml).unwrap();
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
