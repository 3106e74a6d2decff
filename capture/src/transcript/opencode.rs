//! Databases of opencode (`opencode.db`): sessions, messages and parts, each with a payload of
//! JSON. A part of a call holds its input and its output, as the model saw it and longer.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::adapter::{Adapter, Look, Source, Stop};
use super::anthropic::{self, Answer, list, message};
use super::json::{self, Json};
use super::plain::Plain;
use super::rows::{Row, Unread};
use super::scribe::{Fate, Scribe, Tag, Talk};

/// The first bytes of a database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

pub(super) struct OpencodeDatabase;

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
        let mut database = Database::open(source.path)?;
        database.read(scribe)
    }
}

/// A copy of the database beside its log, so that reading it changes nothing.
struct Database {
    connection: Connection,
    index: u64,
    talks: BTreeMap<String, Talk>,
}

fn failed(_error: rusqlite::Error) -> Stop {
    Stop::Container("the database cannot be read")
}

impl Database {
    fn open(path: &Path) -> Result<Self, Stop> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
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
        let created = head.at(&["time", "created"]).and_then(super::time::of_value);
        scribe.time(created);
        let mut turn = Turn { user: head.str("role") == Some("user"), ..Turn::default() };
        turn.model = head.str("modelID").map(str::to_owned);
        turn.usage = head.get("tokens").and_then(usage);
        if let Some(cost) = head.get("cost") {
            let dollars = std::str::from_utf8(cost.raw).ok().and_then(|text| text.parse().ok());
            scribe.tally.cost(dollars.unwrap_or(0.0));
        }
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

/// One message with its parts.
#[derive(Debug, Default)]
struct Turn {
    user: bool,
    model: Option<String>,
    usage: Option<Vec<u8>>,
    texts: Vec<Vec<u8>>,
    blocks: Vec<Vec<u8>>,
    /// Results: call, text, whether it failed, and the longer copy.
    results: Vec<(String, String, bool, Option<String>)>,
}

impl Turn {
    fn part(&mut self, part: &Json<'_>) -> Fate {
        match part.str("type") {
            Some("text") => {
                let block = anthropic::text_block(part.str("text").unwrap_or_default());
                if self.user { self.texts.push(block) } else { self.blocks.push(block) }
            }
            Some("reasoning") => {
                self.blocks.push(anthropic::thinking_block(part.str("text").unwrap_or_default()));
            }
            Some("tool") => self.call(part),
            Some("step-finish") => {
                if let Some(tokens) = part.get("tokens").and_then(usage) {
                    self.usage = Some(tokens);
                }
                return Fate::Aside("mark of a step");
            }
            Some("step-start" | "snapshot" | "patch" | "agent" | "retry") => {
                return Fate::Aside("mark of a step");
            }
            Some("file" | "compaction" | "subtask") => {
                return Fate::Aside("part whose text in the request is not told");
            }
            _ => return Fate::Unknown("part of an unknown type"),
        }
        Fate::Used
    }

    fn call(&mut self, part: &Json<'_>) {
        let id = part.str("callID").unwrap_or_default();
        let state = part.get("state");
        let input = state.and_then(|state| state.get("input")).map_or(&b"{}"[..], |it| it.raw);
        self.blocks.push(anthropic::call_block(id, part.str("tool").unwrap_or_default(), input));
        let Some(state) = state else { return };
        let failed = state.str("status") == Some("error");
        let seen = state.str("output").or_else(|| state.str("error"));
        let longer = state.at(&["metadata", "output"]).and_then(Json::text);
        if let Some(seen) = seen {
            let whole = longer.filter(|longer| longer.len() > seen.len()).map(str::to_owned);
            self.results.push((id.to_owned(), seen.to_owned(), failed, whole));
        }
    }

    fn say(self, plain: &mut Plain, record: u64, scribe: &mut Scribe) -> Result<(), Stop> {
        if self.user {
            scribe.say(plain.talk, Tag::Prompt, message("user", &list(&self.texts)));
            return Ok(());
        }
        let answer = Answer {
            id: None,
            model: self.model,
            blocks: self.blocks,
            stop: None,
            usage: self.usage,
        };
        plain.answer(scribe, &answer)?;
        for (call, text, failed, whole) in self.results {
            plain.result(scribe, &call, &text, failed);
            if let Some(whole) = whole {
                scribe.found(plain.talk, &call, record, whole);
            }
        }
        Ok(())
    }
}

fn usage(tokens: &Json<'_>) -> Option<Vec<u8>> {
    let cache = |name: &str| tokens.at(&["cache", name]).and_then(Json::count);
    anthropic::usage(&[
        ("input_tokens", tokens.number("input")),
        ("cache_creation_input_tokens", cache("write")),
        ("cache_read_input_tokens", cache("read")),
        ("output_tokens", tokens.number("output")),
    ])
}
