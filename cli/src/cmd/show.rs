//! `show`: one event in full.

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

/// Show one event in full
///
/// Prints everything that an event says, with the texts that it carries. Longer content is in
/// the artifact store and named by its id: `counterfold cat` prints it. Requests, conversations
/// and calls are numbered from 1; parts and skeletons as the log numbers them, from 0.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold show runs/session 7
  counterfold show runs/session 7 --format json | jq .event

Exit codes:
  0  shown
  2  no such recording or event, or the log is damaged before it")]
pub(crate) struct ShowArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The event's sequence number, as `counterfold log` prints it
    #[arg(value_name = "SEQ")]
    seq: u64,
    #[command(flatten)]
    format: FormatArgs,
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
    let mut reader = LogReader::open(&place.folder).map_err(|error| map::open(&error))?;
    let frame = find(&mut reader, args.seq)?.ok_or_else(|| {
        let last = reader.head().seq;
        let words = format!("no event {}: {} has {last}", args.seq, place.shown.display());
        Failure::new(Kind::NotFound, words)
            .hint("`counterfold log` lists the events with their sequence numbers")
    })?;
    if frame.is_seal() {
        let words = format!("{} is no event but a seal, which the log wrote for itself", args.seq);
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
