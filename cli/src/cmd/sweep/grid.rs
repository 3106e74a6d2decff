//! Grids: every combination of the values of parameters, for every policy.

use std::collections::BTreeMap;

use crate::error::{Failure, Kind};
use crate::policies::{self, Named};

/// Most policies of one sweep.
const POLICIES_MAX: usize = 10_000;

/// The combinations of `KEY=V1,V2,...`, each as `KEY=V` words. A list of one is a list.
fn combinations(sets: &[String]) -> Result<Vec<Vec<String>>, Failure> {
    let mut all = vec![Vec::new()];
    for words in sets {
        let Some((key, values)) = words.split_once('=') else {
            return Err(Failure::new(Kind::Usage, format!("not KEY=V1,V2,...: {words}"))
                .hint("as in `--set cap_text.limit=2000,4000,8000`"));
        };
        let values = split(values);
        if all.len().saturating_mul(values.len()) > POLICIES_MAX {
            return Err(too_many());
        }
        let with = |before: &Vec<String>, value: &&str| {
            let mut words = before.clone();
            words.push(format!("{key}={value}"));
            words
        };
        all = all.iter().flat_map(|before| values.iter().map(move |v| with(before, v))).collect();
    }
    Ok(all)
}

/// Splits at commas that are neither in brackets nor in quotes.
fn split(values: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut from) = (0_usize, false, 0);
    let mut out = Vec::new();
    for (at, c) in values.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                out.push(values.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(values.get(from..).unwrap_or_default());
    out
}

fn too_many() -> Failure {
    Failure::new(Kind::Usage, format!("more than {POLICIES_MAX} policies"))
        .hint("sweep a part of the grid at a time")
}

/// The policies that the words stand for, in every combination; two of the same name get their
/// numbers appended.
pub(super) fn policies(words: &[String], sets: &[String]) -> Result<Vec<Named>, Failure> {
    let mut named = Vec::new();
    if words.is_empty() && sets.is_empty() {
        named = policies::builtin()?;
    } else if words.is_empty() {
        return Err(Failure::new(Kind::Usage, "a grid needs a policy: --set without --policy")
            .hint("as in `--policy cap-4k --set cap_text.limit=2000,4000`"));
    }
    let grid = combinations(sets)?;
    for word in words {
        for set in &grid {
            let mut policy = policies::resolve_with(word, set)?;
            if !set.is_empty() {
                policy.id = format!("{}[{}]", policy.id, set.join(","));
            }
            named.push(policy);
            if named.len() > POLICIES_MAX {
                return Err(too_many());
            }
        }
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for policy in &mut named {
        let times = seen.entry(policy.id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            policy.id = format!("{}#{times}", policy.id);
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_made_once_and_lists_stay_whole() {
        let sets = ["a.b=1,2".to_owned(), "c=[1,2],\"x,y\"".to_owned()];
        let made = combinations(&sets).unwrap();
        let wanted = [
            ["a.b=1", "c=[1,2]"],
            ["a.b=1", "c=\"x,y\""],
            ["a.b=2", "c=[1,2]"],
            ["a.b=2", "c=\"x,y\""],
        ];
        assert_eq!(made, wanted);
        assert!(combinations(&["nothing".to_owned()]).is_err());
        let many = format!("a={}", vec!["1"; 101].join(","));
        assert!(combinations(&[many.clone(), many]).is_err());
    }
}
