//! Exports of OTLP in protobuf, as the same in JSON. Only what the reader of traces looks at is
//! decoded; field numbers are those of opentelemetry-proto 1.x.

use prost::Message;

use super::anthropic::{list, object};
use super::json;

#[derive(Clone, PartialEq, Message)]
struct Traces {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(fixed64, tag = "7")]
    start: u64,
    #[prost(fixed64, tag = "8")]
    end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<SpanEvent>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanEvent {
    #[prost(fixed64, tag = "1")]
    time: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
    #[prost(message, tag = "6")]
    Map(KeyValueList),
    #[prost(bytes, tag = "7")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    values: Vec<KeyValue>,
}

/// True where the bytes begin as an export does: the first field, with a length.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x0a) && bytes.iter().take(64).any(|byte| *byte < 0x09 || *byte > 0x7e)
}

/// The export as OTLP's JSON; `None` when the bytes are none, or hold no span.
pub(super) fn to_json(bytes: &[u8]) -> Option<Vec<u8>> {
    let traces = Traces::decode(bytes).ok()?;
    let mut resources = Vec::new();
    let mut found = false;
    for resource in &traces.resource_spans {
        let mut scopes = Vec::new();
        for scope in &resource.scope_spans {
            let spans: Vec<Vec<u8>> = scope.spans.iter().map(span).collect();
            found |= !spans.is_empty();
            scopes.push(object(&[("spans", &list(&spans))]));
        }
        resources.push(object(&[("scopeSpans", &list(&scopes))]));
    }
    found.then(|| object(&[("resourceSpans", &list(&resources))]))
}

fn span(span: &Span) -> Vec<u8> {
    let events: Vec<Vec<u8>> = span
        .events
        .iter()
        .map(|event| {
            object(&[
                ("name", &json::quoted(&event.name)),
                ("timeUnixNano", &json::quoted(&event.time.to_string())),
                ("attributes", &attributes(&event.attributes)),
            ])
        })
        .collect();
    object(&[
        ("traceId", &json::quoted(&hex(&span.trace_id))),
        ("spanId", &json::quoted(&hex(&span.id))),
        ("parentSpanId", &json::quoted(&hex(&span.parent_id))),
        ("name", &json::quoted(&span.name)),
        ("startTimeUnixNano", &json::quoted(&span.start.to_string())),
        ("endTimeUnixNano", &json::quoted(&span.end.to_string())),
        ("attributes", &attributes(&span.attributes)),
        ("events", &list(&events)),
    ])
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('0', |it| char::from(*it));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn attributes(own: &[KeyValue]) -> Vec<u8> {
    list(&own.iter().map(attribute).collect::<Vec<_>>())
}

fn attribute(attribute: &KeyValue) -> Vec<u8> {
    let value = attribute.value.as_ref().map_or_else(|| b"{}".to_vec(), value);
    object(&[("key", &json::quoted(&attribute.key)), ("value", &value)])
}

/// Decoding bounds how deep values are nested, so this does not recurse deeper.
fn value(value: &AnyValue) -> Vec<u8> {
    let values = |inner: Vec<Vec<u8>>| object(&[("values", &list(&inner))]);
    match &value.kind {
        Some(Kind::Text(text)) => object(&[("stringValue", &json::quoted(text))]),
        Some(Kind::Bool(own)) => object(&[("boolValue", own.to_string().as_bytes())]),
        Some(Kind::Int(own)) => object(&[("intValue", &json::quoted(&own.to_string()))]),
        Some(Kind::Double(own)) if own.is_finite() => {
            object(&[("doubleValue", own.to_string().as_bytes())])
        }
        Some(Kind::Double(_)) | None => b"{}".to_vec(),
        Some(Kind::Bytes(bytes)) => object(&[("stringValue", &json::quoted(&hex(bytes)))]),
        Some(Kind::Array(own)) => {
            let inner = own.values.iter().map(self::value).collect();
            object(&[("arrayValue", &values(inner))])
        }
        Some(Kind::Map(own)) => {
            let inner = own.values.iter().map(attribute).collect();
            object(&[("kvlistValue", &values(inner))])
        }
    }
}
