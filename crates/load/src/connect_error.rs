//! Errors of a worker that opens its connections.

use std::io;

use hoptax_wire::tls::TlsError;
use rustix::io::Errno;
use thiserror::Error;

use crate::connection_error::ConnectionError;
use crate::peer::Peer;

/// Reason why a worker could not open its connections.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The epoll instance could not be created.
    #[error("cannot create an epoll instance: {0}")]
    Epoll(#[source] io::Error),
    /// A connect failed.
    #[error("cannot connect to {address}: {source}; is the server running, and {}?", address.to_check())]
    Connect {
        /// The server.
        address: Peer,
        /// The system error.
        source: io::Error,
    },
    /// The server has no socket for datagrams, which HTTP/3 needs.
    #[error("nothing serves HTTP/3 on UDP {address}; try --protocol http2")]
    NoHttp3 {
        /// The server.
        address: Peer,
    },
    /// There is no route to the host.
    #[error(
        "cannot connect to {address}: {source}; no route to host (is it an IPv6 address without a route?)"
    )]
    NoRoute {
        /// The server.
        address: Peer,
        /// The system error.
        source: io::Error,
    },
    /// The interface of a link-local address is not known.
    #[error(
        "cannot connect to {address}: it is a link-local address, which exists on every interface; name one: `[fe80::1%eth0]`"
    )]
    NoZone {
        /// The server.
        address: Peer,
    },
    /// The local ports are exhausted.
    #[error(
        "cannot open {wanted} connections to {address}: {source}; a local address has about 28,000 ports for each \
         port of the server (see net.ipv4.ip_local_port_range): use several with --source-address"
    )]
    NoPorts {
        /// Requested number of connections.
        wanted: usize,
        /// The server.
        address: Peer,
        /// The system error.
        source: io::Error,
    },
    /// A source address cannot be bound.
    #[error("cannot connect to {address} from {from}: {source}; is it an address of this machine?")]
    Source {
        /// The server.
        address: Peer,
        /// The source address.
        from: String,
        /// The system error.
        source: io::Error,
    },
    /// The limit of open files is reached.
    #[error(
        "cannot open {wanted} connections: {source}; the limit of open files may be too low (see `ulimit -n`)"
    )]
    TooMany {
        /// Requested number of connections.
        wanted: usize,
        /// The system error.
        source: io::Error,
    },
    /// The handshake of TLS or of the protocol failed.
    #[error("the handshake with {address} failed: {reason}")]
    Refused {
        /// The server.
        address: Peer,
        /// The reason.
        reason: String,
    },
    /// No trusted authority signed the server's certificate.
    #[error("the handshake with {address} failed: {reason}")]
    Untrusted {
        /// The server.
        address: Peer,
        /// The same as a reason, with what to do.
        reason: String,
    },
    /// The server allows no stream.
    #[error(
        "{address} allows no request on a connection: its limit on concurrent streams was still 0 after {seconds} s; does it wait for \
         something before it accepts requests? --timeout sets how long to wait"
    )]
    NoStreams {
        /// The server.
        address: Peer,
        /// Time that the worker waited for it.
        seconds: f64,
    },
    /// A connection was not established within the timeout.
    #[error(
        "{address} was not ready for requests within {seconds} s; is it reachable, and does it speak the requested protocol?"
    )]
    Timeout {
        /// The server.
        address: Peer,
        /// The timeout.
        seconds: f64,
    },
}

impl ConnectError {
    /// Converts a socket error that occurred while opening `wanted` connections.
    pub(crate) fn from_socket(address: Peer, wanted: usize, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::MFILE | Errno::NFILE) => Self::TooMany { wanted, source },
            Some(Errno::ADDRNOTAVAIL) if wanted > 1 => Self::NoPorts { wanted, address, source },
            Some(Errno::INVAL) if address.lacks_zone() => Self::NoZone { address },
            Some(Errno::NETUNREACH | Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {
                Self::NoRoute { address, source }
            }
            _ => Self::Connect { address, source },
        }
    }

    /// TLS failed before the first request.
    pub(crate) fn from_tls(address: Peer, error: &TlsError) -> Self {
        let reason = error.to_string();
        if error.is_untrusted() {
            Self::Untrusted { address, reason }
        } else {
            Self::Refused { address, reason }
        }
    }

    /// The server closed a connection before the first request.
    pub(crate) fn closed(address: Peer) -> Self {
        Self::Refused { address, reason: ConnectionError::Closed.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_socket_has_a_path_to_check_and_an_address_a_port() {
        let error =
            |peer| ConnectError::from_socket(peer, 1, io::Error::from(io::ErrorKind::NotFound)).to_string();
        let (socket, address) =
            (Peer::Unix(PathBuf::from("/nope")), Peer::Address((Ipv4Addr::LOCALHOST, 1).into()));
        assert!(error(socket).ends_with("is the server running, and is the path right?"));
        assert!(error(address).ends_with("is the server running, and is the port right?"));
    }
}
