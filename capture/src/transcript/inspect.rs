//! Logs of Inspect: `.eval`, a zip archive of JSON documents, or one JSON document. A sample holds
//! its events; those of the model have the bodies of the provider's call, or at least the messages.

use std::borrow::Cow;
use std::collections::BTreeMap;
#[cfg(feature = "zip")]
use std::collections::BTreeSet;

use ledger::event::Rung;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_records, with_document};
use super::anthropic;
use super::chat::{self, Counts, Listed, said};
use super::json::{self, Json, Value};
use super::rows::Row;
use super::scribe::{Exchange, Fate, Scribe, Tag};
use super::swe::head;
use super::time::of_value;

pub(super) struct InspectLog;

/// With what a text begins that stands among the attachments.
const ATTACHMENT: &str = "attachment://";

fn is_log(document: &Json<'_>) -> bool {
    document.get("eval").is_some()
        && (document.get("samples").is_some() || document.get("plan").is_some())
}

impl Adapter for InspectLog {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        #[cfg(feature = "zip")]
        if super::archive::is_archive(look.bytes) {
            let has = |word: &[u8]| memchr::memmem::find(look.bytes, word).is_some();
            return has(b"_journal/") || has(b"samples/") || has(b"header.json");
        }
        look.document.is_some_and(is_log)
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        #[cfg(feature = "zip")]
        if super::archive::is_archive_file(source.path)? {
            return archived(source.path, scribe);
        }
        with_document(source, scribe, &mut |document, scribe| {
            version(document, scribe);
            head(document, &["samples"], scribe)?;
            for own in document.items("samples") {
                sample(own, scribe)?;
            }
            Ok(())
        })
    }
}

/// Reads an archive: a sample is one document, or a folder of pools and events.
#[cfg(feature = "zip")]
fn archived(path: &std::path::Path, scribe: &mut Scribe) -> Result<(), Stop> {
    let mut archive = super::archive::Archive::open(path)?;
    let names: BTreeSet<String> = archive.names().into_iter().collect();
    let mut folders = BTreeMap::<&str, Vec<&str>>::new();
    for name in &names {
        let chunk = chunk_of(name);
        let chunk = chunk.filter(|(folder, _)| names.contains(&format!("{folder}sample.json")));
        if let Some((folder, inside)) = chunk {
            folders.entry(folder).or_default().push(inside);
            continue;
        }
        let document = archive.document(name)?;
        let Some(json) = json::whole(&document) else {
            super::adapter::unread_document(&document, scribe)?;
            continue;
        };
        if name.starts_with("samples/") {
            sample(&json, scribe)?;
        } else {
            version(&json, scribe);
            head(&json, &[], scribe)?;
        }
    }
    for (folder, inside) in folders {
        in_chunks(&mut archive, folder, inside, scribe)?;
    }
    Ok(())
}

/// The folder of a sample that is kept in chunks, and the name of a chunk in it.
#[cfg(feature = "zip")]
fn chunk_of(name: &str) -> Option<(&str, &str)> {
    let inside = name.strip_prefix("samples/")?;
    let (_, rest) = inside.split_once('/')?;
    name.split_at_checked(name.len() - rest.len())
}

/// Reads a sample that is kept in chunks. Each sequence is numbered by its first place.
#[cfg(feature = "zip")]
fn in_chunks(
    archive: &mut super::archive::Archive,
    folder: &str,
    mut inside: Vec<&str>,
    scribe: &mut Scribe,
) -> Result<(), Stop> {
    let place =
        |name: &str| -> Option<u64> { name.split_once('/')?.1.strip_suffix(".json")?.parse().ok() };
    inside.sort_by_key(|name| place(name));
    let mut pools: [Vec<Vec<u8>>; 3] = Default::default();
    let (mut events, mut others) = (Vec::new(), Vec::new());
    for name in inside {
        let sequence = name.split_once('/').map_or("", |(sequence, _)| sequence);
        let pool = ["messages", "calls", "attachments"].iter().position(|it| *it == sequence);
        let path = format!("{folder}{name}");
        match (pool, place(name)) {
            (Some(pool), Some(_)) => {
                let document = archive.document(&path)?;
                if let Some(pool) = pools.get_mut(pool) {
                    pool.push(document);
                }
            }
            (None, Some(_)) if sequence == "events" => events.push(path),
            _ => others.push(path),
        }
    }
    let pools: [Vec<Json<'_>>; 3] = pools.each_ref().map(|pool| {
        let chunks = pool.iter().filter_map(|chunk| json::whole(chunk));
        chunks
            .flat_map(|chunk| if let Value::List(list) = chunk.value { list } else { vec![] })
            .collect()
    });
    let [messages, calls, attachments] = &pools;
    let numbers: Vec<String> = (0..attachments.len()).map(|number| number.to_string()).collect();
    let named = numbers.iter().map(String::as_str).zip(attachments);
    let mut own = Events {
        attachments: named.filter_map(|(name, text)| Some((name, text.text()?))).collect(),
        messages,
        calls,
        listed: None,
    };
    for path in events {
        let document = archive.document(&path)?;
        match json::whole(&document) {
            Some(chunk) if chunk.is_list() => fold_records(chunk.list(), scribe, &mut own)?,
            _ => super::adapter::unread_document(&document, scribe)?,
        }
    }
    for pool in [messages, calls, attachments] {
        fold_records(pool, scribe, &mut Messages)?;
    }
    for path in others {
        let document = archive.document(&path)?;
        match json::whole(&document) {
            Some(json) => fold_records(core::slice::from_ref(&json), scribe, &mut Facts)?,
            None => super::adapter::unread_document(&document, scribe)?,
        }
    }
    Ok(())
}

fn version(document: &Json<'_>, scribe: &mut Scribe) {
    let version = document.at(&["eval", "packages", "inspect_ai"]).and_then(Json::text);
    if let Some(version) = version {
        scribe.tally.version(version);
    }
}

fn sample(sample: &Json<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
    head(sample, &["events", "messages", "events_data"], scribe)?;
    let attachments = sample.get("attachments").map(Json::members).unwrap_or_default();
    let attachments =
        attachments.iter().filter_map(|(name, text)| Some((name.as_ref(), text.text()?)));
    let pool = |name: &str| sample.at(&["events_data", name]).map(Json::list).unwrap_or_default();
    let (messages, calls) = (pool("messages"), pool("calls"));
    let mut events = Events { attachments: attachments.collect(), messages, calls, listed: None };
    fold_records(sample.items("events"), scribe, &mut events)?;
    for list in [sample.items("messages"), messages, calls] {
        fold_records(list, scribe, &mut Messages)?;
    }
    Ok(())
}

/// Documents about a sample.
#[cfg(feature = "zip")]
struct Facts;

#[cfg(feature = "zip")]
impl Fold for Facts {
    fn row(&mut self, _: &Row<'_>, _: &Json<'_>, _: &mut Scribe) -> Result<Fate, Stop> {
        Ok(Fate::Aside("facts about the session"))
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// The messages of a sample, which its events hold as well.
struct Messages;

impl Fold for Messages {
    fn row(
        &mut self,
        _row: &Row<'_>,
        _json: &Json<'_>,
        _scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        Ok(Fate::Aside("message that the events hold as well"))
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

struct Events<'s> {
    attachments: BTreeMap<&'s str, &'s str>,
    /// Messages, and parts of bodies, that events name by their places.
    messages: &'s [Json<'s>],
    calls: &'s [Json<'s>],
    listed: Option<Listed>,
}

/// Values of a pool that one event may name.
const NAMED_MAX: usize = 1 << 20;

/// The values of a pool at ranges of places, ends excluded; `None` where one is not there.
fn named<'p, 's>(pool: &'p [Json<'s>], ranges: &[Json<'_>]) -> Option<Vec<&'p Json<'s>>> {
    let mut found = Vec::new();
    for range in ranges {
        let [from, to] = range.list() else { return None };
        let place = |json: &Json<'_>| usize::try_from(json.count()?).ok();
        found.extend(pool.get(place(from)?..place(to)?)?);
        if found.len() > NAMED_MAX {
            return None;
        }
    }
    Some(found)
}

impl Fold for Events<'_> {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.get("timestamp").and_then(of_value));
        match json.str("event") {
            Some("model") => self.model(json, scribe),
            Some("tool") => Ok(self.tool(json, scribe)),
            Some(_) => Ok(Fate::Aside("event that is no model call")),
            None => Ok(Fate::Unknown("record of an unknown type")),
        }
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// True when the provider's answer can be read, or there is none that could be read better.
fn is_understood(dialect: ledger::wire::Dialect, event: &Json<'_>, answer: Option<&[u8]>) -> bool {
    let has_choices = event.at(&["output", "choices"]).is_some_and(|it| !it.list().is_empty());
    let Some(answer) = answer else { return !has_choices };
    let read = ledger::wire::answer::reduce(dialect, "application/json", answer);
    !read.items.is_empty() || !has_choices
}

impl Events<'_> {
    /// JSON with the texts of attachments in it.
    fn resolved<'j>(&self, json: &Json<'j>) -> Cow<'j, [u8]> {
        if memchr::memmem::find(json.raw, ATTACHMENT.as_bytes()).is_none() {
            return Cow::Borrowed(json.raw);
        }
        let mut out = Vec::with_capacity(json.raw.len());
        self.write(json, &mut out);
        Cow::Owned(out)
    }

    fn write(&self, json: &Json<'_>, out: &mut Vec<u8>) {
        match &json.value {
            Value::Text(text) => {
                match text.strip_prefix(ATTACHMENT).and_then(|it| self.attachments.get(it)) {
                    Some(own) => json::write_text(own, out),
                    None => out.extend_from_slice(json.raw),
                }
            }
            Value::List(list) => json::write_list(list, out, |value, out| self.write(value, out)),
            Value::Object(members) => {
                json::write_object(members, out, |value, out| self.write(value, out));
            }
            _ => out.extend_from_slice(json.raw),
        }
    }

    fn model(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if let Some(body) = json.get("call").and_then(|call| self.body(call)) {
            let anthropic = json.str("model").is_some_and(|model| model.starts_with("anthropic/"));
            let dialect = ledger::wire::Dialect::of_shape(&body, anthropic);
            let response = json.at(&["call", "response"]).filter(|it| it.is_object());
            let answer = response.map(|response| self.resolved(response));
            if let Some(dialect) = dialect.filter(|it| is_understood(*it, json, answer.as_deref()))
            {
                scribe.captured(&Exchange {
                    dialect,
                    method: "POST",
                    url: "",
                    rung: Rung::CanonicalEqual,
                    body: &body,
                    headers: &Vec::new(),
                    status: if answer.is_some() { 200 } else { 0 },
                    answer_headers: &Vec::new(),
                    answer: answer.as_deref(),
                    mime: "application/json",
                })?;
                return Ok(Fate::Used);
            }
        }
        let own = json.items("input");
        let pooled = named(self.messages, json.items("input_refs"));
        let input: Vec<&Json<'_>> = match (own, pooled) {
            ([], Some(pooled)) => pooled,
            ([], None) => return Ok(Fate::Unknown("model event whose messages are not there")),
            (own, _) => own.iter().collect(),
        };
        if input.is_empty() && !json.get("input").is_some_and(Json::is_list) {
            return Ok(Fate::Unknown("model event without its messages"));
        }
        self.listed(json, &input, scribe)?;
        Ok(Fate::Used)
    }

    /// The body of a provider's call, with what it names of the pool.
    fn body(&self, call: &Json<'_>) -> Option<Vec<u8>> {
        let request = call.get("request").filter(|it| it.is_object())?;
        let Some(key) = call.name("call_key") else { return Some(self.resolved(request).into()) };
        let values = named(self.calls, call.items("call_refs"))?;
        let values: Vec<Cow<'_, [u8]>> = values.into_iter().map(|it| self.resolved(it)).collect();
        let values = anthropic::list(&values);
        let own = request.members().iter().filter(|(name, _)| name != key);
        let own: Vec<(&str, Cow<'_, [u8]>)> =
            own.map(|(name, value)| (name.as_ref(), self.resolved(value))).collect();
        let mut members: Vec<(&str, &[u8])> =
            own.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        members.push((key, &values));
        Some(anthropic::object(&members))
    }

    /// A call of which only the messages are told.
    fn listed(
        &mut self,
        json: &Json<'_>,
        input: &[&Json<'_>],
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        let input: Vec<Cow<'_, [u8]>> = input.iter().map(|it| self.resolved(it)).collect();
        let input = input.iter().filter_map(|it| json::whole(it)).flat_map(|it| said(&it));
        let messages: Vec<(Tag, Vec<u8>)> = input.map(|it| (it.tag(), it.item())).collect();
        let told = json.get("output").map(|output| self.resolved(output));
        let output = told.as_deref().and_then(json::whole);
        if self.listed.is_none() {
            self.listed = Some(Listed::open(scribe, None, None)?);
        }
        let Some(listed) = &mut self.listed else { return Ok(()) };
        listed.setting.model = json.name("model").map(str::to_owned);
        if let Some(tools) = json.some("tools").filter(|tools| tools.is_list()) {
            listed.setting.set("tools", tools.raw.to_vec());
        }
        let choice = output.as_ref().and_then(|output| output.items("choices").first());
        let usage = output.as_ref().and_then(|output| output.get("usage"));
        let count = |name: &str| usage.and_then(|usage| usage.number(name));
        let counts = Counts {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cached: count("input_tokens_cache_read"),
        };
        let answer = choice.and_then(|choice| {
            let said = said(choice.get("message")?).into_iter().next()?;
            Some(chat::answer(
                None,
                json.name("model"),
                &said.item(),
                choice.str("stop_reason"),
                counts,
            ))
        });
        Ok(listed.exchange(scribe, &messages, answer.as_deref())?)
    }

    /// A tool's own account of what it returned.
    fn tool(&self, json: &Json<'_>, scribe: &mut Scribe) -> Fate {
        let resolved = self.resolved(json).into_owned();
        let Some(json) = json::whole(&resolved) else {
            return Fate::Unknown("record of an unknown type");
        };
        let (Some(call), Some(result)) = (json.name("id"), json.some("result")) else {
            return Fate::Aside("event that is no model call");
        };
        let text = if result.is_list() {
            super::anthropic::texts(result)
        } else {
            chat::text_or_json(result)
        };
        scribe.found_anywhere(call, 0, text);
        Fate::Aside("what a tool returned, by its own account")
    }
}
