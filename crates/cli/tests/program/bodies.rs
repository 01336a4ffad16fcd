//! Bodies larger than any buffer on their path, in both directions, over every protocol, plain and over TLS.

use crate::support::{Lab, UNHURRIED, checked, run};

/// Sends a few requests with a body of `bytes` that are answered with `response_bytes`. A machine that is slow with megabytes
/// must still answer every request completely.
fn answered_completely(lab: &Lab, bytes: u64, response_bytes: u64, arguments: &[&str]) {
    let (body, response, ca) = (bytes.to_string(), format!("x-hoptax-size: {bytes}"), lab.file("ca.pem"));
    let expect = format!("size={response_bytes}");
    let few = ["load", "-q", "20", "-n", "4", "--warmup", "0s", "-c", "2", "--json", "-"];
    let sent = ["-X", "POST", "--body-size", &body, "-H", &response, "--expect", &expect, "--ca", &ca];
    let ran = run(few.iter().chain(&UNHURRIED).chain(&sent).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    let book = &checked("load", &ran.stdout)["book"];
    assert!(book["sent"] == 4 && book["answered"] == 4, "{arguments:?} {bytes}: {book}");
}

#[test]
fn large_bodies_arrive_complete_over_every_protocol() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    for bytes in [66_000, 200_000, 2_000_000] {
        for secure in ["", "s"] {
            let at = |scheme: &str, path: &str| format!("{scheme}{secure}://{address}{path}");
            answered_completely(&lab, bytes, bytes, &[&at("http", "/")]);
            answered_completely(&lab, bytes, bytes, &["--protocol", "http2", &at("http", "/")]);
            answered_completely(
                &lab,
                bytes,
                bytes,
                &["--protocol", "http2", "--streams", "3", &at("http", "/")],
            );
            // An echo; a gRPC message has a length prefix.
            answered_completely(&lab, bytes, bytes, &[&at("ws", "/")]);
            answered_completely(&lab, bytes, bytes + 5, &[&at("grpc", "/hoptax.echo.v1.Echo/Unary")]);
        }
    }
}

#[test]
fn large_bodies_arrive_complete_over_http3() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let url = format!("https://{address}/");
    for bytes in [200_000, 2_000_000] {
        answered_completely(&lab, bytes, bytes, &["--protocol", "http3", "--streams", "2", &url]);
    }
}
