//! A summary as Markdown: a table of the recordings, then the findings.

use super::super::finding::Finding;
use super::super::{Checked, Verified};
use super::shortened;
use crate::error::Outcome;
use crate::report::number::{count, counted};
use crate::text::{one_line, push};

/// Findings that are listed.
const FINDINGS_MAX: usize = 100;
/// Findings whose details are shown.
const DETAILS_MAX: usize = 10;

/// The file.
pub(super) fn document(checked: &Checked, findings: &[Finding<'_>]) -> String {
    let verdict = match checked.outcome {
        Outcome::Fine => "every request is identical",
        Outcome::Found => "something differs",
        Outcome::Undecided => "something could not be decided",
    };
    let mut out = format!("## counterfold verify: {verdict}\n\n");
    if !checked.all.is_empty() {
        out.push_str(
            "| recording | requests | identical | diverged | unverifiable | coverage | baseline |\n\
             |---|--:|--:|--:|--:|--:|---|\n",
        );
        for verified in &checked.all {
            row(verified, &mut out);
        }
        out.push('\n');
    }
    if findings.is_empty() {
        return out;
    }
    push(&mut out, format_args!("### {}\n\n", counted(findings.len() as u64, "finding")));
    for finding in findings.iter().take(FINDINGS_MAX) {
        let (place, rule) = (escaped(&finding.place()), finding.rule.id());
        push(&mut out, format_args!("- **{place}** ({rule}): {}\n", escaped(&finding.message)));
    }
    if findings.len() > FINDINGS_MAX {
        push(&mut out, format_args!("- and {} more\n", findings.len() - FINDINGS_MAX));
    }
    for finding in findings.iter().filter(|f| f.detail.is_some()).take(DETAILS_MAX) {
        let detail = shortened(finding.detail.unwrap_or_default());
        let fence = fence(&detail);
        let place = html(&finding.place());
        push(
            &mut out,
            format_args!(
                "\n<details><summary>{place}</summary>\n\n{fence}diff\n{}\n{fence}\n\n</details>\n",
                detail.trim_end()
            ),
        );
    }
    out
}

fn row(verified: &Verified, out: &mut String) {
    let name = escaped(&verified.label);
    let Ok(report) = &verified.report else {
        push(out, format_args!("| {name} | - | - | - | - | - | not read |\n"));
        return;
    };
    let counts = report.counts();
    let covered = report.coverage.per_mille();
    let covered = covered.map_or("unknown".to_owned(), |c| format!("{}.{} %", c / 10, c % 10));
    push(
        out,
        format_args!(
            "| {name} | {} | {} | {} | {} | {covered} | {} |\n",
            count(counts.requests),
            count(counts.identical),
            count(counts.diverged),
            count(counts.unverifiable),
            verified.compared.name().replace('_', " "),
        ),
    );
}

/// One line on which nothing is markup, a link, a mention or a cell border.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '~'
            | ':' | '$' | '^' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

fn html(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A fence that is longer than every run of backticks in the text.
fn fence(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(escaped("a|b`<i>@x\n[l](u)"), "a\\|b\\`&lt;i&gt;&#64;x\\^J\\[l\\]\\(u\\)");
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(fence("none"), "```");
    }
}
