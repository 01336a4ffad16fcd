//! A package index for tests: it has a fixed response for each path, and records requests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The response for a path.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: &'static str,
    media_type: &'static str,
    body: Vec<u8>,
    /// The address that it redirects to; empty if it does not.
    location: &'static str,
    /// Bytes that its length states beyond the body.
    missing_bytes: usize,
}

impl Answer {
    pub(super) fn ok(media_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: "200 OK", media_type, body: body.into(), location: "", missing_bytes: 0 }
    }

    pub(super) fn status(status: &'static str) -> Self {
        Self { status, ..Self::ok("text/plain", "no") }
    }

    pub(super) fn redirect(location: &'static str) -> Self {
        Self { location, ..Self::status("302 Found") }
    }

    /// The same response, cut off before its end.
    pub(super) fn cut(self) -> Self {
        Self { missing_bytes: 1, ..self }
    }
}

/// A server on loopback, which also acts as a proxy to itself: it responds for every host.
pub(super) struct IndexServer {
    pub(super) address: SocketAddr,
    /// The heads of all requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl IndexServer {
    /// Starts a server with these responses by path. It runs until the tests end.
    pub(super) fn start(answers: Vec<(String, Answer)>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let of_thread = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // Clients may disconnect, for example because they do not trust the server.
                let _ = match &tls {
                    None => converse(stream, &answers, &of_thread),
                    Some(tls) => ServerConnection::new(Arc::clone(tls))
                        .map_err(io::Error::other)
                        .and_then(|tls| converse(StreamOwned::new(tls, stream), &answers, &of_thread)),
                };
            }
        });
        Self { address, heads }
    }

    /// The heads of all requests so far.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The methods and paths of all requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        let line = |head: &String| head.lines().next().unwrap_or_default().replace(" HTTP/1.1", "");
        self.heads().iter().map(line).collect()
    }
}

/// Responds to one request, after any `CONNECT` requests to it as a proxy.
fn converse(
    stream: impl Read + Write,
    answers: &[(String, Answer)],
    heads: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        heads.lock().unwrap_or_else(PoisonError::into_inner).push(head.clone());
        if head.starts_with("CONNECT ") {
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            continue;
        }
        let target = head.split(' ').nth(1).unwrap_or_default();
        let found = answers.iter().find(|(path, _)| path == target);
        let answer = found.map_or_else(|| Answer::status("404 Not Found"), |(_, answer)| answer.clone());
        let Answer { status, media_type, body, location, missing_bytes } = answer;
        let location = if location.is_empty() { String::new() } else { format!("Location: {location}\r\n") };
        let length = body.len() + missing_bytes;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n{location}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.get_mut().write_all(head.as_bytes())?;
        stream.get_mut().write_all(&body)?;
        return stream.get_mut().flush();
    }
}
