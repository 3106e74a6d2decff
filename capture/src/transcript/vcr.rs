//! Cassettes of vcrpy, go-vcr and Ruby's VCR: YAML of interactions, each a request and a response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger::event::Rung;

use super::adapter::{Adapter, Fold, Look, Source, Stop, document, fold_records, unread_document};
use super::json::{self, Json};
use super::rows::Row;
use super::scribe::{Exchange, Fate, Scribe};
use super::swe::head;
use super::traced::fields;
use super::yaml;
use crate::{coding, intake};

pub(super) struct Cassette;

/// Largest body that a content coding may grow to.
const BODY_BYTES_MAX: usize = 256 << 20;

impl Adapter for Cassette {
    fn name(&self) -> &'static str {
        "vcr"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        let has = |name: &str| {
            let line = [name.as_bytes(), b":"].concat();
            look.bytes.starts_with(&line)
                || memchr::memmem::find(look.bytes, &[b"\n", line.as_slice()].concat()).is_some()
        };
        look.document.is_none()
            && (has("interactions") || has("http_interactions"))
            && memchr::memmem::find(look.bytes, b"request:").is_some()
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        let bytes = document(source.reader)?;
        let text = String::from_utf8_lossy(&bytes);
        let Some(json) = yaml::to_json(&text) else { return unread_document(&bytes, scribe) };
        let Some(cassette) = json::whole(&json) else { return unread_document(&bytes, scribe) };
        head(&cassette, &["interactions", "http_interactions"], scribe)?;
        for list in ["interactions", "http_interactions"] {
            fold_records(cassette.items(list), scribe, &mut Interactions)?;
        }
        Ok(())
    }
}

struct Interactions;

/// A body and whether its bytes are those that were sent.
fn body(json: &Json<'_>) -> Option<(Vec<u8>, bool)> {
    if let Some(parsed) = json.some("parsed_body") {
        return Some((parsed.raw.to_vec(), false));
    }
    let body = json.some("body")?;
    if let Some(text) = body.text() {
        return Some((text.as_bytes().to_vec(), true));
    }
    if let Some(coded) = body.str("base64_string") {
        return STANDARD
            .decode(coded.split_ascii_whitespace().collect::<String>())
            .ok()
            .map(|it| (it, true));
    }
    let text = body.str("string").or_else(|| body.str("encoded"))?;
    Some((text.as_bytes().to_vec(), true))
}

/// Undoes base64 that a binary scalar is written in, and the content coding that is declared.
fn plain(bytes: Vec<u8>, fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let codings =
        coding::codings(fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())));
    if codings.is_empty() {
        return bytes;
    }
    if let Ok(plain) = coding::undo(&bytes, &codings, BODY_BYTES_MAX) {
        return plain;
    }
    let text: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let decoded = STANDARD.decode(&text).ok();
    decoded.and_then(|coded| coding::undo(&coded, &codings, BODY_BYTES_MAX).ok()).unwrap_or(bytes)
}

impl Fold for Interactions {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let (Some(request), response) = (json.get("request"), json.get("response")) else {
            return Ok(Fate::Unknown("record without a request"));
        };
        let url = request.str("uri").or_else(|| request.str("url")).unwrap_or_default();
        let method = request.str("method").unwrap_or("POST").to_ascii_uppercase();
        let headers = fields(request.get("headers"));
        let Some((sent, exact)) = body(request) else {
            return Ok(Fate::Aside("exchange that is not a model request"));
        };
        let sent = plain(sent, &headers);
        let Some(dialect) = intake::dialect(&method, url, &headers, Some(&sent)) else {
            return Ok(Fate::Aside("exchange that is not a model request"));
        };
        let answer_headers = fields(response.and_then(|it| it.get("headers")));
        let answer = response.and_then(body).map(|(bytes, _)| plain(bytes, &answer_headers));
        let status = response.and_then(|it| {
            it.at(&["status", "code"])
                .or(it.get("code"))
                .or(it.get("status_code"))
                .and_then(Json::count)
        });
        let is_stream = answer
            .as_deref()
            .is_some_and(|it| it.starts_with(b"event:") || it.starts_with(b"data:"));
        scribe.captured(&Exchange {
            dialect,
            method: &method,
            url,
            rung: if exact { Rung::BodyExact } else { Rung::CanonicalEqual },
            body: &sent,
            headers: &headers,
            status: status.unwrap_or(200),
            answer_headers: &answer_headers,
            answer: answer.as_deref(),
            mime: if is_stream { "text/event-stream" } else { "application/json" },
        })?;
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}
