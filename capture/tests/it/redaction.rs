//! Goal: no file of a recording holds a secret of its source, and what was not secret is still
//! there byte for byte. Method: a dummy secret of its own in every place where one can stand;
//! every byte of every file and of every artifact is searched for them.

use std::io::Write as _;

use artifacts::Source as _;
use artifacts::redact::Redactor;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capture::import::NoteKind;
use flate2::Compression;
use flate2::write::GzEncoder;
use ledger::event::Rung;

use crate::support::{ANTHROPIC, CHAT, Exchange, GEMINI, RESPONSES, Run, Stands, files, quoted};

/// A secret by its looks; every number another one.
fn shaped(number: u32) -> String {
    format!("sk-ant-api03-DummyDummyDummy-leaked-{number:03}")
}

/// A secret only by its place.
fn placed(number: u32) -> String {
    format!("opensesame~leaked-{number:03}")
}

/// What no byte of a recording may show: the end of every secret above.
const LEAK: &[u8] = b"leaked-";

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Searches everything that a recording consists of.
#[track_caller]
fn assert_no_leak(run: &Run) {
    for (path, bytes) in files(&run.recording) {
        if let Some(at) = find(&bytes, LEAK) {
            panic!(
                "{} at {at}: {:?}",
                path.display(),
                String::from_utf8_lossy(&bytes[at.saturating_sub(40)..at + 10])
            );
        }
    }
    let mut artifacts = 0;
    for (id, ..) in run.store.iter() {
        let bytes = run.store.read(&run.store.reference(&id).unwrap()).unwrap();
        if let Some(at) = find(&bytes, LEAK) {
            panic!(
                "artifact: {:?}",
                String::from_utf8_lossy(&bytes[at.saturating_sub(80)..at + 10])
            );
        }
        artifacts += 1;
    }
    assert_eq!(artifacts, run.store.len());
}

/// A text with every shaped secret replaced as the redactor replaces it.
fn clean(text: &str) -> String {
    let mut clean = text.to_owned();
    for number in 0..200 {
        let secret = shaped(number);
        let placeholder = Redactor::core().redact(secret.as_bytes()).as_bytes().to_vec();
        clean = clean.replace(&secret, &String::from_utf8(placeholder).unwrap());
    }
    clean
}

/// A text in which every placeholder has the number of the first secret.
fn one(text: &str) -> String {
    let mut pieces = text.split(":#");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |all, piece| all + ":#0001" + &piece[4..])
}

/// Imports bodies as one run and checks that each comes back with its secrets replaced and
/// nothing else changed.
#[track_caller]
fn check(url: &str, bodies: &[String]) -> Run {
    let exchanges: Vec<_> = bodies.iter().map(|body| Exchange::post(url, body.clone())).collect();
    let run = Run::of(&exchanges);
    assert_no_leak(&run);
    for (index, body) in bodies.iter().enumerate() {
        let expected = clean(body);
        let rebuilt = String::from_utf8(run.bodies[index].clone()).unwrap();
        assert_eq!(one(&rebuilt), expected);
        let captured = &run.request(index).captured;
        if expected == *body {
            assert_eq!((captured.rung, captured.redactions), (Rung::BodyExact, 0));
        } else {
            assert_eq!(captured.rung, Rung::ExactModuloRedaction);
            assert!(captured.redactions > 0);
        }
    }
    run
}

#[test]
fn secrets_in_every_part_of_a_chat_body_are_replaced_and_nothing_else() {
    let user = format!(r#"{{"role":"user","content":"my key is {} ok?"}}"#, shaped(1));
    let system = format!(r#"{{"role":"system","content":"{}"}}"#, shaped(2));
    let call = format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function",
            "function":{{"name":"sh","arguments":"{{\"cmd\":\"export K={}\\n\"}}"}}}}]}}"#,
        shaped(3)
    );
    let outputs = [
        shaped(4),
        format!(r"line\n{}\nline", shaped(5)),
        format!(r#"{{\"key\": \"{}\"}}"#, shaped(6)),
        format!(r#"\"{{\\\"key\\\": \\\"a\\n{}\\\"}}\""#, shaped(7)),
        format!(r"tab\t{}\u001b[0m", shaped(8)),
    ];
    let results: Vec<_> = outputs
        .iter()
        .map(|output| format!(r#"{{"role":"tool","tool_call_id":"c","content":"{output}"}}"#))
        .collect();
    let plain = r#"{"role":"user","content":"nothing secret"}"#;
    let options = format!(
        r#""metadata":{{"user_id":"{}","long":"{}"}},"tools":[{{"name":"{}"}}],"{}":1"#,
        shaped(9),
        "x".repeat(300),
        shaped(10),
        shaped(11)
    );
    let body = |messages: &[&str], more: &str| {
        format!(r#"{{"model":"m","messages":[{}]{more}}}"#, messages.join(", "))
    };
    let mut all = vec![system.as_str(), &user, &call];
    all.extend(results.iter().map(String::as_str));
    let run = check(
        CHAT,
        &[
            body(&[plain], ""),
            body(&[plain, plain], &format!(",{options}")),
            body(&[plain, &system, &user], ""),
            body(&all, &format!(r#","end":"{}""#, shaped(12))),
            body(&[plain, plain, plain], ""),
        ],
    );
    assert_eq!(run.notes, [(NoteKind::Redacted, 3)]);
}

#[test]
fn secrets_that_escapes_hide_are_replaced_and_the_escapes_around_them_stay() {
    let letters: Vec<_> = shaped(1).bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let letters = letters.concat();
    let placeholder = clean(&shaped(1));
    for around in
        [r"\u00e9 \/ \u0041 \n ", r"\ud83d\ude00 & < \u003c\u003C ", "\u{e9}\u{1f600} ", ""]
    {
        let message = |secret: &str| {
            format!(r#"{{"messages":[{{"role":"user","content":"{around}{secret} {around}"}}]}}"#)
        };
        let run = Run::of(&[
            Exchange::post(CHAT, message(&letters)),
            Exchange::post(CHAT, message(&shaped(1).replace('-', "\\u002d"))),
            Exchange::post(CHAT, message(&shaped(1))),
        ]);
        assert_no_leak(&run);
        for rebuilt in &run.bodies {
            assert_eq!(String::from_utf8(rebuilt.clone()).unwrap(), message(&placeholder));
        }
    }
}

#[test]
fn secrets_in_bodies_that_are_kept_whole_are_replaced() {
    check(CHAT, &[format!(r#"{{"messages":[{{"content":"{}"}}"#, shaped(1))]);
    check(CHAT, &[format!("not json: {}", shaped(1))]);
    check(CHAT, &[format!(r#"{{"messages":[],"messages":["{}"]}}"#, shaped(1))]);
    check(RESPONSES, &[format!(r#"{{"input":"{}"}}"#, shaped(1))]);
    check(CHAT, &[format!(r#"{{"messages":[{{"content":"\ud83d {}"}}]}}"#, shaped(1))]);
    check(CHAT, &[format!(r#"{{"messages":[{{"content":{{"a":{{"b":["{}"]}}}}}}]}}"#, shaped(1))]);
}

#[test]
fn secrets_in_arguments_and_marks_of_anthropic_are_replaced() {
    let mark = |number| format!(r#","cache_control":{{"type":"{}"}}"#, shaped(number));
    let first =
        format!(r#"{{"role":"user","content":[{{"type":"text","text":"go"{}}}]}}"#, mark(1));
    let second = format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f",
            "input":{{"k":"{}","list":["{}"]}}{}}}]}}"#,
        shaped(2),
        shaped(3),
        mark(4)
    );
    let third = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a",
            "content":[{{"type":"text","text":"{}"{}}}]}}]}}"#,
        shaped(5),
        mark(6)
    );
    let body = |messages: &[&str]| {
        format!(r#"{{"system":"{}","messages":[{}]}}"#, shaped(7), messages.join(","))
    };
    check(ANTHROPIC, &[body(&[&first]), body(&[&first, &second, &third])]);
    // A mark alone makes a request one with secrets.
    check(ANTHROPIC, &[format!(r#"{{"messages":[{first}]}}"#)]);
}

#[test]
fn secrets_in_gemini_calls_and_results_are_replaced() {
    let contents = format!(
        r#"{{"role":"model","parts":[{{"functionCall":{{"name":"f",
            "args":{{"k":"{}"}}}}}}]}},{{"role":"user","parts":[{{"functionResponse":{{"name":"f",
            "response":{{"output":"a\n{}"}}}}}}]}}"#,
        shaped(1),
        shaped(2)
    );
    check(GEMINI, &[format!(r#"{{"contents":[{contents}]}}"#)]);
}

#[test]
fn credentials_of_headers_and_urls_are_replaced() {
    let exchange =
        Exchange::post(&format!("{CHAT}?key={}&alt=sse", placed(0)), r#"{"messages":[]}"#)
            .header("Authorization", &format!("Bearer {}", placed(1)))
            .header("x-api-key", &placed(2))
            .header("X-Goog-Api-Key", &placed(3))
            .header("Cookie", &format!(r#"a="{}"; b={}"#, placed(4), placed(5)))
            .header("Proxy-Authorization", &format!("Basic {}", placed(6)))
            .header("referer", &format!("http://h/?access_token={}", placed(7)))
            .header(":path", &format!("/v1/chat/completions?key={}", placed(8)))
            .header("x-note", &shaped(9))
            .header(&shaped(10), "in the name")
            .answer_header("Set-Cookie", &format!("id={}; Path=/", placed(11)))
            .answer_header("location", &format!("http://h/?sig={}", placed(12)))
            .answer_header("x-note", &shaped(13));
    let run = Run::of(&[exchange.clone(), exchange]);
    assert_no_leak(&run);
    run.assert_exact(0, br#"{"messages":[]}"#, true);
    let url = run.text(&run.request(0).dispatched.as_ref().unwrap().url);
    assert!(
        url.starts_with(&format!("{CHAT}?key=[REDACTED:")) && url.ends_with("&alt=sse"),
        "{url}"
    );
}

#[test]
fn secrets_in_answers_are_replaced_and_the_body_is_withheld() {
    let (one, two) = (shaped(1), shaped(2));
    let (left, right) = one.split_at(20);
    let chat = |delta: &str| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
    let done = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned();
    let text = |text: &str| chat(&format!(r#"{{"content":"{text}"}}"#));
    let arguments = |text: &str| {
        chat(&format!(
            r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":{}}}}}]}}"#,
            quoted(text)
        ))
    };
    let whole = [text(&format!("it is {two}.")), done.clone()];
    let split = [text(&format!("it is {left}")), text(&format!("{right}.")), done.clone()];
    let split_arguments =
        [arguments(&format!(r#"{{"k":"{left}"#)), arguments(&format!(r#"{right}"}}"#)), done];
    let user = r#"{"role":"user","content":"go"}"#;
    let said = format!(r#"{{"role":"assistant","content":"it is {one}."}}"#);
    let stream = |exchange: Exchange, events: &[String]| {
        exchange.stream(&events.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let run = Run::of(&[
        stream(Exchange::chat(&[user]), &whole),
        stream(Exchange::chat(&[user]), &split),
        stream(Exchange::chat(&[user]), &split_arguments),
        Exchange::chat(&[user, &said]),
    ]);
    assert_no_leak(&run);
    for event in 0..3 {
        let (_, answer) = run.request(event).answer.as_ref().unwrap();
        let body = answer.body.as_ref().map(|body| run.text(body));
        assert_eq!((answer.body_withheld, body.is_none()), (true, true));
        // What the pieces make together is there, with the secret replaced.
        let item = run.text(&run.items(event)[0].text);
        assert!(item.contains("[REDACTED:antk:"), "{item}");
        for piece in [left, &right[..10]] {
            let found = files(&run.recording)
                .iter()
                .any(|(_, bytes)| find(bytes, piece.as_bytes()).is_some());
            assert!(!found, "a piece is left");
        }
    }
    // What comes back with the secret replaced is still known as the answer that it was.
    assert_eq!(run.causes(3), [ledger::event::Cause::Answer(ledger::id::RequestId::new(1))]);
}

#[test]
fn a_split_secret_is_found_beyond_the_items_that_are_recorded() {
    let secret = shaped(1);
    let (left, right) = secret.split_at(20);
    let text = "x".repeat(500);
    let item = |index: usize| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{index},
                "item":{{"type":"function_call","call_id":"c{index}","name":"f",
                "arguments":"{text}"}}}}"#
        )
    };
    let delta = |delta: &str| {
        format!(
            r#"{{"type":"response.output_text.delta","output_index":9000,"content_index":0,
                "delta":"{delta}"}}"#
        )
    };
    let mut events: Vec<_> = (0..8_000).map(item).collect();
    events.extend([delta(left), delta(right)]);
    events.push(r#"{"type":"response.completed","response":{}}"#.to_owned());
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let run = Run::of(&[Exchange::post(RESPONSES, r#"{"input":"a"}"#).stream(&events)]);
    assert_no_leak(&run);
    let (_, answer) = run.request(0).answer.as_ref().unwrap();
    assert!(answer.body_withheld && answer.body.is_none());
    assert!(answer.items.len() < 8_000 && answer.unparsed_events > 0);
}

/// Imports an entry that becomes a record and checks that it holds no secret.
#[track_caller]
fn record(entry: &str) -> String {
    let run = Run::of_file(crate::support::har(&[entry.to_owned()]).as_bytes());
    assert_no_leak(&run);
    let [record] = run.history.records() else { panic!("no record") };
    let text = run.text(&record.bytes);
    assert!(text.contains("REDACTED"), "{text}");
    text
}

#[test]
fn credentials_of_records_are_replaced_wherever_a_har_tells_them() {
    let sent = [
        ("Authorization", format!("Bearer {}", placed(1))),
        ("x-api-key", format!(r#"with "quotes" and \ {}"#, placed(2))),
        ("cookie", format!(r#"a="{}"; b={}"#, placed(3), placed(4))),
        ("referer", format!("http://h/?key={}", placed(5))),
        ("x-plain", "kept as it is".to_owned()),
    ];
    let mut get = Exchange::new(
        "GET",
        &format!("http://user:{}@h/v1/models?key={}&page=2", placed(6), placed(7)),
    );
    for (name, value) in &sent {
        get = get.header(name, value);
    }
    get = get.answer_header("set-cookie", &format!("id={}", placed(8))).answer(format!(
        r#"{{"data":"{}","echo":{}}}"#,
        shaped(9),
        quoted(&sent[1].1)
    ));
    let json = get.json();
    let more = format!(
        r#","queryString":[{{"name":"key","value":"{}"}},{{"value":"{}&#=",
            "name":"access_token"}},{{"name":"page","value":"2"}}],"cookies":[{{"name":"a",
            "value":"{}"}}],"#,
        placed(7),
        placed(10),
        placed(3)
    );
    let got = format!(
        r#""cookies":[{{"name":"id","value":"{}","path":"/"}}],"redirectURL":"/?token={}","#,
        placed(8),
        placed(11)
    );
    let json = json.replacen(r#","headers":["#, &format!(r#"{more}"headers":["#), 1).replacen(
        r#""response":{"#,
        &format!(r#""response":{{{got}"#),
        1,
    );
    let text = record(&json);
    assert!(text.contains("kept as it is") && text.contains("page=2"), "{text}");
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed["request"]["queryString"][2]["value"], "2");
    assert_eq!(parsed["response"]["cookies"][0]["path"], "/");
}

#[test]
fn credentials_of_entries_that_do_not_parse_are_replaced() {
    let url = format!("http://h/?key={}", placed(1));
    for entry in [
        format!(
            r#"{{"request":{{"url":"{url}","headers":[{{"name":"authorization",
                "value":"{}"}}]}}}}"#,
            placed(2)
        ),
        format!(
            r#"{{"request":{{"method":"GET","url":"{url}","headers":{{"Authorization":"Bearer {}",
                "x":"y"}}}}}}"#,
            placed(2)
        ),
        format!(
            r#"{{"request":{{"method":7,"u\u0072l":"{url}",
                "\u0068eaders":[{{"name":"x-api-k\u0065y","value":"{}"}}]}}}}"#,
            placed(2)
        ),
        format!(
            r#"{{"request":{{"method":7,"headers":[{{"name":"x","value":"{}","name":"cookie"}}],
                "headers":[1,null,{{}}]}}}}"#,
            placed(2)
        ),
        format!(
            r#"{{"request":{{"method":7,"headers":[{{"name":"cookie","value":"{} \ud83d"}}]}},
                "x":tru}}"#,
            placed(2)
        ),
    ] {
        record(&entry);
    }
}

#[test]
fn secrets_in_web_socket_messages_are_replaced() {
    let frame = format!(
        r#"{{"type":"response.create","generate":false,"input":[{{"text":"a\n{}"}},"{}"]}}"#,
        shaped(1),
        placed(2)
    );
    let messages = format!(
        r#","_webSocketMessages":[{{"type":"send","opcode":1,"data":{}}}]"#,
        quoted(&frame)
    );
    let entry = Exchange::new("GET", RESPONSES)
        .status(101)
        .header("authorization", &format!("Bearer {}", placed(2)))
        .more(&messages);
    let text = record(&entry.json());
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = parsed["_webSocketMessages"][0]["data"].as_str().unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(data).is_ok(), "{data}");
}

#[test]
fn secrets_in_bodies_as_base64_are_replaced() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, shaped(1));
    let answer = format!(
        r#"{{"choices":[{{"message":{{"content":"{}"}},"finish_reason":"stop"}}]}}"#,
        shaped(2)
    );
    let run = Run::of(&[Exchange::new("POST", CHAT)
        .body(Stands::Base64(gzip(body.as_bytes())))
        .header("content-encoding", "gzip")
        .answer_as("application/json", Stands::Base64(gzip(answer.as_bytes())))
        .answer_header("content-encoding", "gzip")]);
    assert_no_leak(&run);
    assert_eq!(run.bodies[0], clean(&body).as_bytes());
    let models = format!(r#"{{"data":"{}"}}"#, shaped(3));
    let get = Exchange::new("GET", "http://h/v1/models")
        .answer_as("application/json", Stands::Base64(models.clone().into_bytes()));
    let run = Run::of(&[get]);
    let text = run.text(&run.history.records()[0].bytes);
    assert!(text.contains(&STANDARD.encode(clean(&models))), "{text}");
}
