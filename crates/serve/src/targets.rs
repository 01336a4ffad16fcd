//! The hosts that loads may go to. A load is admitted by the addresses that its host resolves to, and then connects to these alone: the
//! spelling of a host decides nothing, and a name that resolves to something else a moment later leads nowhere else.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use hoptax_load::{HostPort, RequestSpec, Resolver, StaticAddress, Target};

/// Looks up the addresses of a host.
pub(crate) type Lookup = fn(&str) -> io::Result<Vec<IpAddr>>;

/// A host that loads may go to, `HOST` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedTarget {
    /// A name, or an address without brackets.
    host: String,
    /// None for every port.
    port: Option<u16>,
}

impl FromStr for AllowedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "`{text}` is not `HOST` or `HOST:PORT`, for example `shop.test:8080`, `192.0.2.1` or `[2001:db8::1]:80`"
            )
        };
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self { host: text.to_owned(), port: None });
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(invalid)?;
                host.parse::<Ipv6Addr>().map_err(|_| invalid())?;
                (host, port)
            }
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        if host.is_empty() || !host.chars().all(is_letter) {
            return Err(invalid());
        }
        let port = match port.strip_prefix(':') {
            Some(port) => Some(port.parse().map_err(|_| invalid())?),
            None if port.is_empty() => None,
            None => return Err(invalid()),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

/// All hosts that loads may go to.
#[derive(Clone, Debug)]
pub(crate) struct AllowedTargets {
    named: Vec<AllowedTarget>,
    /// True if loads may go to this machine by its loopback addresses.
    loopback: bool,
    lookup: Lookup,
}

/// Reason why a load is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// Its URL is not one, or its host has no address.
    Invalid(String),
    /// An address of its host is not among those of the allowed targets.
    Refused(String),
}

impl AllowedTargets {
    /// The targets that were named, and loopback if everybody who reaches the server is on this machine.
    pub(crate) fn new(named: Vec<AllowedTarget>, loopback: bool) -> Self {
        Self { named, loopback, lookup: system }
    }

    /// The addresses that a load to this URL may connect to, for its host and its port. Every host is looked up once.
    ///
    /// # Errors
    /// When one of them is not allowed, or there is none.
    pub(crate) fn admit(&self, url: &str) -> Result<Vec<StaticAddress>, NotAdmitted> {
        let invalid = |error: &dyn ToString| NotAdmitted::Invalid(error.to_string());
        let HostPort { host, port } = Target::host_and_port(url).map_err(|error| invalid(&error))?;
        let mut known = Known { lookup: self.lookup, addresses: BTreeMap::new() };
        let addresses = known.of(&host).map_err(|error| {
            invalid(&format!("cannot resolve `{host}`: {error}; check the name, or use an address"))
        })?;
        let allowed: Vec<IpAddr> = self
            .named
            .iter()
            .filter(|target| target.port.is_none_or(|of_target| of_target == port))
            // A name without an address allows nothing.
            .flat_map(|target| known.of(&target.host).unwrap_or_default())
            .map(|address| address.to_canonical())
            .collect();
        let is_allowed = |address: IpAddr| {
            let address = address.to_canonical();
            (self.loopback && address.is_loopback()) || allowed.contains(&address)
        };
        if let Some(other) = addresses.iter().find(|address| !is_allowed(**address)) {
            return Err(NotAdmitted::Refused(refusal(&host, port, *other)));
        }
        let pins: Vec<StaticAddress> =
            addresses.iter().map(|address| StaticAddress::new(&host, port, *address)).collect();
        // The load's own reading of the URL has to lead to one of them. It does not if the URL names an interface beside an address.
        let resolver = Resolver::new(pins.clone(), None).with_lookup(|_| Err(io::ErrorKind::NotFound.into()));
        let spec = RequestSpec { url, resolver: Some(&resolver), ..RequestSpec::default() };
        let target = Target::from_spec(&spec).map_err(|error| invalid(&error))?;
        if addresses.iter().any(|address| SocketAddr::new(*address, port) == target.address) {
            Ok(pins)
        } else {
            Err(NotAdmitted::Refused(refusal(&host, port, target.address.ip())))
        }
    }
}

fn refusal(host: &str, port: u16, address: IpAddr) -> String {
    let place =
        if host == address.to_string() { String::new() } else { format!("`{host}` is {address}, and ") };
    format!(
        "{place}loads to {} are not allowed: whoever starts the server allows a target with `--allow-target HOST:PORT`",
        SocketAddr::new(address, port)
    )
}

/// Hosts that were looked up, each once, so that a name that several addresses take turns in is the same host everywhere.
struct Known {
    lookup: Lookup,
    addresses: BTreeMap<String, Vec<IpAddr>>,
}

impl Known {
    fn of(&mut self, host: &str) -> io::Result<Vec<IpAddr>> {
        let name = host.to_ascii_lowercase();
        if let Some(known) = self.addresses.get(&name) {
            return Ok(known.clone());
        }
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => (self.lookup)(&name)?,
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
        }
        self.addresses.insert(name, found.clone());
        Ok(found)
    }
}

/// The system's lookup, which also reads addresses of IPv4 in their decimal, octal and short forms.
fn system(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    /// Names without a network.
    fn names(host: &str) -> io::Result<Vec<IpAddr>> {
        static TURN: AtomicU8 = AtomicU8::new(0);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        Ok(match host {
            "here.test" => vec![address("127.0.0.1"), address("::1")],
            "sly.test" => vec![address("192.0.2.1"), address("192.0.2.66")],
            "six.test" => vec![address("2001:db8::1")],
            "mapped.test" => vec![address("::ffff:192.0.2.1")],
            "turns.test" => vec![IpAddr::from([192, 0, 2, TURN.fetch_add(1, Ordering::Relaxed)])],
            "empty.test" => Vec::new(),
            // The forms of numbers that the system's lookup reads.
            "shop.test" | "3221225985" | "0xc0000201" | "192.513" => vec![address("192.0.2.1")],
            "2130706433" | "0x7f000001" | "127.1" | "017700000001" => vec![address("127.0.0.1")],
            "3232235777" => vec![address("192.168.1.1")],
            _ => return Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn admitted(named: &[&str], loopback: bool, url: &str) -> Result<usize, NotAdmitted> {
        let named = named.iter().map(|text| text.parse().unwrap()).collect();
        let targets = AllowedTargets { named, loopback, lookup: names };
        targets.admit(url).map(|pins| pins.len())
    }

    fn is_refused(named: &[&str], loopback: bool, url: &str) -> bool {
        matches!(admitted(named, loopback, url), Err(NotAdmitted::Refused(_)))
    }

    #[test]
    fn loopback_is_allowed_in_all_its_spellings_and_nothing_else_is() {
        for host in [
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "here.test",
            "HERE.test",
            "2130706433",
            "0x7f000001",
            "127.1",
            "017700000001",
        ] {
            let url = format!("http://{host}:8080/a?b");
            assert!(admitted(&[], true, &url).is_ok(), "{url}: {:?}", admitted(&[], true, &url));
            assert!(is_refused(&[], false, &url), "{url}");
            assert!(is_refused(&["shop.test"], false, &url), "{url}");
        }
        for host in [
            "192.0.2.1",
            "shop.test",
            "3221225985",
            "3232235777",
            "[2001:db8::1]",
            "six.test",
            "[::ffff:192.0.2.1]",
            "0.0.0.0",
            "[::]",
            "sly.test",
            "mapped.test",
        ] {
            assert!(is_refused(&[], true, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn a_target_is_allowed_by_its_addresses_and_its_port_however_it_is_spelled() {
        for named in
            ["shop.test:8080", "192.0.2.1:8080", "192.0.2.1", "3221225985:8080", "[::ffff:192.0.2.1]:8080"]
        {
            for host in ["shop.test", "192.0.2.1", "3221225985", "0xc0000201", "192.513", "mapped.test"] {
                let url = format!("http://{host}:8080/");
                assert_eq!(admitted(&[named], false, &url), Ok(1), "{named} {url}");
            }
            assert!(is_refused(&[named], true, "http://192.0.2.2:8080/"), "{named}");
            // One of its addresses is not allowed.
            assert!(is_refused(&[named], true, "http://sly.test:8080/"), "{named}");
        }
        assert!(is_refused(&["shop.test:8080"], true, "http://shop.test:8081/"));
        assert!(is_refused(&["shop.test:8080"], true, "http://shop.test/"));
        assert!(is_refused(&["shop.test:8080"], true, "http://user@shop.test:22/"));
        assert_eq!(admitted(&["shop.test:443"], false, "https://shop.test/"), Ok(1));
        assert_eq!(admitted(&["2001:db8::1"], false, "http://six.test:1/"), Ok(1));
        assert_eq!(admitted(&["turns.test"], false, "http://turns.test/"), Ok(1), "looked up once");
        assert!(is_refused(&["gone.test", "empty.test"], false, "http://shop.test/"));
    }

    #[test]
    fn user_information_and_interfaces_lead_to_no_other_host() {
        assert!(is_refused(&[], true, "http://127.0.0.1@shop.test/"));
        assert!(is_refused(&[], true, "http://127.0.0.1:80@192.0.2.1/"));
        assert!(is_refused(&["fe80::1"], false, "http://[fe80::1%25lo]/"));
        assert!(is_refused(&["fe80::1"], false, "http://[fe80::1%lo]/"));
        assert_eq!(admitted(&["fe80::1"], false, "http://[fe80::1]/"), Ok(1));
    }

    #[test]
    fn urls_that_are_none_and_hosts_without_an_address_are_invalid() {
        for url in [
            "",
            "/",
            "127.0.0.1",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "http://gone.test/",
            "http://empty.test/",
        ] {
            let outcome = admitted(&["shop.test"], true, url);
            assert!(matches!(outcome, Err(NotAdmitted::Invalid(_))), "{url}: {outcome:?}");
        }
    }

    #[test]
    fn an_allowed_target_has_a_host_and_perhaps_a_port() {
        let of = |text: &str| text.parse::<AllowedTarget>();
        let target = |host: &str, port| Ok(AllowedTarget { host: host.to_owned(), port });
        assert_eq!(of("shop.test"), target("shop.test", None));
        assert_eq!(of("shop.test:80"), target("shop.test", Some(80)));
        assert_eq!(of("2001:db8::1"), target("2001:db8::1", None));
        assert_eq!(of("[2001:db8::1]"), target("2001:db8::1", None));
        assert_eq!(of("[2001:db8::1]:80"), target("2001:db8::1", Some(80)));
        for text in [
            "",
            ":80",
            "http://shop.test",
            "shop.test/",
            "shop.test:",
            "shop.test:x",
            "a:1:2",
            "[::1",
            "[a]:1",
            "[::1]80",
        ] {
            assert!(of(text).unwrap_err().contains("`HOST:PORT`"), "{text}");
        }
    }
}
