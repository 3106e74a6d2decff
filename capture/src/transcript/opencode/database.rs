//! The database of opencode, `opencode.db`.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::turn::Turn;
use crate::transcript::adapter::{Adapter, Look, Source, Stop};
use crate::transcript::anthropic;
use crate::transcript::json;
use crate::transcript::plain::Plain;
use crate::transcript::rows::{Row, Unread};
use crate::transcript::scribe::{Fate, Scribe, Talk};

/// The first bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";

pub(in crate::transcript) struct OpencodeDatabase;

impl Adapter for OpencodeDatabase {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        if !look.bytes.starts_with(MAGIC) {
            return false;
        }
        let schema = look.bytes.to_ascii_lowercase();
        let has = |table: &str| {
            let forms = [
                format!("table `{table}`"),
                format!("table {table}("),
                format!("table \"{table}\""),
            ];
            forms.iter().any(|form| memchr::memmem::find(&schema, form.as_bytes()).is_some())
        };
        has("session") && has("message") && has("part")
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        // What was not folded in yet stands beside it: both are copied, since reading them
        // together would write.
        let copy = source.parts.first().map(|log| copied(source.path, log)).transpose()?;
        let path = copy.as_ref().map_or(source.path.to_path_buf(), |copy| copy.path().join(NAME));
        let mut database = Database::open(&path, copy.is_some())?;
        database.read(scribe)
    }
}

/// What a copy is called.
const NAME: &str = "copy.db";

/// A copy of a database and of its log.
fn copied(database: &Path, log: &Path) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    fs::copy(database, folder.path().join(NAME))?;
    fs::copy(log, folder.path().join(format!("{NAME}-wal")))?;
    Ok(folder)
}

/// A database that is only read.
struct Database {
    connection: Connection,
    index: u64,
    talks: BTreeMap<String, Talk>,
}

fn failed(_error: rusqlite::Error) -> Stop {
    Stop::Container("the database cannot be read")
}

impl Database {
    fn open(path: &Path, is_copy: bool) -> Result<Self, Stop> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = if is_copy {
            Connection::open(path)
        } else {
            // Nothing may be made beside the user's own file, not even for a lock.
            let name = path.to_string_lossy();
            let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
        };
        let connection = connection.map_err(failed)?;
        Ok(Self { connection, index: 0, talks: BTreeMap::new() })
    }

    fn read(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        let sessions = self.rows(
            "select id, coalesce(parent_id, ''), coalesce(version, ''), '' from session \
             order by time_created, id",
        )?;
        for [id, parent, version, _] in &sessions {
            if !version.is_empty() {
                scribe.tally.version(version);
            }
            let parent = self.talks.get(parent).copied();
            let mut plain = Plain::open(scribe, parent, Some(id))?;
            self.talks.insert(id.clone(), plain.talk);
            let head = anthropic::object(&[("session", &json::quoted(id))]);
            self.account(&head, Fate::Used, scribe)?;
            self.messages(id, &mut plain, scribe)?;
        }
        for table in ["todo", "permission", "event", "session_input", "session_context_epoch"] {
            self.aside(table, scribe)?;
        }
        Ok(())
    }

    /// Rows of four texts.
    fn rows(&self, query: &str) -> Result<Vec<[String; 4]>, Stop> {
        let mut statement = self.connection.prepare(query).map_err(failed)?;
        let row = |row: &rusqlite::Row<'_>| {
            let text = |column: usize| -> rusqlite::Result<String> {
                let value = row.get_ref(column)?;
                Ok(match value {
                    rusqlite::types::ValueRef::Text(text)
                    | rusqlite::types::ValueRef::Blob(text) => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    rusqlite::types::ValueRef::Real(number) => number.to_string(),
                    rusqlite::types::ValueRef::Null => String::new(),
                })
            };
            Ok([text(0)?, text(1)?, text(2)?, text(3)?])
        };
        let rows = statement.query_map([], row).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    fn messages(
        &mut self,
        session: &str,
        plain: &mut Plain,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        let quoted = session.replace('\'', "''");
        let messages = self.rows(&format!(
            "select id, data, '', '' from message where session_id = '{quoted}' \
             order by time_created, id"
        ))?;
        let parts = self.rows(&format!(
            "select message_id, data, '', '' from part where session_id = '{quoted}' order by id"
        ))?;
        let mut of_message: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for [id, data, ..] in &parts {
            of_message.entry(id).or_default().push(data);
        }
        for [id, data, ..] in &messages {
            let parts = of_message.remove(id.as_str()).unwrap_or_default();
            self.message(data, &parts, plain, scribe)?;
        }
        for data in of_message.into_values().flatten() {
            self.account(
                data.as_bytes(),
                Fate::Unknown("part of a message that is not here"),
                scribe,
            )?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        data: &str,
        parts: &[&str],
        plain: &mut Plain,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        let Some(head) = json::whole(data.as_bytes()) else {
            return self.account(
                data.as_bytes(),
                Fate::Unknown("message that is no record"),
                scribe,
            );
        };
        let mut turn = Turn::of(&head, scribe);
        for data in parts {
            let fate = match json::whole(data.as_bytes()) {
                Some(part) => turn.part(&part),
                None => Fate::Unknown("part that is no record"),
            };
            self.account(data.as_bytes(), fate, scribe)?;
        }
        self.account(data.as_bytes(), Fate::Used, scribe)?;
        turn.say(plain, self.index, scribe)
    }

    /// Keeps the rows of a table that is no part of what the model saw; it may not be there.
    fn aside(&mut self, table: &str, scribe: &mut Scribe) -> Result<(), Stop> {
        let columns =
            self.rows(&format!("select name, '', '', '' from pragma_table_info('{table}')"))?;
        if columns.is_empty() {
            return Ok(());
        }
        let pairs: Vec<String> =
            columns.iter().map(|[name, ..]| format!("'{name}', \"{name}\"")).collect();
        let query = format!("select json_object({}), '', '', '' from {table}", pairs.join(", "));
        for [row, ..] in self.rows(&query)? {
            self.account(row.as_bytes(), Fate::Aside("bookkeeping of the session"), scribe)?;
        }
        Ok(())
    }

    fn account(&mut self, raw: &[u8], fate: Fate, scribe: &mut Scribe) -> Result<(), Stop> {
        let row = Row { index: self.index, offset: 0, raw, read: Err(Unread::NotJson) };
        self.index += 1;
        Ok(scribe.account(&row, fate)?)
    }
}
