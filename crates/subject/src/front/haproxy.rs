//! HAProxy. It opens its port with `SO_REUSEPORT` unless told otherwise.

use std::ffi::OsString;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use super::program::{Front, no_environment};

pub(super) static HAPROXY: Front = Front {
    name: "haproxy",
    program: PROGRAM,
    title: "HAProxy",
    package: PROGRAM,
    version: VERSION,
    protocols: &["http1"],
    takes_tls: false,
    threads: 1,
    config,
    arguments,
    environment: no_environment,
};

pub(super) const PROGRAM: &str = "haproxy";
pub(super) const VERSION: &[&str] = &["-v"];

pub(super) fn arguments(_: &Path, config: &Path) -> Vec<OsString> {
    vec!["-db".into(), "-f".into(), config.into()]
}

fn config(listen: SocketAddr, servers: &[SocketAddr]) -> String {
    between(listen, servers, "  mode http\n  http-reuse always\n", "  balance roundrobin\n")
}

/// A configuration with these defaults and these lines about the servers.
pub(super) fn between(listen: SocketAddr, servers: &[SocketAddr], defaults: &str, backend: &str) -> String {
    let mut text = format!(
        "global\n  nbthread 1\n  maxconn 4000\ndefaults\n{defaults}  timeout connect 1s\n  timeout client 1d\n  \
         timeout server 1d\nfrontend ingress\n  bind {listen}\n  default_backend servers\nbackend servers\n{backend}"
    );
    for (number, server) in (1..).zip(servers) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  server server-{number} {server}");
    }
    text
}
