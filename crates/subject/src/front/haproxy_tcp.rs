//! HAProxy as a balancer of TCP connections (layer 4): it sees no requests, and a connection stays with the server that it was
//! given to.

use std::net::SocketAddr;

use super::haproxy::{PROGRAM, VERSION, arguments, between};
use super::program::{Front, no_environment};

pub(super) static HAPROXY_TCP: Front = Front {
    name: "haproxy-tcp",
    program: PROGRAM,
    title: "HAProxy in TCP mode, least connections",
    package: PROGRAM,
    version: VERSION,
    // It passes bytes on, and does not read them.
    protocols: &["http1", "http2", "grpc", "websocket", "tcp"],
    takes_tls: false,
    threads: 1,
    config,
    arguments,
    environment: no_environment,
};

/// A server that refuses a connection gets no more until it accepts one, and the connection goes to another server.
const SERVERS: &str =
    "  balance leastconn\n  option redispatch 1\n  default-server check inter 100ms fall 1 rise 1\n";

fn config(listen: SocketAddr, servers: &[SocketAddr]) -> String {
    between(listen, servers, "  mode tcp\n", SERVERS)
}
