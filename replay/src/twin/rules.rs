//! What may differ between two runs of one program. Data, not code: every rule names the text or
//! the field that it is about, and says what it stands for.

/// What stands at a place that may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {
    /// An id: it must stand for the same other id wherever it comes up.
    Id,
    /// A number: a time, a duration, a process. It may be any other number.
    Number,
}

/// A place in a text: what stands before and behind it, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRule {
    /// What must stand before it.
    pub before: String,
    /// What must stand behind it.
    pub behind: String,
    /// What it is.
    pub varies: Varies,
}

/// Everything that may differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Places in texts.
    pub texts: Vec<TextRule>,
    /// Members whose value may differ: ids as texts, times as numbers.
    pub members: Vec<String>,
    /// Objects whose members may come in any order.
    pub unordered: Vec<String>,
    /// Words that stand for one another: of the recorded run, and of the other one.
    pub pairs: Vec<(String, String)>,
    /// What the user put in may differ.
    pub inputs_may_differ: bool,
}

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a place is written as text with one {{id}} or {{number}} in it")]
pub struct RuleError;

impl TextRule {
    /// Reads `text before {id} text behind`, or the same with `{number}`.
    ///
    /// # Errors
    /// There is not exactly one of the two, or nothing around it.
    pub fn parse(pattern: &str) -> Result<Self, RuleError> {
        let all = [("{id}", Varies::Id), ("{number}", Varies::Number)];
        let mut found = all.into_iter().filter_map(|(word, varies)| {
            let (before, behind) = pattern.split_once(word)?;
            Some((before, behind, varies))
        });
        let (Some((before, behind, varies)), None) = (found.next(), found.next()) else {
            return Err(RuleError);
        };
        if before.is_empty() || all.iter().any(|(word, _)| behind.contains(word)) {
            return Err(RuleError);
        }
        Ok(Self { before: before.to_owned(), behind: behind.to_owned(), varies })
    }

    /// The rule as it is written.
    pub fn pattern(&self) -> String {
        let word = match self.varies {
            Varies::Id => "{id}",
            Varies::Number => "{number}",
        };
        [&self.before, word, &self.behind].concat()
    }
}

/// Places that the clients of the recorded runs fill anew in every run.
const TEXTS: [&str; 13] = [
    // Codex CLI.
    "Chunk ID: {id}\n",
    "Wall time: {number} seconds",
    "Process running with session ID {number}",
    // Gemini CLI and Qwen Code.
    "Process Group PGID: {number}",
    "Background PIDs: {number}",
    // Gemini CLI names calls itself where the model does not.
    "run_shell_command_{number}_",
    // pi.
    "pi-bash-{id}.log",
    // opencode, which tells the model its limits as well.
    "tool-output/tool_{id}",
    "If the output exceeds {number} lines",
    " lines or {number} bytes, it will be truncated",
    // Qwen Code.
    "run_shell_command_{id}.output",
    ".qwen/tmp/{id}/",
    // Gemini CLI: the folder of a session's saved outputs.
    "tool-outputs/session-{id}/",
];
/// Members that hold ids or times of a run.
const MEMBERS: [&str; 15] = [
    "prompt_cache_key",
    "session_id",
    "thread_id",
    "turn_id",
    "root_turn_id",
    "window_id",
    "installation_id",
    "request_id",
    "user_prompt_id",
    "x-codex-installation-id",
    "x-codex-window-id",
    "create_time",
    "turn_started_at_unix_ms",
    "x-codex-ws-stream-request-start-ms",
    "timestamp",
];
/// Objects that a client writes in the order of a hash table.
const UNORDERED: [&str; 1] = ["client_metadata"];

impl Rules {
    /// What the known clients fill anew in every run.
    pub fn known() -> Self {
        let text = |pattern: &&str| TextRule::parse(pattern).ok();
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            texts: TEXTS.iter().filter_map(text).collect(),
            members: owned(&MEMBERS),
            unordered: owned(&UNORDERED),
            pairs: Vec::new(),
            inputs_may_differ: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_place_is_a_rule_and_reads_back_as_it_is_written() {
        let rules = Rules::known();
        let patterns: Vec<_> = rules.texts.iter().map(TextRule::pattern).collect();
        assert_eq!(patterns, TEXTS);
    }

    #[test]
    fn a_rule_has_one_place_and_something_before_it() {
        for pattern in ["", "x", "{id}", "{id} behind", "a {id} b {number}", "a {id} b {id}"] {
            assert_eq!(TextRule::parse(pattern), Err(RuleError), "{pattern}");
        }
        let rule = TextRule::parse("a {number}").unwrap();
        assert_eq!((rule.before.as_str(), rule.behind.as_str()), ("a ", ""));
    }
}
