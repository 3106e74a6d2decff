//! `log`: the events of a recording, one per line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use ledger::event::{Event, Kind};
use ledger::frame::{Full, Gap, KIND_LOG_FULL, KIND_LOG_GAP};
use ledger::fs::{FollowError, Followed, Follower, Frame, LogReader, Tail};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{self, Ended, Failure, Outcome, map};
use crate::event::{Listing, time};
use crate::inputs::{self, Scratch};
use crate::report::number;
use crate::text::one_line;
use crate::tree::Node;
use crate::ui::Ui;

/// Width of the widest kind.
const KIND_COLUMNS: usize = 18;
/// Width of a time.
const TIME_COLUMNS: usize = 24;

/// List the events of a recording
///
/// Prints one line per event: sequence number, time, kind, and facts such as sizes, models and
/// tools. Content is not shown; `counterfold show` does that. A damaged log is listed up to the
/// damage.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold log runs/session
  counterfold log runs/session --session 2 --kind request_captured
  counterfold log runs/session --follow
  counterfold log runs/session --format json | jq '.events[].kind'

Exit codes:
  0  listed
  2  no such recording, or its log is damaged")]
pub(crate) struct LogArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Only events of this conversation, numbered from 1
    #[arg(long, value_name = "N")]
    session: Option<u64>,
    /// Only events of this kind; may be repeated
    #[arg(long = "kind", value_name = "KIND", value_parser = kind_parser())]
    kinds: Vec<Kind>,
    /// Go on with what is written from now on, until the log is sealed
    #[arg(short, long, conflicts_with = "format")]
    follow: bool,
    #[command(flatten)]
    format: FormatArgs,
}

fn kind_parser() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).map(|name| {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .expect("the parser takes names of kinds only")
    })
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recording: String,
    ledger: String,
    complete: bool,
    tail: Option<String>,
    error: Option<String>,
    events: Vec<EventEntry>,
}

#[derive(Serialize)]
struct EventEntry {
    seq: u64,
    unix_ns: u64,
    kind: &'static str,
    facts: Node,
}

pub(crate) fn run(args: &LogArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let place = inputs::one(&args.recording, scratch, ui)?;
    if args.follow {
        return follow(&place.folder, args, ui);
    }
    let mut reader = LogReader::open(&place.folder).map_err(|error| map::open(&error))?;
    let json = args.format.format == Format::Json;
    let mut entries = Vec::new();
    let mut listing = Listing::default();
    let mut failure = None;
    for frame in reader.frames() {
        match entry(frame, &mut listing, args) {
            Ok(None) => {}
            Ok(Some(entry)) if json => entries.push(entry),
            Ok(Some(entry)) => print(&entry, ui)?,
            Err(found) => {
                failure = Some(found);
                break;
            }
        }
    }
    let tail = reader.tail().and_then(tail);
    if json {
        ui.json(&Document {
            schema: "counterfold.log/1",
            recording: place.shown.display().to_string(),
            ledger: reader.ledger_id().to_string(),
            complete: failure.is_none(),
            tail: tail.clone(),
            error: failure.as_ref().map(Failure::line),
            events: entries,
        })?;
    }
    ui.flush()?;
    if let Some(tail) = tail {
        ui.note(format_args!("note: {}", one_line(&tail)));
    }
    match failure {
        Some(failure) => Err(failure.into()),
        None => Ok(Outcome::Fine),
    }
}

/// How long a follower waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// A sealed log that nobody continues within so many looks is over.
const LOOKS_AFTER_SEAL: u32 = 3;

/// Prints events as they come, until the log is sealed.
fn follow(folder: &Path, args: &LogArgs, ui: &mut Ui) -> Ended {
    let mut follower = Follower::open(folder).map_err(|error| map::open(&error))?;
    let mut listing = Listing::default();
    let mut looks_after_seal = 0;
    loop {
        let followed = follower.poll().map_err(|error| match error {
            FollowError::Read(error) => map::read(&error),
            FollowError::File(error) => error::file(error.action, &error.path, &error.source),
            error => Failure::of(error::Kind::Damage, &error).hint("start again"),
        })?;
        match followed {
            Followed::Frame(frame) => {
                looks_after_seal = 0;
                if let Some(entry) = entry(Ok(frame), &mut listing, args)? {
                    print(&entry, ui)?;
                }
                continue;
            }
            Followed::Sealed => looks_after_seal += 1,
            Followed::Waiting => {}
        }
        ui.flush()?;
        if looks_after_seal >= LOOKS_AFTER_SEAL {
            return Ok(Outcome::Fine);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// What the log says about itself, in the form of an event.
fn own(frame: &Frame) -> Option<(&'static str, Vec<(&'static str, Node)>)> {
    match frame.kind() {
        KIND_LOG_GAP => {
            let gap = Gap::decode(frame.body()).ok()?;
            let place = gap.place();
            let facts = vec![
                ("from_seq", Node::from(place.from.0)),
                ("to_seq", Node::from(place.to.map(|seq| seq.0))),
                ("lost_bytes", Node::from(gap.lost_bytes)),
                ("reason", Node::from(gap.reason)),
            ];
            Some(("log_gap", facts))
        }
        KIND_LOG_FULL => {
            let full = Full::decode(frame.body()).ok()?;
            let facts = vec![
                ("refused_events", Node::from(full.frames)),
                ("refused_bytes", Node::from(full.bytes)),
            ];
            Some(("log_full", facts))
        }
        _ => None,
    }
}

/// The next event, unless it is not asked for.
fn entry(
    frame: Result<Frame, ledger::fs::ReadError>,
    listing: &mut Listing,
    args: &LogArgs,
) -> Result<Option<EventEntry>, Failure> {
    let frame = frame.map_err(|error| map::read(&error))?;
    if frame.is_seal() {
        return Ok(None);
    }
    if let Some((kind, facts)) = own(&frame) {
        let (seq, unix_ns) = (frame.seq().0, frame.wall_unix_ns());
        let wanted = args.session.is_none() && args.kinds.is_empty();
        return Ok(wanted.then_some(EventEntry { seq, unix_ns, kind, facts: Node::Map(facts) }));
    }
    let event = decode(&frame)?;
    let (session, facts) = listing.next(&event);
    let session = session.map(|session| u64::from(session.number()) + 1);
    let wanted = (args.session.is_none() || session == args.session)
        && (args.kinds.is_empty() || args.kinds.contains(&event.kind()));
    Ok(wanted.then(|| EventEntry {
        seq: frame.seq().0,
        unix_ns: frame.wall_unix_ns(),
        kind: event.kind().name(),
        facts: Node::Map(facts),
    }))
}

/// The event in a frame.
pub(super) fn decode(frame: &Frame) -> Result<Event, Failure> {
    Event::decode(frame.kind(), frame.version(), frame.body()).map_err(|found| {
        let place = frame.place();
        let (path, offset, seq) = (place.path.display(), place.offset, frame.seq());
        let kind = match found {
            ledger::event::EventError::Body { .. } => error::Kind::Damage,
            _ => error::Kind::Version,
        };
        Failure::new(kind, format!("event {seq}, offset {offset}: {found}: {path}"))
            .hint("open it with the version of counterfold that wrote it, or a later one")
    })
}

/// How a log ends, when not with a seal.
pub(crate) fn tail(tail: &Tail) -> Option<String> {
    match tail {
        Tail::Clean => None,
        Tail::Open => Some("the log is not closed: its recorder is still there, or died".into()),
        Tail::Torn { path, offset, bytes, reason } => {
            let place = path.display();
            Some(format!(
                "an interrupted write of {bytes} bytes is not part of the log: {reason}: {place} \
                 at offset {offset}"
            ))
        }
    }
}

fn print(entry: &EventEntry, ui: &mut Ui) -> Result<(), error::Stop> {
    let Node::Map(facts) = &entry.facts else { return Ok(()) };
    let words: Vec<String> = facts.iter().filter_map(|(name, value)| fact(name, value)).collect();
    let time = time(entry.unix_ns);
    let line = format!(
        "{:>6}  {time:TIME_COLUMNS$}  {:KIND_COLUMNS$}  {}",
        entry.seq,
        entry.kind,
        words.join("  ")
    );
    ui.line(format_args!("{}", line.trim_end()))
}

/// `tool bash`, `body 12.3 kB`; nothing for what is not known.
fn fact(name: &str, value: &Node) -> Option<String> {
    match (name.strip_suffix("bytes"), value) {
        (_, Node::Null) => None,
        (Some(what), Node::Number(bytes)) => {
            let what = what.trim_end_matches('_').replace('_', " ");
            let size = number::bytes(*bytes);
            Some(if what.is_empty() { size } else { format!("{what} {size}") })
        }
        (_, Node::Bool(true)) => Some(name.replace('_', " ")),
        (_, Node::Bool(false)) => Some(format!("not {}", name.replace('_', " "))),
        (_, Node::Number(count)) => {
            Some(format!("{} {}", name.replace('_', " "), number::count(*count)))
        }
        (_, value) => Some(format!("{} {}", name.replace('_', " "), value.scalar()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_short_words() {
        let cases = [
            ("body_bytes", Node::Number(12_345), Some("body 12.3 kB")),
            ("bytes", Node::Number(5), Some("5 B")),
            ("tool", Node::from("bash\u{1b}[0m"), Some("tool bash^[[0m")),
            ("tool", Node::Null, None),
            ("complete", Node::Bool(false), Some("not complete")),
            ("input_tokens", Node::Number(3936), Some("input tokens 3,936")),
        ];
        for (name, value, words) in cases {
            assert_eq!(fact(name, &value).as_deref(), words);
        }
    }
}
