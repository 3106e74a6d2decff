//! Documents of other programs, to a file or to standard output, and what they do not hold.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use artifacts::fs::vfs::LocalDisk;
use ledger::fs::jsonl::write_jsonl;
use ledger::history::Request;
use replay::export::{Content, ExportError, Exported, atif, har, is_sent, otlp};

use super::{Form, JsonlError, failure};
use crate::error::{Failure, Kind, Stop, file, map};
use crate::inputs::{self, Place};
use crate::report::number::{count, counted};
use crate::ui::Ui;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes the document, and says what it has no place for.
pub(super) fn write(
    place: &Place,
    form: Form,
    content: bool,
    out: Option<&Path>,
    ui: &mut Ui,
) -> Result<(), Stop> {
    if form == Form::Jsonl {
        return all_lines(place, out, ui);
    }
    let recording = inputs::open(&place.folder)?;
    let holds = |request: &Request| form != Form::Har || is_sent(request);
    if !recording.history().requests().iter().any(holds) {
        return Err(nothing(form).into());
    }
    let content = if content { Content::With } else { Content::Without };
    let exported = match form {
        Form::Atif => {
            let (documents, exported) = atif(&recording).map_err(|error| failed(&error, out))?;
            trajectories(&documents, out, ui)?;
            exported
        }
        Form::Har => to(out, ui, |out| har(&recording, VERSION, out))?,
        Form::Otlp | Form::Jsonl => to(out, ui, |out| otlp(&recording, VERSION, content, out))?,
    };
    tell(&exported, out, ui)
}

fn nothing(form: Form) -> Failure {
    let failure = Failure::new(Kind::Empty, "no request to export");
    match form {
        Form::Har => failure.hint(
            "a HAR holds requests as they were sent; those of a session were put together: \
             take --format atif",
        ),
        _ => failure,
    }
}

/// Writes to the file, or to standard output.
fn to(
    path: Option<&Path>,
    ui: &mut Ui,
    write: impl FnOnce(&mut dyn Write) -> Result<Exported, ExportError>,
) -> Result<Exported, Stop> {
    let Some(path) = path else {
        return write(ui.output()).map_err(|error| match error {
            // Whoever read the document may have gone away.
            ExportError::Write(error) => error.into(),
            error => failed(&error, None),
        });
    };
    let created = File::create(path).map_err(|error| file("make", path, &error))?;
    let mut out = BufWriter::new(created);
    let exported = write(&mut out).map_err(|error| failed(&error, Some(path)))?;
    out.flush().map_err(|error| file("write", path, &error))?;
    Ok(exported)
}

fn trajectories(documents: &[Vec<u8>], out: Option<&Path>, ui: &mut Ui) -> Result<(), Stop> {
    match (documents, out) {
        ([only], None) => ui.bytes(only),
        ([], None) => Ok(()),
        (several, None) => {
            let documents = counted(several.len() as u64, "conversation");
            let words = format!("{documents}, each of which is a document of its own");
            let hint = "--out FILE writes FILE and the others beside it";
            Err(Failure::new(Kind::Usage, words).hint(hint).into())
        }
        (documents, Some(first)) => {
            for (number, document) in (1..).zip(documents) {
                let path = numbered(first, number);
                std::fs::write(&path, document).map_err(|error| file("write", &path, &error))?;
            }
            Ok(())
        }
    }
}

/// `FILE`, then `FILE-2` and so on with the end that `FILE` has.
fn numbered(first: &Path, number: u64) -> PathBuf {
    if number == 1 {
        return first.to_path_buf();
    }
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let end = first.extension().map(|end| format!(".{}", end.to_string_lossy()));
    first.with_file_name(format!("{stem}-{number}{}", end.unwrap_or_default()))
}

fn all_lines(place: &Place, out: Option<&Path>, ui: &mut Ui) -> Result<(), Stop> {
    let Some(path) = out else { return super::lines(&place.folder, ui) };
    let created = File::create(path).map_err(|error| file("make", path, &error))?;
    let mut out = BufWriter::new(created);
    let written = write_jsonl(&LocalDisk::shared(), &place.folder, &mut out);
    written.map_err(|error| match error {
        JsonlError::Recording(error) => failure(&error),
        error => Failure::of(Kind::Io, &error),
    })?;
    out.flush().map_err(|error| file("write", path, &error).into())
}

/// What was written, and what was not: results where the document went to a file, else words
/// beside it.
fn tell(exported: &Exported, out: Option<&Path>, ui: &mut Ui) -> Result<(), Stop> {
    let (requests, calls) =
        (counted(exported.requests, "request"), counted(exported.calls, "call"));
    let mut lines = vec![match out {
        Some(path) => format!("{requests}, {calls} in {}", path.display()),
        None => format!("{requests}, {calls}"),
    }];
    if !exported.left.is_empty() {
        lines.push("not carried, since the format has no place for it:".to_owned());
    }
    let left = exported.left.iter().map(|(what, times)| format!("  {} x {what}", count(*times)));
    lines.extend(left);
    for line in lines {
        match out {
            Some(_) => ui.line(format_args!("{line}"))?,
            None => ui.note(format_args!("{line}")),
        }
    }
    Ok(())
}

fn failed(error: &ExportError, out: Option<&Path>) -> Stop {
    let failure = match (error, out) {
        (ExportError::Get(error), _) => map::get(error),
        (ExportError::Open(error), _) => map::open(error),
        (ExportError::Write(error), Some(path)) => file("write", path, error),
        (ExportError::Write(_), None) => Failure::of(Kind::Io, error),
        _ => Failure::of(Kind::Damage, error),
    };
    failure.into()
}
