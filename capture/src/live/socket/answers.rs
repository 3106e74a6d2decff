//! Answers over a WebSocket: each message that asks is put to whoever makes up answers as the
//! request that it would be over HTTP, and the events of the answer come back as messages.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::Socket;
use crate::chain::{Ask, Chain};
use crate::live::answering::{Answers, Asked, Given};

/// Answers messages until the client hangs up. `asked` is what asked for the socket.
pub(in crate::live) async fn run<A: Answers>(answers: Arc<A>, asked: Asked, mut client: Socket) {
    let mut chain = Chain::default();
    let mut warm_ups = 0_u64;
    while let Some(Ok(message)) = client.next().await {
        let Message::Text(text) = message else { continue };
        let Some(ask) = chain.ask(&text) else { continue };
        let gone = if ask.is_warm_up {
            warm_ups += 1;
            say(&mut client, &mut chain, &ask, &warmed_up(warm_ups)).await
        } else {
            let question =
                Asked { method: "POST".to_owned(), body: ask.body.clone(), ..asked.clone() };
            let answers = Arc::clone(&answers);
            let given = tokio::task::spawn_blocking(move || answers.answer(&question)).await;
            let Ok(given) = given else { return };
            say(&mut client, &mut chain, &ask, &given).await
        };
        if gone.is_none() {
            return;
        }
    }
}

/// The answer to a message that only brings items up: nothing was said, and it has an id.
fn warmed_up(number: u64) -> Given {
    let response = |status: &str| {
        json!({
            "id": format!("resp_warm_up_{number}"),
            "object": "response",
            "status": status,
            "output": [],
            "usage": { "input_tokens": 0, "output_tokens": 0, "total_tokens": 0 },
        })
    };
    let created = json!({ "type": "response.created", "response": response("in_progress") });
    let completed = json!({ "type": "response.completed", "response": response("completed") });
    Given::events(&[created.to_string(), completed.to_string()])
}

/// Sends an answer; `None` where it ends the connection.
async fn say(client: &mut Socket, chain: &mut Chain, ask: &Ask, given: &Given) -> Option<()> {
    if given.status >= 400 {
        let body: Vec<u8> = given.body.iter().flat_map(|piece| piece.bytes.clone()).collect();
        let told = serde_json::from_slice::<serde_json::Value>(&body).ok();
        let error = told.as_ref().and_then(|told| told.get("error"));
        let told = json!({ "type": "error", "status": given.status, "error": error });
        return client.send(Message::text(told.to_string())).await.ok();
    }
    let mut waiting = Vec::new();
    let mut done = Vec::new();
    for piece in &given.body {
        if !piece.after.is_zero() {
            tokio::time::sleep(piece.after).await;
        }
        waiting.extend_from_slice(&piece.bytes);
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii);
            let Some(data) = data.filter(|data| data.starts_with(b"{")) else { continue };
            let data = String::from_utf8_lossy(data).into_owned();
            chain.told(ask, &data, &mut done);
            client.send(Message::text(data)).await.ok()?;
        }
    }
    if given.cut { None } else { Some(()) }
}
