//! The test machine to which configurations are adapted.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The machine that a configuration is adapted to.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Port of the admin interface on 127.0.0.1; 0 for a free one.
    pub admin_port: u16,
    /// Ports of the listeners on 127.0.0.1, in their order. Further listeners get free ports.
    pub listener_ports: Vec<u16>,
    /// The server that replaces every upstream cluster. It serves plaintext and TLS on one port.
    pub origin: SocketAddr,
    /// The server that replaces every external service.
    pub companion: SocketAddr,
    /// The folder for all files that the configuration names.
    pub folder: PathBuf,
}

impl Lab {
    /// A lab with these servers, and with free ports for the proxy.
    pub fn new(origin: SocketAddr, companion: SocketAddr, folder: PathBuf) -> Self {
        Self { admin_port: 0, listener_ports: Vec::new(), origin, companion, folder }
    }
}
