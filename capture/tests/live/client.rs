//! A client that writes and reads HTTP/1.1 as bytes, so that tests can do what no library does.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The body ended as HTTP says that it ends.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// A connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(addr).unwrap()) }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a request with its length.
    pub(crate) fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: proxy\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Reads status and fields.
    pub(crate) fn head(&mut self) -> Answer {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Answer { status, headers, body: Vec::new(), whole: false }
    }

    /// Reads some bytes of a chunked body: the next chunk. `None` at the end or where it breaks.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }

    /// Reads the whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk() {
                answer.whole = chunk.is_empty();
                answer.body.extend(chunk);
                if answer.whole {
                    break;
                }
            }
        } else {
            let length = answer.header("content-length").map_or(0, |word| word.parse().unwrap());
            answer.body = vec![0; length];
            answer.whole = self.stream.read_exact(&mut answer.body).is_ok();
        }
        answer
    }

    /// Hangs up both ways.
    pub(crate) fn hang_up(self) {
        self.stream.get_ref().shutdown(Shutdown::Both).unwrap();
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(addr: SocketAddr, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut client = Client::connect(addr);
    client.send("POST", target, headers, body);
    client.answer()
}
