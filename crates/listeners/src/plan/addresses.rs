//! The listening addresses of listeners, and conflicts between them.

use std::net::{IpAddr, Ipv4Addr};

use super::cluster::Upstream;
use crate::file::{ListenerSection, OneOrMore};

/// The listening addresses of a listener.
pub(super) fn addresses(section: &ListenerSection) -> Vec<IpAddr> {
    match &section.listen {
        None => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        Some(OneOrMore::One(address)) => vec![*address],
        Some(OneOrMore::More(addresses)) => addresses.clone(),
    }
}

/// Returns true if an upstream is the listener itself, as far as the file shows.
pub(super) fn is_own(section: &ListenerSection, upstream: &Upstream) -> bool {
    let is_localhost = upstream.host.0.trim_end_matches('.').eq_ignore_ascii_case("localhost");
    let is_here = |listened: IpAddr| match upstream.host.address() {
        Some(address) if address.is_loopback() || address.is_unspecified() => overlap(listened, address),
        Some(address) => listened == address,
        None => is_localhost && (listened.is_loopback() || listened.is_unspecified()),
    };
    upstream.port == section.port && addresses(section).into_iter().any(is_here)
}

/// Returns true if sockets with these addresses and the same port conflict.
pub(super) fn overlap(one: IpAddr, other: IpAddr) -> bool {
    one.is_ipv4() == other.is_ipv4() && (one == other || one.is_unspecified() || other.is_unspecified())
}
