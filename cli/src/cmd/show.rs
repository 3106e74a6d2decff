//! `show`: one event in full, or one call's whole life.

mod call;

use std::path::PathBuf;

use clap::Args;
use ledger::fs::{Frame, LogReader};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::event::{full, time};
use crate::inputs::{self, Scratch};
use crate::tree::Node;
use crate::ui::Ui;

/// Show one event in full, or one call's whole life
///
/// Prints everything that an event says, with the texts that it carries. Longer content is in
/// the artifact store and named by its id: `counterfold cat` prints it. Requests, conversations
/// and calls are numbered from 1; parts and skeletons as the log numbers them, from 0.
///
/// With call-N it tells everything on record of one call: where it comes from, its arguments,
/// hooks, reviews, questions, attempts and output, and what each later request showed of it.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold show runs/session 7
  counterfold show runs/session 7 --format json | jq .event
  counterfold show runs/session call-3

Exit codes:
  0  shown
  2  no such recording, event or call, or the log is damaged")]
pub(crate) struct ShowArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The event's sequence number, as `counterfold log` prints it, or call-N, as `counterfold
    /// calls` numbers it
    #[arg(value_name = "SEQ|CALL", value_parser = what)]
    what: What,
    #[command(flatten)]
    format: FormatArgs,
}

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
enum What {
    Event(u64),
    /// By its number from 0.
    Call(u32),
}

fn what(word: &str) -> Result<What, &'static str> {
    let call = || call::number_in(word).map(What::Call);
    let event = word.parse().ok().map(What::Event);
    event.or_else(call).ok_or("expected the number of an event, or call-N")
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recording: String,
    seq: u64,
    unix_ns: u64,
    kind: &'static str,
    version: u16,
    file: String,
    offset: u64,
    chain: String,
    event: Node,
}

pub(crate) fn run(args: &ShowArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let place = inputs::one(&args.recording, scratch, ui)?;
    let seq = match args.what {
        What::Event(seq) => seq,
        What::Call(call) => return call::run(&place, call, args.format.format, ui),
    };
    let mut reader = LogReader::open(&place.folder).map_err(|error| map::open(&error))?;
    let frame = find(&mut reader, seq)?.ok_or_else(|| {
        let last = reader.head().seq;
        let words = format!("no event {seq}: {} has {last}", place.shown.display());
        Failure::new(Kind::NotFound, words)
            .hint("`counterfold log` lists the events with their sequence numbers")
    })?;
    if frame.is_seal() {
        let words = format!("{seq} is no event but a seal, which the log wrote for itself");
        return Err(Failure::new(Kind::NotFound, words)
            .hint("`counterfold log` lists the events with their sequence numbers")
            .into());
    }
    let event = super::log::decode(&frame)?;
    let origin = frame.place();
    let document = Document {
        schema: "counterfold.event/1",
        recording: place.shown.display().to_string(),
        seq: frame.seq().0,
        unix_ns: frame.wall_unix_ns(),
        kind: event.kind().name(),
        version: frame.version(),
        file: origin.path.display().to_string(),
        offset: origin.offset,
        chain: frame.head().chain.to_string(),
        event: full(&event),
    };
    match args.format.format {
        Format::Json => ui.json(&document)?,
        Format::Table => ui.bytes(text(&document).as_bytes())?,
    }
    Ok(Outcome::Fine)
}

fn find(reader: &mut LogReader, seq: u64) -> Result<Option<Frame>, Failure> {
    for frame in reader.frames() {
        let frame = frame.map_err(|error| map::read(&error))?;
        if frame.seq().0 == seq {
            return Ok(Some(frame));
        }
    }
    Ok(None)
}

fn text(document: &Document) -> String {
    let mut out = String::new();
    let head = [
        ("seq", document.seq.into()),
        ("time", time(document.unix_ns).into()),
        ("kind", document.kind.into()),
        ("version", document.version.into()),
        ("file", document.file.as_str().into()),
        ("offset", document.offset.into()),
        ("chain", document.chain.as_str().into()),
    ];
    for (name, value) in head {
        Node::write(&value, name, 0, &mut out);
    }
    document.event.write("event", 0, &mut out);
    out
}
