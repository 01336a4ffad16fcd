//! Test servers on loopback, and short trials against them.

#![allow(unreachable_pub, reason = "the other files of this program use it")]

pub mod http2;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_load::log::{self, ENTRY_BYTES, Entry};
use hoptax_load::trial::{self, TrialError, TrialSpec};
use hoptax_load::{Protocol, RequestSpec, Target};
use hoptax_result::{Environment, LoadResult};

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A server on loopback that calls `serve` for each connection. A connection's thread ends with the connection; the
/// listener ends with the test process.
pub fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads one request without a body, and returns its head; None at the end of the connection.
pub fn read_head(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut bytes) = (Vec::new(), [0; 512]);
    while !head.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&bytes[..count]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Reads one request without a body; false at the end of the connection.
pub fn read_request(stream: &mut TcpStream) -> bool {
    read_head(stream).is_some()
}

/// A server that sends `response` to every request.
pub fn answering(response: &'static [u8]) -> SocketAddr {
    server(move |mut stream| while read_request(&mut stream) && stream.write_all(response).is_ok() {})
}

/// A server that calls `serve` with each connection and its number, from 0, and the number of its connections.
pub fn numbered(serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    (server(move |stream| serve(count.fetch_add(1, Ordering::Relaxed), stream)), accepted)
}

/// A server that calls `before` with the number of the connection before it answers a request.
pub fn answering_after(before: impl Fn(usize) + Send + Sync + 'static) -> SocketAddr {
    let (address, _) = numbered(move |connection, mut stream| {
        while read_request(&mut stream) {
            before(connection);
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    address
}

/// A server that takes this time for each response.
pub fn slow(delay: Duration) -> SocketAddr {
    answering_after(move |_| thread::sleep(delay))
}

/// A server that answers every request, and the number of its connections.
pub fn counting() -> (SocketAddr, Arc<AtomicUsize>) {
    numbered(|_, mut stream| while read_request(&mut stream) && stream.write_all(OK).is_ok() {})
}

pub fn target(address: SocketAddr) -> Target {
    Target::get(&format!("http://{address}/")).unwrap()
}

pub fn spec(address: SocketAddr) -> TrialSpec {
    TrialSpec {
        connections: 4,
        duration: Duration::from_millis(300),
        warmup: Duration::ZERO,
        max_error_share: 0.0,
        ..TrialSpec::new(target(address))
    }
}

/// A trial that ends after so many requests, for properties of each of them: a closed loop otherwise takes the processors from other tests
/// until its time is over.
pub fn few(address: SocketAddr, requests: u64) -> TrialSpec {
    limited(spec(address), requests)
}

/// The same over HTTP/2.
pub fn http2_few(address: SocketAddr, connections: usize, streams: u32, requests: u64) -> TrialSpec {
    limited(http2_spec(address, connections, streams), requests)
}

fn limited(spec: TrialSpec, requests: u64) -> TrialSpec {
    TrialSpec { requests: Some(requests), duration: Duration::from_hours(1), ..spec }
}

/// A trial over HTTP/2.
pub fn http2_spec(address: SocketAddr, connections: usize, streams: u32) -> TrialSpec {
    let url = format!("http://{address}/");
    let asked = RequestSpec { url: &url, protocol: Some(Protocol::Http2), ..RequestSpec::default() };
    let mut spec = spec(address);
    spec.traffic = Target::from_spec(&asked).unwrap().into();
    spec.traffic.set_streams(streams, 0);
    spec.connections = connections;
    spec
}

pub fn run(spec: &TrialSpec) -> LoadResult {
    let result = trial::run(spec, Environment::default(), &AtomicBool::new(false), None).unwrap();
    assert!(result.book.balances(), "{:?}", result.book);
    assert_eq!(result.book.failed, result.failures.values().sum::<u64>());
    let waits = result.unsent.get("end").copied().unwrap_or(0);
    let book = &result.book;
    assert_eq!(result.latency.response.count, book.answered + book.timed_out + book.unfinished + waits);
    result
}

/// The error of a trial that does not start.
pub fn failed(spec: &TrialSpec) -> TrialError {
    trial::run(spec, Environment::default(), &AtomicBool::new(false), None).unwrap_err()
}

/// The result of a trial, and the entries of its log.
pub fn run_with_log(mut spec: TrialSpec) -> (LoadResult, Vec<Entry>) {
    let (sender, pieces) = log::channel();
    spec.log = Some(sender);
    let result = run(&spec);
    drop(spec);
    let bytes: Vec<u8> = pieces.into_iter().flatten().collect();
    let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    assert!(rest.is_empty());
    (result, entries.iter().map(|bytes| Entry::from_bytes(bytes).unwrap()).collect())
}

pub fn only_failure(result: &LoadResult) -> &str {
    assert!(result.book.failed > 0, "{:?}", result.book);
    let kinds: Vec<_> = result.failures.keys().collect();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    kinds[0]
}

/// Waits until `is_so` returns true. Panics after a minute, which no test depends on.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: not within a minute");
}
