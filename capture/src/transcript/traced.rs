//! Logs of exchanges over HTTP whose bodies are on record: claude-trace, LHAR, and cassettes of
//! vcrpy and go-vcr. Their requests are captured ones.

use ledger::event::Rung;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_lines, fold_records, with_document};
use super::json::{Json, Value};
use super::rows::{At, Row};
use super::scribe::{Exchange, Fate, Scribe};
use super::swe::head;
use super::time::of_value;
use crate::intake;

pub(super) struct ClaudeTrace;
pub(super) struct Lhar;

const NOT_A_MODEL: Fate = Fate::Aside("exchange that is not a model request");

fn is_traced(json: &Json<'_>) -> bool {
    json.at(&["request", "url"]).is_some() && json.at(&["request", "method"]).is_some()
}

fn is_entry(json: &Json<'_>) -> bool {
    json.str("type") == Some("entry") && json.get("gen_ai").is_some()
}

impl Adapter for ClaudeTrace {
    fn name(&self) -> &'static str {
        "claude-trace"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.any(is_traced)
            || look.document.is_some_and(|it| it.list().first().is_some_and(is_traced))
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        if source.is_lines {
            return fold_lines(source.reader, &mut At::default(), scribe, &mut Pairs);
        }
        with_document(source, scribe, &mut |document, scribe| {
            let one = core::slice::from_ref(document);
            let records = if document.is_list() { document.list() } else { one };
            fold_records(records, scribe, &mut Pairs)
        })
    }
}

impl Adapter for Lhar {
    fn name(&self) -> &'static str {
        "lhar"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.any(is_entry) || look.document.is_some_and(|it| it.at(&["lhar", "entries"]).is_some())
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        if source.is_lines {
            return fold_lines(source.reader, &mut At::default(), scribe, &mut Entries);
        }
        with_document(source, scribe, &mut |document, scribe| {
            let Some(log) = document.get("lhar") else {
                return fold_records(core::slice::from_ref(document), scribe, &mut Entries);
            };
            head(log, &["entries"], scribe)?;
            fold_records(log.items("entries"), scribe, &mut Entries)
        })
    }
}

/// Headers: an object of names and values.
pub(super) fn fields(headers: Option<&Json<'_>>) -> Vec<(String, Vec<u8>)> {
    let members = headers.map(Json::members).unwrap_or_default();
    let mut out = Vec::new();
    for (name, value) in members {
        match &value.value {
            Value::Text(text) => out.push((name.to_string(), text.as_bytes().to_vec())),
            Value::List(list) => {
                let texts = list.iter().filter_map(Json::text);
                out.extend(texts.map(|text| (name.to_string(), text.as_bytes().to_vec())));
            }
            _ => {}
        }
    }
    out
}

struct Pairs;

impl Fold for Pairs {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let Some(request) = json.get("request").filter(|request| request.is_object()) else {
            return Ok(Fate::Unknown("record without a request"));
        };
        scribe.time(request.get("timestamp").and_then(of_value));
        let response = json.some("response");
        let headers = fields(request.get("headers"));
        let raw = response.and_then(|it| it.str("body_raw"));
        let body = response.and_then(|it| it.some("body"));
        let answer_headers = fields(response.and_then(|it| it.get("headers")));
        let answer = match (raw, body) {
            (Some(raw), _) => Some(raw.as_bytes().to_vec()),
            (None, Some(body)) => Some(bytes_of(body)),
            (None, None) => None,
        };
        let Some(sent) = request.some("body").map(bytes_of) else { return Ok(NOT_A_MODEL) };
        let url = request.str("url").unwrap_or_default();
        let method = request.str("method").unwrap_or("POST");
        let Some(dialect) = intake::dialect(method, url, &headers, Some(&sent)) else {
            return Ok(NOT_A_MODEL);
        };
        scribe.captured(&Exchange {
            dialect,
            method,
            url,
            // The body is told as a value: its bytes are not those that were sent.
            rung: Rung::CanonicalEqual,
            body: &sent,
            headers: &headers,
            status: response.and_then(|it| it.number("status_code")).unwrap_or(0),
            answer_headers: &answer_headers,
            answer: answer.as_deref(),
            mime: if raw.is_some() { "text/event-stream" } else { "application/json" },
        })?;
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// A body: a text as it is, a value as its JSON.
fn bytes_of(body: &Json<'_>) -> Vec<u8> {
    match body.text() {
        Some(text) => text.as_bytes().to_vec(),
        None => body.raw.to_vec(),
    }
}

struct Entries;

impl Fold for Entries {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if json.str("type") == Some("session") {
            return Ok(Fate::Aside("facts about the session"));
        }
        scribe.time(json.get("timestamp").and_then(of_value));
        if let Some(version) = json.at(&["source", "collector_version"]).and_then(Json::text) {
            scribe.tally.version(version);
        }
        let Some(sent) = json.at(&["raw", "request_body"]).filter(|it| it.value != Value::Null)
        else {
            return Ok(match json.get("gen_ai") {
                Some(_) => Fate::Aside("model call whose content was not recorded"),
                None => Fate::Unknown("record of an unknown type"),
            });
        };
        let http = json.get("http");
        let text = |name: &str| http.and_then(|http| http.str(name)).unwrap_or_default();
        let sent = bytes_of(sent);
        let headers = fields(http.and_then(|http| http.get("request_headers")));
        let Some(dialect) = intake::dialect("POST", text("url"), &headers, Some(&sent)) else {
            return Ok(NOT_A_MODEL);
        };
        let answer = json.at(&["raw", "response_body"]).filter(|it| it.value != Value::Null);
        let mime = if answer.is_some_and(|it| it.text().is_some()) {
            "text/event-stream"
        } else {
            "application/json"
        };
        let answer = answer.map(bytes_of);
        scribe.captured(&Exchange {
            dialect,
            method: text("method"),
            url: text("url"),
            rung: Rung::CanonicalEqual,
            body: &sent,
            headers: &headers,
            status: http.and_then(|http| http.number("status_code")).unwrap_or(0),
            answer_headers: &fields(http.and_then(|http| http.get("response_headers"))),
            answer: answer.as_deref(),
            mime,
        })?;
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}
