//! Resolves host names before a load, each once, so that all requests to a host use the same addresses.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use hoptax_host::scoped::ScopedAddress;

pub use crate::address_rules::{Family, Lookup, ResolveError, StaticAddress};
use crate::address_rules::{Rules, Uses};
use crate::addresses::Addresses;
use crate::lookups::{HostPort, Refresh};

/// Resolves and caches the addresses of hosts.
///
/// Without the cache, rotating DNS records would give each request of a list another address, and one host would count
/// as several.
#[derive(Debug)]
pub struct Resolver {
    rules: Rules,
    known: RefCell<BTreeMap<String, Vec<ScopedAddress>>>,
    every: Option<Duration>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(Vec::new(), None)
    }
}

impl Resolver {
    /// A resolver with fixed addresses for some hosts and the system's resolver for the others, optionally restricted to one
    /// IP version.
    pub fn new(fixed: Vec<StaticAddress>, family: Option<Family>) -> Self {
        let rules = Rules { fixed, family, uses: Uses::First, lookup };
        Self { rules, known: RefCell::default(), every: None }
    }

    /// The same resolver, but with all addresses of each host, in the order of the system's resolver.
    #[must_use]
    pub fn with_all(mut self) -> Self {
        self.rules.uses = Uses::All;
        self
    }

    /// The same resolver with this lookup instead of the system's.
    #[must_use]
    pub fn with_lookup(mut self, lookup: Lookup) -> Self {
        self.rules.lookup = lookup;
        self
    }

    /// The same resolver, but names are looked up again during the load, at this interval.
    #[must_use]
    pub fn refreshed_every(mut self, every: Duration) -> Self {
        self.every = Some(every);
        self
    }

    /// A resolver for connections through a Unix socket. It resolves nothing and returns the same loopback address for every
    /// host.
    pub fn unused() -> Self {
        let mut unused = Self::default();
        unused.rules.uses = Uses::None;
        unused
    }

    /// Returns the rules for looking names up again during the load; None if that is disabled.
    pub fn refresh(&self) -> Option<Refresh> {
        Some(Refresh { every: self.every?, rules: self.rules.clone() })
    }

    /// Returns the rules that find and select addresses.
    #[cfg(test)]
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The name to look up again during the load; None for a host whose addresses are fixed.
    pub(crate) fn refreshed_name(&self, host: &str, port: u16) -> Option<HostPort> {
        let is_refreshed = self.every.is_some() && self.rules.uses != Uses::None;
        let is_looked_up = || matches!(self.rules.known(host, port), Ok(None));
        (is_refreshed && is_looked_up()).then(|| HostPort { host: host.to_ascii_lowercase(), port })
    }

    /// The addresses of a host, and which of them are used: one, or all.
    ///
    /// # Errors
    /// When the lookup fails, or the host has no address of the required IP version.
    pub(crate) fn addresses(&self, host: &str, port: u16) -> Result<Addresses, ResolveError> {
        if self.rules.uses == Uses::None {
            return Ok(Addresses::new(vec![SocketAddr::from(([127, 0, 0, 1], 0))]));
        }
        let addresses = match self.rules.known(host, port)? {
            Some(known) => known,
            None => self.lookup_cached(host)?,
        };
        self.rules.select(host, port, &addresses)
    }

    fn lookup_cached(&self, host: &str) -> Result<Vec<ScopedAddress>, ResolveError> {
        let name = host.to_ascii_lowercase();
        if let Some(known) = self.known.borrow().get(&name) {
            return Ok(known.clone());
        }
        let found = self.rules.lookup(host)?;
        self.known.borrow_mut().insert(name, found.clone());
        Ok(found)
    }
}

fn lookup(host: &str) -> io::Result<Vec<ScopedAddress>> {
    // An answer may be a link-local address with its interface.
    Ok((host, 0).to_socket_addrs()?.map(ScopedAddress::from).collect())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    impl Resolver {
        fn address(&self, host: &str, port: u16) -> Result<SocketAddr, ResolveError> {
            self.addresses(host, port).map(|addresses| addresses.select(0).0)
        }
    }

    fn fixed(texts: &[&str]) -> Vec<StaticAddress> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_with_rotating_records_is_one_host() {
        static ASKED: AtomicU8 = AtomicU8::new(0);
        let lookup = |_: &str| {
            let turn = ASKED.fetch_add(1, Ordering::Relaxed);
            let address = |last| ScopedAddress::from(IpAddr::from([127, 0, 0, last]));
            Ok(vec![address(turn), address(turn + 1)])
        };
        let resolver = Resolver::default().with_lookup(lookup);
        let addresses =
            ["shop.test", "SHOP.test", "shop.test"].map(|name| resolver.address(name, 80).unwrap());
        assert_eq!(addresses, [SocketAddr::from(([127, 0, 0, 0], 80)); 3]);
        assert_eq!(resolver.address("shop.test", 81).unwrap(), SocketAddr::from(([127, 0, 0, 0], 81)));
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
        assert_eq!(resolver.address("other.test", 80).unwrap(), SocketAddr::from(([127, 0, 0, 1], 80)));
    }

    #[test]
    fn a_fixed_address_replaces_the_lookup() {
        let resolver = Resolver::new(fixed(&["Shop.test:443:192.0.2.1", "six.test:80:[2001:db8::1]"]), None);
        assert_eq!(resolver.address("shop.TEST", 443).unwrap(), "192.0.2.1:443".parse().unwrap());
        assert_eq!(resolver.address("six.test", 80).unwrap(), "[2001:db8::1]:80".parse().unwrap());
        for text in ["shop.test", "shop.test:443", "shop.test:x:127.0.0.1", ":1:127.0.0.1", "a:1:b"] {
            assert!(text.parse::<StaticAddress>().unwrap_err().contains("`HOST:PORT:ADDRESS`"), "{text}");
        }
    }

    #[test]
    fn the_zone_of_an_address_reaches_the_socket() {
        let resolver = Resolver::new(fixed(&["shop.test:80:fe80::2%lo", "shop.test:81:[fe80::3%lo]"]), None);
        let interface = |host: &str, port| match resolver.address(host, port).unwrap() {
            SocketAddr::V6(address) => (address.ip().to_string(), address.scope_id()),
            SocketAddr::V4(address) => panic!("{address}"),
        };
        // The loopback interface is the first of every network namespace.
        assert_eq!(interface("fe80::1%lo", 80), ("fe80::1".to_owned(), 1));
        assert_eq!(interface("fe80::1%1", 80), ("fe80::1".to_owned(), 1));
        assert_eq!(interface("shop.test", 80), ("fe80::2".to_owned(), 1));
        assert_eq!(interface("shop.test", 81), ("fe80::3".to_owned(), 1));
        let looked_up = Resolver::default().with_lookup(|_| Ok(vec!["fe80::4%lo".parse().unwrap()]));
        assert_eq!(looked_up.address("near.test", 1).unwrap(), "[fe80::4%1]:1".parse().unwrap());
        let error = resolver.address("fe80::1%no-such", 80).unwrap_err().to_string();
        assert!(
            error.contains("`fe80::1%no-such`: this machine has no network interface `no-such`"),
            "{error}"
        );
        let error = "shop.test:80:fe80::2%no-such".parse::<StaticAddress>().unwrap_err();
        assert!(error.contains("no network interface `no-such`"), "{error}");
    }

    #[test]
    fn all_addresses_of_a_host_can_be_used_once_each() {
        let twice = ["a.test:80:127.0.0.2", "a.test:80:::1", "a.test:80:127.0.0.3", "a.test:80:127.0.0.2"];
        let all = |family| {
            let resolver = Resolver::new(fixed(&twice), family).with_all();
            let addresses = resolver.addresses("a.test", 80).unwrap();
            addresses.used().iter().map(SocketAddr::to_string).collect::<Vec<_>>()
        };
        assert_eq!(all(None), ["127.0.0.2:80", "[::1]:80", "127.0.0.3:80"]);
        assert_eq!(all(Some(Family::V4)), ["127.0.0.2:80", "127.0.0.3:80"]);
        let one = Resolver::new(fixed(&twice), None).addresses("a.test", 80).unwrap();
        assert_eq!(one.used(), ["127.0.0.2:80".parse().unwrap()]);
        assert!(one.contains("[::1]:80".parse().unwrap()));
        // No name of this domain has an address.
        assert!(Resolver::unused().address("a.invalid", 80).unwrap().ip().is_loopback());
    }

    #[test]
    fn addresses_can_be_restricted_to_one_ip_version() {
        let lookup = |_: &str| Ok(vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()]);
        let of = |family| Resolver::new(Vec::new(), family).with_lookup(lookup).address("a.test", 1).unwrap();
        assert_eq!([of(None), of(Some(Family::V4))], ["127.0.0.1:1".parse().unwrap(); 2]);
        assert_eq!(of(Some(Family::V6)), "[::1]:1".parse().unwrap());
        let only6 = Resolver::new(Vec::new(), Some(Family::V6));
        let error = only6.address("127.0.0.1", 1).unwrap_err().to_string();
        assert!(error.contains("`127.0.0.1` has no IPv6 address"), "{error}");
    }
}
