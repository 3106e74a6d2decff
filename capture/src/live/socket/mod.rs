//! Turns of the Responses API over a WebSocket: passed on message by message, each request
//! captured before it is sent, as the model sees it.

pub(super) mod answers;
mod tunnel;

use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::REQUEST_BYTES_MAX;

pub(super) use tunnel::run;

/// The offer of extensions (compression), which is not passed on: messages are read here.
const EXTENSIONS: HeaderName = HeaderName::from_static("sec-websocket-extensions");

/// A WebSocket over a connection that was one of HTTP.
pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// True for a request that asks for a WebSocket.
pub(super) fn asks_for_one(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Puts in the fields that ask for a WebSocket, or agree to one.
pub(super) fn agree(headers: &mut HeaderMap) {
    headers.remove(EXTENSIONS);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

pub(super) async fn over(upgraded: Upgraded, role: Role) -> Socket {
    let limits = WebSocketConfig::default()
        .max_message_size(Some(REQUEST_BYTES_MAX))
        .max_frame_size(Some(REQUEST_BYTES_MAX));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), role, Some(limits)).await
}
