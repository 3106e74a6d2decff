//! Logs of Inspect: `.eval`, a zip archive of JSON documents, or one JSON document. A sample holds
//! its events; those of the model have the bodies of the provider's call, or at least the messages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ledger::event::Rung;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_records, with_document};
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
            return super::archive::each(source.path, &mut |name, document| {
                let Some(json) = json::whole(document) else {
                    return super::adapter::unread_document(document, scribe);
                };
                if name.starts_with("samples/") {
                    sample(&json, scribe)
                } else {
                    if let Some(version) =
                        json.at(&["eval", "packages", "inspect_ai"]).and_then(Json::text)
                    {
                        scribe.tally.version(version);
                    }
                    Ok(head(&json, &[], scribe)?)
                }
            });
        }
        with_document(source, scribe, &mut |document, scribe| {
            if let Some(version) =
                document.at(&["eval", "packages", "inspect_ai"]).and_then(Json::text)
            {
                scribe.tally.version(version);
            }
            head(document, &["samples"], scribe)?;
            for own in document.items("samples") {
                sample(own, scribe)?;
            }
            Ok(())
        })
    }
}

fn sample(sample: &Json<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
    head(sample, &["events", "messages"], scribe)?;
    let attachments = sample.get("attachments").map(Json::members).unwrap_or_default();
    let attachments =
        attachments.iter().filter_map(|(name, text)| Some((name.as_ref(), text.text()?)));
    let mut events = Events { attachments: attachments.collect(), listed: None };
    fold_records(sample.items("events"), scribe, &mut events)?;
    let mut messages = Messages;
    fold_records(sample.items("messages"), scribe, &mut messages)
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
    listed: Option<Listed>,
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
            Value::List(list) => {
                out.push(b'[');
                for (index, value) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    self.write(value, out);
                }
                out.push(b']');
            }
            Value::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    json::write_text(name, out);
                    out.push(b':');
                    self.write(value, out);
                }
                out.push(b'}');
            }
            _ => out.extend_from_slice(json.raw),
        }
    }

    fn model(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if let Some(request) = json.at(&["call", "request"]).filter(|it| it.is_object()) {
            let body = self.resolved(request);
            let anthropic = json.str("model").is_some_and(|model| model.starts_with("anthropic/"));
            let dialect = ledger::wire::Dialect::of_shape(&body, anthropic);
            if let Some(dialect) = dialect {
                let response = json.at(&["call", "response"]).filter(|it| it.is_object());
                let answer = response.map(|response| self.resolved(response));
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
        if !json.get("input").is_some_and(Json::is_list) {
            return Ok(Fate::Unknown("model event without its messages"));
        }
        self.listed(json, scribe)?;
        Ok(Fate::Used)
    }

    /// A call of which only the messages are told.
    fn listed(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let resolved = self.resolved(json).into_owned();
        let Some(json) = json::whole(&resolved) else { return Ok(()) };
        if self.listed.is_none() {
            self.listed = Some(Listed::open(scribe, None, None)?);
        }
        let Some(listed) = &mut self.listed else { return Ok(()) };
        listed.setting.model = json.name("model").map(str::to_owned);
        if let Some(tools) = json.some("tools").filter(|tools| tools.is_list()) {
            listed.setting.set("tools", tools.raw.to_vec());
        }
        let messages: Vec<(Tag, Vec<u8>)> =
            json.items("input").iter().flat_map(said).map(|it| (it.tag(), it.item())).collect();
        let output = json.get("output");
        let choice = output.and_then(|output| output.items("choices").first());
        let usage = output.and_then(|output| output.get("usage"));
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
