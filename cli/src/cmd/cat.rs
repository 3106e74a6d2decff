//! `cat`: the bytes of an artifact, or of a request's body.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::Source as _;
use clap::Args;
use replay::Recording;
use replay::assemble::Assembler;

use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs::{self, Opened, RequestName, Scratch};
use crate::report::number::counted;
use crate::ui::Ui;

/// Ids that a message about an ambiguous prefix lists.
const CANDIDATES_SHOWN: usize = 4;
/// Digits of an id in such a message.
const ID_DIGITS: usize = 16;

/// Print an artifact, or the body of a request
///
/// Writes the bytes of an artifact, or of the body of a request as it was recorded. On a terminal
/// and with --escape, control characters and terminal escapes are shown instead of sent.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold cat runs/session@3 | jq .model
  counterfold cat runs/session 5f70bf18 > output.txt
  counterfold cat runs/session 5f70bf18 --bytes ..4096

Exit codes:
  0  printed
  2  no such recording, request or artifact, or it is damaged")]
pub(crate) struct CatArgs {
    /// A recording, or REC@N for the body of a request
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// An artifact id, or the beginning of one
    #[arg(value_name = "ARTIFACT")]
    artifact: Option<String>,
    /// Print these bytes of the artifact only: FROM..TO, FROM.. or ..TO
    ///
    /// Counts from 0, without TO itself. Of an artifact of more than 1 MiB the rest is not read,
    /// so that the checksums of its parts are compared and not its SHA-256.
    #[arg(long, value_name = "RANGE", value_parser = byte_range, requires = "artifact")]
    bytes: Option<Range<u64>>,
    /// Show control characters instead of sending them
    #[arg(long)]
    escape: bool,
}

pub(crate) fn run(args: &CatArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    if let Some(id) = &args.artifact {
        let recording = inputs::open(&inputs::one(&args.recording, scratch, ui)?.folder)?;
        let bytes = artifact(&recording, id, args.bytes.as_ref())?;
        ui.content(&bytes, args.escape)?;
    } else {
        let body = body(&args.recording, scratch, ui)?;
        ui.content(&body, args.escape)?;
    }
    Ok(Outcome::Fine)
}

fn body(word: &Path, scratch: &mut Scratch, ui: &Ui) -> Result<Vec<u8>, Failure> {
    let name = RequestName::parse(word.as_os_str()).map_err(|form| {
        Failure::new(Kind::Usage, format!("neither an artifact nor a request is named: {form}"))
            .hint("or name an artifact: `counterfold cat REC ARTIFACT`")
    })?;
    let Opened { recording, request, .. } = name.open(scratch, ui)?;
    let mut assembler = Assembler::new(recording.history(), recording.as_source());
    assembler.body(request).map_err(|error| map::assemble(&error))
}

/// Reads `FROM..TO`.
fn byte_range(word: &str) -> Result<Range<u64>, &'static str> {
    let form = "give two numbers as FROM..TO, of which one may be left out";
    let (from, to) = word.split_once("..").ok_or(form)?;
    let number = |word: &str, missing| match word {
        "" => Ok(missing),
        digits => digits.parse().map_err(|_digits| form),
    };
    let range = number(from, 0)?..number(to, u64::MAX)?;
    if range.start > range.end { Err("FROM is above TO") } else { Ok(range) }
}

fn artifact(
    recording: &Recording,
    id: &str,
    range: Option<&Range<u64>>,
) -> Result<Arc<[u8]>, Failure> {
    if id.is_empty() {
        return Err(Failure::new(Kind::Usage, "an empty artifact id")
            .hint("name an artifact by the first few digits of its id at least"));
    }
    let store = recording.store();
    let found = store.find_prefix(id);
    match found.as_slice() {
        [only] => {
            let missing = || Failure::new(Kind::NotFound, format!("no such artifact: {only}"));
            let reference = store.reference(only).ok_or_else(missing)?;
            let bytes = match range {
                None => store.read(&reference),
                Some(range) => store.read_range(&reference, range.clone()),
            };
            bytes.map_err(|error| map::get(&error))
        }
        [] => Err(Failure::new(Kind::NotFound, format!("no such artifact: {id}")).hint(
            "`counterfold show REC SEQ` names the artifacts of an event; an id is 64 lowercase \
             hex digits, of which the first few are enough",
        )),
        many => {
            let shown = many.iter().take(CANDIDATES_SHOWN).map(|id| {
                let id = id.to_string();
                id.get(..ID_DIGITS).unwrap_or(&id).to_owned()
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            let count = counted(many.len() as u64, "artifact");
            Err(Failure::new(Kind::Usage, format!("{count} start with \"{id}\""))
                .hint(format!("give more digits; among them are {shown}")))
        }
    }
}
