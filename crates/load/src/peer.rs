//! Names the server of a connection in messages.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use hoptax_host::scoped::{displayed, interface_of, is_link_local};

/// The destination of a connection, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address.
    Address(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Peer {
    /// True if it is a link-local address without its interface.
    pub(crate) fn lacks_zone(&self) -> bool {
        matches!(self, Self::Address(address) if is_link_local(address.ip()) && interface_of(*address) == 0)
    }

    /// What to check if nobody accepts connections there, in words.
    pub(crate) fn to_check(&self) -> &'static str {
        match self {
            Self::Address(_) => "is the port right",
            Self::Unix(_) => "is the path right",
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => f.write_str(&displayed(*address)),
            Self::Unix(path) => write!(f, "`{}`", path.display()),
        }
    }
}
