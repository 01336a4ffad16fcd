//! Bodies larger than any buffer on their path, in both directions, over every protocol, plain and over TLS.

use crate::support::{Lab, UNHURRIED, checked, run};

/// Sends a few requests with a body of `bytes` that are answered with `response_bytes`. A machine that is slow with megabytes
/// must still answer every request completely.
fn answered_completely(bytes: u64, response_bytes: u64, arguments: &[&str]) {
    let (body, response) = (bytes.to_string(), format!("x-hoptax-size: {bytes}"));
    let expect = format!("size={response_bytes}");
    let few = ["load", "-q", "20", "-n", "4", "--warmup", "0s", "-c", "2", "--json", "-"];
    let sent = ["-X", "POST", "--body-size", &body, "-H", &response, "--expect", &expect];
    let ran = run(few.iter().chain(&UNHURRIED).chain(&sent).chain(arguments).copied());
    assert!(!ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    let book = &checked("load", &ran.stdout)["book"];
    assert!(book["sent"] == 4 && book["answered"] == 4, "{arguments:?} {bytes}: {book}");
}

#[test]
fn large_bodies_arrive_complete_over_every_protocol() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let ca = lab.file("ca.pem");
    for bytes in [66_000, 200_000, 2_000_000] {
        for (secure, tls) in [("", &[][..]), ("s", &["--ca", &ca][..])] {
            let at = |scheme: &str, path: &str| format!("{scheme}{secure}://{address}{path}");
            let answered = |response_bytes: u64, flags: &[&str], url: &str| {
                answered_completely(bytes, response_bytes, &[tls, flags, &[url]].concat());
            };
            answered(bytes, &[], &at("http", "/"));
            answered(bytes, &["--protocol", "http2"], &at("http", "/"));
            answered(bytes, &["--protocol", "http2", "--streams", "3"], &at("http", "/"));
            // An echo; a gRPC message has a length prefix.
            answered(bytes, &[], &at("ws", "/"));
            answered(bytes + 5, &[], &at("grpc", "/hoptax.echo.v1.Echo/Unary"));
        }
    }
}

#[test]
fn large_bodies_arrive_complete_over_http3() {
    let lab = Lab::new();
    let (_origin, address) = lab.origin(&[]);
    let (ca, url) = (lab.file("ca.pem"), format!("https://{address}/"));
    for bytes in [200_000, 2_000_000] {
        let flags = ["--ca", &ca, "--protocol", "http3", "--streams", "2", &url];
        answered_completely(bytes, bytes, &flags);
    }
}
