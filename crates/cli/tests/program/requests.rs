//! The requests of `hoptax load` as a server receives them, and credentials that no output shows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hoptax_wire::http2::{Body, Server, ServerEvent};

use crate::support::{Ran, UNHURRIED, checked, origin, run, server};

/// Expected hash of a body that is `hop`.
const HASH: &str = "sha256=87a0acaec00fa34a3166f0b62b7352868c16752bf796a6af3baf0362c62361ed";

/// The requests that a server received.
type Kept = Arc<Mutex<Vec<String>>>;

/// An HTTP/1.1 server that stores the bytes of each request, which arrive together.
fn keeping() -> (String, Kept) {
    let kept = Kept::default();
    let (ours, connections) = (Arc::clone(&kept), AtomicUsize::new(0));
    let address = server(move |mut connection| {
        let number = connections.fetch_add(1, Ordering::Relaxed);
        let mut buffer = vec![0; 65_536];
        let response =
            format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nSet-Cookie: session={number}; Path=/\r\n\r\n");
        while let Ok(read @ 1..) = connection.read(&mut buffer) {
            ours.lock().unwrap().push(String::from_utf8_lossy(&buffer[..read]).into_owned());
            connection.write_all(response.as_bytes()).unwrap();
        }
    });
    (address, kept)
}

/// An HTTP/2 server that stores the header fields of each request, one per line.
fn keeping_fields() -> (String, Kept) {
    let kept = Kept::default();
    let ours = Arc::clone(&kept);
    let address = server(move |mut connection| {
        let (mut server, mut output, mut buffer) = (Server::default(), Vec::new(), [0; 4096]);
        server.open(&mut output);
        while let Ok(read @ 1..) = connection.read(&mut buffer) {
            let mut events = Vec::new();
            server.feed(&buffer[..read], &mut output, &mut events).unwrap();
            for event in events {
                let ServerEvent::Request { stream, head, .. } = event else { continue };
                let fields = head.fields.iter().map(|(name, value)| format!("{name}: {value}\n"));
                let line = format!("{} {}\n", head.method, head.path);
                ours.lock().unwrap().push(line + &fields.collect::<String>());
                let fields = [(":status", "200"), ("set-cookie", "a=1"), ("set-cookie", "b=2; Secure")];
                let trailers = [("grpc-status", "0")];
                server.respond(stream, &fields, Body::Bytes(Vec::new()), &trailers, &mut output);
            }
            connection.write_all(&output).unwrap();
            output.clear();
        }
    });
    (address, kept)
}

/// Runs a short load against a server that answers every request.
fn load(arguments: &[&str]) -> Ran {
    let short = ["load", "-q", "50", "-n", "10", "--warmup", "0s", "-c", "1", "--json", "-"];
    let ran = run(short.iter().chain(&UNHURRIED).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    let result = checked("load", &ran.stdout);
    let book = &result["book"];
    assert!(book["sent"] == 10 && book["answered"] == 10, "{arguments:?}: {book}");
    ran
}

/// The first request of a load.
fn first(kept: &Kept) -> String {
    let mut kept = kept.lock().unwrap();
    let first = kept.first().unwrap().clone();
    kept.clear();
    first
}

#[test]
fn repeated_headers_are_all_sent() {
    let twice = ["-H", "X-Tag: one", "-H", "x-tag: two"];
    let (address, kept) = keeping();
    load(&[&twice[..], &[&format!("http://{address}/")]].concat());
    assert!(first(&kept).contains("X-Tag: one\r\nx-tag: two\r\n"));
    let (address, kept) = keeping_fields();
    load(&[&twice[..], &["--protocol", "http2", &format!("http://{address}/")]].concat());
    assert!(first(&kept).contains("x-tag: one\nx-tag: two\n"));
    // A given header replaces hoptax's own.
    let url = format!("grpc://{address}/a.B/C");
    load(&[&twice[..], &["-H", "Content-Type: application/grpc+proto", &url]].concat());
    let sent = first(&kept);
    assert!(sent.contains("x-tag: one\nx-tag: two\n"), "{sent}");
    assert!(sent.contains("content-type: application/grpc+proto\n") && !sent.contains("application/grpc\n"));
}

#[test]
fn user_information_is_sent_as_basic_authentication_and_never_shown() {
    // `joe` and `s3cr:t`, encoded as in RFC 7617.
    let (user, password, sent) = ("joe", "s3cr%3At", "Basic am9lOnMzY3I6dA==");
    let is_silent = |ran: &Ran| {
        let text = format!("{}{}", ran.stdout, ran.stderr);
        !["s3cr", "joe", "am9lOnMzY3I6dA"].iter().any(|secret| text.contains(secret))
    };
    let (http1, kept) = keeping();
    let ran = load(&[&format!("http://{user}:{password}@{http1}/a")]);
    assert!(is_silent(&ran), "{}", ran.stdout);
    assert!(checked("load", &ran.stdout)["plan"]["url"] == format!("http://{http1}/a"));
    assert!(first(&kept).contains(&format!("Authorization: {sent}\r\n")));
    // A given Authorization header takes precedence.
    load(&["-H", "Authorization: Bearer x", &format!("http://{user}:{password}@{http1}/")]);
    let request = first(&kept);
    assert!(request.contains("Authorization: Bearer x\r\n") && !request.contains(sent), "{request}");
    let (http2, kept) = keeping_fields();
    for url in
        [format!("http://{user}:{password}@{http2}/"), format!("grpc://{user}:{password}@{http2}/a.B/C")]
    {
        let protocol = if url.starts_with("http") { "http2" } else { "grpc" };
        assert!(is_silent(&load(&["--protocol", protocol, &url])));
        assert!(first(&kept).contains(&format!("authorization: {sent}\n")));
    }
    let folder = tempfile::tempdir().unwrap();
    let requests = folder.path().join("requests");
    std::fs::write(&requests, format!("ftp://{user}:{password}@a/\n")).unwrap();
    let requests = requests.to_str().unwrap();
    let as_user = |rest: &str| rest.replace("//", &format!("//{user}:{password}@"));
    for arguments in [
        vec![as_user("ftp://127.0.0.1/")],
        vec![as_user("http://127.0.0.1:x/")],
        vec![as_user("http://127.0.0.1:1/a b")],
        vec![as_user("http:// /")],
        vec![as_user("tcp://127.0.0.1:1")],
        vec![as_user("http://127.0.0.1:1/")],
        vec![as_user("http://name.invalid/")],
        vec![as_user("https://127.0.0.1:1/")],
        vec!["--protocol".to_owned(), "http2".to_owned(), as_user("ws://127.0.0.1:1/")],
        vec!["--reflection".to_owned(), as_user("grpc://127.0.0.1:1/a.B/C")],
        vec!["--requests".to_owned(), requests.to_owned(), "http://127.0.0.1:1/".to_owned()],
    ] {
        let ran = run(["load", "-d", "100ms"].into_iter().chain(arguments.iter().map(String::as_str)));
        assert!(ran.code != Some(0) && !ran.stderr.is_empty(), "{arguments:?}");
        assert!(is_silent(&ran), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_body_has_one_framing_and_a_post_without_a_body_has_length_0() {
    let (address, kept) = keeping();
    let url = format!("http://{address}/");
    load(&["-X", "POST", "--body", "abc", "-H", "Transfer-Encoding: chunked", &url]);
    let request = first(&kept);
    assert!(request.ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "{request}");
    assert!(!request.to_ascii_lowercase().contains("content-length"), "{request}");
    load(&["-X", "POST", &url]);
    assert!(first(&kept).contains("Content-Length: 0\r\n"));
    load(&[&url]);
    assert!(!first(&kept).contains("Content-Length"));
    let refused = |arguments: &[&str], expected: &str| {
        run(["load"].into_iter().chain(arguments.iter().copied()).chain(["http://127.0.0.1:1/"]))
            .fails(2, expected);
    };
    refused(&["--body", "abc", "-H", "Transfer-Encoding: gzip"], "must end with `chunked`");
    let both = ["--body", "abc", "-H", "Transfer-Encoding: chunked", "-H", "Content-Length: 3"];
    refused(&both, "`Content-Length` and `Transfer-Encoding`");
    refused(&["--body", "abc", "-H", "Content-Length: 4"], "the body has 3 bytes");
}

#[test]
fn a_url_with_a_query_and_no_path_requests_the_root() {
    let (address, kept) = keeping();
    load(&[&format!("http://{address}?x=1")]);
    assert!(first(&kept).starts_with("GET /?x=1 HTTP/1.1\r\n"));
    let (address, kept) = keeping_fields();
    load(&["--protocol", "http2", &format!("http://{address}?x=1")]);
    assert!(first(&kept).starts_with("GET /?x=1\n"));
}

#[test]
fn errors_show_placeholders_as_written() {
    for flags in
        [&["/{counter}/{random}/\u{e4}"][..], &["/", "-H", "{random} x: y"], &["/", "-X", "G T{counter}"]]
    {
        let url = format!("http://127.0.0.1:1{}", flags[0]);
        let ran = run(["load", &url].into_iter().chain(flags[1..].iter().copied()));
        assert!(ran.code == Some(2) && !ran.stderr.contains("hoptaxCOUNT"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("hoptaxRANDOM"), "{}", ran.stderr);
    }
    let ran = run(["load", "-q", "10", "-d", "100ms", "http://127.0.0.1:x/{counter}/{random}"]);
    assert!(ran.stderr.contains("/{counter}/{random}"), "{}", ran.stderr);
}

#[test]
fn headers_are_read_from_a_file_and_requests_from_json_lines() {
    let (address, kept) = keeping();
    let folder = tempfile::tempdir().unwrap();
    let (headers, requests) = (folder.path().join("headers"), folder.path().join("requests"));
    std::fs::write(&headers, "X-One: 1\n\nX-Two: a: b\n").unwrap();
    let line = r#"{"url": "/json", "method": "PUT", "header": {"X-Two": ["3", "4"]}, "body": "aG9w"}"#;
    std::fs::write(&requests, line).unwrap();
    let (headers, requests) = (format!("@{}", headers.display()), requests.to_str().unwrap());
    let url = format!("http://{address}/");
    load(&["-H", &headers, "-H", "X-Three: 3", &url]);
    assert!(first(&kept).contains("X-One: 1\r\nX-Two: a: b\r\nX-Three: 3\r\n"));
    load(&["-H", &headers, "--requests", requests, &url]);
    let request = first(&kept);
    assert!(request.starts_with("PUT /json HTTP/1.1\r\n") && request.ends_with("\r\n\r\nhop"), "{request}");
    assert!(request.contains("X-One: 1\r\nX-Two: 3\r\nX-Two: 4\r\n"), "{request}");
    run(["load", "-H", "@/nonexistent", &url]).fails(2, "cannot read `/nonexistent`");
    std::fs::write(&headers[1..], "X-One: 1\nnothing\n").unwrap();
    assert!(run(["load", "-H", &headers, &url]).stderr.contains("line 2: write it as `Name: value`"));
}

#[test]
fn host_names_are_resolved_as_the_arguments_state() {
    let (address, kept) = keeping();
    let port = address.rsplit_once(':').unwrap().1;
    let resolve = format!("shop.test:{port}:127.0.0.1");
    load(&["--resolve", &resolve, "-4", &format!("http://shop.test:{port}/")]);
    assert!(first(&kept).contains(&format!("Host: shop.test:{port}\r\n")));
    let url = format!("http://{address}/");
    run(["load", "-6", &url]).fails(2, "has no IPv6 address");
    assert_eq!(run(["load", "-4", "-6", &url]).code, Some(2));
    assert!(run(["load", "--resolve", "shop.test:80", &url]).stderr.contains("`HOST:PORT:ADDRESS`"));
}

#[test]
fn the_body_of_a_response_is_what_was_expected_or_a_mismatch() {
    let (_origin, url) = origin(&[]);
    let mut connection = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    connection.write_all(b"GET /?size=64&close=true HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    let contains = format!("size=64,contains={}", &response[response.len() - 20..]);
    let (echo, message) =
        (format!("{}/hoptax.echo.v1.Echo/Unary", url.replace("http", "grpc")), ["--body", "hop"]);
    let socket = url.replace("http", "ws");
    let json = ["--body", r#"{"id": [7, "x,y"]}"#];
    for (flags, url, fits, differs) in [
        (vec![], &url, contains.as_str(), "contains=nothing of that"),
        (vec!["--protocol", "http2"], &url, contains.as_str(), "json=/a"),
        (message.to_vec(), &echo, "contains=hop", "contains=top"),
        (json.to_vec(), &socket, "json=/id/0=7", "json=/id/0=8"),
        (json.to_vec(), &socket, r#"json=/id=[7,"x,y"]"#, "json=/id/2"),
        // The hash of `hop`.
        (
            message.to_vec(),
            &socket,
            HASH,
            "sha256=0000000000000000000000000000000000000000000000000000000000000000",
        ),
    ] {
        load(&[&flags[..], &["--expect", fits, url]].concat());
        let other = ["load", "-q", "50", "-n", "10", "--warmup", "0s", "-c", "1", "--json", "-"];
        let more = [&flags[..], &["--expect", differs, url]].concat();
        let ran = run(other.iter().chain(&UNHURRIED).chain(&more).copied());
        let result = checked("load", &ran.stdout);
        assert_eq!(result["failures"]["mismatch"], result["book"]["sent"], "{differs}: {result}");
    }
}

#[test]
fn rows_of_data_fill_urls_headers_and_bodies_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let data = file("users.csv", "id,name\n7,ann\n88,\"b, c\"\n9,d\n");
    let (address, kept) = keeping();
    let url = format!("http://{address}/users/{{{{id}}}}?n={{counter}}");
    let flags =
        ["-X", "POST", "-H", "x-name: {{name}}", "--body", "{\"a\":{\"id\":{{id}}}}", "--data", &data];
    let ran = load(&[&flags[..], &[&url]].concat());
    let requests = std::mem::take(&mut *kept.lock().unwrap());
    for (number, request) in requests.iter().enumerate() {
        let (id, name) = [("7", "ann"), ("88", "b, c"), ("9", "d")][number % 3];
        assert!(request.starts_with(&format!("POST /users/{id}?n={number:012} HTTP/1.1\r\n")), "{request}");
        let body = format!("{{\"a\":{{\"id\":{id}}}}}");
        assert!(request.contains(&format!("x-name: {name}\r\n")), "{request}");
        assert!(request.contains(&format!("Content-Length: {}\r\n", body.len())), "{request}");
        assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
    }
    assert!(requests.len() > 3);
    let plan = &checked("load", &ran.stdout)["plan"];
    assert_eq!(plan["data"], serde_json::json!({"rows": 3, "order": "in-turn"}));
    assert_eq!((&plan["url"], &plan["requests"]), (&url.as_str().into(), &3.into()));

    // Lines of a file, and rows that are drawn: not in turn, and all of them.
    let lines = file("requests", "/a/{{id}}\n/b/{{id}}\n");
    let drawn = ["--requests", &lines, "--data", &data, "--data-order", "random", "-q", "400"];
    let sent = |seed: &str| {
        let short = ["load", "-n", "80", "--warmup", "0s", "-c", "1", "--seed", seed];
        run(short.into_iter().chain(UNHURRIED).chain(drawn).chain([url.as_str()]));
        let requests = std::mem::take(&mut *kept.lock().unwrap());
        requests.iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (first, second) = (sent("1"), sent("2"));
    for path in ["/a/7", "/a/88", "/a/9", "/b/7", "/b/88", "/b/9"] {
        assert!(first.iter().any(|sent| sent == path), "{path}: {first:?}");
    }
    assert_ne!(first, second);
}

#[test]
fn rows_of_data_fill_requests_of_http2_and_messages() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data.csv").display().to_string();
    std::fs::write(&data, "id\nseven\neight\n").unwrap();
    let (address, kept) = keeping_fields();
    let url = format!("http://{address}/{{{{id}}}}");
    load(&["--protocol", "http2", "-H", "x-id: {{id}}", "--data", &data, &url]);
    let requests = std::mem::take(&mut *kept.lock().unwrap());
    assert!(requests.len() > 2);
    for (number, request) in requests.iter().enumerate() {
        let id = ["seven", "eight"][number % 2];
        assert!(request.starts_with(&format!("GET /{id}\n")) && request.contains(&format!("x-id: {id}\n")));
    }
    let (_origin, url) = origin(&[]);
    let url = url.replace("http", "ws");
    load(&["--body", "{{id}}", "--data", &data, "--expect", "size=5", &url]);
    for (flags, expected) in [
        (vec!["--body", "{{ids}}"], "did you mean `id`?"),
        (vec!["--body", "x"], "write `{{id}}`"),
        (vec!["--body", "{{id}}", "--weights", "1"], "--data-order random"),
    ] {
        run(["load", "--data", &data, "http://127.0.0.1:1/"].into_iter().chain(flags)).fails(2, expected);
    }
    assert_eq!(run(["load", "--data-order", "random", "http://127.0.0.1:1/"]).code, Some(2));
}

#[test]
fn cookies_of_a_connection_are_sent_back_on_it_alone() {
    let (address, kept) = keeping();
    let url = format!("http://{address}/");
    let short = ["load", "-q", "50", "-n", "15", "--warmup", "0s", "-c", "2", "--pool", "round-robin"];
    let session = ["-X", "POST", "--body", "hop", "--cookies", &url];
    run(short.into_iter().chain(UNHURRIED).chain(session));
    let requests = std::mem::take(&mut *kept.lock().unwrap());
    let with = |text: &str| requests.iter().filter(|request| request.contains(text)).count();
    // The first on each connection has none, and all others have that of their connection.
    assert!(requests.len() > 4, "{requests:?}");
    assert_eq!(with("Cookie: "), requests.len() - 2, "{requests:?}");
    assert!(with("\r\nCookie: session=0\r\n\r\nhop") > 0, "{requests:?}");
    assert!(with("\r\nCookie: session=1\r\n\r\nhop") > 0, "{requests:?}");
    load(&[&url]);
    assert!(!first(&kept).contains("Cookie"));

    let (address, kept) = keeping_fields();
    let url = format!("http://{address}/");
    load(&["--protocol", "http2", "--cookies", &url]);
    let requests = std::mem::take(&mut *kept.lock().unwrap());
    assert!(!requests[0].contains("cookie") && requests.len() > 1);
    assert!(requests[1..].iter().all(|request| request.contains("cookie: a=1; b=2\n")), "{requests:?}");

    for (flags, expected) in [
        (vec!["--cookies", "ws://127.0.0.1:1/"], "is for HTTP/1.1, HTTP/2 and HTTP/3"),
        (vec!["--cookies", "-H", "cookie: a=1", "http://127.0.0.1:1/"], "two such headers"),
    ] {
        run(["load"].into_iter().chain(flags)).fails(2, expected);
    }
}
