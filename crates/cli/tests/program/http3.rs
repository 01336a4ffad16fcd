//! HTTP/3, with the origin and with real Envoy.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::proxied::given;
use crate::support::study::StudyFolder;
use crate::support::{Guarded, Lab, UNHURRIED, checked, hoptax, origin, run, wait_until};

/// Result of a short HTTP/3 load. On a busy machine, its times vary; the tests do not depend on them.
fn load(lab: &Lab, arguments: &[&str]) -> Value {
    load_with(lab, &[&["-q", "500", "-n", "200"], &UNHURRIED[..]].concat(), arguments)
}

fn load_with(lab: &Lab, pace: &[&str], arguments: &[&str]) -> Value {
    let ca = lab.file("ca.pem");
    let fixed = ["load", "--ca", &ca, "--warmup", "0s", "-c", "2", "--json", "-", "--protocol", "http3"];
    let ran = run(fixed.iter().chain(pace).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    checked("load", &ran.stdout)
}

fn all_answered(result: &Value) -> bool {
    let book = &result["book"];
    book["planned"] == 200 && book["sent"] == 200 && book["answered"] == 200
}

#[test]
fn requests_get_the_requested_response() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let url = format!("https://{address}");
    let result = load(&lab, &["--expect", "status=200", &url]);
    assert!(all_answered(&result) && result["plan"]["protocol"] == "http3", "{result}");
    let tls = &result["tls"];
    assert!(tls["version"] == "1.3" && tls["alpn"] == "h3" && tls["resumed_handshakes"] == 0, "{tls}");
    assert_eq!(tls["full_handshakes"], 2, "{tls}");
    let more = [&format!("{url}?delay=5ms&size=20000&status=418")[..], "--streams", "16"];
    let result = load(&lab, &[&["--expect", "status=418,size=20000"], &more[..]].concat());
    assert!(all_answered(&result), "{result}");
    // Withheld if the machine was too busy.
    let min_us = result["latency"]["response"]["min_us"].as_f64();
    assert!(min_us.is_none_or(|min_us| min_us >= 5000.0), "{result}");
    let sent = ["-X", "POST", "--body-size", "100000", "--requests-per-connection", "7"];
    let result = load(&lab, &[&sent[..], &[&url]].concat());
    assert!(result["book"]["failed"] == 0 && result["tls"]["full_handshakes"].as_u64() > Some(2), "{result}");
    // Reset by the server, and by the client.
    let result = load(&lab, &[&format!("{url}?close=1")]);
    assert_eq!(result["failures"]["stream-reset-cancel"], result["book"]["sent"], "{result}");
    // Each of two connections waits for one request at a time.
    let impatient = ["-q", "500", "-n", "10", "-d", "1h", "--timeout", "300ms"];
    let result = load_with(&lab, &impatient, &[&format!("{url}?delay=1h")]);
    let book = &result["book"];
    assert!(book["timed_out"].as_u64() > Some(0) && book["answered"] == 0, "{book}");
}

#[test]
fn grpc_calls_are_answered_message_by_message() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let echo = format!("grpcs://{address}/hoptax.echo.v1.Echo");
    let call = |method: &str, flags: &[&str]| {
        let pace = [&["-q", "200", "-n", "20", "--streams", "4"], &UNHURRIED[..]].concat();
        let result = load_with(&lab, &pace, &[flags, &[&format!("{echo}/{method}")]].concat());
        assert_eq!(result["plan"]["protocol"], "grpc-http3", "{result}");
        assert_eq!(result["book"]["sent"], 20, "{result}");
        result
    };
    // Each message is 15 bytes including its length prefix.
    for (method, messages, size) in
        [("Unary", "1", 15), ("ClientStream", "4", 15), ("ServerStream", "1", 45), ("Bidirectional", "4", 60)]
    {
        let expect = format!("size={size}");
        let result = call(method, &["--body-size", "10", "--messages", messages, "--expect", &expect]);
        assert_eq!(result["book"]["answered"], 20, "{method}: {result}");
        assert_eq!(result["statuses"], json!({"0": 20}), "{method}");
        assert!(result["tls"]["alpn"] == "h3" && result["messages"].is_null(), "{result}");
    }
    // Messages that fill flow-control windows, and messages with a delay each.
    for (body, query) in [("10", ""), ("300000", ""), ("10", "?delay=2ms")] {
        let flags = ["--grpc-stream", "both", "--messages", "10", "--body-size", body];
        let result = call(&format!("Bidirectional{query}"), &flags);
        assert_eq!(result["book"]["answered"], 20, "{body} {query}: {result}");
        assert_eq!(result["messages"]["count"], 200, "{body} {query}: {result}");
        // A result withholds times where the machine was too busy for them.
        let min_us = result["messages"]["min_us"].as_f64();
        assert!(query.is_empty() || min_us.is_none_or(|min_us| min_us >= 2000.0), "{result}");
    }
    let result = call("ServerStream", &["--grpc-stream", "server", "--body", "hop"]);
    assert_eq!((&result["messages"]["count"], &result["book"]["answered"]), (&60.into(), &20.into()));
    let result = call("ClientStream", &["--grpc-stream", "client", "--messages", "5", "--body", "hop"]);
    assert_eq!((&result["messages"]["count"], &result["book"]["answered"]), (&20.into(), &20.into()));
    // In the head of the response, and in its trailers.
    for (method, flags, status) in [
        ("Unary?status=503", vec![], "14"),
        ("Unary", vec!["--messages", "2"], "3"),
        ("Nothing", vec![], "12"),
    ] {
        let result = call(method, &[&["--body", "hop"], &flags[..]].concat());
        assert_eq!(result["statuses"], json!({status: 20}), "{method}");
        assert_eq!(result["failures"], json!({"grpc-status": 20}), "{method}");
    }
    let named = ["load", "-n", "5", "-q", "100", "--warmup", "0s", "--json", "-", "--protocol", "grpc-http3"];
    let (ca, url) = (lab.file("ca.pem"), echo.replace("grpcs", "https") + "/Unary");
    let ran = run(named.iter().chain(&UNHURRIED).chain(&["--ca", &ca, &url]).copied());
    assert_eq!(checked("load", &ran.stdout)["statuses"], json!({"0": 5}), "{}", ran.stderr);
    let plain = echo.replace("grpcs", "grpc") + "/Unary";
    run(["load", "--protocol", "http3", &plain]).fails(2, "its scheme allows `http2`, `grpc`");
}

#[test]
fn connection_failures_state_their_cause() {
    let (lab, other) = (Lab::new(), Lab::new());
    let (_origin, address) = lab.origin(&[]);
    let url = format!("https://{address}");
    let refused = |ca: &str, more: &[&str]| {
        let first = ["load", "--protocol", "http3", "--ca", ca, "-d", "1s"];
        let ran = run(first.into_iter().chain(more.iter().copied()));
        assert_eq!(ran.code, Some(3), "{more:?}: {}", ran.stderr);
        ran.stderr
    };
    let ca = lab.file("ca.pem");
    let other = other.file("ca.pem");
    let error = refused(&other, &[&url]);
    assert!(error.contains(&format!("no authority in `{other}` signed the server's certificate")), "{error}");
    let error = refused(&ca, &["--server-name", "elsewhere.example", &url]);
    assert!(error.contains("--server-name"), "{error}");
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(refused(&ca, &[&format!("https://{free}/")]).contains("nothing serves HTTP/3 on UDP"));
    // A socket that never responds.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    assert!(refused(&ca, &["--timeout", "1s", &url]).contains("was not ready for requests"));
    run(["load", "--protocol", "http3", "--ca", &ca, "--tls-version", "1.2", &url])
        .fails(2, "HTTP/3 needs TLS 1.3");
    run(["load", "--protocol", "http3", "http://127.0.0.1:1/"])
        .fails(2, "cannot be used with the protocol `http3`");
}

/// An HTTP/3 listener with direct responses, on a port that Envoy takes from the kernel.
fn bootstrap(lab: &Lab, log: &Path) -> Value {
    let file = |name: &str| json!({"filename": lab.file(name)});
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport",
        "downstream_tls_context": {"common_tls_context": {"tls_certificates": [
            {"certificate_chain": file("server.pem"), "private_key": file("server.key")}]}},
    });
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "codec_type": "HTTP3", "stat_prefix": "front",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
            "response_headers_to_add": [{"header": {"key": "set-cookie", "value": "session=1; Secure"}}], "routes": [
            {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": "hello"}}}]}]},
        "http_filters": [{"name": "router", "typed_config":
            {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
        "access_log": [{"name": "file", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": log, "log_format": {"text_format_source": {"inline_string": "%PROTOCOL% %RESPONSE_CODE% %REQ(COOKIE)%\n"}}}}],
    });
    let any_port = json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}});
    json!({"admin": {"address": any_port}, "static_resources": {"listeners": [{
        "name": "in",
        "address": {"socket_address": {"protocol": "UDP", "address": "127.0.0.1", "port_value": 0}},
        "udp_listener_config": {"quic_options": {}},
        "filter_chains": [{
            "transport_socket": {"name": "quic", "typed_config": tls},
            "filters": [{"name": "http", "typed_config": manager}],
        }],
    }]}})
}

#[test]
fn envoy_answers_http3_requests() {
    let lab = Lab::new();
    let log = lab.path("access.log");
    let proxy = given(bootstrap(&lab, &log), &lab.path("envoy"), &["--file-flush-interval-msec", "50"]);
    let url = format!("https://{}/", proxy.address);
    let result = load(&lab, &["--streams", "8", "--expect", "status=200,size=5", &url]);
    assert!(all_answered(&result), "{result}");
    // Handshakes are slow without optimization.
    let few = [&["-q", "500", "-n", "20"], &UNHURRIED[..]].concat();
    let each = ["--requests-per-connection", "1", "--expect", "status=200,size=5", &url];
    let result = load_with(&lab, &few, &each);
    let book = &result["book"];
    let answered = book["answered"].as_u64().unwrap();
    assert!(answered == 20 && result["tls"]["full_handshakes"].as_u64() >= Some(answered), "{book}");
    let logged = |line: &str| fs::read_to_string(&log).unwrap_or_default().matches(line).count() as u64;
    wait_until("Envoy has logged", || logged("HTTP/3 200 -\n") >= 200 + answered);
    assert_eq!(logged("session=1"), 0);
    // The first request on each connection has no cookie, and all others have that of their connection.
    let result = load(&lab, &["--cookies", "-X", "POST", "--body", "hop", &url]);
    assert!(all_answered(&result), "{result}");
    let cookies = result["book"]["answered"].as_u64().unwrap() - 2;
    wait_until("Envoy has logged", || logged("HTTP/3 200 session=1\n") >= cookies);
    assert_eq!(logged("HTTP/3 200 session=1\n"), cookies);
}

/// A listener of HTTP/2 before an upstream of HTTP/3, on a port that Envoy takes from the kernel.
fn bootstrap_to(lab: &Lab, upstream: &str) -> Value {
    let socket =
        |address: &str, port: u16| json!({"socket_address": {"address": address, "port_value": port}});
    let (address, upstream_port) = upstream.rsplit_once(':').unwrap();
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "codec_type": "HTTP2", "stat_prefix": "front",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"prefix": "/"}, "route": {"cluster": "origin", "timeout": "0s"}}]}]},
        "http_filters": [{"name": "router", "typed_config":
            {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
    });
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport",
        "upstream_tls_context": {"sni": "localhost", "common_tls_context":
            {"validation_context": {"trusted_ca": {"filename": lab.file("ca.pem")}}}},
    });
    let protocol = json!({
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http3_protocol_options": {}},
    });
    json!({"admin": {"address": socket("127.0.0.1", 0)}, "static_resources": {
        "listeners": [{
            "name": "in",
            "address": socket("127.0.0.1", 0),
            "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
        }],
        "clusters": [{
            "name": "origin",
            "load_assignment": {"cluster_name": "origin", "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": socket(address, upstream_port.parse().unwrap())}}]}]},
            // Envoy recognises QUIC by this name.
            "transport_socket": {"name": "envoy.transport_sockets.quic", "typed_config": tls},
            "typed_extension_protocol_options":
                {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol},
        }],
    }})
}

#[test]
fn the_origin_answers_grpc_over_http3_message_by_message() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let proxy = given(bootstrap_to(&lab, &address), &lab.path("envoy"), &[]);
    let echo = format!("grpc://{}/hoptax.echo.v1.Echo", proxy.address);
    let grpc_load = |arguments: &[&str]| {
        let short = ["load", "-q", "20", "-n", "10", "--warmup", "0s", "-c", "2", "--json", "-"];
        let ran = run(short.iter().chain(&UNHURRIED).chain(arguments).copied());
        assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
        let result = checked("load", &ran.stdout);
        let answered = result["book"]["answered"].as_u64().unwrap();
        assert!(answered > 0 && result["book"]["sent"] == answered, "{arguments:?}: {result}");
        (result, answered)
    };
    let conversation = format!("{echo}/Bidirectional");
    for (body, delay) in [("10", ""), ("300000", ""), ("10", "?delay=2ms")] {
        let url = format!("{conversation}{delay}");
        let (result, answered) =
            grpc_load(&["--grpc-stream", "both", "--messages", "10", "--body-size", body, &url]);
        assert_eq!(result["messages"]["count"], 10 * answered, "{result}");
    }
    // The calls whose messages are read as a whole.
    let (result, answered) =
        grpc_load(&["--grpc-stream", "server", "--body", "hop", &format!("{echo}/ServerStream")]);
    assert_eq!(result["messages"]["count"], 3 * answered, "{result}");
    grpc_load(&["--messages", "3", "--body", "hop", "--expect", "size=8", &format!("{echo}/ClientStream")]);
}

#[test]
fn the_origin_says_that_it_serves_http3_on_udp() {
    let lab = Lab::new();
    let (cert, key) = (lab.file("server.pem"), lab.file("server.key"));
    let said = |more: &[&str]| {
        let mut command = hoptax();
        command.args(["lab", "origin", "--listen", "127.0.0.1:0", "--cert", &cert, "--key", &key]).args(more);
        let mut child = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let (url, mut note) = (child.address(), String::new());
        BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut note).unwrap();
        (url.strip_prefix("http://").unwrap().to_owned(), note)
    };
    let (address, note) = said(&[]);
    assert!(note.contains(&format!("HTTP/3 on UDP {address}")), "{note}");
    let (_, note) = said(&["--alpn", "h2"]);
    assert!(note.contains("TLS") && !note.contains("HTTP/3"), "{note}");
}

#[test]
fn a_udp_port_in_use_stops_an_origin_only_if_it_serves_http3() {
    let lab = Lab::new();
    // A port that is free on TCP and taken on UDP.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let _taken = UdpSocket::bind(free.local_addr().unwrap()).unwrap();
    let listen = free.local_addr().unwrap().to_string();
    drop(free);
    let (cert, key) = (lab.file("server.pem"), lab.file("server.key"));
    let secured = ["--listen", &listen, "--cert", &cert, "--key", &key];
    let ran = run(["lab", "origin"].into_iter().chain(secured));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(&format!("cannot listen on UDP {listen} for HTTP/3"))
            && ran.stderr.contains("--alpn h2,http/1.1"),
        "{}",
        ran.stderr
    );
    drop(origin(&["--listen", &listen]));
    drop(origin(&[&secured[..], &["--alpn", "h2,http/1.1"]].concat()));
}

/// Envoy closes a connection whose peer acknowledges nothing for several timeouts. The generator does nothing while
/// another arm or load is measured, so acknowledgements that it delays must be out before.
#[test]
fn connections_survive_slices_of_other_loads() {
    let text = "name: pauses\nrounds: 2\narms: [baseline, http3/terminate]\nloads:\n  - {name: short, loop: closed, connections: \
                8, blocks: 4, slice: 50ms}\n  - {name: long, loop: open, rate: 20, connections: 1, blocks: 1, slice: 4s}\n";
    let study = StudyFolder::new(text);
    let ran = study.run();
    let result = study.result_of(&ran);
    for arm in result["arms"].as_array().unwrap() {
        assert_eq!(arm["failures"], json!({}), "{}", arm["id"]);
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{}", ran.stderr);
    }
}
