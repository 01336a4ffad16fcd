//! A TCP port for a child process that cannot report which port the kernel chose for it.
//!
//! A port that is found free and closed again may go to another process before the child binds it. A reserved port stays bound until the
//! child has it too: with `SO_REUSEPORT` on both sockets, the kernel lets the child bind the same port, and gives it to no process that
//! asks for any port. Connections are refused until the child listens, and only the child can accept them. For a child that may not set
//! `SO_REUSEPORT`, see [`crate::unassigned_port`].

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};

/// A port that is bound and does not listen, for as long as this value lives.
#[derive(Debug)]
pub struct ReservedPort {
    _socket: OwnedFd,
    address: SocketAddr,
}

impl ReservedPort {
    /// Reserves the port of an address; the kernel chooses a port of 0, never one that another socket has. The child must
    /// set `SO_REUSEPORT` and belong to the same user.
    ///
    /// # Errors
    /// If the address is in use or not one of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        bind(&socket, &address)?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { _socket: socket, address })
    }

    /// The address with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A listener as a child opens it.
    fn listen(address: SocketAddr) -> io::Result<TcpListener> {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        bind(&socket, &address)?;
        rustix::net::listen(&socket, 16)?;
        Ok(socket.into())
    }

    #[test]
    fn nobody_but_the_child_gets_a_reserved_port() {
        let port = ReservedPort::bind(([127, 0, 0, 1], 0).into()).unwrap();
        assert_ne!(port.address().port(), 0);
        let error = TcpListener::bind(port.address()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "another process");
        let error = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "nobody listens yet");
        let child = listen(port.address()).unwrap();
        // The reservation takes no connection from the child, and its end none either.
        for has_reservation in [Some(port), None] {
            let address = child.local_addr().unwrap();
            let connections: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(address).unwrap()).collect();
            for connection in &connections {
                let (_, peer) = child.accept().unwrap();
                assert!(connections.iter().any(|one| one.local_addr().unwrap() == peer), "{connection:?}");
            }
            drop(has_reservation);
            assert_eq!(TcpListener::bind(address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn reservations_share_no_port_with_each_other_or_with_a_server_that_asks_for_any() {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let reserved: Vec<ReservedPort> = (0..200).map(|_| ReservedPort::bind(any).unwrap()).collect();
        let others: Vec<TcpListener> = (0..200).map(|_| TcpListener::bind(any).unwrap()).collect();
        let ports = reserved.iter().map(ReservedPort::address);
        let ports = ports.chain(others.iter().map(|one| one.local_addr().unwrap()));
        let distinct: std::collections::BTreeSet<u16> = ports.map(|address| address.port()).collect();
        assert_eq!(distinct.len(), 400);
    }
}
