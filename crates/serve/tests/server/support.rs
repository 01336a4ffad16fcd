//! A site, which is a server without a socket, and an origin.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use hoptax_origin::{Origin, OriginOptions, Secrets};
use hoptax_result::sample;
use hoptax_serve::{Options, Server, routes};
use hoptax_session::store::Store;
use hoptax_session::token::Token;
use hoptax_session::{Failure, Interrupt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};
use tower::ServiceExt;

/// The host that requests name.
pub(crate) const OWN: &str = "127.0.0.1:8419";
/// The places of a server: its connections at a time.
pub(crate) const PLACES: usize = 256;
/// The event streams that a server has at a time.
pub(crate) const STREAMS: usize = 64;

/// A server on loopback with a store of its own.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    router: Router,
    runtime: Runtime,
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The message of an error.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// The options of a server on loopback with a store in a folder.
pub(crate) fn options(folder: &TempDir) -> Options {
    Options {
        listen: OWN.parse().unwrap(),
        token: None,
        targets: Vec::new(),
        hosts: Vec::new(),
        allows_bills: false,
        is_offline: false,
        loads_at_once: 1,
        store: folder.path().join("store.sqlite"),
        on_update: |_| (),
    }
}

/// The token of a server that others would reach.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// These options on an address of documentation, which others would reach.
pub(crate) fn open(options: Options) -> Options {
    Options {
        listen: "192.0.2.1:8419".parse().unwrap(),
        token: Some(Token::of_text(TOKEN).unwrap()),
        targets: vec!["192.0.2.2:80".parse().unwrap()],
        ..options
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(change: impl FnOnce(Options) -> Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let router = routes(change(options(&folder))).unwrap();
        let runtime = runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { folder, router, runtime }
    }

    /// Puts a result in, and returns its run.
    pub(crate) fn store(&self, result: &str) -> i64 {
        let mut store = Store::open(&self.folder.path().join("store.sqlite")).unwrap();
        store.put_result(result, "a test").unwrap()
    }

    /// Puts the sample of a load in.
    pub(crate) fn store_load(&self) -> i64 {
        self.store(&serde_json::to_string(&sample::load()).unwrap())
    }

    /// A response whose body is not read yet.
    pub(crate) fn response(&self, request: Request<Body>) -> Response {
        self.runtime.block_on(self.router.clone().oneshot(request)).unwrap()
    }

    pub(crate) fn answer(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.response(request).into_parts();
        let body = self.runtime.block_on(to_bytes(body, usize::MAX)).unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.answer(asking("GET", path).body(Body::empty()).unwrap())
    }

    /// As a browser does that opens an address.
    pub(crate) fn get_as_browser(&self, path: &str) -> Answer {
        let accepted = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        self.answer(asking("GET", path).header(ACCEPT, accepted).body(Body::empty()).unwrap())
    }

    /// Asks a job to stop.
    pub(crate) fn stop(&self, job: u64) -> Answer {
        self.answer(asking("POST", &format!("/api/v1/jobs/{job}/stop")).body(Body::empty()).unwrap())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.answer(posting(path, body.to_string()))
    }

    /// The job with this number, once it has ended.
    pub(crate) fn ended(&self, job: u64) -> Value {
        self.job_when(job, |job| !job["ended_at"].is_null())
    }

    /// The job with this number, once a condition holds.
    pub(crate) fn job_when(&self, job: u64, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let shown = self.get(&format!("/api/v1/jobs/{job}")).json();
            if holds(&shown) {
                return shown;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A request that names the server.
pub(crate) fn asking(method: &str, path: &str) -> Builder {
    Request::builder().method(method).uri(path).header(HOST, OWN)
}

pub(crate) fn posting(path: &str, body: impl Into<Body>) -> Request<Body> {
    asking("POST", path).header(CONTENT_TYPE, "application/json").body(body.into()).unwrap()
}

/// A load of this length to an address. Its rate leaves the processors to other tests.
pub(crate) fn load(address: SocketAddr, duration: &str) -> Value {
    let target = format!("http://{address}/");
    json!({"target": target, "rate": 200.0, "duration": duration, "warmup": "0s", "connections": 2})
}

/// A connection on which a request was sent.
pub(crate) fn sent(address: SocketAddr, request: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        socket,
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    socket
}

/// The rest of what comes on a connection.
pub(crate) fn rest(mut socket: TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

/// A server that listens, with a store in a folder.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    interrupt: Interrupt,
    thread: JoinHandle<Result<(), Failure>>,
}

impl Serving {
    pub(crate) fn begin(folder: &TempDir) -> Self {
        let options = Options { listen: ([127, 0, 0, 1], 0).into(), ..options(folder) };
        let server = Server::bind(options).unwrap();
        let (address, interrupt) = (server.address(), Interrupt::default());
        let of_thread = interrupt.clone();
        let thread = thread::spawn(move || server.run(&of_thread));
        Self { address, interrupt, thread }
    }

    /// Ends it as a signal does, and waits for its end.
    pub(crate) fn end(self) {
        self.interrupt.flag().store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap();
    }
}

/// An origin, until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Running {
    pub(crate) fn origin(default: &str) -> Self {
        let origin = Origin::bind(&OriginOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            workers: 1,
            default_query: default.to_owned(),
            tables: Vec::new(),
            seed: 1,
            tls: None,
            tcp_request_bytes: None,
            secrets: Secrets::default(),
        })
        .unwrap();
        let (address, stop) = (origin.local_address(), Arc::new(AtomicBool::new(false)));
        let of_thread = Arc::clone(&stop);
        let thread = Some(thread::spawn(move || origin.run(&of_thread).unwrap().connections));
        Self { address, stop, thread }
    }

    /// Ends it, and returns the number of connections that it had.
    pub(crate) fn connections(mut self) -> u64 {
        self.ended().unwrap()
    }

    fn ended(&mut self) -> Option<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(|thread| thread.join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ended();
    }
}
