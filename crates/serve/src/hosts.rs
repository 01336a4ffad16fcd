//! The hosts that a request may name. With DNS rebinding, a page of an attacker makes its own name resolve to this server, but still sends
//! that name.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use axum::http::uri::Authority;

/// An additional name or address of the server, stated by its owner: behind a proxy, in DNS, or through a network that translates
/// addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost(String);

impl FromStr for AllowedHost {
    type Err = String;

    /// # Errors
    /// When it is not a host, but a URL, a pattern, or a host with a port.
    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "`{text}` is not a host without a port, for example `bench.test`, `192.0.2.1` or `2001:db8::1`"
            )
        };
        let in_brackets = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = in_brackets.unwrap_or(text);
        if host.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self(host.to_owned()));
        }
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if in_brackets.is_some() || host.is_empty() || !host.chars().all(is_letter) {
            return Err(invalid());
        }
        Ok(Self(host.to_owned()))
    }
}

impl AllowedHost {
    /// True if a host, without port and brackets, equals this one.
    fn is(&self, host: &str) -> bool {
        match canonical(&self.0) {
            Some(own) => canonical(host) == Some(own),
            None => self.0.eq_ignore_ascii_case(host),
        }
    }
}

/// The address in a host; none if it is a name.
fn canonical(host: &str) -> Option<IpAddr> {
    host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The hosts of a server. Ports are ignored: a user who forwards a port to the server sends the forwarded port, and an attacker's page
/// cannot change the host name through its port.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    listen: IpAddr,
    allowed: Vec<AllowedHost>,
}

impl Hosts {
    /// The hosts of a server that listens on this address, and the hosts that its owner allows.
    pub(crate) fn new(listen: IpAddr, allowed: Vec<AllowedHost>) -> Self {
        Self { listen: listen.to_canonical(), allowed }
    }

    /// True if the value of a `Host` header names this server. An attacker cannot rebind an IP address.
    pub(crate) fn accept(&self, host: &str) -> bool {
        let Some(authority) = host.parse::<Authority>().ok().filter(|_| !host.contains('@')) else {
            return false;
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        self.allowed.iter().any(|allowed| allowed.is(host)) || self.is_of_listener(host)
    }

    /// True if a host is the listening address, or a name that every machine has for it.
    fn is_of_listener(&self, host: &str) -> bool {
        match canonical(host) {
            Some(address) if self.listen.is_loopback() => address.is_loopback(),
            Some(address) => self.listen.is_unspecified() || address == self.listen,
            None => {
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
        Hosts::new(listen.parse().unwrap(), Vec::new()).accept(host)
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

    #[test]
    fn a_server_is_also_named_by_the_hosts_that_its_owner_allows_and_by_nothing_like_them() {
        let allowed = ["bench.test", "203.0.113.7", "[2001:db8::7]"];
        let allowed = allowed.map(|host| host.parse::<AllowedHost>().unwrap());
        let hosts = Hosts::new([127, 0, 0, 1].into(), Vec::from(allowed));
        for host in [
            "bench.test",
            "Bench.TEST:443",
            "203.0.113.7:8419",
            "[::ffff:203.0.113.7]",
            "[2001:db8::7]:80",
            "127.0.0.1:8419",
            "localhost",
        ] {
            assert!(hosts.accept(host), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "bench.test.evil.test",
            "a.bench.test",
            "bench",
            "bench.test@evil.test",
            "203.0.113.8",
            "[2001:db8::8]",
            "2001:db8::7",
        ] {
            assert!(!hosts.accept(host), "{host}");
        }
        // A server on an address of its own still has no other name.
        let one = Hosts::new([192, 0, 2, 1].into(), vec!["bench.test".parse().unwrap()]);
        assert!(one.accept("bench.test") && one.accept("192.0.2.1") && !one.accept("localhost"));
    }

    #[test]
    fn an_allowed_host_is_one_host_without_a_port() {
        let of = |text: &str| text.parse::<AllowedHost>();
        for (text, host) in [
            ("bench.test", "bench.test"),
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(of(text), Ok(AllowedHost(host.to_owned())));
        }
        for text in [
            "",
            "*",
            "*.bench.test",
            "http://bench.test",
            "bench.test/",
            "bench.test:443",
            "[bench.test]",
            "[192.0.2.1]",
            "[2001:db8::1]:80",
            "a b",
            "user@bench.test",
        ] {
            let refused = of(text).unwrap_err();
            assert!(refused.contains("without a port"), "{text}: {refused}");
        }
    }
}
