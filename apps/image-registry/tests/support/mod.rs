//! The application behind Envoy, and a client with an account of its own.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hoptax_subject::envoy::process::{Proxy, ProxySpec};
use hoptax_tasks::Key;
use hoptax_tasks::plans::{Plan, minute_of};
use image_registry::application;
use image_registry::lab::{ApplicationProcess, Mechanism};
use serde_json::{Value, json};

/// Number of accounts so far, so that each has a name of its own.
static ACCOUNTS: AtomicU32 = AtomicU32::new(0);

/// The application, with or without a proxy in front of it.
pub(crate) struct Setup {
    // Dropped, and so ended, before the application that it connects to.
    proxy: Option<Proxy>,
    spec: Option<ProxySpec>,
    application: Option<ApplicationProcess>,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Setup {
    /// Starts the application behind Envoy with this number of workers.
    pub(crate) fn start(mechanism: Mechanism, workers: usize) -> Self {
        let mut setup = Self::start_without_proxy(&[]);
        setup.spec = Some(setup.spec(mechanism, workers));
        setup.restart_proxy();
        setup
    }

    pub(crate) fn start_without_proxy(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_image-registry"));
        let application = ApplicationProcess::start(program, folder.path(), flags).unwrap();
        let address = application.address;
        Self { proxy: None, spec: None, application: Some(application), address, folder }
    }

    /// The configured Envoy in front of the application.
    pub(crate) fn spec(&self, mechanism: Mechanism, workers: usize) -> ProxySpec {
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        let spec = self.application.as_ref().unwrap().behind(mechanism, any, workers).unwrap();
        spec.configure().unwrap();
        spec
    }

    /// Kills the proxy, if it runs, and starts it again.
    pub(crate) fn restart_proxy(&mut self) {
        drop(self.proxy.take());
        let proxy = self.spec.as_ref().unwrap().start().unwrap().wait().unwrap();
        self.address = proxy.address;
        self.proxy = Some(proxy);
    }

    pub(crate) fn end_application(&mut self) {
        drop(self.application.take());
    }

    /// The key of the tokens.
    pub(crate) fn key(&self) -> Key {
        let text = application::key_text(self.folder.path()).unwrap();
        Key::new(&BASE64_URL_SAFE_NO_PAD.decode(text).unwrap())
    }

    /// A client with a new account.
    pub(crate) fn client(&self, plan: Plan) -> Client<'_> {
        let name = format!("account-{}", ACCOUNTS.fetch_add(1, Ordering::Relaxed));
        let mut client = Client::new(self, &name);
        assert_eq!(client.enter("/signup", PASSWORD), 201);
        if plan != Plan::Personal {
            client.upgrade(plan);
        }
        client
    }

    /// The response to a request, on a connection of its own.
    pub(crate) fn send(&self, method: &str, path: &[u8], headers: &[(&str, &[u8])], body: &[u8]) -> Response {
        let mut head =
            [method.as_bytes(), b" ", path, b" HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"].concat();
        for (name, value) in headers {
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if !body.is_empty() {
            head.extend(format!("content-length: {}\r\n", body.len()).into_bytes());
        }
        let mut stream = TcpStream::connect(self.address).unwrap();
        // A proxy that refuses may reset the connection before it has read everything.
        let _ = stream.write_all(&[&head, b"\r\n".as_slice(), body].concat());
        Response::read(&mut BufReader::new(stream)).expect("a response")
    }
}

/// The password of all accounts.
pub(crate) const PASSWORD: &str = "correct horse";

/// A response.
pub(crate) struct Response {
    pub status: u16,
    headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Response {
    /// Reads up to the stated length: Envoy closes the connection of a refused request only a second later.
    fn read(stream: &mut impl BufRead) -> io::Result<Self> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers: BTreeMap<String, String> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(Self { status: head.split(' ').nth(1).unwrap().parse().unwrap(), headers, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A client with a session.
pub(crate) struct Client<'a> {
    setup: &'a Setup,
    pub name: String,
    cookie: String,
}

impl<'a> Client<'a> {
    /// A client that has not logged in.
    pub(crate) fn new(setup: &'a Setup, name: &str) -> Self {
        Self { setup, name: name.to_owned(), cookie: String::new() }
    }

    pub(crate) fn send(&self, method: &str, path: &str) -> Response {
        self.setup.send(method, path.as_bytes(), &[("cookie", self.cookie.as_bytes())], b"")
    }

    /// Signs up or logs in with a password: keeps the session, and returns the status.
    pub(crate) fn enter(&mut self, path: &str, password: &str) -> u16 {
        let response = self.send_json(path, &json!({"name": self.name, "password": password}));
        if let Some(cookie) = response.header("set-cookie") {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        response.status
    }

    fn send_json(&self, path: &str, value: &Value) -> Response {
        let headers = [("cookie", self.cookie.as_bytes()), ("content-type", b"application/json")];
        self.setup.send("POST", path.as_bytes(), &headers, value.to_string().as_bytes())
    }

    /// A new token.
    pub(crate) fn token(&self) -> String {
        self.send("POST", "/token").json()["token"].as_str().unwrap().to_owned()
    }

    /// Upgrades, and returns the token with the new plan.
    pub(crate) fn upgrade(&self, plan: Plan) -> String {
        let response = self.send_json("/upgrade", &json!({"plan": plan.name()}));
        response.json()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn push(&self, image: &str, content: &[u8]) {
        assert_eq!(self.images("PUT", image, &self.token(), content).status, 201);
    }

    pub(crate) fn pull(&self, image: &str) -> Response {
        self.pull_with(image, &self.token())
    }

    pub(crate) fn pull_with(&self, image: &str, token: &str) -> Response {
        self.images("GET", image, token, b"")
    }

    /// A pull with a body.
    pub(crate) fn pull_with_body(&self, image: &str, token: &str) -> Response {
        self.images("GET", image, token, b"body")
    }

    fn images(&self, method: &str, image: &str, token: &str, body: &[u8]) -> Response {
        let authorization = format!("Bearer {token}");
        let path = format!("/images/{image}");
        self.setup.send(method, path.as_bytes(), &[("authorization", authorization.as_bytes())], body)
    }
}

/// Tokens that differ from a valid one in one respect.
pub(crate) fn bad_tokens(valid: &str, key: &Key) -> Vec<(&'static str, Vec<u8>)> {
    let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let parts: Vec<&str> = valid.split('.').collect();
    let claims = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let larger = encoded(&claims.replace("personal", "enterprise"));
    let expired = claims.replace(&claims[claims.find("\"exp\":").unwrap()..], "\"exp\":1700000000}");
    let none = encoded(r#"{"alg":"none","typ":"JWT"}"#);
    vec![
        ("empty", Vec::new()),
        ("no token", b"hoptax".to_vec()),
        ("not UTF-8", b"\xff\xfe.\x80.\x81".to_vec()),
        (
            "a larger plan with the signature of the smaller",
            format!("{}.{larger}.{}", parts[0], parts[2]).into(),
        ),
        ("no signature", format!("{}.{}.", parts[0], parts[1]).into()),
        ("alg=none", format!("{none}.{larger}.").into()),
        ("alg=none with a signature", format!("{none}.{}.{}", parts[1], parts[2]).into()),
        ("expired", key.sign(expired.as_bytes()).into()),
        ("another key", Key::new(b"another key").sign(claims.as_bytes()).into()),
        ("a part too many", format!("{valid}.").into()),
    ]
}

/// How often each status occurs.
pub(crate) fn statuses(all: &[u16]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for status in all {
        *counts.entry(*status).or_default() += 1;
    }
    counts
}

/// Repeats a test until it begins and ends in the same minute, because a plan restarts with each minute. Then runs the assertions
/// that it returns.
pub(crate) fn in_one_minute<A: FnOnce()>(mut test: impl FnMut() -> A) {
    let now = || minute_of(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs());
    loop {
        let before = now();
        let assert = test();
        if now() == before {
            return assert();
        }
    }
}
