//! Link-local addresses with a zone, in a network namespace of their own. Without root they are not tested, which is printed.

use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV6, TcpListener};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use hoptax_host::namespace::Namespace;
use serde_json::Value;

use crate::support::{Guarded, UNHURRIED, checked, hoptax, ran, serve_connections};

/// A namespace whose loopback interface has the addresses `fe80::1` and `fe80::2`.
fn namespace() -> Option<Namespace> {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(error) => {
            eprintln!("not tested: {error}");
            return None;
        }
    };
    for address in ["fe80::1/64", "fe80::2/64"] {
        let added = namespace.within(|| {
            Command::new("ip").args(["-6", "addr", "add", address, "dev", "lo", "nodad"]).status()
        });
        assert!(added.unwrap().unwrap().success());
    }
    Some(namespace)
}

/// The result of a short load in a namespace.
fn load(namespace: &Namespace, arguments: &[&str]) -> Value {
    let short = ["load", "-n", "20", "--warmup", "0s", "-c", "2", "--json", "-"];
    let mut command = hoptax();
    command.args(short.iter().chain(&UNHURRIED).chain(arguments));
    let ran = namespace.within(|| ran(&mut command)).unwrap();
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    let result = checked("load", &ran.stdout);
    assert_eq!(result["book"]["answered"], 20, "{arguments:?}: {result}");
    result
}

#[test]
fn a_link_local_address_is_reached_through_its_interface_which_is_not_sent() {
    let Some(namespace) = namespace() else { return };
    let address =
        |last: u16| SocketAddr::from(SocketAddrV6::new([0xfe80, 0, 0, 0, 0, 0, 0, last].into(), 0, 0, 1));
    let listener = namespace.within(|| TcpListener::bind(address(1))).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, peers): (_, Arc<Mutex<Vec<SocketAddr>>>) = (Arc::clone(&heads), Arc::default());
    let from = Arc::clone(&peers);
    serve_connections(listener, move |mut stream| {
        from.lock().unwrap().push(stream.peer_addr().unwrap());
        let mut buffer = [0; 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            seen.lock().unwrap().push(String::from_utf8_lossy(&buffer[..read]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    for zone in ["%lo", "%25lo", "%1", "%251"] {
        heads.lock().unwrap().clear();
        let result = load(&namespace, &[&format!("http://[fe80::1{zone}]:{port}/path%25")]);
        assert_eq!(result["plan"]["network"]["servers"], serde_json::json!([format!("[fe80::1%1]:{port}")]));
        let expected = format!("GET /path%25 HTTP/1.1\r\nHost: [fe80::1]:{port}\r\n");
        let heads = heads.lock().unwrap();
        assert!(
            heads.len() == 20 && heads.iter().all(|head| head.starts_with(&expected)),
            "{zone}: {heads:?}"
        );
    }
    let fixed = format!("shop.test:{port}:[fe80::1%lo]");
    load(&namespace, &["--resolve", &fixed, &format!("http://shop.test:{port}/")]);
    for source in ["fe80::2%lo", "fe80::2"] {
        peers.lock().unwrap().clear();
        let result = load(&namespace, &["--source-address", source, &format!("http://[fe80::1%lo]:{port}/")]);
        let given = result["plan"]["network"]["source_addresses"][0].as_str().unwrap();
        assert!(given.starts_with("fe80::2"), "{given}");
        let peers = peers.lock().unwrap();
        assert!(
            peers.len() == 2 && peers.iter().all(|peer| peer.ip() == address(2).ip()),
            "{source}: {peers:?}"
        );
    }
    for (url, expected) in [
        (
            format!("http://[fe80::1]:{port}/"),
            "it is a link-local address, which exists on every interface; name one",
        ),
        (format!("http://[fe80::1%nowhere]:{port}/"), "this machine has no network interface `nowhere`"),
    ] {
        let mut command = hoptax();
        command.args(["load", "-n", "1", &url]);
        let failed = namespace.within(|| ran(&mut command)).unwrap();
        assert!(failed.code != Some(0) && failed.stderr.contains(expected), "{}", failed.stderr);
    }
}

#[test]
fn an_origin_listens_on_a_link_local_address_with_every_protocol() {
    let Some(namespace) = namespace() else { return };
    let mut command = hoptax();
    command
        .args(["lab", "origin", "--listen", "[fe80::1%lo]:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut origin = Guarded(namespace.within(|| command.spawn()).unwrap().unwrap());
    let url = origin.address();
    assert!(url.starts_with("http://[fe80::1%1]:"), "{url}");
    let address = url.strip_prefix("http://").unwrap();
    load(&namespace, &[&url]);
    load(&namespace, &["--protocol", "http2", "--streams", "2", &url]);
    load(&namespace, &[&format!("ws://{address}/")]);
    load(&namespace, &[&format!("grpc://{address}/hoptax.echo.v1.Echo/Unary")]);
}
