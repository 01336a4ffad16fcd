//! Handshakes over a link take their round trips. Without the right to make namespaces there is nothing to test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use hoptax_host::link::{FAR, Link, LinkSpec};
use support::{checked, origin, run};

#[test]
fn a_tls_connection_takes_two_round_trips_more_than_an_open_one() {
    let spec = LinkSpec {
        delay: Duration::from_micros(17_500),
        jitter: Duration::ZERO,
        rate: None,
        loss: 0.0,
        seed: 1,
    };
    let Ok(link) = Link::create(&spec) else {
        assert!(!rustix::process::geteuid().is_root(), "root may make a link");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (lab, name) = (folder.path().join("lab"), FAR.to_string());
    assert_eq!(run(["certs", lab.to_str().unwrap(), &name]).code, Some(0));
    let file = |name: &str| lab.join(name).display().to_string();
    let (certificate, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
    let listen = format!("{name}:0");
    let flags = ["--listen", listen.as_str(), "--cert", &certificate, "--key", &key];
    let (_origin, url) = link.far.within(|| origin(&flags)).unwrap();
    let load = |url: &str, more: &[&str]| {
        let ca = file("ca.pem");
        let flags = [
            "load",
            "-c",
            "1",
            "-d",
            "2s",
            "--warmup",
            "0s",
            "--tls-resumption",
            "off",
            "--ca",
            &ca,
            "--json",
            "-",
        ];
        let flags = flags.into_iter().chain(more.iter().copied()).chain([url]);
        checked("load", &link.near.within(|| run(flags)).unwrap().stdout)
    };
    let url = url.replace("http://", "https://");
    let fresh = load(&url, &["--requests-per-connection", "1", "--connect", "on-demand"]);
    // Of each the least, which is what the link does.
    let is_round_trips = |us: &serde_json::Value, trips: f64| {
        let us = us.as_f64().unwrap();
        // What is above whole round trips is the machine's work; it is less than half of one on any.
        let expected_us = trips * 35_000.0;
        assert!((expected_us..expected_us + 17_500.0).contains(&us), "{us} us is no {trips} round trips");
    };
    is_round_trips(&fresh["outcomes"]["answered"]["min_us"], 3.0);
    is_round_trips(&fresh["tls"]["handshake"]["min_us"], 1.0);
    assert!(fresh["book"]["answered"].as_u64().unwrap() > 10, "{fresh}");
    let open = load(&url, &[]);
    is_round_trips(&open["outcomes"]["answered"]["min_us"], 1.0);
}
