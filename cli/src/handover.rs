//! Hands a message to the recording that is under way: one connection for each, so that messages of
//! parallel calls never mix.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest message that is handed over, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// How long the recorder may take; a client waits for its hooks.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands a message over; returns when it is on the disk.
pub(crate) fn to_recorder(url: &str, message: &[u8]) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let rest = url.strip_prefix("http://").ok_or("no address of a recorder")?;
    let (addr, path) = rest.split_once('/').ok_or("no address of a recorder")?;
    let addr: SocketAddr = addr.parse().map_err(|_no_addr| "no address of a recorder")?;
    let mut stream = TcpStream::connect_timeout(&addr, PATIENCE).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).map_err(told)?;
    stream.write_all(message).map_err(told)?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).map_err(told)?;
    if answer.ends_with(b"204") { Ok(()) } else { Err("the recorder did not take it".to_owned()) }
}
