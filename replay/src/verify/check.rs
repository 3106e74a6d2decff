//! The checks themselves.

use artifacts::fs::Severity;
use ledger::fs::Tail;
use ledger::history::Request;
use ledger::wire::pointer::pointer_at;
use projector::{Policy, ProjectError, Projector};
use sha2::{Digest as _, Sha256};

use super::{Check, Divergence, Level, RequestVerdict};
use crate::assemble::Assembler;
use crate::recording::Recording;

/// Bytes of context that a divergence shows of each side.
const SHOWN_BYTES: usize = 48;

/// Checks every byte of the store.
pub(super) fn store(recording: &Recording, damage: &mut Vec<String>, notices: &mut Vec<String>) {
    if recording.has_gap() {
        let words = "frames are missing: a repair left a gap, and only what stands in front of it \
                     is checked";
        damage.push(words.to_owned());
    }
    recording.store().check_all(|finding| match finding.severity {
        // What a writer that died had reserved or begun: no event names it.
        Severity::Information | Severity::Tail => notices.push(finding.to_string()),
        _ => damage.push(finding.to_string()),
    });
}

/// How the log ends, when not with a seal.
pub(super) fn tail(recording: &Recording) -> Option<String> {
    match recording.tail()? {
        Tail::Clean => None,
        Tail::Open => Some("not closed: its recorder is still there, or died".to_owned()),
        Tail::Torn { path, offset, bytes, reason } => Some(format!(
            "an interrupted write is not part of the log: {bytes} bytes in {} at offset {offset}: \
             {reason}",
            path.display()
        )),
    }
}

/// Checks every request.
pub(super) fn requests(
    recording: &Recording,
    level: Level,
    progress: &mut dyn FnMut(),
) -> Vec<RequestVerdict> {
    let history = recording.history();
    let policy = Policy::recorded();
    let mut checks = Checks {
        recording,
        assembler: Assembler::new(history, recording.as_source()),
        projector: Projector::new(history, recording.as_source(), &policy),
        buffer: Vec::new(),
    };
    let mut verdicts = Vec::with_capacity(history.requests().len());
    for request in history.requests() {
        verdicts.push(checks.request(request, level));
        progress();
    }
    verdicts
}

struct Checks<'r> {
    recording: &'r Recording,
    assembler: Assembler<'r>,
    projector: Projector<'r>,
    buffer: Vec<u8>,
}

impl Checks<'_> {
    fn request(&mut self, request: &Request, level: Level) -> RequestVerdict {
        let mut verdict = RequestVerdict {
            ordinal: request.captured.request.ordinal(),
            rung: request.captured.rung,
            hash: Check::NotApplicable,
            drifted: None,
            reassembly: Check::NotApplicable,
            projection: Check::NotApplicable,
            reason: None,
            divergence: None,
        };
        if matches!(level, Level::Hash | Level::All) {
            self.hash(request, &mut verdict);
        }
        if matches!(level, Level::Reassembly | Level::All) {
            self.reassembly(request, &mut verdict);
        }
        if matches!(level, Level::Projection | Level::All) {
            match &request.captured.unsplit {
                Some(unsplit) => {
                    verdict.reason.get_or_insert(format!("body kept whole: {}", unsplit.reason));
                }
                None => self.projection(request, &mut verdict),
            }
        }
        if verdict.reassembly == Check::Diverged && verdict.divergence.is_none() {
            verdict.divergence = self.whole_body(request);
        }
        verdict
    }

    /// Recomputes the component digests from the bytes of the parts.
    fn hash(&mut self, request: &Request, verdict: &mut RequestVerdict) {
        let names = ["system", "tools", "options", "messages"];
        let found = match self.assembler.components(request.captured.request) {
            Ok(found) => found,
            Err(error) => {
                verdict.hash = Check::Unverifiable;
                verdict.reason = Some(error.to_string());
                return;
            }
        };
        let pairs = found.iter().zip(&request.captured.component_digests);
        verdict.drifted =
            names.into_iter().zip(pairs).find(|(_, (a, b))| a != b).map(|(name, _)| name);
        verdict.hash = if verdict.drifted.is_none() { Check::Identical } else { Check::Diverged };
    }

    fn reassembly(&mut self, request: &Request, verdict: &mut RequestVerdict) {
        let mut hash = Sha256::new();
        let id = request.captured.request;
        let fed = self.assembler.chunks(id, |(_part, bytes)| hash.update(bytes));
        if let Err(error) = fed {
            verdict.reassembly = Check::Unverifiable;
            verdict.reason = Some(error.to_string());
            return;
        }
        let digest: [u8; 32] = hash.finalize().into();
        if digest == request.captured.body_digest {
            verdict.reassembly = Check::Identical;
            return;
        }
        verdict.reassembly = Check::Diverged;
        verdict.divergence = self.damaged_part(request);
    }

    /// Says that something differs, where nothing tells the place.
    fn whole_body(&mut self, request: &Request) -> Option<Divergence> {
        let body = self.assembler.body(request.captured.request).ok()?;
        Some(Divergence {
            offset: 0,
            pointer: String::new(),
            part: "whole body".to_owned(),
            expected: format!("sha256 {}", hex(&request.captured.body_digest)),
            found: format!("sha256 {}", hex(&Sha256::digest(&body).into())),
        })
    }

    /// Finds the part whose bytes are not those that were recorded.
    fn damaged_part(&mut self, request: &Request) -> Option<Divergence> {
        let id = request.captured.request;
        let mut offset = 0;
        let mut first = None;
        let history = self.recording.history();
        let mut body = Vec::new();
        let mut index = 0_usize;
        let walked = self.assembler.chunks(id, |(part, bytes)| {
            let bad = part.filter(|part| {
                let digest: [u8; 32] = Sha256::digest(bytes).into();
                // A marked item does not have the digest of its part, but it was built from it.
                digest != history.part(*part).digest && request.overlays().is_empty()
            });
            if let (Some(part), None) = (bad, &first) {
                let digest: [u8; 32] = Sha256::digest(bytes).into();
                first = Some((offset, part, index, digest));
            }
            index += 1;
            offset += bytes.len() as u64;
            body.extend_from_slice(bytes);
        });
        walked.ok()?;
        let (at, part, index, digest) = first?;
        let kind = history.skeleton(history.part(part)).kind.name();
        Some(Divergence {
            offset: at,
            pointer: pointer_at(&body, usize::try_from(at).unwrap_or(0)),
            part: format!("{kind} part {part} (chunk {index})"),
            expected: format!("sha256 {}", hex(&history.part(part).digest)),
            found: format!("sha256 {}", hex(&digest)),
        })
    }

    fn projection(&mut self, request: &Request, verdict: &mut RequestVerdict) {
        let outcome = self.projected(request, verdict.reassembly);
        match outcome {
            Err(error) => {
                verdict.projection = Check::Unverifiable;
                verdict.reason.get_or_insert(error.to_string());
            }
            Ok(true) => {
                verdict.projection = Check::Identical;
                if verdict.reassembly == Check::Diverged && verdict.divergence.is_none() {
                    // The fold gave the recorded bytes, so the parts are what is compared.
                    let swapped = |at: Divergence| Divergence {
                        expected: at.found,
                        found: at.expected,
                        ..at
                    };
                    verdict.divergence = self.difference(request).map(swapped);
                }
            }
            Ok(false) => {
                verdict.projection = Check::Diverged;
                if verdict.divergence.is_none() {
                    verdict.divergence = self.difference(request);
                }
            }
        }
    }

    /// Projects the request into the buffer; true when that gives the recorded bytes.
    ///
    /// Where reassembly has just given bytes with the recorded digest, comparing with those says
    /// the same as digesting again, and costs a fifth of it.
    fn projected(&mut self, request: &Request, reassembly: Check) -> Result<bool, ProjectError> {
        let projection = self.projector.projection(request.captured.request)?;
        self.buffer.clear();
        let (history, source) = (self.recording.history(), self.recording.as_source());
        projection.write(history, source, &mut self.buffer)?;
        if reassembly == Check::Identical {
            let mut rest = self.buffer.as_slice();
            let mut same = true;
            let walked = self.assembler.chunks(request.captured.request, |(_part, bytes)| {
                same = same && rest.starts_with(bytes);
                rest = rest.get(bytes.len()..).unwrap_or_default();
            });
            if walked.is_ok() {
                return Ok(same && rest.is_empty());
            }
        }
        let digest: [u8; 32] = Sha256::digest(&self.buffer).into();
        Ok(digest == request.captured.body_digest)
    }

    /// Where the projected body differs from the one that the parts give.
    fn difference(&mut self, request: &Request) -> Option<Divergence> {
        let id = request.captured.request;
        let recorded = self.assembler.body(id).ok()?;
        let at = first_difference(&recorded, &self.buffer);
        let history = self.recording.history();
        let mut offset = 0;
        let mut part_at = String::from("end of the body");
        let mut index = 0_usize;
        self.assembler
            .chunks(id, |(part, bytes)| {
                if (offset..offset + bytes.len()).contains(&at) {
                    part_at = match part {
                        Some(part) => {
                            let kind = history.skeleton(history.part(part)).kind.name();
                            format!("{kind} part {part} (chunk {index})")
                        }
                        None => format!("separator between two messages (chunk {index})"),
                    };
                }
                index += 1;
                offset += bytes.len();
            })
            .ok()?;
        Some(Divergence {
            offset: at as u64,
            pointer: pointer_at(&recorded, at),
            part: part_at,
            expected: shown(&recorded, at),
            found: shown(&self.buffer, at),
        })
    }
}

pub(crate) fn first_difference(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// A few bytes of a body. Printable ASCII stands as it is; everything else is written `\xNN`.
fn shown(body: &[u8], at: usize) -> String {
    let end = (at + SHOWN_BYTES).min(body.len());
    let mut out = String::new();
    for byte in body.get(at..end).unwrap_or_default() {
        if byte.is_ascii_graphic() || *byte == b' ' {
            out.push(char::from(*byte));
        } else {
            let nibble = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
            out.extend(['\\', 'x', nibble(byte >> 4), nibble(byte & 0xf)]);
        }
    }
    out
}

fn hex(digest: &[u8; 32]) -> String {
    artifacts::ArtifactId::from_bytes(*digest).to_string()
}
