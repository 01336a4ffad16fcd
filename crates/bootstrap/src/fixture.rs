//! Configurations for tests.

use std::net::{Ipv4Addr, SocketAddr};

use crate::parts::{Part, parts};
use crate::request::{DerivedRequest, derive};
use crate::{Adapted, Configuration, Lab, Problems, read};

/// An edge proxy with TLS, several filters, logs, a tracer, and an authorization service.
pub(crate) const EDGE: &str = include_str!("../fixtures/edge.yaml");

/// A configuration without files beside it.
pub(crate) fn configuration(text: &str) -> Result<Configuration, Problems> {
    read("envoy.yaml", text, None, &|path| Err(format!("`{path}` does not exist")))
}

pub(crate) fn lab() -> Lab {
    Lab {
        admin_port: 0,
        listener_ports: vec![10_000],
        origin: SocketAddr::from((Ipv4Addr::LOCALHOST, 9001)),
        companion: SocketAddr::from((Ipv4Addr::LOCALHOST, 9002)),
        folder: "/lab".into(),
    }
}

pub(crate) fn adapted(text: &str) -> Adapted {
    configuration(text).unwrap().adapt(&lab(), &|_| None).unwrap()
}

/// The request that is derived for its first listener.
pub(crate) fn request_of(adapted: &Adapted) -> DerivedRequest {
    derive(adapted, &adapted.listeners[0]).unwrap()
}

/// The parts that this request passes.
pub(crate) fn passed_parts(adapted: &Adapted) -> Vec<Part> {
    parts(adapted, &adapted.listeners[0], &request_of(adapted))
}

/// Transport sockets that wrap each other, from the outermost.
pub(crate) fn nested(kinds: &[&str]) -> String {
    kinds.iter().rev().fold(String::new(), |inner, kind| {
        let inner = if inner.is_empty() { inner } else { format!(", transport_socket: {inner}") };
        format!("{{name: {kind}, typed_config: {{'@type': type.googleapis.com/envoy.extensions.transport_sockets.{kind}{inner}}}}}")
    })
}
