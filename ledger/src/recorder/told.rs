//! What redaction did since the last event, as events of its own: what it replaced in texts that
//! were stored, and what it kept back.
//!
//! Every way of appending asks here first, so that no text is named without its side record.

use artifacts::fs::RedactionNote;
use artifacts::redact::{Redaction, Redactor};

use super::RecordError;
use crate::event::{Event, RedactionConfigured, RedactionFailed, ReplacedSpan, SpansReplaced};
use crate::fs::RunWriter;

/// Appends an event, and before it what redaction did since the last one.
pub(crate) fn append(
    writer: &mut RunWriter,
    redactor: &Redactor,
    now_unix_ns: u64,
    event: &Event,
) -> Result<(), RecordError> {
    // The run comes first; what was redacted before it has an event right behind it.
    if !matches!(event, Event::RunOpened(_)) {
        for told in pending(writer, redactor) {
            append_one(writer, now_unix_ns, &told)?;
        }
    }
    append_one(writer, now_unix_ns, event)
}

fn append_one(writer: &mut RunWriter, now_unix_ns: u64, event: &Event) -> Result<(), RecordError> {
    let kind = event.kind();
    let body =
        event.encode().map_err(|source| RecordError::Encode { kind: kind.name(), source })?;
    Ok(writer.append(kind.tag(), event.version(), now_unix_ns, &body)?)
}

/// Events that have to be appended before the next one.
fn pending(writer: &mut RunWriter, redactor: &Redactor) -> Vec<Event> {
    let failed = redactor.take_failures().into_iter().map(|failure| {
        let reason = failure.reason.name().to_owned();
        Event::RedactionFailed(RedactionFailed { reason, raw_bytes: failure.raw_bytes })
    });
    let notes = writer.take_notes().into_iter();
    failed.chain(notes.map(|note| Event::SpansReplaced(replaced(&note)))).collect()
}

/// How texts are redacted, where `run_opened` does not say all of it.
pub(crate) fn configured(redactor: &Redactor) -> Option<Event> {
    let (names, values) = redactor.known_names();
    let key = redactor.key_id();
    if key.is_none() && values == 0 {
        return None;
    }
    Some(Event::RedactionConfigured(as_configured(redactor, names.to_vec(), values)))
}

/// How texts are redacted by whoever goes on with a recording.
pub(crate) fn reconfigured(redactor: &Redactor, last: &RedactionConfigured) -> Option<Event> {
    let (names, values) = redactor.known_names();
    let now = as_configured(redactor, names.to_vec(), values);
    (now != *last).then_some(Event::RedactionConfigured(now))
}

fn as_configured(redactor: &Redactor, known: Vec<String>, values: u32) -> RedactionConfigured {
    let rules = redactor.ruleset();
    RedactionConfigured {
        ruleset: (rules.id.to_owned(), rules.version, rules.digest),
        key: redactor.key_id(),
        known,
        known_values: values,
    }
}

fn replaced(note: &RedactionNote) -> SpansReplaced {
    let span = |span: &Redaction| ReplacedSpan {
        rule: span.rule,
        offset: span.offset,
        bytes: span.bytes,
        raw_bytes: span.raw_bytes,
        flags: span.flags.bits(),
    };
    let spans = note.redactions.iter().map(span).collect();
    SpansReplaced { text: *note.id.as_bytes(), raw_bytes: note.raw_bytes, spans }
}
