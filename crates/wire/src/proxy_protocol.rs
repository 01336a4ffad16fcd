//! The header of the PROXY protocol, in which a proxy sends the addresses of its client to the server.
//!
//! It is the first thing on a connection, before TLS. The format is that of HAProxy's specification, "The PROXY protocol,
//! versions 1 & 2" (<https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>).

use std::net::SocketAddr;

/// Signature of version 2 (section 2.2 of the specification).
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, command `LOCAL`: the connection has no client.
const LOCAL: u8 = 0x20;
/// Version 2, command `PROXY`: the addresses are those of a client.
const PROXY: u8 = 0x21;
/// Transport protocol: TCP over IPv4, TCP over IPv6.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Text.
    V1,
    /// Binary.
    V2,
}

impl Version {
    /// Its name: `v1` or `v2`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// The addresses of a connection.
#[derive(Clone, Copy)]
struct Addresses {
    source: SocketAddr,
    destination: SocketAddr,
}

/// The header of a connection from `source` to `destination`. If an address is missing, as on a Unix socket, or one is IPv4
/// and the other IPv6, the header names no client, and the server uses the addresses of the socket.
pub fn header(version: Version, source: Option<SocketAddr>, destination: Option<SocketAddr>) -> Vec<u8> {
    let addresses = source.zip(destination).map(|(source, destination)| Addresses { source, destination });
    match version {
        Version::V1 => text(addresses).into_bytes(),
        Version::V2 => binary(addresses),
    }
}

fn text(addresses: Option<Addresses>) -> String {
    const UNKNOWN: &str = "PROXY UNKNOWN\r\n";
    let Some(Addresses { source, destination }) = addresses else { return UNKNOWN.to_owned() };
    let family = match (source, destination) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => "TCP4",
        (SocketAddr::V6(_), SocketAddr::V6(_)) => "TCP6",
        _ => return UNKNOWN.to_owned(),
    };
    let (from, to) = (source.ip(), destination.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port())
}

fn binary(addresses: Option<Addresses>) -> Vec<u8> {
    let mut payload = Vec::with_capacity(36);
    let (command, family) = match addresses.map(|ends| (ends.source, ends.destination)) {
        Some((SocketAddr::V4(from), SocketAddr::V4(to))) => {
            payload.extend_from_slice(&from.ip().octets());
            payload.extend_from_slice(&to.ip().octets());
            (PROXY, TCP4)
        }
        Some((SocketAddr::V6(from), SocketAddr::V6(to))) => {
            payload.extend_from_slice(&from.ip().octets());
            payload.extend_from_slice(&to.ip().octets());
            (PROXY, TCP6)
        }
        _ => (LOCAL, 0),
    };
    if let Some(Addresses { source, destination }) = addresses.filter(|_| command == PROXY) {
        payload.extend_from_slice(&source.port().to_be_bytes());
        payload.extend_from_slice(&destination.port().to_be_bytes());
    }
    let mut header = SIGNATURE.to_vec();
    header.extend_from_slice(&[command, family]);
    header.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    header.append(&mut payload);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_between(version: Version, from: &str, to: &str) -> Vec<u8> {
        header(version, Some(from.parse().unwrap()), Some(to.parse().unwrap()))
    }

    #[test]
    fn a_header_names_both_ends_of_the_connection() {
        let text = header_between(Version::V1, "192.0.2.1:56324", "198.51.100.2:443");
        assert_eq!(text, b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n");
        let text = header_between(Version::V1, "[2001:db8::1]:1", "[2001:db8::2]:65535");
        assert_eq!(text, b"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n");
        let binary = header_between(Version::V2, "192.0.2.1:258", "198.51.100.2:443");
        let expected =
            b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x01\x02\x01\xbb";
        assert_eq!(binary, expected);
        let binary = header_between(Version::V2, "[2001:db8::1]:1", "[2001:db8::2]:2");
        assert_eq!((binary.len(), &binary[12..16]), (16 + 36, &b"\x21\x21\x00\x24"[..]));
        assert_eq!(&binary[48..], b"\x00\x01\x00\x02");
    }

    #[test]
    fn a_header_without_a_pair_of_addresses_names_none() {
        let (four, six) = ("192.0.2.1:1".parse().unwrap(), "[2001:db8::1]:1".parse().unwrap());
        for (from, to) in [(None, None), (Some(four), None), (Some(four), Some(six)), (Some(six), Some(four))]
        {
            assert_eq!(header(Version::V1, from, to), b"PROXY UNKNOWN\r\n");
            assert_eq!(header(Version::V2, from, to), b"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00");
        }
    }
}
