//! Errors of the crates below as failures: kind, words, and what to do about it.

use artifacts::GetError;
use capture::har::HarError;
use capture::import::{FileError, ImportError, NameTaken};
use ledger::fs::{CreateError, LockError, OpenError, ReadError};
use ledger::recorder::RecordError;
use projector::ProjectError;
use replay::LoadError;
use replay::assemble::AssembleError;
use replay::infer::InferError;
use replay::twin::TwinError;

use super::{Failure, Kind, file};

const MAKE_ONE: &str = "a recording is a folder with a file FORMAT; make one with `counterfold \
                        import har FILE --into DIR`";
const RESTORE: &str = "restore the folder from a copy, or make a recording of what is good with \
                       `counterfold repair`";
const NEWER: &str = "open it with the version of counterfold that wrote it, or a later one";

/// A recording that does not open.
pub(crate) fn load(error: &LoadError) -> Failure {
    match error {
        LoadError::Open(error) => open(error),
        LoadError::Log(ledger::fs::LoadError::Read(error)) => read(error),
        LoadError::Log(error) => Failure::of(Kind::Damage, error).hint(RESTORE),
        LoadError::Store(error) => store(error),
        LoadError::List { path, source } => file("list", path, source),
        LoadError::NoRecording { .. } => Failure::of(Kind::Empty, error).hint(MAKE_ONE),
        _ => Failure::of(Kind::Io, error),
    }
}

fn store(error: &artifacts::OpenError) -> Failure {
    match error {
        artifacts::OpenError::Io { path, source, .. }
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            let words = format!("artifact store is missing: {}", path.display());
            Failure::new(Kind::Damage, words).hint(
                "the folder was copied in part, or something was deleted from it; copy it again",
            )
        }
        artifacts::OpenError::Io { .. } => Failure::of(Kind::Io, error),
        artifacts::OpenError::Version { .. } => Failure::of(Kind::Version, error).hint(NEWER),
        _ => Failure::of(Kind::Damage, error),
    }
}

/// A log that does not open.
pub(crate) fn open(error: &OpenError) -> Failure {
    match error {
        OpenError::NotARecording { .. } => Failure::of(Kind::NotFound, error).hint(MAKE_ONE),
        OpenError::Format { .. } => Failure::of(Kind::Version, error).hint(NEWER),
        OpenError::Damaged(error) => read(error),
        OpenError::File(error) => file(error.action, &error.path, &error.source),
        _ => Failure::of(Kind::Io, error),
    }
}

/// A recording that cannot be created.
pub(crate) fn create(error: &CreateError) -> Failure {
    match error {
        CreateError::Exists { .. } => {
            Failure::of(Kind::Taken, error).hint("name a folder that does not exist")
        }
        CreateError::File(error) => file(error.action, &error.path, &error.source),
        _ => Failure::of(Kind::Io, error),
    }
}

/// A log that cannot be read to its end.
pub(crate) fn read(error: &ReadError) -> Failure {
    match error {
        ReadError::File(error) => file(error.action, &error.path, &error.source),
        _ => Failure::of(Kind::Damage, error).hint(RESTORE),
    }
}

/// An artifact that cannot be read.
pub(crate) fn get(error: &GetError) -> Failure {
    let kind = match error {
        GetError::CodecUnsupported { .. } => Kind::Version,
        GetError::Unreadable { .. } => Kind::Io,
        _ => Kind::Damage,
    };
    Failure::of(kind, error).hint("`counterfold verify` lists all damage of a recording")
}

/// A body that cannot be put together.
pub(crate) fn assemble(error: &AssembleError) -> Failure {
    Failure::of(Kind::Damage, error).hint("`counterfold verify` lists all damage of a recording")
}

/// A request that cannot be projected.
pub(crate) fn project(error: &ProjectError) -> Failure {
    match error {
        ProjectError::Get(error) => get(error),
        ProjectError::NoSuchRequest { .. } => Failure::of(Kind::NotFound, error),
        _ => Failure::of(Kind::Damage, error)
            .hint("`counterfold verify` lists all damage of a recording"),
    }
}

/// A policy that cannot be inferred.
pub(crate) fn infer(error: &InferError) -> Failure {
    match error {
        InferError::Get(error) => get(error),
        _ => Failure::of(Kind::Format, error),
    }
}

/// Two runs that cannot be compared.
pub(crate) fn twin(error: &TwinError) -> Failure {
    match error {
        TwinError::Project { source, .. } => project(source),
        TwinError::Assemble { source, .. } => assemble(source),
        TwinError::Get(error) => get(error),
        _ => Failure::of(Kind::Damage, error),
    }
}

/// A file that was not imported, or not to its end.
pub(crate) fn import(error: &ImportError) -> Failure {
    match error {
        ImportError::Har { path, source, kept } => har(path, source, kept.is_some()),
        ImportError::File(error) => unmade(error),
        _ => Failure::of(Kind::Io, error),
    }
}

/// A file that did not become a recording.
pub(crate) fn unmade(error: &FileError) -> Failure {
    match error {
        FileError::Open { path, source } => file("open", path, source),
        FileError::NoName { .. } => Failure::of(Kind::Usage, error)
            .hint("a recording is named after its file; rename the file"),
        FileError::Taken(error) => taken(error),
        FileError::Record { source, .. } => record(error, source),
        _ => Failure::of(Kind::Io, error),
    }
}

/// A name of a recording that cannot be used.
fn taken(error: &NameTaken) -> Failure {
    let failure = Failure::of(Kind::Taken, error);
    match error {
        NameTaken::Incomplete { recording } => failure.hint(format!(
            "{} has what came before a cut; import the whole file with another --into, or remove \
             the recording first",
            recording.display()
        )),
        NameTaken::Existing { recording, .. } => failure.hint(format!(
            "choose another --into, or look at it with `counterfold log {}`",
            recording.display()
        )),
        NameTaken::Other { recording } => failure.hint(format!(
            "choose another --into, or remove {} if you do not need it",
            recording.display()
        )),
        _ => failure,
    }
}

/// A recording that cannot be written.
pub(crate) fn unrecorded(source: &RecordError) -> Failure {
    record(source, source)
}

fn record(error: &dyn std::error::Error, source: &RecordError) -> Failure {
    let failure = Failure::of(Kind::Io, error);
    match source {
        RecordError::Create(CreateError::Lock(LockError::Remote { .. })) => {
            failure.hint("choose a local folder with --into")
        }
        RecordError::Create(_) => failure.hint("choose a folder with --into that you may write to"),
        RecordError::Put(_) | RecordError::Append(_) => {
            failure.hint("is the disk full? what was written so far can be removed")
        }
        _ => failure,
    }
}

fn har(path: &std::path::Path, error: &HarError, kept: bool) -> Failure {
    let failure = |kind| {
        let mut failure = Failure::of(kind, error);
        failure.message = format!("{}: {}", path.display(), failure.message);
        failure
    };
    let goes_on = if kept {
        "the entries before that place are recorded; for the rest, get the whole file and import \
         it with another --into"
    } else {
        "nothing was recorded; get the whole file"
    };
    match error {
        HarError::Open { path, source } => file("open", path, source),
        HarError::NotHar { .. } => failure(Kind::Format).hint(
            "a HAR is a JSON object with \"log\": {\"entries\": [...]}, plain or compressed with \
             gzip or zstd; mitmproxy (`hardump`) and browsers write it",
        ),
        HarError::Truncated { .. } | HarError::Coded { .. } => failure(Kind::Damage).hint(goes_on),
        HarError::Malformed { .. } => failure(Kind::Format).hint(goes_on),
        _ => failure(Kind::Io).hint(goes_on),
    }
}
