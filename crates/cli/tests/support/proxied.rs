//! A real Envoy with one function, in front of an origin that stores the requests that arrive.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use hoptax_functions::{Catalogue, Context, FunctionCall};
use hoptax_subject::envoy::bootstrap::ProxyPlan;
use hoptax_subject::envoy::process::{Proxy, ProxySpec, Source};
use hoptax_subject::envoy::release::Envoy;
use serde_json::Value;

use super::serve_connections;

/// A request as the origin receives it.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    /// Its head, in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

/// An origin that stores its requests.
pub(crate) struct Witness {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Arrived>>>,
}

impl Witness {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&requests);
        serve_connections(listener, move |stream| serve(stream, &kept));
        Self { address, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Arrived> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.head).collect()
    }
}

fn serve(stream: TcpStream, requests: &Mutex<Vec<Arrived>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(request) = read_request(&mut reader) {
        requests.lock().unwrap().push(request);
        let body = "text ".repeat(820);
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Arrived> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let body = if head.contains("\r\ntransfer-encoding: chunked\r\n") {
        read_chunks(reader)?
    } else {
        read_bytes(reader, length.unwrap_or(0))?
    };
    Some(Arrived { head, body })
}

fn read_bytes(reader: &mut impl BufRead, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn read_chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let chunk = read_bytes(reader, usize::from_str_radix(size.trim(), 16).ok()?)?;
        // A line ends each chunk.
        read_bytes(reader, 2)?;
        if chunk.is_empty() {
            return Some(body);
        }
        body.extend(chunk);
    }
}

/// The response to a request without a body.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &BTreeMap<String, String>) -> String {
    respond(address, "GET", path, headers, &[])
}

/// The response to a request; empty if the connection is closed without one.
pub(crate) fn respond(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &BTreeMap<String, String>,
    body: &[u8],
) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\n{headers}{length}connection: close\r\n\r\n");
    let mut response = Vec::new();
    // A proxy that refuses may reset the connection before it has read everything.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    // Envoy closes the connection a second after a response of its own.
    let mut buffer = [0; 4096];
    while !is_complete(&response) {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => response.extend_from_slice(&buffer[..count]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&response).into_owned()
}

/// Returns true if a response has the length that its head states. A response without a length ends with the connection.
fn is_complete(response: &[u8]) -> bool {
    let Some(end) = response.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let (head, body) = response.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let is_chunked = head.contains("\r\ntransfer-encoding: chunked\r\n");
    length.is_some_and(|length| body.len() >= length) || is_chunked && body.ends_with(b"\r\n0\r\n\r\n")
}

/// The catalogue.
pub(crate) fn catalogue() -> &'static Catalogue {
    Catalogue::load().unwrap()
}

/// The usual Envoy, which is asked for its version once.
fn envoy() -> &'static Envoy {
    static ENVOY: OnceLock<Envoy> = OnceLock::new();
    ENVOY.get_or_init(|| Envoy::usual().unwrap())
}

/// Returns the message by which Envoy refuses the configuration in a file; none if it accepts it.
pub(crate) fn refusal(path: &Path) -> Option<String> {
    let mut validate = Command::new(&envoy().program);
    validate.args(["--mode", "validate", "--log-level", "error", "--config-path"]).arg(path);
    let validated = validate.output().unwrap();
    (!validated.status.success()).then(|| String::from_utf8_lossy(&validated.stderr).into_owned())
}

/// Starts Envoy with the function of a call.
pub(crate) fn start(call: &str, directory: &Path, witnesses: &[Witness]) -> Proxy {
    started(&spec(call, directory, witnesses))
}

pub(crate) fn started(spec: &ProxySpec) -> Proxy {
    spec.configure().unwrap();
    spec.start().unwrap().wait().unwrap()
}

/// Envoy with the function of a call, which needs no companion.
pub(crate) fn spec(call: &str, directory: &Path, witnesses: &[Witness]) -> ProxySpec {
    spec_with(call, directory, witnesses, None)
}

/// Envoy with the function of a call.
pub(crate) fn spec_with(
    call: &str,
    directory: &Path,
    witnesses: &[Witness],
    companion: Option<SocketAddr>,
) -> ProxySpec {
    let catalogue = catalogue();
    let fragment = (call != "baseline").then(|| {
        let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
        function.render(&knobs, &Context { directory, companion }).unwrap()
    });
    let environment = catalogue.get(call).map(|function| function.environment.clone()).unwrap_or_default();
    let origins = witnesses.iter().map(|witness| witness.address).collect();
    let plain = ProxyPlan::plain(([127, 0, 0, 1], 0).into(), origins);
    ProxySpec { environment, ..usual(ProxyPlan { fragment, ..plain }.into(), directory) }
}

/// Starts Envoy with a bootstrap, whose listener `in` gets requests, and these flags.
pub(crate) fn given(bootstrap: Value, directory: &Path, flags: &[&str]) -> Proxy {
    let source = Source::Given { bootstrap, listener: "in".to_owned() };
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    started(&ProxySpec { flags, ..usual(source, directory) })
}

/// The usual Envoy with one worker and nothing else.
fn usual(source: Source, directory: &Path) -> ProxySpec {
    ProxySpec {
        envoy: envoy().clone(),
        directory: directory.to_owned(),
        source,
        environment: BTreeMap::new(),
        flags: Vec::new(),
        workers: 1,
        processors: Vec::new(),
        generation: None,
    }
}

/// The lines about deprecated fields in the logs of all Envoys below a folder.
pub(crate) fn deprecated(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| -> Vec<String> {
        if path.is_dir() {
            return deprecated(&path);
        }
        let is_log = path.file_name().is_some_and(|name| name == "envoy.log");
        let text = if is_log { fs::read_to_string(&path).unwrap() } else { String::new() };
        text.lines().filter(|line| line.contains("eprecated")).map(str::to_owned).collect()
    };
    entries.flat_map(of).collect()
}

/// All statistics of a proxy.
pub(crate) fn statistics(proxy: &Proxy) -> String {
    get(proxy.admin.unwrap(), "/stats", &BTreeMap::new())
}
