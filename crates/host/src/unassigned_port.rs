//! A TCP port for a server that need not support any socket option: it only has to accept the number of its port.
//!
//! A server that sets neither `SO_REUSEADDR` nor `SO_REUSEPORT` can have a port only while no other socket has it, so no socket can reserve
//! one for it ([`crate::reserved_port`]). But the kernel only assigns ports of `net.ipv4.ip_local_port_range` to processes that ask for any
//! port, and to their connections. A port outside of that range stays free until its server binds it, unless a process asks for it by
//! number. Processes of hoptax ask for none that another one has claimed: a claim is an abstract Unix socket with the number of the port in
//! its name. Such names belong to a network namespace, as ports do, and end with their process.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::time::SystemTime;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// The first and the last port that the kernel assigns.
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// The ports that may be chosen. Lower ones are those of well-known services.
const PORTS: RangeInclusive<u16> = 20_000..=u16::MAX;

/// A port that the kernel assigns to no process, and that no other hoptax chooses for as long as this value lives.
#[derive(Debug)]
pub struct UnassignedPort {
    _claim: UnixDatagram,
    address: SocketAddr,
}

impl UnassignedPort {
    /// Chooses a port of an address that any server can bind now. None if all are in use, or if the kernel assigns all ports.
    ///
    /// # Errors
    /// If the address is not one of this machine.
    pub fn choose(ip: IpAddr) -> io::Result<Option<Self>> {
        let assigned = assigned(&fs::read_to_string(RANGE).unwrap_or_default());
        let ports: Vec<u16> = PORTS.filter(|port| !assigned.contains(port)).collect();
        // Start at another port each time: connections to the last server may still have the previous one.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let first = now.subsec_micros() as usize % ports.len().max(1);
        for port in ports.iter().cycle().skip(first).take(ports.len()) {
            let Some(claim) = claim(*port)? else { continue };
            let address = SocketAddr::new(ip, *port);
            if is_free(address)? {
                return Ok(Some(Self { _claim: claim, address }));
            }
        }
        Ok(None)
    }

    /// The address with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The ports that the kernel assigns, from the text of [`RANGE`]; all if it cannot be read.
fn assigned(range: &str) -> RangeInclusive<u16> {
    let mut ends = range.split_whitespace().map(str::parse);
    match (ends.next(), ends.next()) {
        (Some(Ok(first)), Some(Ok(last))) => first..=last,
        _ => 0..=u16::MAX,
    }
}

/// Claims a port; none if another process or thread has claimed it.
fn claim(port: u16) -> io::Result<Option<UnixDatagram>> {
    let name = UnixAddress::from_abstract_name(format!("hoptax-port-{port}"))?;
    match UnixDatagram::bind_addr(&name) {
        Ok(claim) => Ok(Some(claim)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if a server without socket options can bind a port: connections that were closed keep it for a minute.
fn is_free(address: SocketAddr) -> io::Result<bool> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    match bind(&socket, &address).map_err(io::Error::from) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const HERE: [u8; 4] = [127, 0, 0, 1];

    #[test]
    fn every_server_can_have_a_port_that_is_chosen_and_nobody_else_is_given_it() {
        let chosen: Vec<UnassignedPort> =
            (0..200).map(|_| UnassignedPort::choose(HERE.into()).unwrap().unwrap()).collect();
        let ports: BTreeSet<u16> = chosen.iter().map(|port| port.address().port()).collect();
        assert_eq!(ports.len(), chosen.len(), "each is claimed once");
        let assigned = assigned(&fs::read_to_string(RANGE).unwrap());
        assert!(ports.iter().all(|port| PORTS.contains(port) && !assigned.contains(port)), "{ports:?}");
        for port in &chosen {
            assert!(is_free(port.address()).unwrap(), "{port:?}");
        }
        // A claim ends with its value.
        let port = chosen[0].address().port();
        assert!(claim(port).unwrap().is_none());
        drop(chosen);
        assert!(claim(port).unwrap().is_some());
        let elsewhere = UnassignedPort::choose([192, 0, 2, 1].into()).unwrap_err();
        assert_eq!(elsewhere.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_port_is_not_free_while_a_server_or_a_closed_connection_has_it() {
        let listener = TcpListener::bind(SocketAddr::from((HERE, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(!is_free(address).unwrap());
        let mut caller = TcpStream::connect(address).unwrap();
        // The side that closes first waits for a minute.
        drop(listener.accept().unwrap());
        assert_eq!(caller.read(&mut [0]).unwrap(), 0);
        drop((caller, listener));
        assert!(!is_free(address).unwrap());
        assert!(TcpListener::bind(address).is_ok(), "it sets SO_REUSEADDR");
    }

    #[test]
    fn without_a_range_that_can_be_read_all_ports_are_the_kernels() {
        assert_eq!(assigned("32768\t60999\n"), 32_768..=60_999);
        for text in ["", "1024", "a b"] {
            assert_eq!(assigned(text), 0..=u16::MAX, "{text:?}");
        }
    }
}
