//! IP addresses with a zone: the interface that a link-local address of IPv6 belongs to (RFC 4007, section 11).
//!
//! A zone is written behind a percent sign, as the name or the number of an interface: `fe80::1%eth0`. In a URL the percent sign may be
//! encoded, as RFC 6874 required and RFC 9844 no longer does: `fe80::1%25eth0`. A zone has a meaning on this machine alone, so it
//! selects an interface and is never sent.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use nix::net::if_::{if_indextoname, if_nametoindex};
use thiserror::Error;

/// An IP address, with the number of its interface if it has a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedAddress {
    ip: IpAddr,
    /// 0 for none.
    interface: u32,
}

/// Reason why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidAddress {
    /// The part before the zone is not an address.
    #[error("`{0}` is not an IP address")]
    Address(String),
    /// An address of IPv4 has no zone.
    #[error("`{0}` is an address of IPv4, which has no zone")]
    Version4(String),
    /// There is no such interface.
    #[error("this machine has no network interface `{0}`; `ip link` lists them")]
    Interface(String),
}

impl ScopedAddress {
    /// The address without its zone.
    pub fn ip(self) -> IpAddr {
        self.ip
    }

    /// With a port.
    pub fn with_port(self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(_) => SocketAddr::new(self.ip, port),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, self.interface).into(),
        }
    }

    /// On this interface, if it is a link-local address of IPv6 that has none.
    #[must_use]
    pub fn or_on(self, interface: u32) -> Self {
        let is_unclear = self.interface == 0 && is_link_local(self.ip);
        Self { interface: if is_unclear { interface } else { self.interface }, ..self }
    }
}

impl From<IpAddr> for ScopedAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip, interface: 0 }
    }
}

impl From<SocketAddr> for ScopedAddress {
    fn from(address: SocketAddr) -> Self {
        Self { ip: address.ip(), interface: interface_of(address) }
    }
}

impl FromStr for ScopedAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let (ip, zone) = text.split_once('%').map_or((text, None), |(ip, zone)| (ip, Some(zone)));
        let ip: IpAddr = ip.parse().map_err(|_| InvalidAddress::Address(ip.to_owned()))?;
        let Some(zone) = zone else { return Ok(ip.into()) };
        if ip.is_ipv4() {
            return Err(InvalidAddress::Version4(text.to_owned()));
        }
        // For a number without an interface, the kernel would report that the network is unreachable.
        let numbered = zone.parse().ok().filter(|number| name_of(*number).is_some());
        let named = || if_nametoindex(zone).map_err(|_| InvalidAddress::Interface(zone.to_owned()));
        let interface = numbered.map_or_else(named, Ok)?;
        Ok(Self { ip, interface })
    }
}

impl fmt::Display for ScopedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interface {
            0 => self.ip.fmt(f),
            interface => write!(f, "{}%{}", self.ip, Zone(interface)),
        }
    }
}

/// An interface by its name, or by its number if it has gone.
struct Zone(u32);

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name_of(self.0) {
            Some(name) => f.write_str(&name),
            None => self.0.fmt(f),
        }
    }
}

/// The name of an interface; None if there is none with this number.
fn name_of(interface: u32) -> Option<String> {
    // `nix` 0.31 takes the null pointer of a failure for an empty name.
    let name = if_indextoname(interface).ok().filter(|name| !name.is_empty())?;
    Some(name.to_string_lossy().into_owned())
}

/// An address with its port for messages, with the name of its interface if it has a zone.
pub fn displayed(address: SocketAddr) -> String {
    match interface_of(address) {
        0 => address.to_string(),
        _ => format!("[{}]:{}", ScopedAddress::from(address), address.port()),
    }
}

/// The number of the interface of an address; 0 for none.
pub fn interface_of(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    }
}

/// Returns true if an address is valid only on one link, so that it needs a zone.
pub fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if Ipv6Addr::is_unicast_link_local(&ip))
}

/// An address with a port, and perhaps a zone: `127.0.0.1:80`, `[::1]:80`, `[fe80::1%eth0]:80`.
///
/// # Errors
/// When it is another text, or there is no such interface.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let form = || {
        format!("`{text}` is not an address with a port, such as `127.0.0.1:8080` or `[fe80::1%eth0]:8080`")
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address: ScopedAddress = bracketed.unwrap_or(host).parse().map_err(|error| match error {
        InvalidAddress::Address(_) => form(),
        error => error.to_string(),
    })?;
    if address.ip.is_ipv6() != bracketed.is_some() {
        return Err(form());
    }
    Ok(address.with_port(port.parse().map_err(|_| form())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_the_name_or_the_number_of_an_interface() {
        let lo = if_nametoindex("lo").unwrap();
        for text in ["fe80::1%lo".to_owned(), format!("fe80::1%{lo}")] {
            let address: ScopedAddress = text.parse().unwrap();
            assert_eq!(address.with_port(80).to_string(), format!("[fe80::1%{lo}]:80"), "{text}");
            assert_eq!(
                (address.ip(), address.to_string()),
                ("fe80::1".parse().unwrap(), "fe80::1%lo".to_owned())
            );
            assert_eq!(displayed(address.with_port(80)), "[fe80::1%lo]:80");
        }
        assert_eq!("::1".parse::<ScopedAddress>().unwrap().with_port(1), "[::1]:1".parse().unwrap());
        assert_eq!(displayed("[::1]:1".parse().unwrap()), "[::1]:1");
        assert_eq!("192.0.2.1".parse::<ScopedAddress>().unwrap().to_string(), "192.0.2.1");
        for (text, expected) in [
            ("fe80::1%no-such-interface", "no network interface `no-such-interface`"),
            ("fe80::1%", "no network interface ``"),
            ("fe80::1%0", "no network interface `0`"),
            ("fe80::1%4294967295", "no network interface `4294967295`"),
            ("192.0.2.1%lo", "has no zone"),
            ("shop.test%lo", "`shop.test` is not an IP address"),
        ] {
            let error = text.parse::<ScopedAddress>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn only_a_link_local_address_without_a_zone_takes_that_of_another() {
        const GONE: u32 = u32::MAX;
        let on = |text: &str| text.parse::<ScopedAddress>().unwrap().or_on(GONE).to_string();
        assert_eq!([on("fe80::1"), on("fe80::1%lo"), on("::1")], ["fe80::1%4294967295", "fe80::1%lo", "::1"]);
    }

    #[test]
    fn an_address_with_a_port_may_have_a_zone() {
        let lo = if_nametoindex("lo").unwrap();
        assert_eq!(socket_address("[fe80::1%lo]:80").unwrap().to_string(), format!("[fe80::1%{lo}]:80"));
        assert_eq!(socket_address("127.0.0.1:80").unwrap().to_string(), "127.0.0.1:80");
        for text in ["127.0.0.1", "::1:80", "[127.0.0.1]:80", "[::1]:port", "localhost:80", ""] {
            assert!(socket_address(text).unwrap_err().contains("is not an address with a port"), "{text}");
        }
        assert!(socket_address("[fe80::1%none-such]:80").unwrap_err().contains("no network interface"));
    }
}
