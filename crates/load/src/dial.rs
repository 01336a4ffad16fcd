//! The network path to a server: source addresses, a Unix socket in place of an address, and the PROXY protocol header.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hoptax_host::scoped::{InvalidAddress, ScopedAddress, interface_of};
use hoptax_wire::proxy_protocol::{self, Version};
use ipnet::IpNet;
use nix::sys::socket::{setsockopt, sockopt as nix_sockopt};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};

use crate::connect_error::ConnectError;
use crate::peer::Peer;

/// Maximum number of source addresses. With 28,000 ports each, they allow more connections than a machine can hold.
const MAX_SOURCES: usize = 65_536;

/// The network path of connections to a server.
#[derive(Clone, Debug, Default)]
pub struct Dial {
    /// Source addresses of connections.
    pub sources: Sources,
    /// Path of a Unix socket that replaces the addresses of all servers.
    pub unix_socket: Option<PathBuf>,
    /// Version of the PROXY protocol header that every connection starts with, if any.
    pub proxy_protocol: Option<Version>,
}

/// Dialling parameters of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialTarget<'a> {
    pub(crate) dial: &'a Dial,
    /// The server.
    pub(crate) address: SocketAddr,
    /// Index of its source address, modulo their number.
    pub(crate) number: usize,
}

/// A source address, or a network of them: `192.0.2.7`, `192.0.2.0/28`, `fe80::1%eth0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An address, perhaps with its interface.
    Address(ScopedAddress),
    /// A network.
    Network(IpNet),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse(), text.parse()) {
            (Ok(network), _) => Ok(Self::Network(network)),
            (_, Ok(address)) => Ok(Self::Address(address)),
            (_, Err(InvalidAddress::Address(_))) => Err(format!(
                "`{text}` is neither an address nor a network; write it as `192.0.2.7` or `192.0.2.0/28`"
            )),
            (_, Err(error)) => Err(format!("`{text}`: {error}")),
        }
    }
}

impl Source {
    fn addresses(&self) -> Box<dyn Iterator<Item = ScopedAddress>> {
        match self {
            Self::Address(address) => Box::new(std::iter::once(*address)),
            Self::Network(network) => Box::new(network.hosts().map(ScopedAddress::from)),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                network.addr().fmt(f)
            }
            Self::Network(network) => network.fmt(f),
        }
    }
}

/// Source addresses that connections use in turn. Each has its own ephemeral ports, about 28,000 per port of a server.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    given: Vec<Source>,
    v4: Arc<[ScopedAddress]>,
    v6: Arc<[ScopedAddress]>,
}

impl Sources {
    /// All addresses of `given`, without the network and broadcast addresses of IPv4 networks. If empty, the kernel chooses the
    /// source of each connection.
    ///
    /// # Errors
    /// When there are more than 65,536.
    pub fn new(given: Vec<Source>) -> Result<Self, String> {
        let addresses: Vec<ScopedAddress> =
            given.iter().flat_map(Source::addresses).take(MAX_SOURCES + 1).collect();
        if addresses.len() > MAX_SOURCES {
            return Err(format!("more than {MAX_SOURCES} source addresses; use a smaller network"));
        }
        let (v4, v6): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| address.ip().is_ipv4());
        Ok(Self { given, v4: v4.into(), v6: v6.into() })
    }

    /// The addresses and networks, as given.
    pub fn given(&self) -> &[Source] {
        &self.given
    }

    fn to(&self, peer: SocketAddr) -> &[ScopedAddress] {
        if peer.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    /// The source address of a connection to `peer`, on the interface of the peer if it needs one and names none; None if the kernel
    /// chooses.
    fn nth(&self, peer: SocketAddr, number: usize) -> Result<Option<ScopedAddress>, Errno> {
        let addresses = self.to(peer);
        match addresses.get(number % addresses.len().max(1)) {
            Some(address) => Ok(Some(address.or_on(interface_of(peer)))),
            None if self.given.is_empty() => Ok(None),
            None => Err(Errno::AFNOSUPPORT),
        }
    }

    /// Binds a socket to each of the first `count` addresses that suit `peer`. Returns the first that fails, and why.
    fn check(&self, peer: SocketAddr, count: usize) -> Result<(), (String, Errno)> {
        if self.given.is_empty() {
            return Ok(());
        }
        for number in 0..self.to(peer).len().clamp(1, count.max(1)) {
            let source = self.nth(peer, number);
            let bound = source.and_then(|source| socket(peer, SocketType::STREAM, source));
            if let Err(error) = bound {
                let given = source.ok().flatten().map(|address| address.to_string());
                return Err((given.unwrap_or_else(|| "the source addresses".to_owned()), error));
            }
        }
        Ok(())
    }
}

impl Dial {
    /// The destination of a connection to a server.
    pub fn peer(&self, address: SocketAddr) -> Peer {
        self.unix_socket.clone().map_or(Peer::Address(address), Peer::Unix)
    }

    /// Checks that `count` connections to a server can use the source addresses.
    pub(crate) fn check(&self, address: SocketAddr, count: usize) -> Result<(), ConnectError> {
        self.sources.check(address, count).map_err(|(from, error)| ConnectError::Source {
            address: self.peer(address),
            from,
            source: error.into(),
        })
    }

    /// The first bytes of a connected socket: the PROXY protocol header, if any.
    pub(crate) fn preamble(&self, socket: &OwnedFd) -> Vec<u8> {
        let Some(version) = self.proxy_protocol else { return Vec::new() };
        let internet = |address: Option<SocketAddrAny>| SocketAddr::try_from(address?).ok();
        let near = rustix::net::getsockname(socket).ok();
        let far = rustix::net::getpeername(socket).ok().flatten();
        proxy_protocol::header(version, internet(near), internet(far))
    }

    /// A connected blocking socket. The connect, and each read and write later, takes at most `timeout`.
    ///
    /// # Errors
    /// An error of the socket; `WouldBlock` after the timeout.
    pub(crate) fn connected(&self, address: SocketAddr, timeout: Duration) -> io::Result<File> {
        let target = DialTarget { dial: self, address, number: 0 };
        let socket = target.socket(SocketType::STREAM)?;
        rustix::io::ioctl_fionbio(&socket, false)?;
        set_timeout(&socket, timeout)?;
        target.connect(&socket)?;
        // The connect has blocked for the timeout if it is still in progress.
        if rustix::net::getpeername(&socket) == Err(Errno::NOTCONN) {
            return Err(Errno::AGAIN.into());
        }
        let preamble = self.preamble(&socket);
        let mut socket = File::from(socket);
        socket.write_all(&preamble)?;
        Ok(socket)
    }
}

impl DialTarget<'_> {
    /// A non-blocking socket that is not connected yet.
    pub(crate) fn socket(self, kind: SocketType) -> Result<OwnedFd, Errno> {
        if self.dial.unix_socket.is_some() {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            return rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None);
        }
        let source = self.dial.sources.nth(self.address, self.number)?;
        let socket = socket(self.address, kind, source)?;
        if kind == SocketType::STREAM {
            // Requests are small and written in one call; Nagle's algorithm would only delay them.
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok(socket)
    }

    /// Starts to connect the socket. A Unix socket connects at once, or fails with `AGAIN` while the server's backlog is full.
    pub(crate) fn connect(self, socket: &OwnedFd) -> Result<(), Errno> {
        let connected = match &self.dial.unix_socket {
            Some(path) => rustix::net::connect(socket, &SocketAddrUnix::new(path.as_path())?),
            None => rustix::net::connect(socket, &self.address),
        };
        match connected {
            Err(Errno::INPROGRESS) => Ok(()),
            connected => connected,
        }
    }
}

/// Sets the timeout of each read and write of a blocking socket.
pub(crate) fn set_timeout(socket: &impl AsFd, timeout: Duration) -> Result<(), Errno> {
    sockopt::set_socket_timeout(socket, Timeout::Recv, Some(timeout))?;
    sockopt::set_socket_timeout(socket, Timeout::Send, Some(timeout))
}

/// A non-blocking socket, bound to `source` if there is one.
fn socket(peer: SocketAddr, kind: SocketType, source: Option<ScopedAddress>) -> Result<OwnedFd, Errno> {
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, kind, flags, None)?;
    if let Some(source) = source {
        // The port is then chosen at connect, and connections to different servers can share it. Otherwise the bind would
        // reserve a port of the source address for a single connection.
        setsockopt(&socket, nix_sockopt::IpBindAddressNoPort, &true)
            .map_err(|error| Errno::from_raw_os_error(error as i32))?;
        rustix::net::bind(&socket, &source.with_port(0))?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(given: &[&str]) -> Sources {
        Sources::new(given.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    #[test]
    fn connections_take_turns_among_the_addresses_of_the_servers_family() {
        let sources = sources(&["127.0.1.0/30", "::1", "127.0.2.9"]);
        let (four, six) = ("192.0.2.1:80".parse().unwrap(), "[2001:db8::1]:80".parse().unwrap());
        let nth = |peer, number| sources.nth(peer, number).unwrap().unwrap().to_string();
        assert_eq!(
            [0, 1, 2, 3].map(|number| nth(four, number)),
            ["127.0.1.1", "127.0.1.2", "127.0.2.9", "127.0.1.1"]
        );
        assert_eq!([0, 1].map(|number| nth(six, number)), ["::1", "::1"]);
        assert_eq!(Sources::default().nth(four, 5), Ok(None));
        assert_eq!(self::sources(&["::1"]).nth(four, 0), Err(Errno::AFNOSUPPORT));
        let given: Vec<_> = sources.given().iter().map(Source::to_string).collect();
        assert_eq!(given, ["127.0.1.0/30", "::1", "127.0.2.9"]);
    }

    #[test]
    fn a_link_local_source_is_on_its_interface_or_on_that_of_the_server() {
        let sources = sources(&["fe80::2", "fe80::3%lo", "2001:db8::1"]);
        // An interface that does not exist has no name.
        let peer = "[fe80::1%4294967295]:80".parse().unwrap();
        let nth = [0, 1, 2].map(|number| sources.nth(peer, number).unwrap().unwrap().to_string());
        assert_eq!(nth, ["fe80::2%4294967295", "fe80::3%lo", "2001:db8::1"]);
        assert!("fe80::2%no-such".parse::<Source>().unwrap_err().contains("no network interface"));
    }

    #[test]
    fn invalid_sources_are_rejected() {
        assert!("localhost".parse::<Source>().unwrap_err().contains("neither an address nor a network"));
        assert!("10.0.0.0/33".parse::<Source>().is_err());
        assert!(
            Sources::new(vec!["2001:db8::/64".parse().unwrap()]).unwrap_err().contains("more than 65536")
        );
        // No machine has an address of the documentation prefix.
        let peer = "127.0.0.1:80".parse().unwrap();
        let (source, error) = sources(&["127.0.0.1", "192.0.2.1"]).check(peer, 2).unwrap_err();
        assert_eq!((source.as_str(), error), ("192.0.2.1", Errno::ADDRNOTAVAIL));
        assert_eq!(sources(&["127.0.0.1", "192.0.2.1"]).check(peer, 1), Ok(()));
        assert_eq!(sources(&["::1"]).check(peer, 1).unwrap_err().1, Errno::AFNOSUPPORT);
    }
}
