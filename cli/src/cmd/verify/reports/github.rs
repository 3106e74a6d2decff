//! Workflow commands: lines of standard output that GitHub turns into annotations.

use super::super::finding::Finding;
use crate::error::Stop;
use crate::text::one_line;
use crate::ui::Ui;

/// Annotations of one step that GitHub shows.
const SHOWN_MAX: usize = 10;

pub(in super::super) fn print(findings: &[Finding<'_>], ui: &mut Ui) -> Result<(), Stop> {
    let shown = if findings.len() > SHOWN_MAX { SHOWN_MAX - 1 } else { findings.len() };
    let mut worst_first: Vec<&Finding<'_>> = findings.iter().collect();
    worst_first.sort_by_key(|finding| finding.rule);
    for finding in worst_first.into_iter().take(shown) {
        ui.workflow_command(&command(finding))?;
    }
    let rest = findings.len() - shown;
    if rest > 0 {
        ui.workflow_command(&format!("::error title=counterfold::and {rest} more findings"))?;
    }
    Ok(())
}

fn command(finding: &Finding<'_>) -> String {
    let file = property(&finding.file.to_string_lossy());
    let title = property(&format!("{} {}", finding.rule.id(), finding.place()));
    let message = data(&format!("{}: {}", finding.place(), finding.message));
    format!("::error file={file},title={title}::{message}")
}

/// The message of a command.
fn data(text: &str) -> String {
    one_line(text).replace('%', "%25")
}

/// A property of a command, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_property_or_a_line() {
        assert_eq!(property("a:b,c%d\r\n::error::x"), "a%3Ab%2Cc%25d^M^J%3A%3Aerror%3A%3Ax");
        assert_eq!(data("100 %\n::x"), "100 %25^J::x");
    }
}
