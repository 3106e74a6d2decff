//! What a policy changes in one request, message by message.

use ledger::history::History;
use ledger::id::RequestId;
use projector::{Policy, ProjectError, Projection};

use crate::recording::Recording;
use crate::tokens;

/// A request under a policy, with its bytes.
#[derive(Clone, Debug)]
pub struct Projected {
    /// Segments, account, fidelity.
    pub projection: Projection,
    /// The body.
    pub body: Vec<u8>,
}

/// Projects one request and writes its body out.
///
/// # Errors
/// No such request, or an artifact that it needs is missing or damaged.
pub fn projected(
    recording: &Recording,
    policy: &Policy,
    request: RequestId,
) -> Result<Projected, ProjectError> {
    let history: &History = recording.history();
    let source = recording.as_source();
    let projection = tokens::projector(history, source, policy).only(request)?;
    let mut body = Vec::new();
    projection.write(history, source, &mut body)?;
    Ok(Projected { projection, body })
}
