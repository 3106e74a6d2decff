//! An exchange that asks no model for an answer, told like an entry of a HAR file, so that it is
//! redacted and read like those of an imported one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::intake::Fields;

/// One exchange.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Fields,
    /// `None` where it is not kept: too long, or under a coding that cannot be undone.
    pub(super) body: Option<Vec<u8>>,
    /// 0 when there was no answer.
    pub(super) status: u16,
    pub(super) answer_headers: Fields,
    pub(super) answer: Option<Vec<u8>>,
    pub(super) time_us: u64,
}

impl Side {
    pub(super) fn to_json(&self) -> String {
        let data = self.body.as_ref().filter(|body| !body.is_empty());
        let data = data.map(|body| content(&self.headers, Some(body)));
        let micros = self.time_us;
        json!({
            "time": format!("{}.{:03}", micros / 1000, micros % 1000),
            "request": {
                "method": self.method,
                "url": self.url,
                "headers": headers(&self.headers),
                "postData": data,
            },
            "response": {
                "status": self.status,
                "headers": headers(&self.answer_headers),
                "content": content(&self.answer_headers, self.answer.as_ref()),
            },
        })
        .to_string()
    }
}

fn headers(fields: &Fields) -> Value {
    let field = |(name, value): &(String, Vec<u8>)| {
        let value = String::from_utf8_lossy(value);
        json!({ "name": name, "value": value })
    };
    fields.iter().map(field).collect()
}

fn mime(fields: &Fields) -> String {
    let found = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// A body as `postData` and `content` tell it.
fn content(fields: &Fields, body: Option<&Vec<u8>>) -> Value {
    let mime = mime(fields);
    match body.map(|body| std::str::from_utf8(body).map_err(|_binary| body)) {
        None => json!({ "mimeType": mime }),
        Some(Ok(text)) => json!({ "mimeType": mime, "text": text }),
        Some(Err(body)) => {
            json!({ "mimeType": mime, "text": STANDARD.encode(body), "encoding": "base64" })
        }
    }
}
