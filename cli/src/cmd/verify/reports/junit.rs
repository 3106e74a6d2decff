//! `JUnit` XML after the schema of the xUnit plugin of Jenkins (junit-10.xsd), which GitLab and
//! others read, too.
//!
//! Written by hand: the format is six elements, and writers that know more of it than the schema
//! add attributes that it forbids.

use replay::{Check, RecordingReport, RequestVerdict};

use super::super::against::Compared;
use super::super::finding::{Finding, Rule};
use super::super::{Checked, Verified, VerifyArgs};
use super::shortened;
use crate::text::{lines, one_line, push, xml_escaped as escaped};

/// A test case, or something that has the form of one.
struct Case<'c> {
    name: String,
    findings: Vec<&'c Finding<'c>>,
    skipped: Option<String>,
}

/// A recording.
struct Suite<'c> {
    name: &'c str,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case<'c>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Skipped,
    /// Something was seen that is wrong.
    Failure,
    /// Nobody could look.
    Error,
}

impl Case<'_> {
    fn outcome(&self) -> Outcome {
        // A case that is seen to fail is a failure, whatever else could not be looked at.
        match (self.findings.iter().all(|finding| finding.rule.is_undecided()), &self.skipped) {
            (false, _) => Outcome::Failure,
            (true, _) if !self.findings.is_empty() => Outcome::Error,
            (true, Some(_)) => Outcome::Skipped,
            (true, None) => Outcome::Passed,
        }
    }
}

/// The file.
pub(super) fn document(args: &VerifyArgs, checked: &Checked, findings: &[Finding<'_>]) -> String {
    let mut suites: Vec<Suite<'_>> = checked
        .all
        .iter()
        .enumerate()
        .map(|(index, one)| suite(args, index, one, findings))
        .collect();
    for finding in findings {
        // Missing recordings and an empty input have no suite yet.
        if finding.recording.is_none() {
            let name = if finding.rule == Rule::Baseline { "baseline" } else { "input" };
            let case = Case { name: name.to_owned(), findings: vec![finding], skipped: None };
            suites.push(Suite { name: finding.label, properties: Vec::new(), cases: vec![case] });
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let outcomes: Vec<Outcome> =
        suites.iter().flat_map(|suite| &suite.cases).map(Case::outcome).collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    push(
        &mut out,
        format_args!(
            "<testsuites name=\"counterfold verify\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
            outcomes.len(),
            count(Outcome::Failure),
            count(Outcome::Error),
        ),
    );
    for suite in &suites {
        write(suite, &mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite<'c>(
    args: &VerifyArgs,
    index: usize,
    verified: &'c Verified,
    findings: &'c [Finding<'c>],
) -> Suite<'c> {
    let mine = || findings.iter().filter(|finding| finding.recording == Some(index));
    let of = |rules: &[Rule]| -> Vec<&Finding<'_>> {
        mine().filter(|f| f.request.is_none() && rules.contains(&f.rule)).collect()
    };
    let mut cases = Vec::new();
    let mut case = |name: &str, rules: &[Rule], skipped: Option<&str>| {
        let skipped = skipped.map(str::to_owned);
        cases.push(Case { name: name.to_owned(), findings: of(rules), skipped });
    };
    let Ok(report) = &verified.report else {
        case("open", &[Rule::Unverifiable], None);
        return Suite { name: &verified.label, properties: Vec::new(), cases };
    };
    let empty = report.requests.is_empty().then_some("no request");
    if !report.damage.is_empty() || empty.is_some() {
        case("store", &[Rule::Damage], empty);
    }
    if args.min_coverage.is_some() {
        let unknown = report.coverage.per_mille().is_none();
        case("coverage", &[Rule::Coverage], unknown.then_some("no answer reports its input"));
    }
    if args.baseline.is_some() {
        let skipped = (verified.compared == Compared::NotAsked).then_some("not compared");
        case("baseline", &[Rule::Baseline], skipped);
    }
    for verdict in &report.requests {
        cases.push(Case {
            name: format!("request {}", verdict.ordinal),
            findings: mine().filter(|f| f.request == Some(verdict.ordinal)).collect(),
            skipped: skipped(verdict),
        });
    }
    Suite { name: &verified.label, properties: properties(report), cases }
}

/// Why nothing was checked of a request.
fn skipped(verdict: &RequestVerdict) -> Option<String> {
    (verdict.worst() == Check::NotApplicable)
        .then(|| verdict.reason.clone().unwrap_or_else(|| "not applicable".to_owned()))
}

fn properties(report: &RecordingReport) -> Vec<(&'static str, String)> {
    let mut properties = vec![("run", report.run.clone()), ("head", report.head.clone())];
    properties.extend(report.client.clone().map(|client| ("client", client)));
    if let Some(covered) = report.coverage.per_mille() {
        properties.push(("coverage_per_mille", covered.to_string()));
    }
    properties
}

fn write(suite: &Suite<'_>, out: &mut String) {
    let outcomes: Vec<Outcome> = suite.cases.iter().map(Case::outcome).collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let name = attribute(suite.name);
    push(
        out,
        format_args!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
             skipped=\"{}\">\n",
            suite.cases.len(),
            count(Outcome::Failure),
            count(Outcome::Error),
            count(Outcome::Skipped),
        ),
    );
    if !suite.properties.is_empty() {
        out.push_str("    <properties>\n");
        for (name, value) in &suite.properties {
            let value = attribute(value);
            push(out, format_args!("      <property name=\"{name}\" value=\"{value}\"/>\n"));
        }
        out.push_str("    </properties>\n");
    }
    for case in &suite.cases {
        write_case(&name, case, out);
    }
    out.push_str("  </testsuite>\n");
}

fn write_case(suite: &str, case: &Case<'_>, out: &mut String) {
    let name = attribute(&case.name);
    push(out, format_args!("    <testcase classname=\"{suite}\" name=\"{name}\""));
    let outcome = case.outcome();
    if outcome == Outcome::Passed {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    if let (Outcome::Skipped, Some(reason)) = (outcome, &case.skipped) {
        push(out, format_args!("      <skipped message=\"{}\"/>\n", attribute(reason)));
    }
    let tag = if outcome == Outcome::Error { "error" } else { "failure" };
    if let Some(first) = case.findings.first() {
        let messages: Vec<&str> = case.findings.iter().map(|f| f.message.as_str()).collect();
        let message = attribute(&messages.join("; "));
        let detail = case.findings.iter().find_map(|finding| finding.detail);
        let text = text(&detail.map(shortened).unwrap_or_default());
        let rule = first.rule.id();
        push(
            out,
            format_args!("      <{tag} type=\"{rule}\" message=\"{message}\">{text}</{tag}>\n"),
        );
    }
    out.push_str("    </testcase>\n");
}

fn attribute(value: &str) -> String {
    escaped(&one_line(value))
}

fn text(value: &str) -> String {
    escaped(&lines(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_element_and_no_character_is_forbidden() {
        assert_eq!(attribute("a\"<b>&\n\u{1b}\u{ffff}"), "a&quot;&lt;b&gt;&amp;^J^[\u{fffd}");
        assert_eq!(text("a\n]]>\u{8}"), "a\n]]&gt;^H");
    }
}
