//! HAProxy as a balancer of TCP connections (layer 4): it sees no requests, and a connection stays with its server.

use std::net::SocketAddr;

use super::haproxy::{PROGRAM, VERSION, arguments, between};
use super::program::{Front, no_environment};

pub(super) static HAPROXY_TCP: Front = Front {
    name: "haproxy-tcp",
    program: PROGRAM,
    title: "HAProxy in TCP mode, least connections",
    package: PROGRAM,
    version: VERSION,
    // It forwards bytes without parsing them.
    protocols: &["http1", "http2", "grpc", "websocket", "tcp"],
    takes_tls: false,
    threads: 1,
    config,
    arguments,
    environment: no_environment,
};

/// If a server refuses a connection, the connection goes to another server, and the first one gets no more until it accepts one.
const SERVERS: &str =
    "  balance leastconn\n  option redispatch 1\n  default-server check inter 100ms fall 1 rise 1\n";

fn config(listen: SocketAddr, servers: &[SocketAddr]) -> String {
    between(listen, servers, "  mode tcp\n", SERVERS)
}
