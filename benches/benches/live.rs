//! What the recording proxy costs: time to the first byte of an answer with and without it, and
//! what passes it at once.
//!
//! Workload: an upstream on loopback that answers at once with a stream of four events; a client
//! that sends one body after the other on one connection; bodies of 40 kB that grow by a message
//! each, as an agent's do, and bodies of 3 MB of 16 clients at once. With the proxy each request is
//! on the disk before it is sent. Direct requests, requests through the proxy and plain syncs of
//! the same disk take turns in one run, so that the machine's load falls on all of them. No
//! criterion: it reports means, and here the tail matters.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench that cannot go on ends")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use artifacts::redact::Redactor;
use capture::live::answering::{Answering, Answers, Asked, Given};
use capture::live::{OnFailure, OnUpgrade, Proxy, ProxySpec, Target, Upstreams};

/// Requests of the latency part, each way.
const REQUESTS: usize = 400;
/// Text of the first body.
const FIRST_BODY_BYTES: usize = 40_000;
/// Text that each further body adds.
const GROWTH_BYTES: usize = 400;
/// Requests after which a conversation begins anew.
const CONVERSATION: usize = 64;
/// Clients at once, bodies of each, and their length.
const CLIENTS: usize = 16;
const BIG_BODIES: usize = 4;
const BIG_BODY_BYTES: usize = 3_000_000;

struct AtOnce;

impl Answers for AtOnce {
    fn answer(&self, _asked: &Asked) -> Given {
        let event = r#"{"id":"1","choices":[{"index":0,"delta":{"content":"hi"}}]}"#.to_owned();
        let last =
            r#"{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned();
        Given::events(&[event.clone(), event.clone(), event, last])
    }
}

/// A keep-alive connection.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a body; returns the time until the first byte of the answer's body.
    fn ask(&mut self, body: &str) -> Duration {
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let begun = Instant::now();
        self.0.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line.trim_end() != "" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
        }
        let mut first = None;
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            first.get_or_insert_with(|| begun.elapsed());
            let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            self.0.read_exact(&mut chunk).unwrap();
            if length == 0 {
                break;
            }
        }
        first.unwrap()
    }
}

/// Text that does not repeat, from a seed.
fn text(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 8);
    while out.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = state >> 40;
        out.push_str("abcdefghijklmnop qrstuvwxyz.,".get((word % 24) as usize..).unwrap());
        out.push(' ');
    }
    out.truncate(bytes);
    out
}

fn body(conversation: usize, turn: usize, first_bytes: usize) -> String {
    let mut messages = vec![serde_json::json!({
        "role": "user",
        "content": text(conversation as u64 + 1, first_bytes),
    })];
    for turn in 0..turn {
        let said = text((conversation * 1000 + turn) as u64, GROWTH_BYTES);
        messages.push(serde_json::json!({ "role": "user", "content": said }));
    }
    serde_json::json!({ "model": "m", "stream": true, "messages": messages }).to_string()
}

fn proxy(folder: &Path, upstream: &Answering) -> Proxy {
    let target = Target::parse(&format!("http://{}", upstream.addr())).unwrap();
    Proxy::start(ProxySpec {
        recording: folder.join("run"),
        listen: ([127, 0, 0, 1], 0).into(),
        upstreams: Upstreams::all(&target),
        on_failure: OnFailure::Refuse,
        on_upgrade: OnUpgrade::Tunnel,
        recorder: "bench".to_owned(),
        redactor: Redactor::core(),
        identity: None,
        environment: None,
        spill_roots: Vec::new(),
        disk: artifacts::fs::vfs::LocalDisk::shared(),
        clock: Arc::new(|| 1),
    })
    .unwrap()
}

/// One append and one sync of as many bytes as a captured request adds.
fn sync(file: &mut File) -> Duration {
    let bytes = [7_u8; 2048];
    let begun = Instant::now();
    file.write_all(&bytes).unwrap();
    file.sync_data().unwrap();
    begun.elapsed()
}

fn row(name: &str, mut times: Vec<Duration>, out: &mut impl std::io::Write) -> (f64, f64) {
    times.sort_unstable();
    let at = |per_mille: usize| {
        let index = (times.len() * per_mille / 1000).min(times.len() - 1);
        times[index].as_secs_f64() * 1e3
    };
    let (p50, p99) = (at(500), at(990));
    writeln!(out, "{name:24} p50 {p50:8.3} ms   p99 {p99:8.3} ms").unwrap();
    (p50, p99)
}

fn latency(folder: &Path, upstream: &Answering, out: &mut impl std::io::Write) {
    let proxy = proxy(folder, upstream);
    let mut file = File::create(folder.join("plain")).unwrap();
    let (mut direct, mut through) =
        (Client::connect(upstream.addr()), Client::connect(proxy.addr()));
    let (mut without, mut with, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..REQUESTS {
        let body = body(number / CONVERSATION, number % CONVERSATION, FIRST_BODY_BYTES);
        without.push(direct.ask(&body));
        with.push(through.ask(&body));
        syncs.push(sync(&mut file));
    }
    drop(through);
    let report = proxy.finish(Duration::from_secs(5)).unwrap();
    assert_eq!(report.requests, REQUESTS as u64);
    let direct = row("first byte, direct", without, out);
    let proxied = row("first byte, proxy", with, out);
    let synced = row("one sync", syncs, out);
    let added = (proxied.0 - direct.0, proxied.1 - direct.1);
    writeln!(
        out,
        "added by the proxy       p50 {:8.3} ms   p99 {:8.3} ms   = {:.2} and {:.2} syncs",
        added.0,
        added.1,
        added.0 / synced.0,
        added.1 / synced.1
    )
    .unwrap();
}

fn throughput(folder: &Path, upstream: &Answering, out: &mut impl std::io::Write) {
    let proxy = proxy(&folder.join("big"), upstream);
    let bodies: Vec<String> =
        (0..CLIENTS).map(|client| body(client + 1000, 0, BIG_BODY_BYTES)).collect();
    let bytes = bodies.iter().map(String::len).sum::<usize>() * BIG_BODIES;
    let megabytes = f64::from(u32::try_from(bytes).unwrap()) / 1e6;
    for (name, addr) in
        [("3 MB bodies, direct", upstream.addr()), ("3 MB bodies, proxy", proxy.addr())]
    {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for body in &bodies {
                scope.spawn(move || {
                    let mut client = Client::connect(addr);
                    for _ in 0..BIG_BODIES {
                        client.ask(body);
                    }
                });
            }
        });
        let rate = megabytes / begun.elapsed().as_secs_f64();
        writeln!(out, "{name:24} {rate:8.1} MB/s with {CLIENTS} clients at once").unwrap();
    }
    proxy.finish(Duration::from_secs(20)).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    writeln!(out, "peak memory of all parts {}", peak.trim_start_matches("VmHWM:").trim()).unwrap();
}

fn main() {
    // Cargo runs benches with `--bench`, and tests of benches without it.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let folder = tempfile::tempdir_in(".").unwrap();
    std::fs::create_dir(folder.path().join("big")).unwrap();
    let upstream = Answering::start(([127, 0, 0, 1], 0).into(), Arc::new(AtOnce)).unwrap();
    let mut out = std::io::stdout();
    latency(folder.path(), &upstream, &mut out);
    throughput(folder.path(), &upstream, &mut out);
    upstream.finish();
}
