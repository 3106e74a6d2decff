//! Goal: the rules of the house hold. Method: read the sources as text, and ask cargo who depends
//! on whom.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CRATES: [&str; 8] =
    ["artifacts", "ledger", "capture", "projector", "replay", "cli", "benches", "fixtures"];
const LINES_MAX: usize = 800;
const COLUMNS_MAX: usize = 100;
const FIXTURES_BYTES_MAX: u64 = 25 << 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn files(folder: &Path, wanted: &dyn Fn(&Path) -> bool, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, wanted, out);
        } else if path.is_file() && wanted(&path) {
            out.push(path);
        }
    }
}

pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    for name in CRATES {
        files(&root().join(name), &|path| path.extension() == Some("rs".as_ref()), &mut out);
    }
    out.sort();
    out.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests/") || text.ends_with("/tests.rs") || text.contains("/benches/benches/")
}

#[test]
fn sources_are_ascii_narrow_and_short() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if text.lines().count() > LINES_MAX {
            wrong.push(format!("{} has more than {LINES_MAX} lines", path.display()));
        }
        for (line, content) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), line + 1);
            if !content.is_ascii() {
                wrong.push(format!("{place} is not ASCII"));
            }
            // A rule is one line of its table, and a pattern in it may not be cut.
            let is_rule = ["    pattern(", "    token(", "    inner("]
                .iter()
                .any(|row| content.starts_with(row));
            if content.len() > COLUMNS_MAX && !is_rule && !is_test(&path) {
                wrong.push(format!("{place} is wider than {COLUMNS_MAX} columns"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| !text.trim_start_matches("#![").trim_start().starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "no doc comment: {silent:?}");
}

#[test]
fn no_source_file_is_forgotten() {
    let all = sources();
    for (path, _) in &all {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder = path.parent().unwrap();
        let is_root = matches!(stem.as_str(), "lib" | "main" | "mod")
            || folder.ends_with("bin")
            || folder.ends_with("benches")
            || folder.ends_with("fuzz_targets")
            || folder.ends_with("examples");
        if is_root {
            continue;
        }
        let parents = [
            folder.join("mod.rs"),
            folder.join("lib.rs"),
            folder.join("main.rs"),
            folder.with_extension("rs"),
        ];
        let declared =
            parents.iter().filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| {
                text.lines().any(|line| {
                    let line = line.trim();
                    line.starts_with(&format!("mod {stem}"))
                        || line.contains(&format!(" mod {stem};"))
                })
            });
        assert!(declared, "{} is no module of its folder", path.display());
    }
}

#[test]
fn a_match_is_never_thrown_away() {
    for (path, text) in sources() {
        let mut before = "";
        for (line, content) in text.lines().map(str::trim).enumerate() {
            let statement = before.is_empty() || before.ends_with([';', '{', '}']);
            let thrown = content.starts_with("matches!(") && content.ends_with(");");
            assert!(!(statement && thrown), "{}:{} asserts nothing", path.display(), line + 1);
            before = content;
        }
    }
}

#[test]
fn unsafe_code_threads_clocks_and_printing_stay_where_they_belong() {
    let only = |word: &str, allowed: &[&str], crates: &[&str]| {
        for (path, text) in sources() {
            let place = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            let concerned = crates.iter().any(|name| place.starts_with(&format!("{name}/src")));
            if !concerned || is_test(&path) || allowed.contains(&place.as_str()) {
                continue;
            }
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains(word), "{place} has `{word}`");
            }
        }
    };
    let below_cli = ["artifacts", "ledger", "capture", "projector", "replay"];
    only("unsafe {", &["artifacts/src/fs/map.rs"], &CRATES);
    let at_once = ["replay/src/sweep.rs", "replay/src/fsck.rs", "cli/src/cmd/import/paths.rs"];
    only("par_iter", &at_once, &CRATES);
    // A listener has a thread for the recorder, and measures how long an answer took.
    let live = |file: &str| format!("capture/src/live/{file}.rs");
    let (proxy, scribe, exchange) = (live("proxy"), live("scribe"), live("exchange"));
    only("thread::", &[&proxy, &scribe], &below_cli);
    only("SystemTime", &[], &below_cli);
    let (course, tunnel) = (live("course"), live("socket/tunnel"));
    only("Instant::", &[&course, &exchange, &tunnel], &below_cli);
    only("println!", &[], &below_cli);
    only("std::env", &[], &below_cli);
    only("process::exit", &[], &CRATES);
}

#[test]
fn lint_settings_of_the_projector_repeat_those_of_the_workspace() {
    let shared = |text: String| -> BTreeSet<String> {
        text.lines()
            .filter(|line| line.starts_with("allow-") || line.starts_with("too-many"))
            .map(str::to_owned)
            .collect()
    };
    let workspace = shared(fs::read_to_string(root().join("clippy.toml")).unwrap());
    let projector = shared(fs::read_to_string(root().join("projector/clippy.toml")).unwrap());
    assert_eq!(workspace, projector);
    for name in CRATES {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name} has its own lints");
    }
}

#[test]
fn every_event_kind_is_in_the_reference() {
    let events = fs::read_to_string(root().join("docs/reference/events.md")).unwrap();
    for kind in ledger::event::Kind::ALL {
        let named = format!("`{}`", kind.name());
        assert!(events.contains(&named), "{named} is not in docs/reference/events.md");
        assert!(events.contains(&kind.tag().to_string()), "tag of {named} is not there");
    }
}

#[test]
fn every_preset_is_in_the_reference() {
    let policies = fs::read_to_string(root().join("docs/reference/policies.md")).unwrap();
    for preset in projector::policy::presets::PRESETS {
        assert!(policies.contains(&format!("`{}`", preset.id)), "{}", preset.id);
    }
}

#[test]
fn fixtures_stay_small() {
    let mut all = Vec::new();
    files(&root().join("fixtures"), &|_path| true, &mut all);
    let total: u64 = all.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(total <= FIXTURES_BYTES_MAX, "{total} bytes of fixtures");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents = Vec::new();
    let is_markdown = |path: &Path| path.extension() == Some("md".as_ref());
    files(&root().join("docs"), &is_markdown, &mut documents);
    documents.push(root().join("README.md"));
    documents.push(root().join("CONTRIBUTING.md"));
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = document.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} does not exist", document.display());
        }
    }
}

/// Normal dependencies of a package, all levels, by name.
fn tree(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", package, "-e", "normal", "--prefix", "none", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn the_projector_pulls_in_nothing_that_touches_the_world() {
    let projector = fs::read_to_string(root().join("projector/src/lib.rs")).unwrap();
    assert!(projector.contains("#![no_std]"));
    let tree = tree("counterfold-projector");
    for name in ["memmap2", "zstd", "rayon", "tokio", "clap", "rustix", "getrandom"] {
        assert!(!tree.contains(name), "the projector depends on {name}");
    }
}

#[test]
fn no_crate_depends_on_one_to_its_right() {
    let line = ["artifacts", "ledger", "projector", "replay", "cli"];
    for (at, name) in line.iter().enumerate() {
        let tree = tree(&format!("counterfold-{name}"));
        for right in line.iter().skip(at + 1).chain(&["fixtures", "benches"]) {
            assert!(!tree.contains(&format!("counterfold-{right}")), "{name} depends on {right}");
        }
    }
    let capture = tree("counterfold-capture");
    for other in ["projector", "replay", "cli"] {
        assert!(!capture.contains(&format!("counterfold-{other}")), "capture depends on {other}");
    }
}
