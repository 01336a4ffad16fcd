//! Tests of the connection flags of `hoptax load`, each with TLS and protocol negotiation.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::support::{Lab, UNHURRIED, checked, origin, run, server};

/// The result of a short load.
fn load(arguments: &[&str]) -> Value {
    let short = ["load", "-q", "200", "-n", "80", "--warmup", "0s", "-c", "4", "--json", "-"];
    let ran = run(short.iter().chain(&UNHURRIED).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    checked("load", &ran.stdout)
}

fn all_answered(result: &Value) -> bool {
    result["book"]["sent"] == 80 && result["book"]["answered"] == 80
}

/// Carries bytes both ways until one side ends.
fn carry(mut near: (impl Read + Send + 'static, impl Write), address: &str) {
    let mut far = TcpStream::connect(address).unwrap();
    let mut far_writer = far.try_clone().unwrap();
    thread::spawn(move || {
        let _ = std::io::copy(&mut near.0, &mut far_writer);
        let _ = far_writer.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut far, &mut near.1);
}

#[test]
fn a_proxy_header_precedes_tls_also_in_the_negotiation() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let headers = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&headers);
    let relay = server(move |mut near| {
        let mut header = [0; 28];
        if near.read_exact(&mut header).is_ok() && header.starts_with(b"\r\n\r\n\0\r\nQUIT\n") {
            count.fetch_add(1, Ordering::Relaxed);
            carry((near.try_clone().unwrap(), near), &address);
        }
    });
    let url = format!("https://{relay}/");
    let result = load(&["--proxy-protocol", "v2", "--ca", &lab.file("ca.pem"), &url]);
    assert!(all_answered(&result) && result["plan"]["protocol"] == "http2", "{result}");
    assert_eq!(result["plan"]["network"]["proxy_protocol"], "v2");
    // One more than the connections of the load.
    assert_eq!(headers.load(Ordering::Relaxed), 5);
}

#[test]
fn a_unix_socket_carries_every_protocol_of_tcp() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let path = lab.path("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let address = address.clone();
            thread::spawn(move || carry((near.try_clone().unwrap(), near), &address));
        }
    });
    let (socket, ca) = (path.to_str().unwrap(), lab.file("ca.pem"));
    let tls = ["--ca", ca.as_str()];
    for (url, tls, protocol) in [
        ("https://localhost/", &tls[..], "http2"),
        ("http://nowhere.invalid/", &[][..], "http1"),
        ("grpcs://localhost/hoptax.echo.v1.Echo/Unary", &tls[..], "grpc"),
        ("ws://nowhere.invalid:1/", &[][..], "websocket"),
    ] {
        let result = load(&[tls, &["--unix-socket", socket, url]].concat());
        assert!(all_answered(&result) && result["plan"]["protocol"] == protocol, "{url}: {result}");
        assert_eq!(result["plan"]["network"]["unix_socket"], socket);
    }
}

#[test]
fn http3_uses_the_source_addresses() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let flags = ["--protocol", "http3", "--source-address", "127.0.1.1", "--source-address", "127.0.1.2"];
    let url = format!("https://{address}/");
    let result = load(&[&flags[..], &["--ca", &lab.file("ca.pem"), &url]].concat());
    assert!(all_answered(&result), "{result}");
}

#[test]
fn names_are_looked_up_again_and_fixed_hosts_are_not() {
    let (_origin, url) = origin(&[]);
    let (_, port) = url.rsplit_once(':').unwrap();
    let named = format!("http://localhost:{port}/");
    let result = load(&["--resolve-every", "100ms", &named]);
    assert!(all_answered(&result), "{result}");
    let lookups = &result["lookups"];
    // A slow machine may have no time for any.
    assert!(lookups["done"].is_u64() && lookups["failed"] == 0 && lookups["changes"] == 0, "{lookups}");
    assert_eq!(lookups["servers"], result["plan"]["network"]["servers"]);
    assert_eq!(result["plan"]["network"]["resolve_every_s"], 0.1);
    assert!(load(&["--resolve-all", &url])["lookups"].is_null());
    let fixed = format!("localhost:{port}:127.0.0.1");
    run(["load", "--resolve", &fixed, "--resolve-every", "1s", &named]).fails(2, "no name to look up");
}

#[test]
fn exclusive_connection_flags_are_rejected() {
    let url = "https://127.0.0.1:1/";
    for (flags, expected) in [
        (vec!["--unix-socket", "/a", "--source-address", "127.0.0.1"], "cannot be used with"),
        (vec!["--unix-socket", "/a", "--resolve-all"], "cannot be used with"),
        (vec!["--unix-socket", "/a", "--resolve-every", "1s"], "cannot be used with"),
        (vec!["--resolve-every", "1s"], "no name to look up"),
        (vec!["--resolve-every", "0s"], "longer than 0s"),
        (vec!["--resolve-every", "50ms"], "at least 100ms"),
        (vec!["--protocol", "http3", "--unix-socket", "/a"], "--unix-socket requires TCP"),
        (vec!["--protocol", "http3", "--proxy-protocol", "v1"], "--proxy-protocol requires TCP"),
        (vec!["--source-address", "eth0"], "neither an address nor a network"),
        (vec!["--source-address", "10.0.0.0/8"], "more than 65536 source addresses"),
        (vec!["--proxy-protocol", "v3"], "v1"),
        (vec!["--ramp-up", "5s", "--connect", "on-demand", "--protocol", "http1"], "before the load"),
        (vec!["--ramp-up", "0s"], "longer than 0s"),
    ] {
        run(["load", "--insecure"].into_iter().chain(flags.iter().copied()).chain([url])).fails(2, expected);
    }
    for (flags, expected) in [
        (vec!["--unix-socket", "/nonexistent/app.sock"], "cannot connect to `/nonexistent/app.sock`"),
        (vec!["--source-address", "192.0.2.1"], "from 192.0.2.1"),
        (vec!["--source-address", "192.0.2.1", "--protocol", "http1"], "from 192.0.2.1"),
    ] {
        run(["load", "--insecure"].into_iter().chain(flags.iter().copied()).chain([url])).fails(3, expected);
    }
}
