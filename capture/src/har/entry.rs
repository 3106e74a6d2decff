//! One entry of a HAR: a request, its response, and when and where they were exchanged.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::body::{Body, Described};
use super::error::EntryError;
use super::members::{Bytes, Members, Object, extension, flag, integer, number, skip, thousandths};
use super::window::len64;

/// The most headers of one request or response that are read.
pub const HEADERS_MAX: usize = 10_000;

/// A request and its response, with what the file knows around them.
///
/// What a file leaves out is absent, `0` or empty here as each field says; a standard member
/// of the wrong type is an error, an extension of the wrong type is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The entry's place in the list, from 0.
    pub index: u64,
    /// Where the entry starts in the decompressed file.
    pub offset: u64,
    /// When the request was started, in nanoseconds since 1970; absent if the file's date is
    /// no RFC 3339 time, which has a zone.
    pub started_unix_ns: Option<u64>,
    /// How long the exchange took, in microseconds.
    pub time_us: Option<u64>,
    /// What was sent.
    pub request: Request,
    /// What was answered.
    pub response: Response,
    /// `_sequence`: the order of arrival.
    pub sequence: Option<u64>,
    /// `_connection`: which connection.
    pub connection: Option<u64>,
    /// `_nthOnConnection`: its place among the requests on that connection.
    pub nth_on_connection: Option<u64>,
    /// `_closedByClient`: the client closed the connection before the end of the answer.
    pub closed_by_client: Option<bool>,
    /// `_cut`: the answer ends too early.
    pub cut: Option<bool>,
    /// `_webSocketMessages`: the JSON as it stands in the entry.
    pub web_socket_messages: Option<&'a [u8]>,
    /// `_rung`: what can be claimed of the request, where an export of a recording says it.
    pub rung: Option<Cow<'a, str>>,
}

/// The request of an entry.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method as it is written.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Such as `HTTP/1.1`; empty if the file gives none.
    pub http_version: String,
    /// The headers in the file's order, repeated ones too.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Body,
    /// The media type that the file gives beside the body.
    pub mime: Option<String>,
}

/// The response of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code; 0 if there was no answer, or none that HTTP knows.
    pub status: u16,
    /// The words beside the code; mostly empty.
    pub status_text: String,
    /// Such as `HTTP/1.1`; empty if the file gives none.
    pub http_version: String,
    /// The headers in the file's order, repeated ones too.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Body,
    /// The media type that the file gives beside the body.
    pub mime: Option<String>,
    /// `content.size`: the length without its content coding, as the file gives it.
    pub content_bytes: Option<i64>,
}

/// A header as it is written in the file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The name, in the file's own case.
    pub name: String,
    /// The value; UTF-8 unless the file holds lone surrogates.
    pub value: Vec<u8>,
}

/// Leaves the URL out: keys may stand in its query.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("http_version", &self.http_version)
            .field("headers", &self.headers)
            .field("body", &self.body)
            .field("mime", &self.mime)
            .finish_non_exhaustive()
    }
}

/// Shows the length of the value: it may be a key.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("name", &self.name)
            .field("value", &self.value.len())
            .finish()
    }
}

/// Parses the bytes of one element of `log.entries`, found as number `index` at `offset`.
pub fn parse_entry(bytes: &[u8], index: u64, offset: u64) -> Result<Entry<'_>, EntryError> {
    let missing = |member| EntryError::Missing { offset, index, member };
    let Members(fields) = serde_json::from_slice::<Members<EntryFields<'_>>>(bytes)
        .map_err(|error| entry_error(&error, bytes, index, offset))?;
    let request = fields.request.ok_or(missing("request"))?;
    let response = fields.response.unwrap_or_default();
    Ok(Entry {
        index,
        offset,
        started_unix_ns: fields.started.as_deref().and_then(unix_ns),
        time_us: fields.time_us,
        request: Request {
            method: request.method.ok_or(missing("request.method"))?,
            url: request.url.ok_or(missing("request.url"))?,
            http_version: request.http_version,
            body: Body::read(request.part.described, request.wire_bytes, &request.headers),
            headers: request.headers,
            mime: request.part.mime,
        },
        response: Response {
            status: response.status,
            status_text: response.status_text,
            http_version: response.http_version,
            content_bytes: response.part.described.content_bytes,
            body: Body::read(response.part.described, response.wire_bytes, &response.headers),
            headers: response.headers,
            mime: response.part.mime,
        },
        sequence: fields.sequence,
        connection: fields.connection,
        nth_on_connection: fields.nth_on_connection,
        closed_by_client: fields.closed_by_client,
        cut: fields.cut,
        web_socket_messages: fields.web_socket_messages,
        rung: fields.rung,
    })
}

#[derive(Default)]
struct EntryFields<'de> {
    started: Option<Cow<'de, str>>,
    time_us: Option<u64>,
    request: Option<RequestFields>,
    response: Option<ResponseFields>,
    sequence: Option<u64>,
    connection: Option<u64>,
    nth_on_connection: Option<u64>,
    closed_by_client: Option<bool>,
    cut: Option<bool>,
    web_socket_messages: Option<&'de [u8]>,
    rung: Option<Cow<'de, str>>,
}

impl<'de> Object<'de> for EntryFields<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"startedDateTime" => self.started = map.next_value()?,
            b"time" => self.time_us = number(map)?.and_then(thousandths),
            b"request" => self.request = object(map)?,
            b"response" => self.response = object(map)?,
            b"_sequence" => self.sequence = extension(map)?,
            b"_connection" => self.connection = extension(map)?,
            b"_nthOnConnection" => self.nth_on_connection = extension(map)?,
            b"_closedByClient" => self.closed_by_client = flag(map)?,
            b"_cut" => self.cut = flag(map)?,
            b"_rung" => {
                // Another type counts as absent, as with every extension.
                let raw = map.next_value::<&'de RawValue>()?.get();
                self.rung = serde_json::from_str(raw).ok();
            }
            b"_webSocketMessages" => {
                let raw = map.next_value::<Option<&'de RawValue>>()?;
                self.web_socket_messages = raw.map(|raw| raw.get().as_bytes());
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct RequestFields {
    method: Option<String>,
    url: Option<String>,
    http_version: String,
    headers: Vec<Header>,
    wire_bytes: Option<i64>,
    part: PartFields,
}

impl<'de> Object<'de> for RequestFields {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"method" => self.method = map.next_value()?,
            b"url" => self.url = map.next_value()?,
            b"httpVersion" => self.http_version = text(map)?,
            b"headers" => self.headers = headers(map)?,
            b"bodySize" => self.wire_bytes = number(map)?.and_then(integer),
            b"postData" => self.part = object(map)?.unwrap_or_default(),
            _ => skip(map)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct ResponseFields {
    status: u16,
    status_text: String,
    http_version: String,
    headers: Vec<Header>,
    wire_bytes: Option<i64>,
    part: PartFields,
}

impl<'de> Object<'de> for ResponseFields {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"status" => {
                let status = number(map)?.and_then(integer).map(u16::try_from);
                self.status = status.and_then(Result::ok).unwrap_or_default();
            }
            b"statusText" => self.status_text = text(map)?,
            b"httpVersion" => self.http_version = text(map)?,
            b"headers" => self.headers = headers(map)?,
            b"bodySize" => self.wire_bytes = number(map)?.and_then(integer),
            b"content" => self.part = object(map)?.unwrap_or_default(),
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// The members of `postData` and of `content`.
#[derive(Default)]
struct PartFields {
    mime: Option<String>,
    described: Described,
}

impl<'de> Object<'de> for PartFields {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let described = &mut self.described;
        match name {
            b"mimeType" => self.mime = map.next_value()?,
            b"text" => described.text = map.next_value::<Option<_>>()?.map(|Bytes(text)| text),
            b"encoding" => described.encoding = map.next_value()?,
            b"size" => described.content_bytes = number(map)?.and_then(integer),
            b"params" => {
                // Many programs write an empty list beside the text: only a field counts.
                let raw = map.next_value::<&'de RawValue>()?.get();
                described.has_params = raw.contains('{');
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

impl<'de> Object<'de> for Header {
    fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"name" => self.name = text(map)?,
            b"value" => {
                let value = map.next_value::<Option<_>>()?;
                self.value = value.map(|Bytes(value)| value).unwrap_or_default();
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// At most [`HEADERS_MAX`] headers: an empty one has two bytes in the file, but many here.
struct Headers(Vec<Header>);

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(HeadersVisitor)
    }
}

struct HeadersVisitor;

impl<'de> Visitor<'de> for HeadersVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of headers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some(Members(header)) = list.next_element()? {
            if headers.len() == HEADERS_MAX {
                return Err(A::Error::custom("too many headers"));
            }
            headers.push(header);
        }
        Ok(Headers(headers))
    }
}

fn headers<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<Header>, A::Error> {
    let headers = map.next_value::<Option<_>>()?;
    Ok(headers.map(|Headers(headers)| headers).unwrap_or_default())
}

fn object<'de, T, A>(map: &mut A) -> Result<Option<T>, A::Error>
where
    T: Object<'de>,
    A: MapAccess<'de>,
{
    Ok(map.next_value::<Option<_>>()?.map(|Members(object)| object))
}

fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<String, A::Error> {
    Ok(map.next_value::<Option<_>>()?.unwrap_or_default())
}

fn unix_ns(date: &str) -> Option<u64> {
    let time = date.parse::<jiff::Timestamp>().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

/// Keeps the place and kind of a parse error; its message would quote the entry.
fn entry_error(
    error: &serde_json::Error,
    bytes: &[u8],
    index: u64,
    entry_offset: u64,
) -> EntryError {
    let lines_before = error.line().saturating_sub(1);
    let line_bytes: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(lines_before).map(<[u8]>::len).sum();
    let inside = line_bytes.saturating_add(error.column()).min(bytes.len());
    let offset = entry_offset.saturating_add(len64(inside));
    match error.classify() {
        serde_json::error::Category::Data => EntryError::Shape { offset, index },
        _ => EntryError::Syntax { offset, index },
    }
}
