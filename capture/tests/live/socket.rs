//! Turns over a WebSocket: what the client and the upstream see, and what is recorded.

use std::net::{SocketAddr, TcpStream};

use capture::live::answering::{Asked, Given};
use ledger::event::Rung;
use ledger::history::End;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::stage::Stage;

/// Says one word per request, with a call of its own number.
fn script(index: usize, _asked: &Asked) -> Given {
    let item = json!({
        "type": "message", "id": format!("msg_{index}"), "role": "assistant",
        "content": [{ "type": "output_text", "text": format!("word {index}") }],
    });
    let id = format!("resp_{index}");
    let response = json!({ "id": id, "status": "completed", "output": [item] });
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let completed = json!({ "type": "response.completed", "response": response });
    Given::events(&[done.to_string(), completed.to_string()])
}

type Socket = WebSocket<TcpStream>;

fn connect(addr: SocketAddr) -> Socket {
    let stream = TcpStream::connect(addr).unwrap();
    client(format!("ws://{addr}/v1/responses"), stream).unwrap().0
}

fn text(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

/// Sends a message that asks, and returns the id of the response.
fn ask(socket: &mut Socket, message: &Value) -> String {
    socket.send(Message::text(message.to_string())).unwrap();
    loop {
        let told = text(socket);
        if told["type"] == "response.completed" {
            return told["response"]["id"].as_str().unwrap().to_owned();
        }
        assert_ne!(told["type"], "error", "{told}");
    }
}

fn user(said: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": said })
}

fn create(previous: Option<&str>, said: &str, generate: bool) -> Value {
    let mut message = json!({ "type": "response.create", "model": "m", "input": [user(said)] });
    if let Some(previous) = previous {
        message["previous_response_id"] = json!(previous);
    }
    if !generate {
        message["generate"] = json!(false);
    }
    message
}

#[test]
fn a_turn_is_recorded_as_the_model_sees_it_and_a_warm_up_is_none() {
    let stage = Stage::with_sockets(script);
    let mut socket = connect(stage.addr());
    let warm = ask(&mut socket, &create(None, "hello", false));
    let first = ask(&mut socket, &create(Some(&warm), "one", true));
    ask(&mut socket, &create(Some(&first), "two", true));
    socket.close(None).unwrap();
    let run = stage.end();
    assert_eq!((run.report.requests, run.report.conversations, run.report.side), (2, 1, 1));
    let second: Value = serde_json::from_slice(&run.body(1)).unwrap();
    let said = |item: &Value| {
        let text = item["content"].as_str().or(item["content"][0]["text"].as_str());
        text.unwrap().to_owned()
    };
    let said: Vec<_> = second["input"].as_array().unwrap().iter().map(said).collect();
    assert_eq!(said, ["hello", "one", "word 0", "two"]);
    assert_eq!(second.get("previous_response_id"), None);
    for request in run.history.requests() {
        assert_eq!(request.captured.rung, Rung::Reconstructed);
        assert_eq!(request.answer.as_ref().unwrap().0, End::Received);
    }
}

#[test]
fn a_client_that_goes_in_the_middle_leaves_its_request() {
    let stage = Stage::with_sockets(|_, _: &Asked| {
        let created = json!({ "type": "response.created", "response": { "id": "r" } });
        Given::events(&[created.to_string()])
    });
    let mut socket = connect(stage.addr());
    socket.send(Message::text(create(None, "hello", true).to_string())).unwrap();
    assert_eq!(text(&mut socket)["type"], "response.created");
    socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    let run = stage.end();
    assert_eq!(run.history.requests()[0].answer.as_ref().unwrap().0, End::Aborted);
}

#[test]
fn a_chain_that_was_begun_elsewhere_is_said_to_have_gaps() {
    let stage = Stage::with_sockets(script);
    let mut socket = connect(stage.addr());
    ask(&mut socket, &create(Some("resp_of_yesterday"), "hello", true));
    let run = stage.end();
    assert_eq!(run.history.requests()[0].captured.rung, Rung::Lossy);
}
