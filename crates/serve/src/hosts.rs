//! The hosts that a request may name. A page of a stranger whose name was made to resolve to this server (DNS rebinding) names another.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;

/// True if only this machine reaches an address.
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The hosts by which a server is reached. Ports are not compared: whoever forwards a port to the server names the other one, and a
/// stranger's page cannot name another host by its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts {
    listen: IpAddr,
}

impl Hosts {
    /// The hosts of a server that listens on this address.
    pub(crate) fn of(listen: IpAddr) -> Self {
        Self { listen: listen.to_canonical() }
    }

    /// True if the value of a `Host` header names this server. Addresses are no names that a stranger could have resolved.
    pub(crate) fn accept(self, host: &str) -> bool {
        let Some(authority) = host.parse::<Authority>().ok().filter(|_| !host.contains('@')) else {
            return false;
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(address) if self.listen.is_loopback() => address.is_loopback(),
            Ok(address) => self.listen.is_unspecified() || address == self.listen,
            Err(_) => {
                host.eq_ignore_ascii_case("localhost")
                    && (self.listen.is_loopback() || self.listen.is_unspecified())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(listen: &str, host: &str) -> bool {
        Hosts::of(listen.parse().unwrap()).accept(host)
    }

    #[test]
    fn a_server_on_loopback_is_named_by_loopback_alone() {
        for listen in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            for host in ["127.0.0.1:8419", "localhost", "LOCALHOST:1", "[::1]:8419", "127.0.0.2"] {
                assert!(accepts(listen, host), "{listen} {host}");
            }
            for host in [
                "",
                "evil.test",
                "evil.test:8419",
                "localhost.evil.test",
                "localhost.",
                "127.0.0.1.evil.test",
                "10.0.0.1:8419",
                "user@127.0.0.1",
                "evil.test@localhost",
                "0.0.0.0",
                "[::]",
                "a b",
            ] {
                assert!(!accepts(listen, host), "{listen} {host}");
            }
        }
    }

    #[test]
    fn a_server_on_another_address_is_named_by_it_and_one_on_all_addresses_by_any() {
        assert!(accepts("192.0.2.1", "192.0.2.1:8419"));
        for host in ["192.0.2.2", "127.0.0.1", "localhost", "bench.test"] {
            assert!(!accepts("192.0.2.1", host), "{host}");
        }
        for listen in ["0.0.0.0", "::"] {
            assert!(accepts(listen, "192.0.2.1:8419") && accepts(listen, "localhost"), "{listen}");
            assert!(accepts(listen, "[2001:db8::1]") && !accepts(listen, "bench.test"), "{listen}");
        }
    }
}
