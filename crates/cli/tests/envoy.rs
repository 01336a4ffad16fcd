//! Every function of the catalogue on real Envoy: it is accepted, and it does what it says.
//!
//! A function that has nothing to do would look cheap, so each is asked for evidence of its work: what the origin
//! was sent, what the client got back, what Envoy counted or wrote.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hoptax_functions::{Catalogue, Context, FunctionCall, REQUEST_PATH};
use hoptax_subject::envoy::bootstrap::{Codec, ProxyPlan};
use hoptax_subject::envoy::process::{Proxy, ProxySpec};
use hoptax_subject::envoy::release::Envoy;

/// An origin that keeps the heads of the requests that it gets.
struct Witness {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Witness {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heads) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, heads: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(head) = read_head(&mut reader) {
        heads.lock().unwrap().push(head);
        let body = "text ".repeat(820);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head.to_lowercase())
}

/// What a function did with a request.
struct Seen {
    answer: String,
    requests: Vec<String>,
    took: Duration,
    stats: String,
    files: BTreeMap<String, String>,
}

fn get(address: SocketAddr, path: &str, headers: &BTreeMap<String, String>) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\n{headers}connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn start(call: &str, directory: &Path, witnesses: &[Witness]) -> Proxy {
    let catalogue = Catalogue::load().unwrap();
    let fragment = (call != "baseline").then(|| {
        let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
        function.render(&knobs, &Context { directory, companion: None }).unwrap()
    });
    let environment = catalogue.get(call).map(|function| function.environment.clone()).unwrap_or_default();
    let spec = ProxySpec {
        envoy: Envoy::find(None, &mut |_| {}).unwrap(),
        directory: directory.to_owned(),
        plan: ProxyPlan {
            admin_port: 0,
            listen: ([127, 0, 0, 1], 0).into(),
            origins: witnesses.iter().map(|witness| witness.address).collect(),
            fragment,
            codec: Codec::Http1,
            downstream: None,
            upstream: None,
        },
        environment,
        workers: 1,
        processors: Vec::new(),
    };
    spec.configure().unwrap();
    spec.validate().unwrap();
    spec.start().unwrap().wait().unwrap()
}

/// Sends one request of the function's own through it, `path` and `headers` changed as `change` says.
fn see(call: &str, change: impl Fn(&mut String, &mut BTreeMap<String, String>)) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let witnesses = [Witness::start()];
    let proxy = start(call, folder.path(), &witnesses);
    let catalogue = Catalogue::load().unwrap();
    let id = call.split('{').next().unwrap();
    let request = catalogue.get(id).map(|function| function.request.clone()).unwrap_or_default();
    let mut path = request.query.map_or(REQUEST_PATH.to_owned(), |query| format!("{REQUEST_PATH}?{query}"));
    let mut headers = request.headers;
    change(&mut path, &mut headers);
    let began = Instant::now();
    let answer = get(proxy.address, &path, &headers);
    let took = began.elapsed();
    let stats = get(proxy.admin.unwrap(), "/stats", &BTreeMap::new());
    proxy.end().unwrap();
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
    });
    Seen { answer, requests: witnesses[0].heads(), took, stats, files: files.collect() }
}

fn as_it_is(_: &mut String, _: &mut BTreeMap<String, String>) {}

fn counted(seen: &Seen, name: &str) -> u64 {
    let line = seen.stats.lines().find(|line| line.starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().parse().unwrap()
}

/// What shows that a function was at work.
type Evidence = fn(&Seen) -> bool;

/// The evidence for each function. One that is not here fails the test below.
const EVIDENCE: &[(&str, Evidence)] = &[
    ("access-log/file", |seen| seen.files["access.log"].contains("GET /hoptax HTTP/1.1")),
    ("access-log/json", |seen| {
        let line: serde_json::Value = serde_json::from_str(seen.files["access.json"].trim()).unwrap();
        line["status"] == 200 && line.as_object().unwrap().len() == 12
    }),
    ("balance/round-robin", |seen| seen.files["bootstrap.json"].contains("ROUND_ROBIN")),
    ("compress/gzip", |seen| seen.answer.contains("content-encoding: gzip")),
    ("cors", |seen| seen.answer.contains("access-control-allow-origin: https://hoptax.example")),
    ("fault/delay", |seen| {
        seen.took >= Duration::from_millis(5) && counted(seen, "http.ingress.fault.delays_injected") == 1
    }),
    ("header-mutation", |seen| {
        seen.answer.contains("x-hoptax-response-1: added")
            && seen.requests[0].contains("x-hoptax-request-1: added")
    }),
    ("jwt", |seen| counted(seen, "http.ingress.jwt_authn.allowed") == 1),
    ("lua", |seen| {
        seen.answer.contains("x-hoptax-lua: response") && seen.requests[0].contains("x-hoptax-lua: request")
    }),
    ("outlier-detection", |seen| counted(seen, "cluster.origin.outlier_detection.ejections_active") == 0),
    ("rate-limit/local", |seen| counted(seen, "hoptax.http_local_rate_limit.ok") == 1),
    ("rbac", |seen| counted(seen, "http.ingress.rbac.allowed") == 1),
    ("request-id", |seen| seen.requests[0].contains("x-request-id: ")),
    ("retry/policy", |seen| seen.files["bootstrap.json"].contains("\"num_retries\": 2")),
    ("route/header", |seen| seen.files["bootstrap.json"].contains("\"exact\": \"chosen\"")),
    ("route/path", |seen| seen.files["bootstrap.json"].contains("\"path\": \"/hoptax\"")),
    ("stats/per-route", |seen| counted(seen, "vhost.origin.route.hoptax.upstream_rq_total") == 1),
];

#[test]
fn every_function_is_accepted_and_at_work() {
    for function in Catalogue::load().unwrap().iter() {
        let (_, evidence) = EVIDENCE
            .iter()
            .find(|(id, _)| *id == function.id)
            .unwrap_or_else(|| panic!("no evidence for {}", function.id));
        let seen = see(&function.id, as_it_is);
        assert!(seen.answer.starts_with("HTTP/1.1 200"), "{}: {}", function.id, seen.answer);
        assert!(
            evidence(&seen),
            "{}: no sign of its work in {}\n{:?}",
            function.id,
            seen.answer,
            seen.requests
        );
    }
}

#[test]
fn the_plain_proxy_shows_no_sign_of_any_function() {
    let seen = see("baseline", as_it_is);
    let head = seen.answer.split("\r\n\r\n").next().unwrap();
    for sign in ["content-encoding", "access-control", "x-hoptax"] {
        assert!(!head.contains(sign), "{head}");
    }
    assert!(!seen.requests[0].contains("x-request-id"), "{:?}", seen.requests);
    assert!(seen.files.keys().all(|file| !file.starts_with("access")), "{:?}", seen.files.keys());
    assert!(!seen.stats.contains("ejections_active") && !seen.stats.contains("rbac"));
}

#[test]
fn what_a_function_must_refuse_it_refuses() {
    let status = |call: &str, change: fn(&mut String, &mut BTreeMap<String, String>)| {
        see(call, change).answer.split(' ').nth(1).unwrap().to_owned()
    };
    let no_headers: fn(&mut String, &mut BTreeMap<String, String>) = |_, headers| headers.clear();
    assert_eq!(status("rbac", no_headers), "403");
    assert_eq!(status("jwt", no_headers), "401");
    assert_eq!(status("route/header", no_headers), "404");
    assert_eq!(status("route/path{routes=200}", |path, _| path.push('x')), "404");
    assert_eq!(status("route/path{routes=200}", as_it_is), "200");
}

#[test]
fn round_robin_uses_all_four_origins() {
    let folder = tempfile::tempdir().unwrap();
    let witnesses = [(); 4].map(|()| Witness::start());
    let proxy = start("balance/round-robin", folder.path(), &witnesses);
    for _ in 0..8 {
        assert!(get(proxy.address, REQUEST_PATH, &BTreeMap::new()).starts_with("HTTP/1.1 200"));
    }
    let counts: Vec<usize> = witnesses.iter().map(|witness| witness.heads().len()).collect();
    assert_eq!(counts, [2, 2, 2, 2]);
}
