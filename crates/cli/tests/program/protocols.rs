//! Every protocol between the generator and the origin, plain and over TLS, and every error at the start of a connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use hoptax_wire::grpc::framed;
use hoptax_wire::http2::{Body, Server, ServerEvent};
use prost::Message;
use serde_json::Value;

use crate::support;
use crate::support::{Lab, UNHURRIED, checked, origin, ran, run, server};

/// Requests of [`load`].
const REQUESTS: u64 = 200;

/// Result of a short load. On a busy machine, its times vary; the tests do not depend on them.
fn load(arguments: &[&str]) -> Value {
    load_with(&["-q", "500", "-n", "200"], arguments)
}

fn load_with(pace: &[&str], arguments: &[&str]) -> Value {
    let fixed = ["load", "--warmup", "0s", "-c", "2", "--json", "-"];
    let ran = run(fixed.iter().chain(&UNHURRIED).chain(pace).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    checked("load", &ran.stdout)
}

fn all_answered(result: &Value) -> bool {
    let book = &result["book"];
    assert!(book["planned"] == REQUESTS && book["sent"] == REQUESTS, "{result}");
    book["answered"] == REQUESTS
}

#[test]
fn every_protocol_is_answered_plain_and_over_tls() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let ca = lab.file("ca.pem");
    let echo = "/hoptax.echo.v1.Echo/Unary";
    for (plain, secure, path, protocol, flags) in [
        ("http", "https", "/", "http1", vec!["--protocol", "http1"]),
        ("http", "https", "/", "http2", vec!["--protocol", "http2", "--streams", "4"]),
        ("grpc", "grpcs", echo, "grpc", vec!["--streams", "4"]),
        ("ws", "wss", "/", "websocket", vec![]),
    ] {
        let result = load(&[&flags[..], &[&format!("{plain}://{address}{path}")]].concat());
        assert!(all_answered(&result), "{protocol}: {result}");
        assert!(result["tls"].is_null() && result["plan"]["protocol"] == protocol, "{result}");
        let result = load(&[&flags[..], &["--ca", &ca, &format!("{secure}://{address}{path}")]].concat());
        assert!(all_answered(&result), "{protocol} over TLS: {result}");
        let tls = &result["tls"];
        // The second connection may already resume the session of the first.
        let handshakes =
            tls["full_handshakes"].as_u64().unwrap() + tls["resumed_handshakes"].as_u64().unwrap();
        assert_eq!((&tls["version"], handshakes), (&"1.3".into(), 2), "{tls}");
        let alpn = if ["http2", "grpc"].contains(&protocol) { "h2" } else { "http/1.1" };
        assert_eq!((&tls["key_exchange_group"], &tls["hello_retry_requests"]), (&"X25519".into(), &0.into()));
        assert!(tls["alpn"] == alpn && tls["handshake"]["max_us"].is_number(), "{tls}");
    }
}

#[test]
fn the_server_chooses_the_protocol_of_all_connections_unless_it_is_named() {
    let lab = Lab::new();
    let ca = lab.file("ca.pem");
    let (_both, both) = lab.origin(&[]);
    let (_old, old) = lab.origin(&["--alpn", "http/1.1"]);
    let (both, old) = (format!("https://{both}/"), format!("https://{old}/"));
    for (url, flags, protocol, alpn) in [
        (&both, vec!["--streams", "4"], "http2", "h2"),
        (&both, vec!["--protocol", "auto", "--tls-version", "1.2"], "http2", "h2"),
        (&both, vec!["--protocol", "http1"], "http1", "http/1.1"),
        (&old, vec![], "http1", "http/1.1"),
    ] {
        let result = load(&[&flags[..], &["--ca", &ca, url]].concat());
        assert!(all_answered(&result), "{url} {flags:?}: {result}");
        let tls = &result["tls"];
        assert_eq!(
            (&result["plan"]["protocol"], &tls["alpn"]),
            (&protocol.into(), &alpn.into()),
            "{flags:?}"
        );
        // The handshake that asked is not one of the load.
        let handshakes =
            tls["full_handshakes"].as_u64().unwrap() + tls["resumed_handshakes"].as_u64().unwrap();
        assert_eq!(handshakes, 2, "{tls}");
    }
    // One load has one protocol: beside a URL that cannot negotiate, the usual one.
    let (_plain, plain) = origin(&[]);
    let result = load(&["--ca", &ca, &plain, &both]);
    assert!(all_answered(&result) && result["plan"]["protocol"] == "http1", "{result}");
    // The first server's choice is not that of the second.
    assert!(refused(&["--ca", &ca, &both, &old]).contains("does not speak"));
}

#[test]
fn a_server_without_alpn_speaks_http1() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&["--alpn", "none"]);
    let result = load(&["--ca", &lab.file("ca.pem"), &format!("https://{address}/")]);
    assert!(all_answered(&result) && result["plan"]["protocol"] == "http1", "{result}");
    assert!(result["tls"]["alpn"].is_null(), "{result}");
}

#[test]
fn a_server_that_is_down_fails_alike_with_a_named_and_a_negotiated_protocol() {
    let lab = Lab::new();
    let ca = lab.file("ca.pem");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("https://{free}/");
    for (flags, protocol) in [
        (vec!["--protocol", "http1"], "http1"),
        (vec!["--protocol", "auto"], "http1"),
        (vec!["--protocol", "http2", "--streams", "4"], "http2"),
        (vec!["--protocol", "auto", "--streams", "4"], "http2"),
    ] {
        assert!(refused(&[&flags[..], &["--ca", &ca, &url]].concat()).contains("is the server running"));
        let result = load(&[&flags[..], &["--connect", "on-demand", "--ca", &ca, &url]].concat());
        assert_eq!(result["plan"]["protocol"], protocol, "{flags:?}");
        let sent = result["book"]["sent"].as_u64();
        assert!(sent > Some(0) && result["failures"]["refused"].as_u64() == sent, "{flags:?}: {result}");
    }
    let ran = run(["load", "-d", "100ms", "--warmup", "0s", "--connect", "on-demand", "--ca", &ca, &url]);
    assert!(
        ran.stderr.contains("cannot negotiate the protocol, using http1: cannot connect"),
        "{}",
        ran.stderr
    );
}

#[test]
fn tcp_is_answered_plain_and_over_tls() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&["--tcp-request-size", "100", "--default", "size=3000&delay=1ms"]);
    let ca = lab.file("ca.pem");
    for (scheme, tls) in [("tcp", &[][..]), ("tls", &["--ca", &ca][..])] {
        let url = format!("{scheme}://{address}");
        let result = load(&[tls, &["--body-size", "100", "--response-size", "3000", &url]].concat());
        assert!(all_answered(&result), "{result}");
        assert_eq!(result["statuses"], serde_json::json!({}));
    }
}

#[test]
fn every_protocol_reconnects_after_the_server_closes() {
    let (_origin, url) = origin(&["--default", "close=true"]);
    let (_tcp, tcp) = origin(&["--default", "close=true&size=64", "--tcp-request-size", "64"]);
    let at = |scheme: &str, url: &str, path: &str| url.replace("http", scheme) + path;
    for (url, flags, goodbyes) in [
        (at("http", &url, "/"), vec![], false),
        (at("http", &url, "/"), vec!["--protocol", "http2"], true),
        (at("grpc", &url, "/hoptax.echo.v1.Echo/Unary"), vec![], true),
        (at("ws", &url, "/"), vec![], true),
        (at("tcp", &tcp, ""), vec![], false),
    ] {
        let result = load(&[&flags[..], &[&url]].concat());
        // TCP has no notice of a close, so a waiting request can be written to a closed connection.
        let lost = result["book"]["failed"].as_u64().unwrap();
        let answered = result["book"]["answered"].as_u64().unwrap();
        let may_lose = url.starts_with("tcp") && lost < answered;
        assert!(all_answered(&result) || may_lose && answered + lost == REQUESTS, "{url}: {result}");
        assert_eq!(
            result["drained"]["no-error"].as_u64().unwrap_or_default() > 50,
            goodbyes,
            "{url}: {result}"
        );
    }
}

#[test]
fn all_four_kinds_of_grpc_calls_are_answered_and_their_statuses_counted() {
    let (_origin, url) = origin(&[]);
    let url = url.replace("http://", "grpc://");
    let response = |method: &str, messages: &str, more: &[&str]| {
        let url = format!("{url}/hoptax.echo.v1.Echo/{method}");
        load(&[&["--body-size", "10", "--messages", messages], more, &[&url]].concat())
    };
    // Each message is 15 bytes including its length prefix.
    for (method, messages, size) in
        [("Unary", "1", 15), ("ClientStream", "4", 15), ("ServerStream", "1", 45), ("Bidirectional", "4", 60)]
    {
        let result = response(method, messages, &["--expect", &format!("size={size}")]);
        assert!(all_answered(&result), "{method}: {result}");
        assert_eq!(result["statuses"], serde_json::json!({"0": REQUESTS}));
    }
    for (method, messages, status) in [("Unary", "2", "3"), ("Nothing", "1", "12")] {
        let result = response(method, messages, &[]);
        assert_eq!(result["statuses"], serde_json::json!({status: REQUESTS}), "{method}: {result}");
        assert_eq!(result["failures"], serde_json::json!({"grpc-status": REQUESTS}));
    }
    let unavailable = response("Unary", "1", &["-H", "x-hoptax-status: 503"]);
    assert_eq!(unavailable["statuses"], serde_json::json!({"14": REQUESTS}), "{unavailable}");
}

#[test]
fn a_proto_file_defines_how_json_becomes_a_message() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo.proto");
    let proto = "syntax = \"proto3\"; package hoptax.echo.v1; message Payload { bytes payload = 1; } \
                 service Echo { rpc Unary(Payload) returns (Payload); rpc Bidirectional(stream Payload) returns (stream Payload); }";
    std::fs::write(&file, proto).unwrap();
    let file = file.to_str().unwrap();
    let url = |method: &str| format!("{}/hoptax.echo.v1.Echo/{method}", url.replace("http://", "grpc://"));
    // Five bytes of gRPC prefix, two of field and length, six of payload.
    let body = ["--proto", file, "--body", "{\"payload\": \"AAECAwQF\"}"];
    let result = load(&[&body[..], &["--expect", "size=13", &url("Unary")]].concat());
    assert!(all_answered(&result), "{result}");
    let result =
        load(&[&body[..], &["--messages", "3", "--expect", "size=39", &url("Bidirectional")]].concat());
    assert!(all_answered(&result), "{result}");
    let bad = |more: &[&str], expected: &str| {
        run(["load", "--proto", file].into_iter().chain(more.iter().copied())).fails(2, expected);
    };
    bad(&[&url("Sing")], "it has `Unary`, `Bidirectional`");
    bad(&["--body", "{\"pay\": 1}", &url("Unary")], "is not a valid `hoptax.echo.v1.Payload`");
    bad(&["--messages", "2", &url("Unary")], "accepts one message");
}

/// A server of one connection after another that supports only the older version of reflection, and answers every other call
/// with the received message.
fn reflecting_server(descriptor: &[u8]) -> String {
    let field = |number: u8, bytes: &[u8]| {
        let length = [bytes.len() as u8 & 0x7f | 0x80, (bytes.len() >> 7) as u8];
        [&[number << 3 | 2], &length[..], bytes].concat()
    };
    let response = framed(&field(4, &field(1, descriptor)));
    let address = server(move |mut connection| {
        let (mut server, mut output, mut buffer) = (Server::default(), Vec::new(), [0; 4096]);
        server.open(&mut output);
        while let Ok(read @ 1..) = connection.read(&mut buffer) {
            let mut events = Vec::new();
            server.feed(&buffer[..read], &mut output, &mut events).unwrap();
            for event in events {
                let ServerEvent::Request { stream, head, body } = event else { continue };
                let (body, status) = match head.path.as_str() {
                    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" => (Vec::new(), "12"),
                    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => {
                        (response.clone(), "0")
                    }
                    _ => (body, "0"),
                };
                let fields = [(":status", "200"), ("content-type", "application/grpc")];
                let trailers = [("grpc-status", status)];
                server.respond(stream, &fields, Body::Bytes(body), &trailers, &mut output);
            }
            connection.write_all(&output).unwrap();
            output.clear();
        }
    });
    format!("grpc://{address}")
}

#[test]
fn reflection_defines_how_json_becomes_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let proto = "syntax = \"proto3\"; package a; message Word { string text = 1; } \
                 service Echo { rpc Say(Word) returns (Word); }";
    std::fs::write(folder.path().join("echo.proto"), proto).unwrap();
    let set = protox::compile(["echo.proto"], [folder.path()]).unwrap();
    let server = reflecting_server(&set.file[0].encode_to_vec());
    let url = format!("{server}/a.Echo/Say");
    let result = load(&["--reflection", "--body", "{\"text\": \"hop\"}", "--expect", "size=10", &url]);
    assert!(all_answered(&result), "{result}");
    let bad = |url: &str, body: &str, expected: &str| {
        run(["load", "--reflection", "--body", body, url]).fails(2, expected);
    };
    bad(&url, "{\"word\": 1}", "is not a valid `a.Word`");
    bad(&format!("{server}/a.Echo/Sing"), "{}", "it has `Say`");
    let (_origin, silent) = origin(&[]);
    bad(&format!("{}/a.Echo/Say", silent.replace("http", "grpc")), "{}", "give the proto file with --proto");
}

#[test]
fn tls_sessions_are_resumed_unless_disabled() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let (ca, url) = (lab.file("ca.pem"), format!("https://{address}/"));
    for (resumption, version) in [("on", "1.3"), ("on", "1.2"), ("off", "1.3")] {
        let flags =
            ["--requests-per-connection", "1", "--tls-resumption", resumption, "--tls-version", version];
        // A closed loop, because a busy machine may not reach a rate of handshakes.
        let result = load_with(&["-n", "100"], &[&flags[..], &["--ca", &ca, &url]].concat());
        let (tls, book) = (&result["tls"], &result["book"]);
        assert!(book["failed"] == 0 && tls["version"] == version, "{result}");
        let share = tls["resumption_share"].as_f64().unwrap();
        // The first two connections have no session to resume.
        assert_eq!(share > 0.9, resumption == "on", "{tls}");
        assert_eq!(share == 0.0, resumption == "off", "{tls}");
        let handshakes =
            tls["full_handshakes"].as_u64().unwrap() + tls["resumed_handshakes"].as_u64().unwrap();
        assert!(book["answered"] == 100 && handshakes >= 100, "{tls}");
    }
}

#[test]
fn a_client_without_a_required_certificate_is_rejected() {
    let lab = Lab::new();
    let ca = lab.file("ca.pem");
    let (_origin, address) = lab.origin(&["--client-ca", &ca]);
    let url = format!("https://{address}/");
    let (cert, key) = (lab.file("client.pem"), lab.file("client.key"));
    assert!(all_answered(&load(&["--ca", &ca, "--cert", &cert, "--key", &key, &url])));
    // TLS 1.2 reports it within the handshake, TLS 1.3 only after it. HTTP/2 waits for SETTINGS before the load, HTTP/1.1 for
    // nothing.
    for version in ["1.2", "1.3"] {
        assert!(refused(&["--ca", &ca, "--tls-version", version, &url]).contains("--cert"), "{version}");
    }
    let result = load(&["--protocol", "http1", "--ca", &ca, "--tls-version", "1.3", &url]);
    assert_eq!(result["book"]["answered"], 0, "{result}");
    assert!(result["failures"]["tls"].as_u64().unwrap() > 0, "{result}");
}

#[test]
fn a_server_that_requests_certificates_accepts_anonymous_clients_and_no_strangers() {
    let (lab, stranger) = (Lab::new(), Lab::new());
    let ca = lab.file("ca.pem");
    let (_origin, address) = lab.origin(&["--client-ca", &ca, "--accept-anonymous-clients"]);
    let url = format!("https://{address}/");
    assert!(all_answered(&load(&["--ca", &ca, &url])));
    let of =
        |lab: &Lab| ["--cert".to_owned(), lab.file("client.pem"), "--key".to_owned(), lab.file("client.key")];
    let with = |own: &[String]| {
        let own = own.iter().map(String::as_str);
        ["--ca", &ca, "--tls-version", "1.2"]
            .into_iter()
            .chain(own)
            .chain([url.as_str()])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (own, other) = (with(&of(&lab)), with(&of(&stranger)));
    assert!(all_answered(&load(&own.iter().map(String::as_str).collect::<Vec<_>>())));
    // Only a server that requested a certificate can refuse it.
    assert!(refused(&other.iter().map(String::as_str).collect::<Vec<_>>()).contains("--cert"));
}

/// The error of a load that cannot start.
fn refused(arguments: &[&str]) -> String {
    let ran = run(["load", "-d", "100ms", "--timeout", "2s"].into_iter().chain(arguments.iter().copied()));
    assert_eq!(ran.code, Some(3), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr.trim().lines().count(), 1, "{}", ran.stderr);
    ran.stderr
}

#[test]
fn invalid_certificates_are_reported_in_one_line() {
    let lab = Lab::new();
    let ca = lab.file("ca.pem");
    let (_origin, address) = lab.origin(&[]);
    let url = format!("https://{address}/");
    assert!(refused(&[&url]).contains("no trusted authority signed the server's certificate"));
    let other_name = refused(&["--ca", &ca, "--server-name", "elsewhere.test", &url]);
    assert!(other_name.contains("for another name; --server-name sets the expected one"), "{other_name}");
    let other = Lab::new();
    let other = other.file("ca.pem");
    let of_other =
        format!("no authority in `{other}` signed the server's certificate; give the one that did");
    for protocol in [&[][..], &["--protocol", "http1"]] {
        assert!(refused(&[protocol, &["--ca", &other, &url]].concat()).contains(&of_other), "{protocol:?}");
    }
    run(["find", "--slo", "p99<1s", "--protocol", "http1", "--ca", &other, &url]).fails(3, &of_other);
    let folder = lab.folder.path().join("old");
    let old = folder.to_str().unwrap();
    assert_eq!(run(["lab", "certs", "--valid", "1ms", old]).code, Some(0));
    // Validity ends on whole seconds.
    thread::sleep(Duration::from_millis(1_100));
    let file = |name: &str| format!("{old}/{name}");
    let (_origin, expired) = origin(&["--cert", &file("server.pem"), "--key", &file("server.key")]);
    let expired = expired.replace("http://", "https://");
    assert!(refused(&["--ca", &file("ca.pem"), &expired]).contains("has expired"));
    // --insecure accepts all of them.
    assert!(all_answered(&load(&["--insecure", &expired])));
}

/// A server that sends the same bytes on every connection and closes it.
fn sends(words: &'static [u8]) -> String {
    server(move |mut stream| {
        let mut bytes = [0; 4096];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(words);
    })
}

#[test]
fn a_server_with_another_protocol_is_reported_in_one_line() {
    let http1 = sends(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    assert!(refused(&["--protocol", "http2", &format!("http://{http1}/")]).contains("does not speak HTTP/2"));
    assert!(refused(&[&format!("grpc://{http1}/a.B/C")]).contains("does not speak HTTP/2"));
    assert!(refused(&["--insecure", &format!("https://{http1}/")]).contains("does not speak TLS"));
    assert!(refused(&[&format!("ws://{http1}/")]).contains("WebSocket upgrade with status 400"));
    let proofless = sends(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n\r\n");
    assert!(refused(&[&format!("ws://{proofless}/")]).contains("accept key"));
    let nobody = refused(&["--insecure", "--protocol", "http3", "https://127.0.0.1:1/"]);
    assert!(nobody.contains("nothing serves HTTP/3 on UDP 127.0.0.1:1; try --protocol http2"), "{nobody}");
    let silent = sends(b"");
    assert!(
        refused(&["--protocol", "http2", &format!("http://{silent}/")]).contains("closed the connection")
    );
    // A SETTINGS frame, followed by a frame above the maximum size.
    let flood = sends(b"\0\0\0\x04\0\0\0\0\0\xff\xff\xff\0\0\0\0\0\x01");
    let url = format!("http://{flood}/");
    assert!(refused(&["--protocol", "http2", &url]).contains("larger than 16 KiB"));
    let result = load(&["--protocol", "http2", "--connect", "on-demand", &url]);
    assert!(result["book"]["answered"] == 0 && result["failures"]["malformed"].is_number(), "{result}");
}

#[test]
fn a_tls_server_without_the_protocol_is_reported() {
    let lab = Lab::new();
    // A plain TCP origin accepts `h2` in ALPN, as its TLS does for all protocols, and then sends no HTTP/2.
    let (_origin, address) = lab.origin(&["--tcp-request-size", "1000000"]);
    let ca = lab.file("ca.pem");
    let silent = refused(&["--protocol", "http2", "--ca", &ca, &format!("https://{address}/")]);
    assert!(silent.contains("was not ready for requests within 2 s"), "{silent}");
}

/// A relay to a server that drops everything sent on the first connection.
fn relay_with_a_hanging_first_connection(address: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (way, address) = (listener.local_addr().unwrap().to_string(), address.to_owned());
    thread::spawn(move || {
        let mut hanging = None;
        for stream in listener.incoming() {
            let Ok(mut near) = stream else { return };
            if hanging.is_none() {
                hanging = Some(near);
                continue;
            }
            let mut far = TcpStream::connect(&address).unwrap();
            let (mut near_reader, mut far_writer) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut near_reader, &mut far_writer));
            thread::spawn(move || std::io::copy(&mut far, &mut near));
        }
    });
    way
}

#[test]
fn a_hanging_handshake_times_out_and_the_next_connection_works() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let url = format!("https://{}/", relay_with_a_hanging_first_connection(&address));
    let flags = ["--protocol", "http2", "--streams", "64", "-c", "1", "--connect", "on-demand"];
    let times = ["--timeout", "1s", "-q", "50", "-n", "150", "-d", "1h", "--ca", &lab.file("ca.pem"), &url];
    let short = ["load", "--warmup", "0s", "--json", "-"];
    let result = checked("load", &run([&short[..], &flags, &times].concat()).stdout);
    let book = |field: &str| result["book"][field].as_u64().unwrap();
    // The first requests time out with the handshake; later ones use the next connection.
    assert!(book("timed_out") > 0 && book("answered") > 0, "{result}");
    assert_eq!(book("failed"), 0, "{result}");
}

#[test]
fn invalid_combinations_of_arguments_are_rejected() {
    for (arguments, expected) in [
        (vec!["--streams", "4", "http://127.0.0.1:1/"], "--streams requires HTTP/2"),
        (vec!["--streams", "4", "http://127.0.0.1:1/"], "or choose --protocol http2"),
        (vec!["--streams", "4", "ws://127.0.0.1:1/"], "one request at a time: raise --connections"),
        (vec!["-X", "POST", "tcp://127.0.0.1:1"], "--method is not for TCP"),
        (vec!["-H", "a: b", "tls://127.0.0.1:1"], "--header is not for TCP"),
        (vec!["tcp://127.0.0.1:1/a"], "`tcp://127.0.0.1:1/a` has a path, which TCP does not send: remove it"),
        (vec!["--response-size", "9", "http://127.0.0.1:1/"], "--response-size is for TCP, not HTTP/1.1"),
        (vec!["-H", "Host: a", "-H", "host: b", "http://127.0.0.1:1/"], "two headers `Host`"),
        (vec!["-H", ":path: /x", "http://127.0.0.1:1/"], "`:path` is a pseudo-header"),
        (vec!["http://127.0.0.1:1/", "ws://127.0.0.1:1/"], "use different protocols"),
        (vec!["--protocol", "http9", "http://127.0.0.1:1/"], "`http9` is not a protocol"),
        (vec!["--protocol", "tcp", "http://127.0.0.1:1/"], "cannot be used with the protocol `tcp`"),
        (vec!["--ca", "/nonexistent", "https://127.0.0.1:1/"], "`/nonexistent`"),
        (vec!["--ca", "/nonexistent", "http://127.0.0.1:1/"], "no URL uses it: write `https://...`"),
        (vec!["--insecure", "ws://127.0.0.1:1/"], "no URL uses it: write `wss://...`"),
        (vec!["--insecure", "--tls-ciphers", "NULL", "https://127.0.0.1:1/"], "unknown cipher suite `NULL`"),
        (
            vec!["--insecure", "--tls-groups", "P-256", "https://127.0.0.1:1/"],
            "unknown key exchange group `P-256`",
        ),
        (
            vec!["--protocol", "http2", "-H", "Connection: close", "http://127.0.0.1:1/"],
            "or use --protocol http1",
        ),
    ] {
        run(["load"].into_iter().chain(arguments.iter().copied())).fails(2, expected);
    }
}

#[test]
fn keys_are_readable_by_their_owner_only_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&lab.path("ca.key")), mode(&lab.path("ca.pem"))), (0o600, 0o644));
    let folder = lab.folder.path().join("lab");
    ran(support::hoptax().args(["lab", "certs"]).arg(&folder)).fails(2, "--force");
    assert_eq!(run(["lab", "certs", "lab", "../evil"]).code, Some(2));
}
