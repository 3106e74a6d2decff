//! Everything that is worked out of a recording, as lines of text that two processes can compare.
//!
//! A pure function gives the same lines whatever the time zone, the language, the folder or the
//! number of threads. Nothing here looks at any of them, and neither may what is called.

use artifacts::ArtifactId;
use ledger::id::RequestId;
use projector::{Policy, ProjectError, Projector};

use crate::recording::Recording;
use crate::sweep::Row;
use crate::tokens;
use crate::verify::{Level, verify};

/// One line per request with its verdict, then one per policy and request with the digest of the
/// projected body.
pub fn lines(recording: &Recording, policies: &[Policy]) -> Vec<String> {
    let report = verify(recording, Level::All, &mut || {});
    let mut lines = vec![format!("verify\thead {}\tdamage {}", report.head, report.damage.len())];
    for verdict in &report.requests {
        lines.push(format!(
            "verify\t{}\t{}\t{}\t{}\t{}",
            verdict.ordinal,
            verdict.rung.name(),
            verdict.hash.name(),
            verdict.reassembly.name(),
            verdict.projection.name(),
        ));
    }
    for policy in policies {
        let mut projector = tokens::projector(recording.history(), recording.as_source(), policy);
        for request in recording.history().requests() {
            let id = request.captured.request;
            let told = match body(recording, &mut projector, id) {
                Ok(told) => told,
                Err(error) => format!("refused\t{error}"),
            };
            lines.push(format!("project\t{}\t{}\t{told}", id.ordinal(), policy.name));
        }
    }
    lines
}

/// A cell of a sweep as one line.
pub fn row(policy: &Policy, row: &Result<Row, ProjectError>) -> String {
    match row {
        Ok(row) => {
            // Indexes depend on the order of the inputs.
            let row = Row { recording: 0, policy: 0, ..row.clone() };
            format!("sweep\t{}\t{row:?}", policy.name)
        }
        Err(error) => format!("sweep\t{}\t{error}", policy.name),
    }
}

fn body(
    recording: &Recording,
    projector: &mut Projector<'_>,
    request: RequestId,
) -> Result<String, ProjectError> {
    let projection = projector.projection(request)?;
    let mut body = Vec::new();
    projection.write(recording.history(), recording.as_source(), &mut body)?;
    Ok(format!("{}\t{}\t{}", projection.fidelity.name(), body.len(), ArtifactId::of(&body)))
}
