//! HTTP as both listeners need it: fields that end at this hop, answers of our own.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::{Response, StatusCode};

use crate::intake::Fields;

/// The body of an answer to a client.
pub(super) type AnswerBody = BoxBody<Bytes, Cut>;

/// The answer cannot be finished: the connection is broken off, so that the client sees it.
#[derive(Debug, thiserror::Error)]
#[error("answer was cut upstream")]
pub(super) struct Cut;

/// Fields that speak of one connection and are never passed on (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Takes out the fields that end at this hop, and those that `connection` names.
pub(super) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut out = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let ends_here = HOP_BY_HOP.contains(&name.as_str()) || named.contains(name);
        if !ends_here {
            out.append(name, value.clone());
        }
    }
    out
}

/// Header fields as they are recorded: names in lower case, values as bytes.
pub(super) fn fields(headers: &HeaderMap) -> Fields {
    let field =
        |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.as_bytes().to_vec());
    headers.iter().map(field).collect()
}

/// A body that is all there.
pub(super) fn whole(bytes: Bytes) -> AnswerBody {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed()
}

/// An answer of our own. `kind` is a fixed word, `message` a fixed sentence: neither is content.
pub(super) fn refusal(status: StatusCode, kind: &str, message: &str) -> Response<AnswerBody> {
    let told = serde_json::json!({
        "error": { "type": kind, "message": message, "source": "counterfold" }
    });
    let mut response = Response::new(whole(Bytes::from(told.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Tells a client that asks for another protocol to send plain requests.
pub(super) fn no_upgrade() -> Response<AnswerBody> {
    let words = "no upgrade here; send plain requests";
    let mut answer = refusal(StatusCode::UPGRADE_REQUIRED, "no_upgrade", words);
    answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_connection_end_here_and_all_others_pass_in_order() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "a"),
            ("connection", "keep-alive, X-Only-Here"),
            ("x-only-here", "1"),
            ("transfer-encoding", "chunked"),
            ("accept", "b"),
            ("authorization", "Bearer x"),
        ] {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let passed = fields(&end_to_end(&headers));
        let told: Vec<_> = passed.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        assert_eq!(told, [("accept", &b"a"[..]), ("accept", b"b"), ("authorization", b"Bearer x")]);
    }
}
