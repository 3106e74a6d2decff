//! The changes: where each class can be made, and what it makes of an event.

use std::error::Error;

use artifacts::Store;
use artifacts::redact::Redactor;
use ledger::content::Content;
use ledger::event::{Added, Event, Hole, HoleValue, PartDef, PartUse, SkeletonUse};
use ledger::wire::{Escape, PartKind};
use projector::Policy;
use projector::policy::presets;
use sha2::{Digest as _, Sha256};

use super::Outcome;
use super::class::Class;
use super::{text, told};
use crate::recording::Recording;

pub(super) type Failure = Box<dyn Error + Send + Sync>;

/// Events of a copy that differ from the original's: position, and what stands there now.
pub(super) type Changes = Vec<(usize, Vec<Event>)>;

/// What a change needs to make new content.
pub(super) struct Tools<'r> {
    pub(super) store: Store,
    pub(super) redactor: Redactor,
    pub(super) recording: &'r Recording,
}

impl Tools<'_> {
    fn put(&mut self, text: &[u8]) -> Result<Content, Failure> {
        Ok(Content::put(&mut self.store, &self.redactor.redact(text))?)
    }

    fn read(&self, content: &Content) -> Result<Vec<u8>, Failure> {
        Ok(content.read(self.recording.source())?.to_vec())
    }
}

/// Makes the change of a class at an event; empty where it offers no place for it.
pub(super) fn changes(
    class: Class,
    events: &[Event],
    index: usize,
    tools: &mut Tools<'_>,
) -> Result<Changes, Failure> {
    let Some(event) = events.get(index) else { return Ok(Vec::new()) };
    match class {
        Class::SwappedOutputs => return Ok(swapped(events, index)),
        Class::DroppedMessage | Class::ReorderedMessages => {
            return Ok(told::changes(class, events, index));
        }
        _ => {}
    }
    let mut changed = event.clone();
    let done = match (class, &mut changed) {
        (Class::SkippedCapture, Event::RequestCaptured(_)) => return Ok(vec![(index, Vec::new())]),
        (Class::ForgedDigest, Event::RequestCaptured(captured)) => {
            captured.body_digest[31] ^= 1;
            true
        }
        (Class::MovedCacheMark, Event::RequestCaptured(captured)) => {
            captured.overlays.first_mut().is_some_and(|mark| {
                mark.offset = mark.offset.saturating_sub(1);
                mark.offset > 0
            })
        }
        (Class::DroppedPart | Class::DuplicatedPart | Class::ReorderedParts, _) => {
            list(class, &mut changed)
        }
        (Class::TruncatedArtifact, Event::ToolReturned(returned)) => {
            match returned.output.first_mut() {
                Some(output) => edit(&mut output.text, tools, text::shortened)?,
                None => false,
            }
        }
        (Class::UnicodeNormalization, Event::ToolReturned(returned)) => {
            match returned.output.first_mut() {
                Some(output) => edit(&mut output.text, tools, text::decomposed)?,
                None => false,
            }
        }
        (Class::ClockInPrompt | Class::ForgedHistory, Event::MessageAdded(added)) => {
            own_text(&mut added.added, tools, text::with_clock)?
        }
        (Class::UnicodeNormalization, Event::MessageAdded(added)) => {
            own_text(&mut added.added, tools, text::decomposed)?
        }
        (Class::KeyOrder | Class::NumberFormat | Class::ToolSchema, _) => {
            literal(class, &mut changed, tools)?
        }
        _ => false,
    };
    Ok(if done { vec![(index, vec![changed])] } else { Vec::new() })
}

/// Edits a content in place; false when the edit finds nothing to do.
fn edit(
    content: &mut Content,
    tools: &mut Tools<'_>,
    change: impl Fn(&str) -> Option<String>,
) -> Result<bool, Failure> {
    let bytes = tools.read(content)?;
    let Some(new) = std::str::from_utf8(&bytes).ok().and_then(change) else { return Ok(false) };
    *content = tools.put(new.as_bytes())?;
    Ok(true)
}

/// Edits the first text of the client's own in new parts, and its length with it.
fn own_text(
    added: &mut [Added],
    tools: &mut Tools<'_>,
    change: impl Fn(&str) -> Option<String>,
) -> Result<bool, Failure> {
    let defs = added.iter_mut().filter_map(|added| match &mut added.part {
        PartUse::New(def) => Some(def),
        PartUse::Known(_) => None,
    });
    for hole in defs.flat_map(|def| def.holes.iter_mut()) {
        let Hole { escape, escaped_bytes, value: HoleValue::Own(content) } = hole else {
            continue;
        };
        // Ids are short and stand alone; a text has a space in it.
        let bytes = tools.read(content)?;
        let is_text = *escape != Escape::VERBATIM && bytes.contains(&b' ');
        if is_text && edit(content, tools, &change)? {
            let new = tools.read_new(content)?;
            *escaped_bytes = escape.escaped_bytes(&new);
            return Ok(true);
        }
    }
    Ok(false)
}

impl Tools<'_> {
    /// Reads content that may have been put just now.
    fn read_new(&self, content: &Content) -> Result<String, Failure> {
        let bytes = match content.artifact() {
            Some(artifact) => artifacts::Source::read(&self.store, artifact)?.to_vec(),
            None => content.as_inline().unwrap_or_default().to_vec(),
        };
        Ok(String::from_utf8(bytes)?)
    }
}

/// Changes the message list of a request.
fn list(class: Class, event: &mut Event) -> bool {
    let Event::RequestCaptured(captured) = event else { return false };
    let lists = captured.splices.items.iter_mut().map(|splice| &mut splice.insert);
    for insert in lists {
        match class {
            Class::DroppedPart if !insert.is_empty() => {
                insert.pop();
                return true;
            }
            Class::DuplicatedPart if !insert.is_empty() => {
                insert.extend(insert.last().copied());
                return true;
            }
            Class::ReorderedParts if insert.len() > 1 && insert.first() != insert.last() => {
                let last = insert.len() - 1;
                insert.swap(0, last);
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Two outputs that are not the same trade places.
fn swapped(events: &[Event], index: usize) -> Changes {
    let Some(Event::ToolReturned(second)) = events.get(index) else { return Vec::new() };
    let mut before = events.get(..index).unwrap_or_default().iter().enumerate().rev();
    let other = before.find_map(|(at, event)| match event {
        Event::ToolReturned(first) if first.output != second.output => Some((at, first)),
        _ => None,
    });
    let Some((at, first)) = other else { return Vec::new() };
    let (mut new_first, mut new_second) = (first.clone(), second.clone());
    std::mem::swap(&mut new_first.output, &mut new_second.output);
    vec![(at, vec![Event::ToolReturned(new_first)]), (index, vec![Event::ToolReturned(new_second)])]
}

/// Changes the literal of a new skeleton.
fn literal(class: Class, event: &mut Event, tools: &mut Tools<'_>) -> Result<bool, Failure> {
    for def in new_parts(event) {
        let PartDef { skeleton: SkeletonUse::New(skeleton), .. } = def else { continue };
        if class == Class::ToolSchema && skeleton.part_kind != PartKind::Tools.tag() {
            continue;
        }
        let bytes = tools.read(&skeleton.literal)?;
        let slots: Vec<usize> = skeleton.slots.iter().map(|slot| slot.offset as usize).collect();
        let new = match class {
            Class::KeyOrder => text::keys_swapped(&bytes, &slots),
            Class::NumberFormat => text::number_respelled(&bytes),
            _ => text::letter_changed(&bytes),
        };
        let Some((new, at)) = new else { continue };
        let grown = u32::try_from(new.len() - bytes.len())?;
        skeleton.literal = tools.put(&new)?;
        for slot in &mut skeleton.slots {
            slot.offset += if slot.offset as usize >= at { grown } else { 0 };
        }
        return Ok(true);
    }
    Ok(false)
}

/// Parts that an event defines, in the order of their numbers.
pub(super) fn new_parts(event: &mut Event) -> Vec<&mut PartDef> {
    let uses: Vec<&mut PartUse> = match event {
        Event::MessageAdded(added) => added.added.iter_mut().map(|added| &mut added.part).collect(),
        Event::ContextEdited(edited) => {
            let added = edited.splices.iter_mut().flat_map(|splice| &mut splice.insert);
            added.map(|added| &mut added.part).collect()
        }
        Event::RequestCaptured(captured) => {
            let splices = captured.splices.head.iter_mut().chain(&mut captured.splices.tail);
            splices.flat_map(|splice| &mut splice.insert).collect()
        }
        _ => Vec::new(),
    };
    uses.into_iter()
        .filter_map(|part| match part {
            PartUse::New(def) => Some(def),
            PartUse::Known(_) => None,
        })
        .collect()
}

/// Projects under every built-in policy: where that changes a request, its digest must tell.
pub(super) fn stale_policies(recording: &Recording) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for policy in presets::all().unwrap_or_default() {
        if policy.is_recorded() {
            continue;
        }
        for request in recording.history().requests() {
            let id = request.captured.request;
            let Ok(projected) = crate::diff::projected(recording, &policy, id) else { continue };
            if projected.projection.account.changed {
                let digest: [u8; 32] = Sha256::digest(&projected.body).into();
                let caught = digest != request.captured.body_digest;
                let place = format!("request {} under {}", id.ordinal(), policy.name);
                outcomes.push(Outcome { caught, forgiven: false, place });
                break;
            }
        }
    }
    outcomes
}

/// Leaves one line out of the canonical bytes of a built-in policy at a time: reading them must
/// fail, since every parameter is explicit there.
pub(super) fn dropped_policy_fields() -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for preset in presets::PRESETS {
        let Ok(whole) = preset.policy() else { continue };
        let canonical = whole.canonical();
        let lines: Vec<&str> = canonical.split_inclusive('\n').collect();
        for (line, text) in lines.iter().enumerate() {
            // A line feed of a marker is no line of its own.
            let Some((key, _value)) = text.split_once('=') else { continue };
            let kept: String = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != line)
                .map(|(_, text)| *text)
                .collect();
            let caught = Policy::from_canonical(preset.id, &kept).is_err();
            let place = format!("{} without {key}", preset.id);
            outcomes.push(Outcome { caught, forgiven: false, place });
        }
    }
    outcomes
}
