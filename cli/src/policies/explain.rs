//! What is wrong with a policy file, with the line that it stands in and what was probably meant.

use projector::PolicyError;

use crate::error::{Failure, Kind};
use crate::inputs::closest;

/// Columns of a source line that an excerpt shows at most.
const EXCERPT_COLUMNS_MAX: usize = 100;

/// Turns an error into a failure with the source line and a caret.
pub(crate) fn explain(error: &PolicyError, toml: &str, place: &str) -> Failure {
    let PolicyError { line, column, reason } = error;
    // Some messages of the TOML reader have several lines.
    let reason: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let reason = reason.join(", ");
    let failure = Failure::new(Kind::Format, format!("{place}:{line}:{column}: {reason}"));
    let failure = Failure { excerpt: excerpt(error, toml), ..failure };
    match hint(&reason) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn excerpt(error: &PolicyError, toml: &str) -> Vec<String> {
    let Some(source) = toml.lines().nth(error.line.saturating_sub(1)) else { return Vec::new() };
    if error.column > EXCERPT_COLUMNS_MAX {
        return Vec::new();
    }
    let shown: String =
        source.chars().take(EXCERPT_COLUMNS_MAX).map(|c| if c == '\t' { ' ' } else { c }).collect();
    let number = error.line.to_string();
    let margin = " ".repeat(number.len());
    let before = " ".repeat(error.column.saturating_sub(1));
    vec![format!("{margin} |"), format!("{number} | {shown}"), format!("{margin} | {before}^")]
}

/// What to do, by the words of the reason. Names in it stand between backticks: the one that was
/// found, then those that are known.
fn hint(reason: &str) -> Option<String> {
    let mut names = reason.split('`').skip(1).step_by(2);
    let found = names.next()?;
    if reason.contains("unknown field")
        || reason.contains("unknown word")
        || reason.contains("unknown policy")
    {
        return match closest(found, names) {
            Some(known) => Some(format!("did you mean `{known}`?")),
            None => Some("`counterfold policy show cap-4k` prints a complete policy".to_owned()),
        };
    }
    if reason.starts_with("undocumented constants") {
        let (op, field) = found.split_once('.').unwrap_or((found, "field"));
        return Some(format!(
            "set them with `--set {found}=VALUE`, or in a file that has this policy as its \
             `base` and `{field} = ...` in an `[[override]]` of op \"{op}\""
        ));
    }
    reason.starts_with("missing field").then(|| {
        format!(
            "every parameter is explicit: add `{found} = ...`; `counterfold policy show cap-4k` \
             prints a complete policy"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_field_is_shown_in_its_line_with_what_was_meant() {
        let error = PolicyError {
            line: 2,
            column: 3,
            reason: "unknown field `limits`, expected one of `op`, `limit`".into(),
        };
        let failure = explain(&error, "a = 1\n  limits = 2\n", "p.toml");
        assert!(failure.message.starts_with("p.toml:2:3: unknown field `limits`"));
        assert_eq!(failure.excerpt, ["  |", "2 |   limits = 2", "  |   ^"]);
        assert_eq!(failure.hint.as_deref(), Some("did you mean `limit`?"));
    }
}
