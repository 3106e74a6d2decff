//! Outputs that are known and the texts that were sent of them.

use artifacts::GetError;
use ledger::event::Dropped;
use projector::stage::result::Known;

use crate::recording::Recording;

/// An output and what was sent of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Number of the call, from 0.
    pub call: u32,
    /// The text that was sent.
    pub sent: String,
    /// The whole output, or its beginning.
    pub output: String,
    /// Its end, where there is a gap.
    pub ends: Option<String>,
}

impl Sample {
    /// What is known of the output.
    pub fn known(&self) -> Known<'_> {
        match &self.ends {
            None => Known::Whole(&self.output),
            Some(tail) => Known::Ends(&self.output, tail),
        }
    }

    /// The end of the output.
    pub(super) fn tail(&self) -> &str {
        self.ends.as_deref().unwrap_or(&self.output)
    }

    /// True when the sent text does not hold all of it, as it is or escaped.
    pub(super) fn is_cut(&self) -> bool {
        self.ends.is_some() || super::form::uncut(self).is_none()
    }
}

/// Every result of a recording by its tool, with its sample where the output is known.
pub(super) fn all(recording: &Recording) -> Result<Vec<(String, Option<Sample>)>, GetError> {
    let history = recording.history();
    let source = recording.as_source();
    let text = |content: &ledger::content::Content| -> Result<String, GetError> {
        Ok(String::from_utf8_lossy(&content.read(source)?).into_owned())
    };
    let mut out = Vec::new();
    for (number, call) in (0..).zip(history.calls()) {
        let Some(output) = &call.output else { continue };
        let item = history.call_item(ledger::id::ToolCallId::new(number));
        let tool = match item.and_then(|item| item.name.as_ref()) {
            Some(name) => text(name)?,
            None => String::new(),
        };
        let sample = match (output.as_slice(), call.found(0)) {
            ([sent], Some(found)) => {
                let pieces: Result<Vec<_>, _> =
                    found.pieces.iter().map(|piece| text(&piece.text)).collect();
                let mut pieces = pieces?.into_iter();
                let whole = found.dropped == Dropped::Bytes(0);
                pieces
                    .next()
                    .map(|output| Sample {
                        call: number,
                        sent: String::new(),
                        output,
                        ends: if whole { None } else { pieces.next() },
                    })
                    .map(|sample| text(&sent.text).map(|sent| Sample { sent, ..sample }))
                    .transpose()?
            }
            _ => None,
        };
        out.push((tool, sample));
    }
    Ok(out)
}
