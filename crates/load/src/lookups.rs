//! Repeats the lookups of host names while a load runs (`--resolve-every`).
//!
//! A lookup may block for seconds, so a helper thread performs it and publishes the addresses. A worker checks a counter
//! between two waits, and loads the addresses when it has changed.

use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hoptax_host::scoped::ScopedAddress;
use hoptax_result::Lookups as LookupCounts;

use crate::address_rules::Rules;
use crate::addresses::Addresses;

/// The interval of repeated lookups, and the selection of addresses from DNS answers.
#[derive(Clone, Debug)]
pub struct Refresh {
    pub(crate) every: Duration,
    pub(crate) rules: Rules,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl FromStr for HostPort {
    type Err = String;

    /// Reads `HOST:PORT`, with an IPv6 address in brackets. Names become lower case.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write it as `HOST:PORT`".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let in_brackets = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = in_brackets.unwrap_or(host);
        let is_of_no_host = |c: char| c.is_whitespace() || c.is_control() || "/@[]".contains(c);
        let is_host = !host.is_empty()
            && !host.contains(is_of_no_host)
            && (in_brackets.is_some() || !host.contains(':'));
        // The parser of numbers accepts a sign and leading zeros.
        let is_port = port.starts_with(|c: char| matches!(c, '1'..='9'));
        match port.parse::<u16>() {
            Ok(port) if is_host && is_port => Ok(Self { host: host.to_ascii_lowercase(), port }),
            _ => Err(form()),
        }
    }
}

/// A host of a trial, and what is looked up for it.
#[derive(Debug)]
pub(crate) struct LookupHost {
    /// None if its addresses are fixed.
    pub(crate) name: Option<HostPort>,
    pub(crate) addresses: Arc<Addresses>,
}

/// The repeated lookups of a trial. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Lookups {
    shared: Arc<AddressUpdates>,
    _running: SyncSender<()>,
}

/// The addresses of all hosts as of the last lookup, which a trial shares with its workers.
#[derive(Debug)]
pub struct AddressUpdates {
    /// Number of times that an address has changed.
    changes: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    hosts: Mutex<Vec<Arc<Addresses>>>,
}

impl Lookups {
    /// Starts to look up the names of hosts, for the first time after an interval. Hosts without a name keep their addresses.
    ///
    /// The thread is not joined, because a lookup may take longer than the trial. It ends after the lookup in progress.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(refresh: Refresh, hosts: impl Iterator<Item = LookupHost>) -> io::Result<Self> {
        let (names, addresses): (Vec<_>, Vec<_>) = hosts.map(|host| (host.name, host.addresses)).unzip();
        let shared = Arc::new(AddressUpdates {
            changes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            hosts: Mutex::new(addresses),
        });
        let (running, ended) = sync_channel::<()>(0);
        let ours = Arc::clone(&shared);
        thread::Builder::new().name("lookups".to_owned()).spawn(move || {
            while ended.recv_timeout(refresh.every) == Err(RecvTimeoutError::Timeout) {
                ours.refresh(&refresh.rules, &names);
            }
        })?;
        Ok(Self { shared, _running: running })
    }

    pub(crate) fn shared(&self) -> Arc<AddressUpdates> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn counts(&self) -> LookupCounts {
        let AddressUpdates { changes, done, failed, .. } = &*self.shared;
        let [done, failed, changes] = [done, failed, changes].map(|count| count.load(Ordering::Acquire));
        let mut servers: Vec<String> = self
            .shared
            .hosts()
            .iter()
            .flat_map(|host| host.used().to_vec())
            .map(|one| one.to_string())
            .collect();
        servers.sort_unstable();
        servers.dedup();
        LookupCounts { done, failed, changes, servers }
    }
}

impl AddressUpdates {
    /// Looks up every name once. Where that fails, the addresses stay.
    fn refresh(&self, rules: &Rules, names: &[Option<HostPort>]) {
        let mut found: BTreeMap<&str, Option<Vec<ScopedAddress>>> = BTreeMap::new();
        for (number, name) in names.iter().enumerate() {
            let Some(HostPort { host, port }) = name else { continue };
            let found = found.entry(host).or_insert_with(|| {
                self.done.fetch_add(1, Ordering::AcqRel);
                let addresses =
                    rules.lookup(host).ok().filter(|addresses| rules.select(host, *port, addresses).is_ok());
                if addresses.is_none() {
                    self.failed.fetch_add(1, Ordering::AcqRel);
                }
                addresses
            });
            if let Some(Ok(addresses)) = found.as_ref().map(|found| rules.select(host, *port, found)) {
                self.replace(number, addresses);
            }
        }
    }

    fn replace(&self, number: usize, addresses: Addresses) {
        // The lock is held only to exchange pointers, so a worker never waits for a lookup.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get_mut(number).filter(|host| ***host != addresses) {
            *host = Arc::new(addresses);
            drop(hosts);
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Number of changes so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The addresses of all hosts.
    pub(crate) fn hosts(&self) -> Vec<Arc<Addresses>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::resolve::Resolver;

    #[test]
    fn a_host_and_a_port_are_read() {
        for (text, host, port) in [
            ("Shop.test:80", "shop.test", 80),
            ("127.0.0.1:8421", "127.0.0.1", 8_421),
            ("[2001:db8::1]:65535", "2001:db8::1", 65_535),
        ] {
            assert_eq!(text.parse::<HostPort>(), Ok(HostPort { host: host.to_owned(), port }));
        }
        for text in [
            "",
            "shop.test",
            "shop.test:",
            "shop.test:http",
            ":80",
            "http://shop.test:80",
            "a@shop.test:80",
            "shop.test:0",
            "shop.test:65536",
            "shop.test:+80",
            "shop.test:080",
            "a b:1",
            " shop.test:80",
            "shop\u{1b}.test:80",
            "[2001:db8::1 ]:80",
            "2001:db8::1",
            "2001:db8::1:443",
            "[2001:db8::1]",
        ] {
            assert!(text.parse::<HostPort>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_failed_lookup_keeps_the_addresses_and_a_rotation_changes_those_of_new_connections() {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let lookup = |_: &str| match ASKED.fetch_add(1, Ordering::Relaxed) {
            0 => Err(io::Error::other("no server")),
            1 => Ok(Vec::new()),
            _ => Ok(["127.0.0.2", "127.0.0.1"].map(|text| text.parse().unwrap()).to_vec()),
        };
        let rules = Resolver::default().with_lookup(lookup).rules().clone();
        let address = |last: u8| SocketAddr::from(([127, 0, 0, last], 80));
        let first = Arc::new(Addresses::new(vec![address(1)]));
        let shared = AddressUpdates {
            changes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            hosts: Mutex::new(vec![first; 2]),
        };
        // Two hosts of one name are one lookup, and one without a name has none.
        let names = [Some(HostPort { host: "a.test".to_owned(), port: 80 }), None];
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        for failures in [1, 2] {
            shared.refresh(&rules, &names);
            assert_eq!(
                (count(&shared.done), count(&shared.failed), shared.changes()),
                (failures, failures, 0)
            );
        }
        for _ in 0..2 {
            shared.refresh(&rules, &names);
            let hosts = shared.hosts();
            assert_eq!((hosts[0].select(5), hosts[1].select(0)), ((address(2), 5), (address(1), 0)));
            assert!(hosts[0].contains(address(1)), "connections to the address that is second now stay");
        }
        assert_eq!((count(&shared.done), count(&shared.failed), shared.changes()), (4, 2, 1));
    }
}
