//! Connections to a listener that send requests and time their responses.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hoptax_wire::tls::{ClientConfig, ServerName};
use rustls::{AlertDescription, ClientConnection, StreamOwned};

/// Time limit for a connection and its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval at which a waiting client checks if it should stop.
const POLL: Duration = Duration::from_millis(50);
/// Maximum length of a reason, in characters.
const MOST_CHARACTERS: usize = 120;
/// Maximum size of a response, bytes.
const MOST_BYTES: usize = 1 << 16;
/// The header that Envoy adds to responses which it sends because a circuit breaker is open.
const OVERLOADED: &str = "x-envoy-overloaded";

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Received bytes of the next response.
    unread: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// True if an open circuit breaker is the reason for the response.
    pub(super) is_overloaded: bool,
    /// The first line of its body, shortened. In a response of the proxy itself, it is the reason.
    pub(super) reason: String,
}

/// Reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) why: String,
    /// True if the listener ended the handshake because the client has no certificate.
    pub(super) wants_certificate: bool,
}

impl Lost {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), wants_certificate: false }
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let wanted = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
        Self { why: error.to_string(), wants_certificate: tls == Some(&wanted) }
    }
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Address and TLS of a listener.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// Its address.
    pub(super) address: SocketAddr,
    /// TLS of the connection; None for plain HTTP.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Connection {
    pub(super) fn open(destination: &Destination) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&destination.address, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        let Some(config) = &destination.tls else {
            return Ok(Self { stream: Stream::Plain(stream), unread: Vec::new() });
        };
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Self { stream: Stream::Encrypted(Box::new(stream)), unread: Vec::new() })
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

    /// The next response, or why there is none. Waits for at most `limit`.
    pub(super) fn response(&mut self, limit: Duration, stop: &AtomicBool) -> Result<Response, Lost> {
        let began = Instant::now();
        self.socket().set_read_timeout(Some(POLL))?;
        loop {
            if let Some(response) = self.read() {
                return response;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Lost::new("interrupted"));
            }
            if began.elapsed() > limit {
                return Err(Lost::new(format!("none within {} s", limit.as_secs())));
            }
        }
    }

    /// The next response, if it has arrived.
    pub(super) fn response_now(&mut self) -> Option<Result<Response, Lost>> {
        match self.socket().set_nonblocking(true) {
            Ok(()) => self.read(),
            Err(error) => Some(Err(error.into())),
        }
    }

    fn socket(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => &stream.sock,
        }
    }

    /// Reads until a response is complete; none if no more bytes are available now.
    fn read(&mut self) -> Option<Result<Response, Lost>> {
        let mut bytes = [0; 1024];
        loop {
            match complete(&mut self.unread) {
                Ok(None) => {}
                Ok(Some(response)) => return Some(Ok(response)),
                Err(why) => return Some(Err(Lost::new(why))),
            }
            let read = match &mut self.stream {
                Stream::Plain(stream) => stream.read(&mut bytes),
                Stream::Encrypted(stream) => stream.read(&mut bytes),
            };
            match read {
                Ok(0) => return Some(Err(Lost::new("the connection is closed"))),
                Ok(count) => self.unread.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return None;
                }
                Err(error) => return Some(Err(self.alert().unwrap_or_else(|| error.into()))),
            }
        }
    }

    /// Returns the alert that a TLS listener sent before it closed the connection. Without this, a write error would hide the alert.
    fn alert(&mut self) -> Option<Lost> {
        let Stream::Encrypted(stream) = &mut self.stream else { return None };
        let StreamOwned { conn, sock } = stream.as_mut();
        while conn.read_tls(sock).ok()? > 0 {
            if let Err(error) = conn.process_new_packets() {
                return Some(io::Error::other(error).into());
            }
        }
        None
    }
}

/// Removes a complete response from the received bytes.
fn complete(unread: &mut Vec<u8>) -> Result<Option<Response>, String> {
    let Some(end) = unread.windows(4).position(|end| end == b"\r\n\r\n") else {
        return if unread.len() < MOST_BYTES {
            Ok(None)
        } else {
            Err(format!("its head has {MOST_BYTES} bytes or more"))
        };
    };
    let head = String::from_utf8_lossy(unread.get(..end).unwrap_or_default()).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let Some(status) = status else { return Err("it is not HTTP/1.1".to_owned()) };
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    let length = header("content-length").and_then(|(_, value)| value.trim().parse().ok());
    let bytes = end + 4 + length.unwrap_or(0_usize);
    if bytes > MOST_BYTES {
        return Err(format!("it has {bytes} bytes"));
    }
    if unread.len() < bytes {
        return Ok(None);
    }
    let body = String::from_utf8_lossy(unread.get(end + 4..bytes).unwrap_or_default()).into_owned();
    let reason = body.lines().next().unwrap_or_default().chars().take(MOST_CHARACTERS).collect();
    let is_overloaded = header(OVERLOADED).is_some();
    unread.drain(..bytes);
    Ok(Some(Response { status, is_overloaded, reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_taken_one_by_one_and_only_when_complete() {
        let mut unread = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n".to_vec();
        assert_eq!(complete(&mut unread), Ok(None));
        unread.extend_from_slice(b"abHTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n");
        let response = |status, reason: &str| {
            Ok(Some(Response { status, is_overloaded: false, reason: reason.to_owned() }))
        };
        assert_eq!(complete(&mut unread), response(200, "ab"));
        assert_eq!(complete(&mut unread), response(504, ""));
        assert_eq!((complete(&mut unread), unread.len()), (Ok(None), 0));
    }

    #[test]
    fn a_response_of_an_open_circuit_breaker_is_known_by_its_header() {
        let is_overloaded = |header: &str| {
            let text = format!("HTTP/1.1 503 Service Unavailable\r\n{header}: true\r\n\r\n");
            complete(&mut text.into_bytes()).unwrap().unwrap().is_overloaded
        };
        assert_eq!(["x-envoy-overloaded", "X-Envoy-Overloaded"].map(is_overloaded), [true, true]);
        assert!(!is_overloaded("x-other"));
    }

    #[test]
    fn only_the_alert_for_a_missing_certificate_asks_for_one() {
        let lost = |alert| Lost::from(io::Error::other(rustls::Error::AlertReceived(alert)));
        assert!(lost(AlertDescription::CertificateRequired).wants_certificate);
        assert!(!lost(AlertDescription::UnknownCA).wants_certificate);
        assert!(!Lost::from(io::Error::from(io::ErrorKind::ConnectionReset)).wants_certificate);
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
