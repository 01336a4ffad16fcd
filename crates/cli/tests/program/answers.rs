//! Answers of servers as a user sees them: why requests failed, which responses count, and what a connection carries.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{UNHURRIED, checked, run, server};

/// The number of requests of a load.
const REQUESTS: usize = 40;

/// A server that sends the same bytes after each read.
fn sending(response: Vec<u8>) -> String {
    server(move |mut stream| {
        let mut bytes = vec![0; 65_536];
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) && stream.write_all(&response).is_ok() {}
    })
}

/// The result of a load, and the output of the program.
fn load(arguments: &[&str]) -> (Value, String) {
    let requests = REQUESTS.to_string();
    let fixed = ["load", "--details", "--warmup", "0s", "-c", "2", "-n", &requests];
    let all = || fixed.iter().chain(&UNHURRIED).chain(arguments).copied();
    let shown = run(all());
    let ran = run(all().chain(["--json", "-"]));
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    (checked("load", &ran.stdout), shown.stdout)
}

fn response(head: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nok").into_bytes()
}

#[test]
fn responses_that_curl_reads_are_answered() {
    let cookies: Vec<String> = (0..4_900).map(|number| format!("Set-Cookie: c{number}=1")).collect();
    let many = response(&format!("{}\r\nContent-Length: 2", cookies.join("\r\n")));
    let large = response(&format!("Content-Security-Policy: {}\r\nContent-Length: 2", "a".repeat(300_000)));
    let blank = [response("Content-Length: 2"), b"\r\n".to_vec()].concat();
    for (what, bytes) in [("many headers", many), ("a large head", large), ("a blank line", blank)] {
        let (result, shown) = load(&[&format!("http://{}/", sending(bytes))]);
        assert_eq!(result["book"]["answered"], REQUESTS, "{what}: {shown}");
        assert!(result["reasons"].is_null() && result["deviations"].is_null(), "{what}: {result}");
    }
}

#[test]
fn what_is_wrong_with_responses_is_in_the_result_in_the_summary_and_in_the_advice() {
    for (bytes, kind, reason) in [
        (response("Content-Length : 2"), "malformed", "space before the colon"),
        (response("Content-Length: 2\r\nContent-Length: 3"), "malformed", "two different lengths"),
        (
            response("Transfer-Encoding: identity\r\nContent-Length: 2"),
            "malformed",
            "Transfer-Encoding: identity beside a Content-Length",
        ),
        (
            response("Transfer-Encoding: chunked\r\n\r\nx"),
            "malformed",
            "a chunk size that is not hexadecimal",
        ),
        (response("X: a\rb"), "malformed", "a bare CR"),
        (response("Content-Length: 1"), "malformed", "bytes after the end of the response"),
        (
            [response("Content-Length: 2"), response("Content-Length: 2")].concat(),
            "malformed",
            "a second, unsolicited response",
        ),
        (response(&format!("X: {}", "a".repeat(400_000))), "malformed", "a head larger than 300 KiB"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_vec(),
            "switched",
            "101 Switching Protocols, which the request did not ask for",
        ),
    ] {
        let condition = format!("{kind}>0");
        let (result, shown) = load(&["--fail-on", &condition, &format!("http://{}/", sending(bytes))]);
        assert_eq!(result["failures"], json!({kind: REQUESTS}), "{reason}");
        // The result is void, but the count of failures is evidence.
        assert_eq!(result["fail_on"][0]["value"].as_f64(), Some(REQUESTS as f64), "{}", result["fail_on"]);
        assert_eq!(result["reasons"], json!({kind: {reason: REQUESTS}}));
        let line = format!("{REQUESTS} {kind}: {reason}");
        assert!(shown.contains(&format!("failures: {line}\n")), "{shown}");
        let finding = &result["findings"][0];
        assert!(finding["message"].as_str().unwrap().contains(&line), "{finding}");
        assert!(finding["advice"].as_str().unwrap().contains("that the reasons name"), "{finding}");
    }
}

#[test]
fn errors_of_the_system_and_of_other_protocols_have_their_reasons() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // A client sends its first request once it has the settings of the server.
    let broken_frame = server(|mut stream| {
        let (mut bytes, mut received) = ([0; 4096], Vec::new());
        let is_request = |bytes: &[u8]| {
            bytes.windows(6).any(|part| part.first() == Some(&1) && part.ends_with(&[0, 0, 0, 1]))
        };
        let _ = stream.write_all(b"\0\0\0\x04\0\0\0\0\0");
        while let Ok(count) = stream.read(&mut bytes)
            && count > 0
        {
            received.extend_from_slice(&bytes[..count]);
            if is_request(&received) {
                let _ = stream.write_all(b"\0\0\x01\0\0\0\0\0\x01x");
            }
        }
    });
    let not_upgraded = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n".to_vec();
    let plain = response("Content-Length: 2");
    for (url, flags, kind, reason) in [
        (format!("http://{nobody}/"), vec![], "refused", "Connection refused"),
        (format!("http://{broken_frame}/"), vec!["--protocol", "http2"], "malformed", "data before headers"),
        (
            format!("ws://{}/", sending(not_upgraded)),
            vec![],
            "protocol",
            "the server refused the WebSocket upgrade with status 403",
        ),
        (
            format!("https://{}/", sending(plain)),
            vec!["--insecure", "--protocol", "http1"],
            "tls",
            "the server does not speak TLS",
        ),
    ] {
        let (result, shown) = load(&[&flags[..], &["--connect", "on-demand", &url]].concat());
        assert_eq!(result["failures"], json!({kind: REQUESTS}), "{reason}: {result}");
        assert_eq!(result["reasons"], json!({kind: {reason: REQUESTS}}));
        assert!(shown.contains(reason), "{shown}");
    }
}

#[test]
fn a_response_with_both_lengths_is_read_by_its_chunks_with_a_warning() {
    let bytes =
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let url = format!("http://{}/", sending(bytes.to_vec()));
    let (result, shown) = load(&["--expect", "size=5", &url]);
    assert_eq!(result["book"]["answered"], REQUESTS, "{shown}");
    let what = "both Content-Length and Transfer-Encoding: chunked";
    assert_eq!(result["deviations"], json!({what: REQUESTS}));
    let findings = result["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "deviations").unwrap();
    assert!(finding["severity"] == "warn" && shown.contains(what), "{finding} {shown}");
}
