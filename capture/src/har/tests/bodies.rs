//! Goal: a body is the bytes that were sent, or says that it is not.
//! Method: one small entry per way in which programs write bodies, through the public parser.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::har::{Body, CODINGS_MAX, Coding, Decoding, Payload, Transfer, Unread, parse_entry};

const PLAIN: &[u8] = br#"{"model":"m","input":[]}"#;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(plain, 3).unwrap()
}

/// The body of a request with these members of `postData` and other members of `request`.
fn request_body(post_data: &str, others: &str) -> Body {
    let json = format!(
        "{{\"request\":{{\"postData\":{post_data},\"method\":\"POST\",\"url\":\"u\"{others}}}}}"
    );
    parse_entry(json.as_bytes(), 0, 0).unwrap().request.body
}

fn payload(body: Body) -> Payload {
    match body {
        Body::Present(payload) => payload,
        other => panic!("{other:?}"),
    }
}

/// The payload of `bytes` kept as base64 under a `content-encoding` header.
fn coded(bytes: &[u8], content_encoding: &str) -> Payload {
    let text = BASE64_STANDARD.encode(bytes);
    payload(request_body(
        &format!(
            "{{\"mimeType\":\"application/json\",\"text\":\"{text}\",\"encoding\":\"base64\"}}"
        ),
        &format!(
            ",\"bodySize\":{},\"headers\":[{{\"name\":\"Content-Encoding\",\"value\":\
             \"{content_encoding}\"}}]",
            bytes.len()
        ),
    ))
}

#[test]
fn a_zstd_coded_request_in_base64_is_decoded() {
    let sent = zstd(PLAIN);
    let payload = coded(&sent, "zstd");
    assert_eq!(payload.bytes, PLAIN);
    assert_eq!(payload.transfer, Transfer::Base64);
    assert_eq!(payload.content_encoding, [Coding::Zstd]);
    assert_eq!(payload.decoding, Decoding::Undone);
    assert_eq!(payload.coded_bytes, Some(sent.len() as u64));
    assert_eq!(payload.declared_bytes, Some(i64::try_from(sent.len()).unwrap()));
    assert!(payload.declared_matches);
    assert!(!payload.not_utf8);
}

#[test]
fn each_coding_is_undone_and_chains_from_the_outside_in() {
    for (sent, content_encoding) in [
        (gzip(PLAIN), "gzip"),
        (gzip(PLAIN), "X-GZip"),
        (zlib(PLAIN), "deflate"),
        (zstd(PLAIN), " ZSTD "),
        (zstd(&gzip(PLAIN)), "gzip, zstd"),
        (gzip(&zlib(PLAIN)), "identity,deflate,,gzip"),
        ([gzip(&PLAIN[..5]), gzip(&PLAIN[5..])].concat(), "gzip"),
    ] {
        let payload = coded(&sent, content_encoding);
        assert_eq!(payload.bytes, PLAIN, "{content_encoding}");
        assert_eq!(payload.decoding, Decoding::Undone);
        assert_eq!(payload.coded_bytes, Some(sent.len() as u64));
    }
}

/// `hello` under brotli.
const BROTLI_HELLO: [u8; 9] = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];

#[test]
fn brotli_is_undone_alone_and_under_another_coding() {
    for (sent, content_encoding) in
        [(BROTLI_HELLO.to_vec(), "br"), (gzip(&BROTLI_HELLO), "br, gzip")]
    {
        let payload = coded(&sent, content_encoding);
        assert_eq!((payload.bytes.as_slice(), payload.decoding), (&b"hello"[..], Decoding::Undone));
    }
}

#[test]
fn what_cannot_be_undone_is_kept_coded_with_the_reason() {
    let mut damaged = gzip(PLAIN);
    *damaged.last_mut().unwrap() ^= 1;
    let cut = zstd(PLAIN)[..zstd(PLAIN).len() - 1].to_vec();
    let trailing = [zlib(PLAIN), vec![0]].concat();
    let many = ["gzip"; CODINGS_MAX + 1].join(",");
    for (sent, content_encoding, decoding) in [
        (BROTLI_HELLO[..8].to_vec(), "br", Decoding::Damaged),
        (PLAIN.to_vec(), "br", Decoding::NotAsDeclared),
        (gzip(PLAIN), "compress, gzip", Decoding::Unsupported),
        (gzip(PLAIN), "aws-chunked", Decoding::Unsupported),
        (gzip(PLAIN), &many, Decoding::Unsupported),
        (damaged, "gzip", Decoding::Damaged),
        (cut, "zstd", Decoding::Damaged),
        (trailing, "deflate", Decoding::Damaged),
        (gzip(PLAIN), "zstd", Decoding::NotAsDeclared),
        (gzip(PLAIN), "gzip, gzip", Decoding::NotAsDeclared),
        (PLAIN.to_vec(), "deflate", Decoding::NotAsDeclared),
        (gzip(PLAIN), "identity", Decoding::Plain),
    ] {
        let payload = coded(&sent, content_encoding);
        assert_eq!((payload.decoding, payload.coded_bytes), (decoding, None), "{content_encoding}");
        assert_eq!(payload.bytes, sent, "{content_encoding}");
        assert!(payload.declared_matches);
    }
}

#[test]
fn a_body_decoded_by_the_writer_of_the_file_is_not_decoded_again() {
    let others =
        ",\"bodySize\":44,\"headers\":[{\"name\":\"content-encoding\",\"value\":\"gzip\"}]";
    let payload = payload(request_body("{\"text\":\"{\\\"model\\\":\\\"m\\\"}\"}", others));
    assert_eq!(payload.bytes, br#"{"model":"m"}"#);
    assert_eq!(payload.decoding, Decoding::NotAsDeclared);
    assert_eq!((payload.declared_bytes, payload.declared_matches), (Some(44), false));
}

#[test]
fn the_output_of_a_decoder_is_bounded() {
    let bomb = zstd(&vec![0; 1_000_000]);
    assert!(bomb.len() < 200);
    let undo = |bytes_max| crate::coding::undo(&bomb, &[Coding::Zstd], bytes_max);
    assert_eq!(undo(999_999), Err(Decoding::TooLarge));
    assert_eq!(undo(1_000_000).unwrap().len(), 1_000_000);
    let nested = gzip(&zstd(&vec![0; 1_000_000]));
    let chain = [Coding::Zstd, Coding::Gzip];
    assert_eq!(crate::coding::undo(&nested, &chain, 999_999), Err(Decoding::TooLarge));
}

#[test]
fn text_is_unescaped_once() {
    let body = request_body(r#"{"text":"a\\n\u00e9\ud83d\ude00\u0000\/"}"#, ",\"bodySize\":11");
    let payload = payload(body);
    assert_eq!(payload.bytes, "a\\n\u{e9}\u{1f600}\0/".as_bytes());
    assert_eq!((payload.transfer, payload.decoding), (Transfer::Text, Decoding::Plain));
    assert!(payload.declared_matches && !payload.not_utf8);
}

#[test]
fn text_that_is_no_utf8_is_kept_and_marked() {
    for text in [r"x\ud800y", r"\udc00", r"\ud800\ud800", r"\ud83d\u0041"] {
        let payload = payload(request_body(&format!("{{\"text\":\"{text}\"}}"), ""));
        assert!(payload.not_utf8, "{text}");
    }
    let first = payload(request_body(r#"{"text":"x\ud800y"}"#, ""));
    assert_eq!(first.bytes, b"x\xed\xa0\x80y");
    let mut json = br#"{"request":{"method":"P","url":"u","postData":{"text":"#.to_vec();
    json.extend(b"\"\xff\xfe\"}}}");
    let raw = payload(parse_entry(&json, 0, 0).unwrap().request.body);
    assert!(raw.not_utf8);
    assert_eq!(raw.bytes, b"\xff\xfe");
}

#[test]
fn base64_is_read_with_line_breaks_and_without_padding() {
    for text in ["aGVsbG8=", "aGVsbG8", "aGVs\\r\\nbG8=\\n"] {
        let post_data = format!("{{\"text\":\"{text}\",\"encoding\":\"Base64\"}}");
        let payload = payload(request_body(&post_data, ",\"bodySize\":5"));
        assert_eq!(payload.bytes, b"hello", "{text}");
        assert_eq!(payload.transfer, Transfer::Base64);
        assert!(payload.declared_matches);
    }
    let binary = payload(request_body(r#"{"text":"//4=","encoding":"base64"}"#, ""));
    assert_eq!((binary.bytes.as_slice(), binary.not_utf8), (&[0xff, 0xfe][..], false));
}

#[test]
fn what_is_not_in_the_file_is_absent_or_told_why() {
    let form = r#"{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a"}]}"#;
    let form_beside = r#"{"text":"","params":[{"name":"a"}]}"#;
    for (post_data, others, expected) in [
        ("null", "", Body::Absent),
        ("null", ",\"bodySize\":0", Body::Absent),
        ("null", ",\"bodySize\":-1", Body::Absent),
        ("null", ",\"bodySize\":9", Body::Unread(Unread::NotKept)),
        ("{}", ",\"bodySize\":9", Body::Unread(Unread::NotKept)),
        ("{\"params\":[]}", "", Body::Absent),
        (form, "", Body::Unread(Unread::Params)),
        (form_beside, "", Body::Unread(Unread::Params)),
        (r#"{"text":"*","encoding":"base64"}"#, "", Body::Unread(Unread::BadBase64)),
        (r#"{"text":"7b","encoding":"hex"}"#, "", Body::Unread(Unread::UnknownTransfer)),
    ] {
        assert_eq!(request_body(post_data, others), expected, "{post_data} {others}");
    }
    let both = request_body(r#"{"text":"a=1","params":[{"name":"a"}],"encoding":""}"#, "");
    assert_eq!(payload(both).bytes, b"a=1");
    let empty = payload(request_body("{\"text\":\"\"}", ",\"bodySize\":0"));
    assert!(empty.bytes.is_empty() && empty.declared_matches);
}

#[test]
fn a_response_is_read_like_a_request() {
    let text = BASE64_STANDARD.encode(gzip(b"data: [DONE]\n\n"));
    let json = format!(
        "{{\"request\":{{\"method\":\"POST\",\"url\":\"u\"}},\"response\":{{\"status\":200,\
         \"content\":{{\"size\":14,\"text\":\"{text}\",\"encoding\":\"base64\"}},\
         \"headers\":[{{\"name\":\"content-encoding\",\"value\":\"gzip\"}}],\"bodySize\":-1}}}}"
    );
    let response = parse_entry(json.as_bytes(), 0, 0).unwrap().response;
    assert_eq!(response.content_bytes, Some(14));
    let got = payload(response.body);
    assert_eq!((got.bytes.as_slice(), got.declared_bytes), (&b"data: [DONE]\n\n"[..], Some(-1)));
    assert!(!got.declared_matches);

    let kept_elsewhere = br#"{"request":{"method":"GET","url":"u"},
        "response":{"status":200,"content":{"size":500,"mimeType":"text/html"}}}"#;
    let response = parse_entry(kept_elsewhere, 0, 0).unwrap().response;
    assert_eq!(response.body, Body::Unread(Unread::NotKept));
}
