//! A session of opencode as one document (`opencode export`), or as the head of a tree of files:
//! `session/PROJECT/SESSION.json`, `message/SESSION/MESSAGE.json`, `part/MESSAGE/PART.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::turn::Turn;
use crate::transcript::adapter::{
    Adapter, Fold, Look, Source, Stop, document, fold_records, with_document,
};
use crate::transcript::json::{self, Json};
use crate::transcript::plain::Plain;
use crate::transcript::rows::{Row, Unread};
use crate::transcript::scribe::{Fate, Scribe};
use crate::transcript::swe::head;

pub(in crate::transcript) struct OpencodeDocument;

fn is_session(info: &Json<'_>) -> bool {
    let own = info.str("id").is_some_and(|id| id.starts_with("ses"));
    own && info.get("time").is_some_and(Json::is_object)
        && (info.get("projectID").is_some() || info.get("directory").is_some())
}

fn is_export(document: &Json<'_>) -> bool {
    document.get("info").is_some_and(is_session)
        && document.get("messages").is_some_and(Json::is_list)
}

impl Adapter for OpencodeDocument {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.document.is_some_and(|document| is_export(document) || is_session(document))
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let parts = source.parts;
        with_document(source, scribe, &mut |document, scribe| {
            let info = document.get("info").unwrap_or(document);
            if let Some(version) = info.name("version") {
                scribe.tally.version(version);
            }
            head(document, &["messages"], scribe)?;
            let mut plain = Plain::open(scribe, None, info.name("id"))?;
            let messages = document.items("messages");
            if messages.is_empty() {
                return tree(parts, &mut plain, scribe);
            }
            fold_records(messages, scribe, &mut Messages { plain })
        })
    }
}

/// Messages of a document, each with its parts in it.
struct Messages {
    plain: Plain,
}

impl Fold for Messages {
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let Some(info) = json.get("info").filter(|info| info.str("role").is_some()) else {
            return Ok(Fate::Unknown("message that is no record"));
        };
        let mut turn = Turn::of(info, scribe);
        for part in json.items("parts") {
            match turn.part(part) {
                Fate::Used => {}
                Fate::Aside(reason) | Fate::Unknown(reason) => {
                    scribe.beside(row, reason, part.raw)?;
                }
            }
        }
        turn.say(&mut self.plain, row.index, scribe)?;
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// The id that a file of the tree belongs to: the name of its folder.
fn owner(file: &Path) -> Option<&str> {
    file.parent()?.file_name()?.to_str()
}

/// Reads the files of a session: those of messages, each with those of its parts, by their ids.
fn tree(files: &[PathBuf], plain: &mut Plain, scribe: &mut Scribe) -> Result<(), Stop> {
    let mut index = 1;
    let mut parts: BTreeMap<&str, Vec<&PathBuf>> = BTreeMap::new();
    let is_part = |file: &&PathBuf| {
        let kind = file.parent().and_then(Path::parent).and_then(Path::file_name);
        kind.is_some_and(|kind| kind == "part")
    };
    for file in files.iter().filter(is_part) {
        parts.entry(owner(file).unwrap_or_default()).or_default().push(file);
    }
    for file in files.iter().filter(|file| !is_part(file)) {
        let bytes = read(file)?;
        let id = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let message = json::whole(&bytes);
        let mut turn = message.as_ref().map(|message| Turn::of(message, scribe));
        for file in parts.remove(id).unwrap_or_default() {
            let bytes = read(file)?;
            let fate = match (json::whole(&bytes), &mut turn) {
                (Some(part), Some(turn)) => turn.part(&part),
                (None, _) => Fate::Unknown("part that is no record"),
                (_, None) => Fate::Unknown("part of a message that is no record"),
            };
            account(&bytes, fate, &mut index, scribe)?;
        }
        let fate = match turn {
            Some(turn) => {
                turn.say(plain, index, scribe)?;
                Fate::Used
            }
            None => Fate::Unknown("message that is no record"),
        };
        account(&bytes, fate, &mut index, scribe)?;
    }
    for file in parts.into_values().flatten() {
        let fate = Fate::Unknown("part of a message that is not here");
        account(&read(file)?, fate, &mut index, scribe)?;
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, Stop> {
    Ok(document(&mut BufReader::new(File::open(file)?))?)
}

fn account(raw: &[u8], fate: Fate, index: &mut u64, scribe: &mut Scribe) -> Result<(), Stop> {
    let row = Row { index: *index, offset: 0, raw, read: Err(Unread::NotJson) };
    *index += 1;
    Ok(scribe.account(&row, fate)?)
}
