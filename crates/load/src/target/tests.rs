use super::*;

#[test]
fn a_url_becomes_an_address_and_bytes() {
    let target = Target::get("http://127.0.0.1:8080/a?b=c").unwrap();
    assert_eq!(target.address, SocketAddr::from(([127, 0, 0, 1], 8080)));
    assert_eq!(target.request.bytes, b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
    assert_eq!(Target::get("http://[::1]/").unwrap().address, "[::1]:80".parse().unwrap());
    assert_eq!(Target::get("http://localhost:1").unwrap().address.port(), 1);
    let place = |url| Target::host_and_port(url).unwrap();
    let expected = |host: &str, port| HostPort { host: host.to_owned(), port };
    assert_eq!(place("http://127.0.0.1@a.invalid/"), expected("a.invalid", 80), "nothing is resolved");
    assert_eq!(place("https://[::1]/"), expected("::1", 443));
}

#[test]
fn placeholders_are_replaced_by_the_values_of_the_request() {
    let headers = vec![("X-Id".to_owned(), "{random}".to_owned())];
    let target = Target::new("http://127.0.0.1/{counter}", "POST", headers, b"a{counter}".to_vec()).unwrap();
    let mut bytes = target.request.bytes.clone();
    target.fill(&mut bytes, 42, 0xbeef);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with("POST /000000000042 HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("X-Id: 000000000000beef\r\n") && text.ends_with("\r\n\r\na000000000042"), "{text}");
    assert!(text.contains("Content-Length: 13\r\n") && target.body_bytes == 13, "{text}");
}

#[test]
fn the_scheme_determines_protocol_and_tls() {
    let spec = |url: &'static str, protocol| {
        Target::from_spec(&RequestSpec { url, protocol, ..RequestSpec::default() })
    };
    let secure = Target::get("https://127.0.0.1/").unwrap();
    assert_eq!((secure.protocol, secure.address.port()), (Protocol::Http1, 443));
    assert!(secure.server_name.is_some());
    assert_eq!(spec("http://127.0.0.1/", Some(Protocol::Http2)).unwrap().protocol, Protocol::Http2);
    assert_eq!(Target::get("wss://127.0.0.1/").unwrap().protocol, Protocol::WebSocket);
    assert!(Target::get("ws://127.0.0.1/chat").unwrap().upgrade.starts_with(b"GET /chat HTTP/1.1\r\n"));
    let error = spec("tcp://127.0.0.1:1", Some(Protocol::Http2)).unwrap_err().to_string();
    let expected = "with the protocol `http2`; its scheme is always TCP: leave the protocol out";
    assert!(error.ends_with(expected), "{error}");
    let error = spec("https://127.0.0.1/", Some(Protocol::Tcp)).unwrap_err().to_string();
    let expected = "its scheme allows `http1`, `http2`, `http3`, `grpc`, `grpc-http3`";
    assert!(error.ends_with(expected), "{error}");
    for (requested, protocol) in [
        (None, Protocol::Grpc),
        (Some(Protocol::Http2), Protocol::Grpc),
        (Some(Protocol::Http3), Protocol::GrpcHttp3),
        (Some(Protocol::GrpcHttp3), Protocol::GrpcHttp3),
    ] {
        assert_eq!(spec("grpcs://127.0.0.1/a.B/C", requested).unwrap().protocol, protocol);
    }
    let error = spec("grpc://127.0.0.1/a.B/C", Some(Protocol::Http3)).unwrap_err().to_string();
    assert!(error.ends_with("the protocol `http3`; its scheme allows `http2`, `grpc`"), "{error}");
    let error = spec("grpcs://127.0.0.1/a.B/C", Some(Protocol::Http1)).unwrap_err().to_string();
    assert!(error.ends_with("its scheme allows `http2`, `http3`, `grpc`, `grpc-http3`"), "{error}");
    let header = RequestSpec {
        url: "http://127.0.0.1/",
        method: "GET",
        headers: vec![("Connection".to_owned(), "close".to_owned())],
        protocol: Some(Protocol::Http2),
        ..RequestSpec::default()
    };
    assert!(Target::from_spec(&header).unwrap_err().to_string().contains("`connection`"));
}

#[test]
fn user_information_appears_only_in_the_encoded_bytes() {
    for url in ["http://joe:s3cret@127.0.0.1/", "ws://joe:s3cret@127.0.0.1/"] {
        let spec = RequestSpec { url, ..RequestSpec::default() };
        let target = Target::from_spec(&spec).unwrap();
        let bytes =
            if target.upgrade.is_empty() { target.request.bytes.clone() } else { target.upgrade.to_vec() };
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("\r\nAuthorization: Basic am9lOnMzY3JldA==\r\n"), "{text}");
        let traffic = crate::Traffic::from(target.clone());
        for shown in [format!("{spec:?}"), format!("{target:?}"), format!("{traffic:?}")] {
            // Neither as text nor as decimal bytes: `s3`, and `am` of the header.
            assert!(!shown.contains("s3cret") && !shown.contains("115, 51") && !shown.contains("97, 109"));
        }
    }
    let error = Target::get("tcp://joe:s3cret@127.0.0.1:1").unwrap_err().to_string();
    assert!(error.contains("cannot send") && !error.contains("s3cret"), "{error}");
}

#[test]
fn errors_show_placeholders_as_written() {
    let message = |url: &str| Target::get(url).unwrap_err().to_string();
    assert!(message("http://127.0.0.1/{counter}/\u{e4}").contains("/{counter}/"));
    assert!(message("http://{random}.test/").contains("cannot contain a placeholder"));
    assert_eq!(Target::get("http://127.0.0.1/{counter}?{random}").unwrap().path(), "/{counter}?{random}");
}

#[test]
fn an_invalid_url_is_rejected_with_its_reason() {
    let message = |url: &str| Target::get(url).unwrap_err().to_string();
    assert!(message("127.0.0.1:8080").contains("no scheme"), "{}", message("127.0.0.1:8080"));
    let schemes = "`http`, `https`, `grpc`, `grpcs`, `tcp`, `tls`, `ws` or `wss`";
    assert!(message("ftp://127.0.0.1/").ends_with(&format!("unsupported scheme `ftp`; use {schemes}")));
    assert!(message("http://").contains("not a URL"));
    assert!(message("http://127.0.0.1:x/").contains("its port is invalid"));
    assert!(message("http://127.0.0.1:70000/").contains("its port is invalid"));
    assert!(message("http://name.invalid/").contains("name.invalid"));
}
