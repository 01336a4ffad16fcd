//! Connections to a listener, on which requests are sent, and their responses timed.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hoptax_wire::tls::{ClientConfig, ServerName};
use rustls::{ClientConnection, StreamOwned};

/// Time limit for a connection and its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How often a waiting client looks whether it is to stop.
const POLL: Duration = Duration::from_millis(50);
/// The most characters of a reason.
const MOST_CHARACTERS: usize = 120;
/// The most bytes of a response.
const MOST_BYTES: usize = 1 << 16;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// What is read of the next response.
    unread: Vec<u8>,
    /// The first line of the body of the last response.
    reason: String,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// How a listener is reached.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// Its address.
    pub(super) address: SocketAddr,
    /// What TLS needs; none for plain HTTP.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Connection {
    pub(super) fn open(destination: &Destination) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&destination.address, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        let Some(config) = &destination.tls else {
            return Ok(Self { stream: Stream::Plain(stream), unread: Vec::new(), reason: String::new() });
        };
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Self { stream: Stream::Encrypted(Box::new(stream)), unread: Vec::new(), reason: String::new() })
    }

    pub(super) fn send(&mut self, request: &str) -> io::Result<()> {
        self.socket().set_nonblocking(false)?;
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(request.as_bytes()),
            Stream::Encrypted(stream) => {
                stream.write_all(request.as_bytes())?;
                stream.flush()
            }
        }
    }

    /// The status of the next response, which is waited for at most `limit`, or why there is none.
    pub(super) fn response(&mut self, limit: Duration, stop: &AtomicBool) -> Result<u16, String> {
        let began = Instant::now();
        self.socket().set_read_timeout(Some(POLL)).map_err(|error| error.to_string())?;
        loop {
            if let Some(response) = self.read() {
                return response;
            }
            if stop.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
            if began.elapsed() > limit {
                return Err(format!("none within {} s", limit.as_secs()));
            }
        }
    }

    /// The status of the next response if it is there.
    pub(super) fn response_now(&mut self) -> Option<Result<u16, String>> {
        match self.socket().set_nonblocking(true) {
            Ok(()) => self.read(),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// The first line of the body of the last response, shortened.
    pub(super) fn reason(self) -> String {
        self.reason
    }

    fn socket(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => &stream.sock,
        }
    }

    /// Reads until a response is complete; none if no more is there now.
    fn read(&mut self) -> Option<Result<u16, String>> {
        let mut bytes = [0; 1024];
        loop {
            match complete(&mut self.unread) {
                Ok(None) => {}
                Ok(Some((status, body))) => {
                    self.reason =
                        body.lines().next().unwrap_or_default().chars().take(MOST_CHARACTERS).collect();
                    return Some(Ok(status));
                }
                Err(why) => return Some(Err(why)),
            }
            let read = match &mut self.stream {
                Stream::Plain(stream) => stream.read(&mut bytes),
                Stream::Encrypted(stream) => stream.read(&mut bytes),
            };
            match read {
                Ok(0) => return Some(Err("the connection is closed".to_owned())),
                Ok(count) => self.unread.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return None;
                }
                Err(error) => return Some(Err(error.to_string())),
            }
        }
    }
}

/// Takes a complete response from what is read, and returns its status and its body.
fn complete(unread: &mut Vec<u8>) -> Result<Option<(u16, String)>, String> {
    let Some(end) = unread.windows(4).position(|end| end == b"\r\n\r\n") else {
        return if unread.len() < MOST_BYTES { Ok(None) } else { Err("it has no end".to_owned()) };
    };
    let head = String::from_utf8_lossy(unread.get(..end).unwrap_or_default()).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let Some(status) = status else { return Err("it is not HTTP/1.1".to_owned()) };
    let length = lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let bytes = end + 4 + length.unwrap_or(0_usize);
    if bytes > MOST_BYTES {
        return Err(format!("it has {bytes} bytes"));
    }
    if unread.len() < bytes {
        return Ok(None);
    }
    let body = String::from_utf8_lossy(unread.get(end + 4..bytes).unwrap_or_default()).into_owned();
    unread.drain(..bytes);
    Ok(Some((status, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_taken_one_by_one_and_only_when_complete() {
        let mut unread = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n".to_vec();
        assert_eq!(complete(&mut unread), Ok(None));
        unread.extend_from_slice(b"abHTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(complete(&mut unread), Ok(Some((200, "ab".to_owned()))));
        assert_eq!(complete(&mut unread), Ok(Some((504, String::new()))));
        assert_eq!((complete(&mut unread), unread.len()), (Ok(None), 0));
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for bytes in [
            &b"SSH-2.0\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
            &vec![b'a'; MOST_BYTES],
        ] {
            assert!(complete(&mut bytes.to_vec()).is_err());
        }
    }
}
