//! What a fold remembers, as bytes: small, since lists are facts and come from the history again.
//!
//! Little-endian, version first. Everything that is read is held against what is left to read.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use artifacts::Source;
use ledger::history::History;
use ledger::id::{PartNo, RequestId, SessionId};

use super::list::Listed;
use super::{Layer, ProjectError, Projector, Shared, State, Used, support};
use crate::policy::{Policy, PolicyId};
use crate::projection::Assumption;
use crate::stage::clear::ClearState;
use crate::stage::memory::{Memory, MessageKey, Placed};

const MAGIC: &[u8] = b"counterfold.fold/1\n";

/// Where a fold stands: after which request of each conversation, and what it remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    policy: [u8; 32],
    sessions: BTreeMap<SessionId, Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    last: RequestId,
    /// By layer; layers that remember nothing are absent.
    layers: BTreeMap<u16, Remembered>,
    /// The client has changed its list in a way that the policy does not explain.
    edited: bool,
    /// Some request was not as it was recorded.
    diverged: bool,
    /// The layer whose summary would be due next.
    due: Option<u16>,
    /// The step that had to act and could not be carried out.
    refused: Option<(u16, u8)>,
    /// Tag and step of what a trigger rested on.
    assumed: Option<(u8, u16)>,
    /// What the provider has reported last, beside the estimates.
    usage: Option<[u64; 5]>,
}

/// What a layer remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Remembered {
    /// Units that stay acted on.
    sticky: BTreeSet<Listed>,
    /// Messages that were left out for good.
    gone: BTreeSet<MessageKey>,
    /// The summary in their place.
    placed: Option<Placed>,
}

/// Why a snapshot cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Not a snapshot of this version.
    #[error("offset {offset}: no snapshot of a fold")]
    Malformed {
        /// Where reading stopped.
        offset: usize,
    },
    /// It was taken under another policy.
    #[error("the snapshot was taken under another policy")]
    OtherPolicy,
    /// It names a request that the run does not have there.
    #[error("request {ordinal} is not one of conversation {session}")]
    OtherRun {
        /// Number of the request, from 1.
        ordinal: u64,
        /// Number of the conversation.
        session: u32,
    },
    /// The messages up to there cannot be taken up again.
    #[error(transparent)]
    Project(#[from] ProjectError),
}

impl Snapshot {
    /// The bytes that [`Snapshot::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.policy);
        number(&mut out, self.sessions.len());
        for (session, kept) in &self.sessions {
            out.extend(session.number().to_le_bytes());
            out.extend(kept.last.number().to_le_bytes());
            let (step, why) = kept.refused.unwrap_or((u16::MAX, 0));
            out.extend(step.to_le_bytes());
            out.push(why);
            let (tag, step) = kept.assumed.unwrap_or((0, 0));
            out.push(tag);
            out.extend(step.to_le_bytes());
            out.push(u8::from(kept.usage.is_some()));
            out.extend(kept.usage.iter().flatten().flat_map(|value| value.to_le_bytes()));
            out.push(u8::from(kept.edited) | (u8::from(kept.diverged) << 1));
            out.extend(kept.due.unwrap_or(u16::MAX).to_le_bytes());
            number(&mut out, kept.layers.len());
            for (layer, remembered) in &kept.layers {
                out.extend(layer.to_le_bytes());
                remembered.write(&mut out);
            }
        }
        out
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// The bytes are not those of a snapshot of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(SnapshotError::Malformed { offset: 0 });
        }
        let policy = reader.array()?;
        let mut sessions = BTreeMap::new();
        for _ in 0..reader.u32()? {
            let session = SessionId::new(reader.u32()?);
            let last = RequestId::new(reader.u32()?);
            let (step, [why]) = (reader.u16()?, reader.array()?);
            let refused = Some((step, why)).filter(|(step, _)| *step != u16::MAX);
            let [tag] = reader.array()?;
            let assumed = Some((tag, reader.u16()?)).filter(|(tag, _)| *tag != 0);
            let usage = reader.usage()?;
            let (edited, diverged) = reader.flags()?;
            let due = Some(reader.u16()?).filter(|layer| *layer != u16::MAX);
            let mut layers = BTreeMap::new();
            for _ in 0..reader.u32()? {
                let layer = reader.u16()?;
                layers.insert(layer, reader.remembered()?);
            }
            let kept = Kept { last, layers, edited, diverged, due, refused, assumed, usage };
            sessions.insert(session, kept);
        }
        if reader.at != bytes.len() {
            return Err(SnapshotError::Malformed { offset: reader.at });
        }
        Ok(Self { policy, sessions })
    }
}

impl Remembered {
    fn write(&self, out: &mut Vec<u8>) {
        number(out, self.sticky.len());
        for (part, equal, group) in &self.sticky {
            out.extend(part.number().to_le_bytes());
            out.extend(equal.to_le_bytes());
            out.extend(group.to_le_bytes());
        }
        number(out, self.gone.len());
        for (part, equal) in &self.gone {
            out.extend(part.number().to_le_bytes());
            out.extend(equal.to_le_bytes());
        }
        out.push(u8::from(self.placed.is_some()));
        if let Some(placed) = self.placed {
            out.extend(placed.at.to_le_bytes());
            out.extend(placed.messages.to_le_bytes());
            out.extend(placed.tokens.to_le_bytes());
        }
    }
}

fn number(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("lists of a history are counted in 32 bits");
    out.extend(count.to_le_bytes());
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], SnapshotError> {
        let end = self.at.saturating_add(length);
        let taken = self.bytes.get(self.at..end);
        let taken = taken.ok_or(SnapshotError::Malformed { offset: self.at })?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let offset = self.at;
        let taken = self.take(N)?;
        taken.try_into().map_err(|_length| SnapshotError::Malformed { offset })
    }

    fn u16(&mut self) -> Result<u16, SnapshotError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.array().map(u32::from_le_bytes)
    }

    fn flags(&mut self) -> Result<(bool, bool), SnapshotError> {
        let offset = self.at;
        match self.array()? {
            [flags @ 0..4] => Ok((flags & 1 != 0, flags & 2 != 0)),
            _ => Err(SnapshotError::Malformed { offset }),
        }
    }

    fn remembered(&mut self) -> Result<Remembered, SnapshotError> {
        let mut remembered = Remembered::default();
        for _ in 0..self.u32()? {
            let (part, equal) = (PartNo::new(self.u32()?), self.u32()?);
            remembered.sticky.insert((part, equal, self.u16()?));
        }
        for _ in 0..self.u32()? {
            remembered.gone.insert((PartNo::new(self.u32()?), self.u32()?));
        }
        let offset = self.at;
        remembered.placed = match self.array()? {
            [0] => None,
            [1] => {
                let (at, messages) = (self.u32()?, self.u32()?);
                let tokens = self.array().map(u64::from_le_bytes)?;
                Some(Placed { at, messages, tokens })
            }
            _ => return Err(SnapshotError::Malformed { offset }),
        };
        Ok(remembered)
    }

    fn usage(&mut self) -> Result<Option<[u64; 5]>, SnapshotError> {
        let offset = self.at;
        match self.array()? {
            [0] => Ok(None),
            [1] => {
                let mut usage = [0; 5];
                for value in &mut usage {
                    *value = self.array().map(u64::from_le_bytes)?;
                }
                Ok(Some(usage))
            }
            _ => Err(SnapshotError::Malformed { offset }),
        }
    }
}

impl<'h> Projector<'h> {
    /// What has to be kept to go on from here later.
    pub fn snapshot(&self) -> Snapshot {
        let kept = self.sessions.iter().filter_map(|(session, state)| {
            let layers = state.layers.iter().enumerate().filter_map(|(layer, state)| match state {
                Layer::Clear(state) if !state.sticky.is_empty() => {
                    let sticky = state.sticky.clone();
                    Some((
                        u16::try_from(layer).ok()?,
                        Remembered { sticky, ..Remembered::default() },
                    ))
                }
                Layer::Kept(memory) if !memory.is_empty() => {
                    let (sticky, gone) = (memory.sticky.clone(), memory.gone.clone());
                    let remembered = Remembered { sticky, gone, placed: memory.placed };
                    Some((u16::try_from(layer).ok()?, remembered))
                }
                Layer::Clear(_) | Layer::Kept(_) | Layer::Stack => None,
            });
            let narrow = |step: usize| u16::try_from(step).unwrap_or(u16::MAX);
            Some((
                *session,
                Kept {
                    last: state.last?,
                    layers: layers.collect(),
                    edited: state.edited,
                    diverged: state.diverged,
                    due: state.due.map(narrow),
                    refused: state.refused.map(|(step, why)| (narrow(step), support::number(why))),
                    assumed: state.assumed.and_then(|it| Some((it.tag()?, narrow(it.step())))),
                    usage: state.usage.map(Used::numbers),
                },
            ))
        });
        let policy = *self.program.policy.id().as_bytes();
        Snapshot { policy, sessions: kept.collect() }
    }

    /// Goes on where a snapshot was taken.
    ///
    /// # Errors
    /// The snapshot is of another policy or run, or an artifact that the caps need is missing.
    pub fn resume(
        history: &'h History,
        source: &'h dyn Source,
        policy: &'h Policy,
        shared: Option<Shared<'h>>,
        snapshot: &Snapshot,
    ) -> Result<Self, SnapshotError> {
        let id: PolicyId = policy.id();
        if *id.as_bytes() != snapshot.policy {
            return Err(SnapshotError::OtherPolicy);
        }
        let mut projector = match shared {
            Some(shared) => Self::with(history, source, policy, shared),
            None => Self::new(history, source, policy),
        };
        for (session, kept) in &snapshot.sessions {
            projector.take_up(*session, kept)?;
        }
        Ok(projector)
    }

    /// Takes a conversation's list up from the history, without any step.
    fn take_up(&mut self, session: SessionId, kept: &Kept) -> Result<(), SnapshotError> {
        let ordinal = kept.last.ordinal();
        let other = SnapshotError::OtherRun { ordinal, session: session.number() };
        let info = self.history.sessions().get(session.index()).ok_or(other.clone())?;
        let at = info.requests.binary_search(&kept.last).map_err(|_place| other)?;
        let mut state = State::new(&self.program);
        for request in info.requests.iter().take(at + 1) {
            let bad = ProjectError::BadList { ordinal: request.ordinal() };
            let info = self.history.request(*request).ok_or(bad.clone())?;
            for change in &info.changes {
                let (from, parts) = state.changed(change).map_err(|_index| bad.clone())?;
                for part in &parts {
                    self.effects.learn(&self.index, &self.program, *part)?;
                }
                state.apply(self.ground(info), from, &parts);
            }
        }
        for (layer, state) in state.layers.iter_mut().enumerate() {
            let kept = u16::try_from(layer).ok().and_then(|layer| kept.layers.get(&layer));
            let Some(kept) = kept else { continue };
            match state {
                Layer::Clear(state) => *state = ClearState::restored(kept.sticky.clone()),
                Layer::Kept(memory) => {
                    let (sticky, gone) = (kept.sticky.clone(), kept.gone.clone());
                    **memory = Memory::restored(sticky, gone, kept.placed);
                }
                Layer::Stack => {}
            }
        }
        (state.edited, state.diverged) = (kept.edited, kept.diverged);
        state.due = kept.due.map(usize::from);
        state.last = Some(kept.last);
        state.refused = kept.refused.map(|(step, why)| {
            let why = support::WHY.get(usize::from(why)).copied();
            (usize::from(step), why.unwrap_or(support::AGAIN))
        });
        state.assumed =
            kept.assumed.and_then(|(tag, step)| Assumption::of_tag(tag, usize::from(step)));
        state.usage = kept.usage.map(Used::of_numbers);
        self.sessions.insert(session, state);
        Ok(())
    }
}
