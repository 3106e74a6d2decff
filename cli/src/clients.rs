//! What clients read to find an API: the variables that point them at a listener of ours, and
//! those that tell where requests go without it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use capture::live::{Target, Upstreams};

use crate::error::{Failure, Kind};

/// An API, by which of its variables is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A variable, its API, and what stands behind the host in its value.
///
/// Who reads them: `OPENAI_BASE_URL` the SDKs of `OpenAI` and what is built on them;
/// `OPENAI_API_BASE`, `ANTHROPIC_API_BASE` and `GEMINI_API_BASE` litellm (mini-swe-agent, aider);
/// `ANTHROPIC_BASE_URL` the SDKs of Anthropic and Claude Code; `GOOGLE_GEMINI_BASE_URL` the
/// Gemini CLI and SDKs.
const VARIABLES: [(&str, Api, &str); 6] = [
    ("OPENAI_BASE_URL", Api::OpenAi, "/v1"),
    ("OPENAI_API_BASE", Api::OpenAi, "/v1"),
    ("ANTHROPIC_BASE_URL", Api::Anthropic, ""),
    ("ANTHROPIC_API_BASE", Api::Anthropic, ""),
    ("GOOGLE_GEMINI_BASE_URL", Api::Gemini, ""),
    ("GEMINI_API_BASE", Api::Gemini, "/v1beta"),
];

/// A client that reads no variable: the name of its program, the words that point it at a
/// listener, and those by which a user shows that this is done already.
struct ByWords {
    program: &'static str,
    words: [&'static str; 2],
    done: [&'static str; 3],
}

/// Seen in Codex CLI 0.171: it takes its base URL from its settings alone.
const BY_WORDS: [ByWords; 1] = [ByWords {
    program: "codex",
    words: ["-c", "openai_base_url=\"{proxy}/v1\""],
    done: ["openai_base_url", "model_provider", "--oss"],
}];

/// What stands for the listener's base URL in the words of a command.
const PLACE: &str = "{proxy}";

/// A command as it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointed {
    /// The program and its words.
    pub(crate) words: Vec<OsString>,
    /// Words that were put in.
    pub(crate) put_in: Option<String>,
}

/// Points a command at a listener where its words have to do it: replaces `{proxy}` in them, and
/// puts words in for known clients that read no variable.
pub(crate) fn pointed(command: &[OsString], addr: SocketAddr) -> Pointed {
    let url = format!("http://{addr}");
    let place = |word: &OsString| match word.to_str() {
        Some(text) if text.contains(PLACE) => OsString::from(text.replace(PLACE, &url)),
        _ => word.clone(),
    };
    let mut words: Vec<OsString> = command.iter().map(place).collect();
    let stem = words.first().and_then(|program| Path::new(program).file_stem());
    let known = stem.and_then(|stem| BY_WORDS.iter().find(|known| stem == known.program));
    let known = known.filter(|known| {
        let names = |word: &OsString| {
            let word = word.to_string_lossy();
            known.done.iter().any(|done| word.contains(done))
        };
        !words.iter().any(names)
    });
    let put_in = known.map(|known| known.words.map(|word| word.replace(PLACE, &url)));
    if let Some(put_in) = &put_in {
        words.splice(1..1, put_in.iter().map(OsString::from));
    }
    Pointed { words, put_in: put_in.map(|words| words.join(" ")) }
}

/// Variables that keep clients from sending what is for this machine to another proxy.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The variables that point clients at the proxy.
pub(crate) fn variables(addr: SocketAddr) -> Vec<(&'static str, String)> {
    let base =
        |(name, _api, path): &(&'static str, Api, &str)| (*name, format!("http://{addr}{path}"));
    VARIABLES.iter().map(base).collect()
}

/// The variables that keep requests to the proxy on this machine, given their values now.
pub(crate) fn stay_local(value: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let local = "127.0.0.1,localhost";
    let with = |name: &'static str| {
        let found = value(name).filter(|found| !found.is_empty());
        (name, found.map_or_else(|| local.to_owned(), |found| format!("{found},{local}")))
    };
    NO_PROXY.map(with).into()
}

/// Where requests go: to the addresses that the variables name now, else to the providers.
pub(crate) fn upstreams(value: impl Fn(&str) -> Option<String>) -> Result<Upstreams, Failure> {
    let mut upstreams = Upstreams::providers();
    // The first variable of an API is the one that counts.
    for (name, api, path) in VARIABLES.iter().rev() {
        let Some(url) = value(name).filter(|url| !url.is_empty()) else { continue };
        let target = Target::parse(&url).map_err(|error| {
            Failure::new(Kind::Usage, format!("{name} is no base URL: {error}"))
                .hint("name the API with --upstream, or unset the variable")
        })?;
        let target = target.without_suffix(path);
        match api {
            Api::OpenAi => upstreams.openai = target,
            Api::Anthropic => upstreams.anthropic = target,
            Api::Gemini => upstreams.gemini = target,
        }
    }
    Ok(upstreams)
}

/// Folders of a home where known clients save whole outputs that they name in what they send.
const SAVED_IN: [&str; 5] = [".claude", ".gemini", ".qwen", ".pi", ".local/share/opencode"];
/// Variables that name such a folder, and what stands below it.
const SAVED_AT: [(&str, &str); 2] = [("CLAUDE_CONFIG_DIR", ""), ("XDG_DATA_HOME", "opencode")];

/// Folders below which clients save whole outputs: the one for temporary files, and their own.
pub(crate) fn saved_outputs(value: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders = vec![std::env::temp_dir()];
    let folder = |name: &str| value(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(home) = folder("HOME") {
        folders.extend(SAVED_IN.iter().map(|below| home.join(below)));
    }
    let named = SAVED_AT.iter().filter_map(|(name, below)| Some(folder(name)?.join(below)));
    folders.extend(named);
    folders
}

/// Name of a recording that was given none: the command's and the time, to the second.
pub(crate) fn run_name(command: Option<&OsString>, at: jiff::Timestamp) -> String {
    let stem = command.and_then(|word| Path::new(word).file_stem());
    let stem = stem.map_or_else(|| "proxy".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '-' }
    };
    let stem: String = stem.chars().map(plain).collect();
    format!("{}-{}", stem.trim_start_matches('.'), at.strftime("%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_where_they_would_have_gone_without_the_proxy() {
        let upstreams = upstreams(|name| match name {
            "OPENAI_BASE_URL" => Some("https://gate.example/oa/v1".to_owned()),
            "OPENAI_API_BASE" => Some("https://other.example/v1".to_owned()),
            "GEMINI_API_BASE" => Some(String::new()),
            _ => None,
        })
        .unwrap();
        assert_eq!(upstreams.openai, Target::parse("https://gate.example/oa").unwrap());
        assert_eq!(upstreams.anthropic, Upstreams::providers().anthropic);
        assert_eq!(upstreams.gemini, Upstreams::providers().gemini);
    }

    #[test]
    fn a_variable_that_is_no_url_is_named() {
        let failure = super::upstreams(|name| (name == "ANTHROPIC_BASE_URL").then(|| "x y".into()));
        assert!(failure.unwrap_err().message.starts_with("ANTHROPIC_BASE_URL is no base URL"));
    }

    #[test]
    fn a_command_is_pointed_by_its_words_where_it_reads_no_variable() {
        let addr = "127.0.0.1:99".parse().unwrap();
        let pointed = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            let pointed = super::pointed(&words, addr);
            let words = pointed.words.iter().map(|word| word.to_str().unwrap().to_owned());
            (words.collect::<Vec<_>>().join(" "), pointed.put_in.is_some())
        };
        let base = "openai_base_url=\"http://127.0.0.1:99/v1\"";
        let put_in = format!("/usr/bin/codex -c {base} exec hi");
        assert_eq!(pointed(&["/usr/bin/codex", "exec", "hi"]), (put_in, true));
        let own = ["codex", "-c", "model_provider=x", "exec", "hi"];
        assert_eq!(pointed(&own), (own.join(" "), false));
        let told = ["env", "BASE={proxy}/v1", "codex"];
        assert_eq!(pointed(&told), ("env BASE=http://127.0.0.1:99/v1 codex".to_owned(), false));
    }

    #[test]
    fn a_name_is_made_of_the_command_and_the_time() {
        let at = jiff::Timestamp::from_second(1_796_000_000).unwrap();
        let name = |word: &str| run_name(Some(&OsString::from(word)), at);
        assert_eq!(name("/usr/bin/python3.11"), "python3-20261130-005320");
        assert_eq!(name("my agent"), "my-agent-20261130-005320");
        assert_eq!(run_name(None, at), "proxy-20261130-005320");
    }

    #[test]
    fn what_is_local_stays_local_beside_what_was_set() {
        let told = stay_local(|name| (name == "NO_PROXY").then(|| "corp.example".to_owned()));
        assert_eq!(told[0], ("NO_PROXY", "corp.example,127.0.0.1,localhost".to_owned()));
        assert_eq!(told[1], ("no_proxy", "127.0.0.1,localhost".to_owned()));
    }
}
