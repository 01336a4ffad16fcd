//! HAProxy. It opens its port with `SO_REUSEPORT` unless told otherwise.

use std::net::SocketAddr;

use super::{Front, no_environment};

pub(super) static HAPROXY: Front = Front {
    program: "haproxy",
    title: "HAProxy",
    package: "haproxy",
    version: &["-v"],
    config,
    arguments: |_, config| vec!["-db".into(), "-f".into(), config.into()],
    environment: no_environment,
};

fn config(listen: SocketAddr, origin: SocketAddr) -> String {
    format!(
        "global\n  nbthread 1\n  maxconn 4000\ndefaults\n  mode http\n  timeout connect 1s\n  \
         timeout client 5m\n  timeout server 5m\n  http-reuse always\nfrontend ingress\n  bind {listen}\n  \
         default_backend origin\nbackend origin\n  server origin {origin}\n"
    )
}
