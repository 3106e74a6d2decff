//! How a replay went, for the test reports of a build: a case for each request of the recording,
//! and one for each drift that belongs to none.

use std::path::Path;

use replay::serve::Drift;

use super::answers::Told;
use crate::text::{one_line, push, xml_escaped as escaped};

/// A case: its name, and what failed.
type Case = (String, Option<String>);

pub(super) fn document(recording: &Path, told: &Told) -> String {
    let cases = cases(told);
    let failures = cases.iter().filter(|(_, failure)| failure.is_some()).count();
    let errors = usize::from(told.failed.is_some());
    let name = escaped(&one_line(&recording.display().to_string()));
    let tests = cases.len() + errors;
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    push(
        &mut out,
        format_args!(
            "<testsuites name=\"counterfold serve\" tests=\"{tests}\" failures=\"{failures}\" \
             errors=\"{errors}\">\n  <testsuite name=\"{name}\" tests=\"{tests}\" \
             failures=\"{failures}\" errors=\"{errors}\">\n"
        ),
    );
    for (case, failure) in &cases {
        let case = escaped(case);
        match failure {
            None => push(
                &mut out,
                format_args!("    <testcase name=\"{case}\" classname=\"{name}\"/>\n"),
            ),
            Some(why) => push(
                &mut out,
                format_args!(
                    "    <testcase name=\"{case}\" classname=\"{name}\">\n      \
                     <failure message=\"{why}\" type=\"drift\">{why}</failure>\n    \
                     </testcase>\n",
                    why = escaped(&one_line(why))
                ),
            ),
        }
    }
    if let Some(failure) = &told.failed {
        let why = escaped(&one_line(&failure.message));
        push(
            &mut out,
            format_args!(
                "    <testcase name=\"recording\" classname=\"{name}\">\n      \
                 <error message=\"{why}\" type=\"unreadable\">{why}</error>\n    </testcase>\n"
            ),
        );
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn cases(told: &Told) -> Vec<Case> {
    let report = &told.report;
    let mut cases = Vec::new();
    for (arrival, drift) in &report.drifts {
        cases.push(match drift {
            Drift::Extra => (format!("arrival {arrival}"), Some("nothing was due".to_owned())),
            Drift::Skipped { due, found } => {
                let why = format!("left out: request {} came instead", found.ordinal());
                (format!("request {}", due.ordinal()), Some(why))
            }
            Drift::Differs { due, at, cause } => {
                let why = format!("{} differs at {} ({})", cause.words(), at.pointer, at.what);
                (format!("request {}", due.ordinal()), Some(why))
            }
        });
    }
    for unused in &report.unused {
        let name = format!("request {}", unused.ordinal());
        if !cases.iter().any(|(case, _)| *case == name) {
            cases.push((name, Some("nobody asked for it".to_owned())));
        }
    }
    cases.push((format!("{} requests as recorded", report.identical + report.equal), None));
    cases
}
