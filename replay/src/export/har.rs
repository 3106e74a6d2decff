//! HAR 1.2: one entry per request that was sent, with the body as it is on record.
//!
//! Bodies are those behind the content coding, so the fields that declare one are left out with
//! it. Each entry says its rung (`_rung`), so that who reads it back claims no more than this.

use std::io::Write;

use artifacts::GetError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger::event::{Answered, Dispatched};
use ledger::history::{End, Request};
use serde::Serialize;

use super::{ExportError, Exported, rfc3339, write_json};
use crate::assemble::Assembler;
use crate::fields::{self, Fields};
use crate::recording::Recording;

/// Fields that speak of the bytes on the wire, which are not those of the entry.
const OF_THE_CODING: [&str; 2] = ["content-encoding", "content-length"];

/// With what an entry begins whose time is not on record.
const NO_TIME: &str = "1970-01-01T00:00:00Z";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    time: f64,
    request: Sent,
    response: Got,
    cache: Nothing,
    timings: Timings,
    #[serde(rename = "_rung")]
    rung: &'static str,
    #[serde(rename = "_cut", skip_serializing_if = "core::ops::Not::not")]
    cut: bool,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Timings {
    send: f64,
    wait: f64,
    receive: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    method: String,
    url: String,
    http_version: &'static str,
    cookies: [Nothing; 0],
    headers: Vec<Field>,
    query_string: [Nothing; 0],
    post_data: Data,
    headers_size: i64,
    body_size: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Got {
    status: u16,
    status_text: &'static str,
    http_version: &'static str,
    cookies: [Nothing; 0],
    headers: Vec<Field>,
    content: Data,
    #[serde(rename = "redirectURL")]
    redirect_url: &'static str,
    headers_size: i64,
    body_size: i64,
}

#[derive(Serialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Data {
    size: u64,
    mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

#[derive(Serialize)]
struct Creator<'a> {
    name: &'a str,
    version: &'a str,
}

/// True for a request of which it is known where it was sent: only those stand in a HAR.
pub fn is_sent(request: &Request) -> bool {
    request.dispatched.as_ref().is_some_and(|sent| !sent.url.is_empty())
}

/// Writes all requests that were sent. `version` is that of the program.
///
/// # Errors
/// See [`ExportError`].
pub fn har(
    recording: &Recording,
    version: &str,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let history = recording.history();
    let mut assembler = Assembler::new(history, recording.as_source());
    let mut exported = Exported::default();
    out.write_all(b"{\"log\":{\"version\":\"1.2\",\"creator\":")?;
    write_json(out, &Creator { name: "counterfold", version })?;
    out.write_all(b",\"entries\":[")?;
    for request in history.requests() {
        let Some(sent) = request.dispatched.as_ref().filter(|_| is_sent(request)) else {
            exported.leave("request that was put together and not sent", 1);
            continue;
        };
        let body = assembler.body(request.captured.request)?;
        out.write_all(if exported.requests == 0 { b"\n" } else { b",\n" })?;
        write_json(out, &entry(recording, request, sent, body, &mut exported)?)?;
        exported.requests += 1;
        let answer = request.answer.as_ref().map(|(_, answer)| answer.items.as_slice());
        let is_call =
            |item: &&ledger::event::AnswerItem| item.kind == ledger::event::ItemKind::ToolCall;
        exported.calls += answer.unwrap_or_default().iter().filter(is_call).count() as u64;
    }
    out.write_all(b"\n]}}\n")?;
    let found = history.calls().iter().filter(|call| !call.found.is_empty()).count();
    exported.leave("whole output from beside the wire", found as u64);
    exported.leave("record that is no exchange", history.records().len() as u64);
    exported.leave("conversation that a request belongs to", history.sessions().len() as u64);
    Ok(exported)
}

fn entry(
    recording: &Recording,
    request: &Request,
    sent: &Dispatched,
    body: Vec<u8>,
    exported: &mut Exported,
) -> Result<Entry, ExportError> {
    let (history, source) = (recording.history(), recording.as_source());
    let text = |content: &ledger::content::Content| -> Result<String, GetError> {
        Ok(String::from_utf8_lossy(&content.read(source)?).into_owned())
    };
    let own = fields::read(history, source, &sent.headers, fields::sent)?;
    let coded = request.captured.transfer.content_coding.is_some();
    exported.leave("content coding of a request", u64::from(coded));
    let time = request.answer.as_ref().and_then(|(_, answer)| answer.time_us);
    exported.leave("time of a request that is not known", u64::from(sent.at_unix_ns.is_none()));
    let time = time.map_or(0.0, milliseconds);
    Ok(Entry {
        started_date_time: sent.at_unix_ns.and_then(rfc3339).unwrap_or_else(|| NO_TIME.to_owned()),
        time,
        request: Sent {
            method: text(&sent.method)?,
            url: text(&sent.url)?,
            http_version: "HTTP/1.1",
            cookies: [],
            headers: shown(&own, coded),
            query_string: [],
            body_size: body.len() as u64,
            post_data: data(body, mime(&own)),
            headers_size: -1,
        },
        response: match &request.answer {
            Some((_, answer)) => got(recording, answer, exported)?,
            None => nothing(),
        },
        cache: Nothing {},
        timings: Timings { send: 0.0, wait: time, receive: 0.0 },
        rung: request.captured.rung.name(),
        cut: matches!(request.answer, Some((End::Aborted, _))),
    })
}

fn got(
    recording: &Recording,
    answer: &Answered,
    exported: &mut Exported,
) -> Result<Got, ExportError> {
    let source = recording.as_source();
    let own = fields::read(recording.history(), source, &answer.headers, fields::answered)?;
    exported.leave("body of an answer that was withheld", u64::from(answer.body_withheld));
    let content = match &answer.body {
        Some(body) => data(body.read(source)?.to_vec(), mime(&own)),
        None => Data { mime_type: mime(&own), ..Data::default() },
    };
    // The fields of an answer stay: a HAR has the body behind its coding beside them.
    Ok(Got { status: answer.status, headers: shown(&own, false), content, ..nothing() })
}

fn nothing() -> Got {
    Got {
        status: 0,
        status_text: "",
        http_version: "HTTP/1.1",
        cookies: [],
        headers: Vec::new(),
        content: Data::default(),
        redirect_url: "",
        headers_size: -1,
        body_size: -1,
    }
}

fn shown(fields: &Fields, without_coding: bool) -> Vec<Field> {
    let left = |name: &str| OF_THE_CODING.iter().any(|own| own.eq_ignore_ascii_case(name));
    let kept = fields.iter().filter(|(name, _)| !(without_coding && left(name)));
    kept.map(|(name, value)| Field {
        name: name.clone(),
        value: String::from_utf8_lossy(value).into_owned(),
    })
    .collect()
}

fn mime(fields: &Fields) -> String {
    let found = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

fn data(body: Vec<u8>, mime_type: String) -> Data {
    let size = body.len() as u64;
    match String::from_utf8(body) {
        Ok(text) => Data { size, mime_type, text: Some(text), encoding: None },
        Err(error) => {
            let text = Some(STANDARD.encode(error.as_bytes()));
            Data { size, mime_type, text, encoding: Some("base64") }
        }
    }
}

/// Microseconds as milliseconds.
fn milliseconds(us: u64) -> f64 {
    // Times of exchanges are far below the 2^53 up to which this is exact; the text of the number
    // is what counts, and no cast can be lossy in silence.
    format!("{}.{:03}", us / 1000, us % 1000).parse().unwrap_or(0.0)
}
