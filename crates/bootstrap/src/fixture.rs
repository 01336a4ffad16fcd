//! Configurations for tests.

use std::net::{Ipv4Addr, SocketAddr};

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
