//! Requests that share a connection of HTTP/2: limits that the server changes, and requests that it hands back.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::peer::{Http2Peer, Sent};
use crate::support::{Guarded, Lab, UNHURRIED, checked, run, wait_until};

/// The result of a short load over HTTP/2, and its summary.
fn load(arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json").display().to_string();
    let fixed = "load --details --protocol http2 --warmup 0s -c 1 --json".split(' ').chain([file.as_str()]);
    let ran = run(fixed.chain(UNHURRIED).chain(arguments.iter().copied()));
    let text = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{arguments:?}: {}", ran.stderr));
    (checked("load", &text), ran.stdout + &ran.stderr)
}

fn finding<'a>(result: &'a Value, id: &str) -> Option<&'a str> {
    let findings = result["findings"].as_array().unwrap();
    findings.iter().find(|one| one["id"] == id).map(|one| one["message"].as_str().unwrap())
}

/// A server in plaintext that allows `first` concurrent streams, and `then` some time later: after five requests if it allows any, or
/// else after a third of a second. Returns its URL and the number of requests beyond the limit that the client had acknowledged.
fn changing(first: u32, then: u32) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let excess = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&excess);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            thread::spawn(move || {
                let Some(mut peer) = Http2Peer::accept_allowing(stream, first) else { return };
                let (begun, mut announced, mut allowed) = (Instant::now(), vec![first], u32::MAX);
                let (mut open, mut requests, mut is_changed) = (Vec::new(), 0, false);
                loop {
                    match peer.next() {
                        Sent::Acknowledged => allowed = announced.remove(0),
                        Sent::Request(stream)
                            if open.len() as u64 >= u64::from(allowed) || first == 0 && !is_changed =>
                        {
                            count.fetch_add(1, Ordering::Relaxed);
                            peer.refuse(stream);
                        }
                        Sent::Request(stream) => {
                            open.push(stream);
                            requests += 1;
                        }
                        Sent::Nothing if !open.is_empty() => {
                            peer.respond(open.remove(0));
                        }
                        Sent::Nothing => {}
                        Sent::End => return,
                    }
                    let is_due =
                        if first > 0 { requests >= 5 } else { begun.elapsed() > Duration::from_millis(300) };
                    if is_due && !is_changed {
                        is_changed = true;
                        announced.push(then);
                        peer.allow(then);
                    }
                }
            });
        }
    });
    (url, excess)
}

#[test]
fn a_server_may_change_its_limit_on_concurrent_requests_during_a_connection() {
    for (first, then, lowest) in [(100, 1, Value::from(1)), (0, 100, Value::Null), (1, 1, Value::from(1))] {
        for connect in ["ahead", "on-demand"] {
            for pace in [&["-n", "40"][..], &["-n", "40", "-q", "400", "--arrivals", "burst=8"]] {
                let (url, excess) = changing(first, then);
                let flags = ["--streams", "8", "--connect", connect, &url];
                let (result, summary) = load(&[pace, &flags].concat());
                let case = format!("{first} then {then}, {connect}, {pace:?}: {summary}");
                assert_eq!(result["book"]["answered"], 40, "{case}");
                assert_eq!(
                    (&result["book"]["sent_again"], excess.load(Ordering::Relaxed)),
                    (&0.into(), 0),
                    "{case}"
                );
                assert_eq!(result["stream_limit"], lowest, "{case}");
                let is_said =
                    finding(&result, "stream-limit").is_some_and(|said| said.contains("was at times 1"));
                assert_eq!(is_said, lowest == 1, "{case}");
                assert_eq!(finding(&result, "errors"), None, "{case}");
            }
        }
    }
}

/// Starts nginx with HTTP/2 over TLS, which ends each connection after a number of requests; none if it is not installed.
fn nginx(lab: &Lab, requests: u32) -> Option<(Guarded, String)> {
    let folder = lab.folder.path().join(format!("nginx-{requests}"));
    fs::create_dir(&folder).unwrap();
    // The port is free again when the listener is dropped.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "daemon off; master_process off; pid {pid}; error_log {log} warn; worker_processes 1;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n  access_log off; keepalive_requests {requests};\n  client_body_temp_path {body}; proxy_temp_path {body}; \
         fastcgi_temp_path {body}; uwsgi_temp_path {body}; scgi_temp_path {body};\n  server {{ listen {address} ssl http2; \
         ssl_certificate {certificate}; ssl_certificate_key {key}; location / {{ return 200 \"hello\\n\"; }} }}\n}}\n",
        pid = at("pid"),
        log = at("error.log"),
        body = at("body"),
        certificate = lab.file("server.pem"),
        key = lab.file("server.key"),
    );
    fs::write(folder.join("nginx.conf"), text).unwrap();
    let path = format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("nginx");
    command.env("PATH", path).args(["-p", &at(""), "-c", &at("nginx.conf"), "-e", &at("error.log")]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let mut nginx = Guarded(child);
    wait_until("nginx", || {
        assert!(nginx.0.try_wait().unwrap().is_none(), "{:?}", fs::read_to_string(folder.join("error.log")));
        std::net::TcpStream::connect(address).is_ok()
    });
    Some((nginx, format!("https://{address}/")))
}

#[test]
fn a_server_that_ends_connections_after_some_requests_is_measured() {
    let lab = Lab::new();
    // In a closed loop of 8 streams, some requests wait whenever a connection ends. A server that ends thirty of them or more surely leaves
    // one of these to be sent again.
    for (per_connection, paced, closed) in [(20, 1_000, 1_000), (1_000, 3_000, 30_000)] {
        let Some((_nginx, url)) = nginx(&lab, per_connection) else {
            eprintln!("not tested: this needs nginx");
            return;
        };
        for streams in [1, 8] {
            for pace in [&[][..], &["-q", "3000"]] {
                let requests: u64 = if pace.is_empty() { closed } else { paced };
                let (count, streams_flag) = (requests.to_string(), streams.to_string());
                let flags = ["-n", &count, "--streams", &streams_flag, "--ca", &lab.file("ca.pem"), &url];
                let (result, summary) = load(&[pace, &flags].concat());
                let case = format!("{per_connection} per connection, {streams} streams, {pace:?}: {summary}");
                assert_eq!(result["book"]["answered"], requests, "{case}");
                assert_eq!(result["failures"], serde_json::json!({}), "{case}");
                let sent_again = result["book"]["sent_again"].as_u64().unwrap();
                if streams == 1 {
                    assert_eq!(sent_again, 0, "{case}");
                }
                assert_eq!(sent_again > 0, summary.contains("sent again, because the server"), "{case}");
                if streams == 8 && pace.is_empty() {
                    assert!(sent_again > 0, "{case}");
                }
                let is_much = sent_again * 100 > requests;
                assert_eq!(finding(&result, "sent-again").is_some(), is_much, "{case}");
            }
        }
    }
}
