//! Sends one request to a listener, and times its response.

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
/// The most bytes of the first line of a response.
const MOST_LINE_BYTES: usize = 1 << 12;

/// The status of the response, or why there is none, and the time from the request until then.
pub(super) struct Response {
    pub(super) status: Result<u16, String>,
    pub(super) took: Duration,
}

/// Sends a request, and waits at most `limit` for the first line of its response.
pub(super) fn send(
    address: SocketAddr,
    tls: Option<(&Arc<ClientConfig>, ServerName<'static>)>,
    request: &str,
    limit: Duration,
    stop: &AtomicBool,
) -> Response {
    let failed = |error: &io::Error| Response { status: Err(error.to_string()), took: Duration::ZERO };
    let connected = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).and_then(|stream| {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        Ok(stream)
    });
    let stream = match connected {
        Ok(stream) => stream,
        Err(error) => return failed(&error),
    };
    let Some((config, name)) = tls else {
        return match stream.set_read_timeout(Some(POLL)) {
            Ok(()) => exchange(stream, request, limit, stop),
            Err(error) => failed(&error),
        };
    };
    let shaken =
        ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other).and_then(|connection| {
            let mut stream = StreamOwned::new(connection, stream);
            stream.conn.complete_io(&mut stream.sock)?;
            stream.sock.set_read_timeout(Some(POLL))?;
            Ok(stream)
        });
    match shaken {
        Ok(stream) => exchange(stream, request, limit, stop),
        Err(error) => failed(&error),
    }
}

fn exchange(mut stream: impl Read + Write, request: &str, limit: Duration, stop: &AtomicBool) -> Response {
    let began = Instant::now();
    let status = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.flush())
        .map_err(|error| error.to_string())
        .and_then(|()| status(&mut stream, began, limit, stop));
    Response { status, took: began.elapsed() }
}

fn status(stream: &mut impl Read, began: Instant, limit: Duration, stop: &AtomicBool) -> Result<u16, String> {
    let mut line = Vec::new();
    let mut bytes = [0; 1024];
    while !line.contains(&b'\n') && line.len() < MOST_LINE_BYTES {
        match stream.read(&mut bytes) {
            Ok(0) => return Err("the connection is closed".to_owned()),
            Ok(count) => line.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.to_string()),
        }
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        if began.elapsed() > limit {
            return Err(format!("none within {} s", limit.as_secs()));
        }
    }
    let text = String::from_utf8_lossy(&line);
    let status = text.split(' ').nth(1).and_then(|word| word.trim().parse().ok());
    status.ok_or_else(|| "it is not HTTP/1.1".to_owned())
}
