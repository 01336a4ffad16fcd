//! The addresses of a host: those that it has, and those that connections use.

use std::net::SocketAddr;

/// The addresses of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// Addresses that new connections use, in turn. At least one.
    used: Vec<SocketAddr>,
    /// Addresses that the host has. Connections to others are drained.
    all: Vec<SocketAddr>,
}

impl Addresses {
    /// All addresses of a host, all of them used.
    pub(crate) fn new(used: Vec<SocketAddr>) -> Self {
        Self { all: used.clone(), used }
    }

    /// The addresses `used` out of `all` addresses of a host.
    pub(crate) fn some(used: Vec<SocketAddr>, all: Vec<SocketAddr>) -> Self {
        Self { used, all }
    }

    pub(crate) fn used(&self) -> &[SocketAddr] {
        &self.used
    }

    /// True if the host has this address.
    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        self.all.contains(&address)
    }

    /// The server address of the connection with this number, and the number that selects its source address. Together, every
    /// source is used with every address.
    pub(crate) fn select(&self, number: usize) -> (SocketAddr, usize) {
        let unspecified = || SocketAddr::from(([0, 0, 0, 0], 0));
        let count = self.used.len().max(1);
        (self.used.get(number % count).copied().unwrap_or_else(unspecified), number / count)
    }
}
