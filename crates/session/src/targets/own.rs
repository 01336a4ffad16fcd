//! Recognises the server's own address, by whichever way it is reached. Loads must not go there: they would use up the connections of its
//! users.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Determines if an address belongs to this machine.
pub(super) type OfMachine = fn(IpAddr) -> bool;

/// A port for [`is_of_machine`], which sends nothing to it: the discard service (RFC 863).
const ANY_PORT: u16 = 9;

/// True if a connection to an address reaches a server that listens on `own`.
pub(super) fn is_reached(own: SocketAddr, at: SocketAddr, is_of_machine: OfMachine) -> bool {
    let (listen, ip) = (own.ip().to_canonical(), at.ip().to_canonical());
    // A connection to the unspecified address reaches a loopback address.
    let is_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    let is_same = listen == ip
        || (ip.is_unspecified() && is_here(listen))
        || (listen.is_unspecified() && (is_here(ip) || is_of_machine(ip)));
    own.port() == at.port() && is_same
}

/// True if an address belongs to this machine according to its routing: packets to a local address have the same source address. Sends
/// nothing. Does not recognise an address that another machine translates to this one (NAT).
pub(super) fn is_of_machine(address: IpAddr) -> bool {
    let any = match address {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, ANY_PORT))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with one address beside loopback.
    fn one(address: IpAddr) -> bool {
        address == IpAddr::from([192, 0, 2, 99])
    }

    #[test]
    fn a_server_on_all_addresses_is_reached_by_each_of_its_machine() {
        let is_own = |own: &str, at: &str| is_reached(own.parse().unwrap(), at.parse().unwrap(), one);
        let is_own_at_another_port = |own: &str, at: &str| {
            let mut at: SocketAddr = at.parse().unwrap();
            at.set_port(2);
            is_reached(own.parse().unwrap(), at, one)
        };
        for (own, at) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("127.0.0.1:1", "[::ffff:127.0.0.1]:1"),
            ("127.0.0.1:1", "0.0.0.0:1"),
            ("[::1]:1", "[::]:1"),
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("0.0.0.0:1", "127.9.9.9:1"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("0.0.0.0:1", "192.0.2.99:1"),
            ("[::]:1", "192.0.2.99:1"),
            ("[::]:1", "[::ffff:192.0.2.99]:1"),
            ("192.0.2.99:1", "192.0.2.99:1"),
        ] {
            assert!(is_own(own, at), "{own} {at}");
            assert!(!is_own_at_another_port(own, at), "{own} {at}");
        }
        for (own, at) in [
            ("127.0.0.1:1", "127.0.0.2:1"),
            ("127.0.0.1:1", "192.0.2.99:1"),
            ("0.0.0.0:1", "192.0.2.98:1"),
            ("192.0.2.99:1", "127.0.0.1:1"),
            ("192.0.2.99:1", "0.0.0.0:1"),
            ("192.0.2.98:1", "192.0.2.99:1"),
        ] {
            assert!(!is_own(own, at), "{own} {at}");
        }
    }

    #[test]
    fn the_system_knows_the_addresses_of_the_machine() {
        assert!(is_of_machine(Ipv4Addr::LOCALHOST.into()));
        // Addresses of documentation (RFC 5737, RFC 3849), and one that no packet has as its source.
        for other in ["192.0.2.77", "2001:db8::77", "255.255.255.255"] {
            assert!(!is_of_machine(other.parse().unwrap()), "{other}");
        }
        // The address that packets to others have, if there is a way to them.
        let source = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
            socket.connect(("192.0.2.77", ANY_PORT))?;
            socket.local_addr()
        });
        assert!(source.is_err() || source.is_ok_and(|source| is_of_machine(source.ip())));
    }
}
