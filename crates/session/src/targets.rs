//! The hosts that a server or an agent may send loads to on behalf of others, as its operator states them. If a load names a host, the name
//! must be that of an allowed target, because one address may serve several names under different rules. All addresses of the host must
//! belong to allowed targets, and the load connects only to these addresses, even if the name resolves to others later.

mod own;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use hoptax_load::{HostPort, RequestSpec, Resolver, StaticAddress, Target};

use own::OfMachine;

/// True if an address is reachable only from this machine.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Looks up the addresses of a host.
type Lookup = fn(&str) -> io::Result<Vec<IpAddr>>;

/// A host that loads may go to, `HOST` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedTarget {
    /// A name, or an address without brackets.
    host: String,
    /// None for all ports.
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

/// The name of this machine, which resolves to its loopback addresses.
const LOCALHOST: &str = "localhost";

impl AllowedTarget {
    /// Its address; none if it is a name.
    fn literal(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// All hosts that loads may go to.
#[derive(Clone, Debug)]
pub struct AllowedTargets {
    /// The program that sends the loads, for refusals.
    who: &'static str,
    named: Vec<AllowedTarget>,
    /// The address that the server listens on. No load goes there.
    own: SocketAddr,
    /// True if loads may go to the loopback addresses of this machine.
    has_loopback: bool,
    is_of_machine: OfMachine,
    lookup: Lookup,
}

/// Reason why a load is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// Its URL is invalid, or its host has no address.
    Invalid(String),
    /// Its host or one of its addresses is not allowed.
    Refused(String),
}

impl AllowedTargets {
    /// The allowed targets of a server that listens on `own`. If that is a loopback address, loads may also go to loopback, because all
    /// clients of the server are then on this machine.
    pub fn new(named: Vec<AllowedTarget>, own: SocketAddr) -> Self {
        let who = "the server of this page";
        Self { who, has_loopback: is_loopback(own), ..Self::named_alone(named, own) }
    }

    /// The allowed targets of an agent that listens on `own`, without loopback: on the agent's machine, loopback may lead to a sidecar
    /// proxy or its admin interface.
    pub fn named_alone(named: Vec<AllowedTarget>, own: SocketAddr) -> Self {
        let who = "the agent";
        Self { who, named, own, has_loopback: false, is_of_machine: own::is_of_machine, lookup: system }
    }

    /// The addresses that a load to this URL may connect to, with its host and port. Looks up each host once, and only hosts that are
    /// allowed.
    ///
    /// # Errors
    /// When the host or one of its addresses is not allowed, or the host has no address.
    pub fn admit(&self, url: &str) -> Result<Vec<StaticAddress>, NotAdmitted> {
        let invalid = |error: &dyn ToString| NotAdmitted::Invalid(error.to_string());
        let HostPort { host, port } = Target::host_and_port(url).map_err(|error| invalid(&error))?;
        if host.parse::<IpAddr>().is_err() && !self.has_name(&host, port) {
            return Err(NotAdmitted::Refused(self.not_named(&host, port)));
        }
        let mut known = Known { lookup: self.lookup, addresses: BTreeMap::new() };
        let addresses = known.resolve(&host).map_err(|error| {
            invalid(&format!("cannot resolve `{host}`: {error}; check the name, or use an address"))
        })?;
        let allowed: Vec<IpAddr> = self.of_port(port).flat_map(|target| known.allowed_by(target)).collect();
        let is_allowed = |address: IpAddr| {
            let address = address.to_canonical();
            (self.has_loopback && address.is_loopback()) || allowed.contains(&address)
        };
        if let Some(other) = addresses.iter().find(|address| !is_allowed(**address)) {
            return Err(NotAdmitted::Refused(self.refusal(&host, port, *other)));
        }
        let is_own =
            |address: IpAddr| own::is_reached(self.own, SocketAddr::new(address, port), self.is_of_machine);
        if addresses.iter().any(|address| is_own(*address)) {
            return Err(NotAdmitted::Refused(format!(
                "{} is {} itself, which cannot be watched while it is under load",
                shown(&host, port),
                self.who
            )));
        }
        let pins: Vec<StaticAddress> =
            addresses.iter().map(|address| StaticAddress::new(&host, port, *address)).collect();
        // The load's own parser must map the URL to one of these addresses. It does not if the URL has a zone (interface) after an address.
        let resolver = Resolver::new(pins.clone(), None).with_lookup(|_| Err(io::ErrorKind::NotFound.into()));
        let spec = RequestSpec { url, resolver: Some(&resolver), ..RequestSpec::default() };
        let target = Target::from_spec(&spec).map_err(|error| invalid(&error))?;
        if addresses.iter().any(|address| SocketAddr::new(*address, port) == target.address) {
            Ok(pins)
        } else {
            Err(NotAdmitted::Refused(self.refusal(&host, port, target.address.ip())))
        }
    }

    /// The refusal of a name that no allowed target has.
    fn not_named(&self, name: &str, port: u16) -> String {
        let (who, target) = (self.who, shown(name, port));
        if is_number(name) {
            return format!(
                "{who} may not send to {target}: write the address in full, and start it with `--allow-target ADDRESS:PORT`"
            );
        }
        format!("{who} may not send to {target}: start it with `--allow-target {target}`")
    }

    /// The refusal of one address of a host.
    fn refusal(&self, host: &str, port: u16, address: IpAddr) -> String {
        let place =
            if host == address.to_string() { String::new() } else { format!("`{host}` is {address}, and ") };
        let (who, target) = (self.who, SocketAddr::new(address, port));
        format!("{place}{who} may not send to {target}: start it with `--allow-target {target}`")
    }

    /// The targets that allow this port.
    fn of_port(&self, port: u16) -> impl Iterator<Item = &AllowedTarget> {
        self.named.iter().filter(move |target| target.port.is_none_or(|of_target| of_target == port))
    }

    /// True if an allowed target has this name.
    fn has_name(&self, name: &str, port: u16) -> bool {
        let name = plain(name);
        (self.has_loopback && name == LOCALHOST)
            || self.of_port(port).any(|target| target.literal().is_none() && plain(&target.host) == name)
    }
}

/// True if a name is numeric, so that the system's resolver would read it as an address.
fn is_number(name: &str) -> bool {
    plain(name).rsplit('.').next().is_some_and(|last| last.starts_with(|first: char| first.is_ascii_digit()))
}

/// A name normalised for comparison: in lower case, without a trailing dot.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// True if an address belongs to this machine or to its link. A name that resolves to such an address is a mistake or an attack.
fn is_near(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || is_link_local
}

/// A host and a port as in a URL.
fn shown(host: &str, port: u16) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, port).to_string(),
        Err(_) => format!("{host}:{port}"),
    }
}

/// Hosts that were looked up, each once, so that a name with rotating addresses resolves to the same address everywhere.
struct Known {
    lookup: Lookup,
    addresses: BTreeMap<String, Vec<IpAddr>>,
}

impl Known {
    fn resolve(&mut self, host: &str) -> io::Result<Vec<IpAddr>> {
        let name = plain(host);
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

    /// The addresses that an allowed target permits, in canonical form. A name other than `localhost` permits no address of this machine or
    /// its link. A target that cannot be resolved permits none.
    fn allowed_by(&mut self, target: &AllowedTarget) -> Vec<IpAddr> {
        let is_literal = target.literal().is_some();
        let is_this_machine = plain(&target.host) == LOCALHOST;
        let addresses = self.resolve(&target.host).unwrap_or_default();
        let canonical = addresses.into_iter().map(|address| address.to_canonical());
        let is_meant =
            |address: &IpAddr| is_literal || !is_near(*address) || (is_this_machine && address.is_loopback());
        canonical.filter(is_meant).collect()
    }
}

/// The system's lookup.
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
            "here.test" | "localhost" => vec![address("127.0.0.1"), address("::1")],
            "sly.test" => vec![address("192.0.2.1"), address("192.0.2.66")],
            "six.test" => vec![address("2001:db8::1")],
            "mapped.test" => vec![address("::ffff:192.0.2.1")],
            "turns.test" => vec![IpAddr::from([192, 0, 2, TURN.fetch_add(1, Ordering::Relaxed)])],
            "empty.test" => Vec::new(),
            "link.test" => vec![address("169.254.169.254")],
            "link6.test" => vec![address("fe80::1")],
            "any.test" => vec![address("0.0.0.0")],
            "self.test" => vec![address("192.0.2.99")],
            // The forms of numbers that the system's lookup reads.
            "shop.test" | "victim.test" | "3221225985" | "0xc0000201" | "192.513" => {
                vec![address("192.0.2.1")]
            }
            "2130706433" | "0x7f000001" | "127.1" | "017700000001" => vec![address("127.0.0.1")],
            "3232235777" => vec![address("192.168.1.1")],
            _ => return Err(io::ErrorKind::NotFound.into()),
        })
    }

    const OPEN: &str = "192.0.2.99:8419";
    const LOCAL: &str = "127.0.0.1:8419";

    fn targets(named: &[&str], own: &str) -> AllowedTargets {
        let named = named.iter().map(|text| text.parse().unwrap()).collect();
        let is_of_machine = |address: IpAddr| address == IpAddr::from([192, 0, 2, 99]);
        let own = own.parse().unwrap();
        let who = "the agent";
        AllowedTargets { who, named, own, has_loopback: is_loopback(own), is_of_machine, lookup: names }
    }

    fn admitted(named: &[&str], own: &str, url: &str) -> Result<usize, NotAdmitted> {
        targets(named, own).admit(url).map(|pins| pins.len())
    }

    fn is_refused(named: &[&str], own: &str, url: &str) -> bool {
        matches!(admitted(named, own, url), Err(NotAdmitted::Refused(_)))
    }

    #[test]
    fn loopback_is_allowed_by_its_addresses_and_as_localhost_and_nothing_else_is() {
        for host in
            ["127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "localhost", "LocalHost", "localhost."]
        {
            let url = format!("http://{host}:8080/a?b");
            assert!(admitted(&[], LOCAL, &url).is_ok(), "{url}: {:?}", admitted(&[], LOCAL, &url));
            assert!(is_refused(&[], OPEN, &url), "{url}");
            assert!(is_refused(&["shop.test"], OPEN, &url), "{url}");
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
            // Names that resolve to loopback: a server there may serve them by other rules, or resolve them again.
            "here.test",
            "localhost.here.test",
            "localhost..",
            "2130706433",
            "0x7f000001",
            "127.1",
            "017700000001",
        ] {
            assert!(is_refused(&[], LOCAL, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn a_name_is_allowed_as_it_was_named_and_an_address_by_all_names_of_it() {
        for host in ["shop.test", "SHOP.Test", "shop.test.", "192.0.2.1", "[::ffff:192.0.2.1]"] {
            let url = format!("https://{host}/");
            assert_eq!(admitted(&["shop.test:443"], OPEN, &url), Ok(1), "{url}");
        }
        // Behind one address, a server of many names serves this one, too.
        for host in ["victim.test", "shop.test.victim.test", "3221225985", "0xc0000201", "192.513"] {
            for named in ["shop.test:443", "192.0.2.1:443", "192.0.2.1", "[::ffff:192.0.2.1]:443"] {
                assert!(is_refused(&[named], LOCAL, &format!("https://{host}/")), "{named} {host}");
            }
        }
        for named in ["192.0.2.1:8080", "192.0.2.1", "[::ffff:192.0.2.1]:8080", "mapped.test:8080"] {
            assert_eq!(admitted(&[named], OPEN, "http://192.0.2.1:8080/"), Ok(1), "{named}");
            assert!(is_refused(&[named], LOCAL, "http://192.0.2.2:8080/"), "{named}");
        }
        assert!(is_refused(&["shop.test:8080"], LOCAL, "http://shop.test:8081/"));
        assert!(is_refused(&["shop.test:8080"], LOCAL, "http://192.0.2.1:8081/"));
        assert!(is_refused(&["shop.test:8080"], LOCAL, "http://shop.test/"));
        assert!(is_refused(&["shop.test:8080"], LOCAL, "http://user@shop.test:22/"));
        assert_eq!(admitted(&["sly.test"], OPEN, "http://sly.test/"), Ok(2));
        assert_eq!(admitted(&["six.test"], OPEN, "http://[2001:db8::1]:1/"), Ok(1));
        assert_eq!(admitted(&["turns.test"], OPEN, "http://turns.test/"), Ok(1), "looked up once");
        assert!(is_refused(&["gone.test", "empty.test"], OPEN, "http://192.0.2.1/"));
    }

    #[test]
    fn without_loopback_a_target_on_this_machine_has_to_be_named_too() {
        let alone = |named: &[&str]| AllowedTargets { has_loopback: false, ..targets(named, LOCAL) };
        for url in ["http://127.0.0.1:15000/", "http://localhost:15000/", "http://[::1]:15000/"] {
            assert!(targets(&[], LOCAL).admit(url).is_ok(), "{url}");
            let refused = alone(&["127.0.0.1:80", "localhost:80"]).admit(url);
            assert!(matches!(refused, Err(NotAdmitted::Refused(_))), "{url}");
        }
        assert!(alone(&["127.0.0.1:80"]).admit("http://127.0.0.1/").is_ok());
    }

    #[test]
    fn a_name_that_is_not_allowed_is_not_looked_up() {
        let none = |_: &str| -> io::Result<Vec<IpAddr>> { panic!("it was looked up") };
        let targets = AllowedTargets { lookup: none, ..targets(&["shop.test:80"], LOCAL) };
        for url in ["http://victim.test/", "http://shop.test:81/", "http://127.1/"] {
            let refused = targets.admit(url).unwrap_err();
            assert!(
                matches!(&refused, NotAdmitted::Refused(why) if why.contains("--allow-target")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_name_leads_to_this_machine_or_its_link_only_if_an_address_or_localhost_was_allowed() {
        let near = [
            ("here.test", "127.0.0.1"),
            ("link.test", "169.254.169.254"),
            ("link6.test", "[fe80::1]"),
            ("any.test", "0.0.0.0"),
        ];
        for (name, address) in near {
            let [by_name, by_address] = [name, address].map(|host| format!("http://{host}:80/"));
            assert!(is_refused(&[name], OPEN, &by_name), "{name}");
            assert!(is_refused(&[name], OPEN, &by_address), "{name} allows no {address}");
            let of_port = format!("{address}:80");
            assert!(admitted(&[of_port.as_str()], OPEN, &by_address).is_ok(), "{address}");
        }
        for (name, address) in [("link.test", "169.254.169.254:80"), ("any.test", "0.0.0.0:80")] {
            assert_eq!(admitted(&[name, address], OPEN, &format!("http://{name}/")), Ok(1), "{name}");
        }
        assert_eq!(admitted(&["localhost:80"], OPEN, "http://localhost/"), Ok(2));
        assert!(is_refused(&["localhost:80"], OPEN, "http://localhost:81/"));
        assert!(is_refused(&["localhost:80"], OPEN, "http://here.test/"));
        assert_eq!(admitted(&["here.test", "localhost"], OPEN, "http://here.test/"), Ok(2));
        // Whoever reaches a server on loopback may send there anyway.
        assert_eq!(admitted(&["here.test:80"], LOCAL, "http://here.test/"), Ok(2));
    }

    #[test]
    fn no_load_goes_to_the_server_itself() {
        let targets = ["192.0.2.99", "self.test", "0.0.0.0", "::", "localhost"];
        for (own, url) in [
            (LOCAL, "http://127.0.0.1:8419/"),
            (LOCAL, "http://localhost:8419/"),
            (LOCAL, "http://[::ffff:127.0.0.1]:8419/"),
            (LOCAL, "http://0.0.0.0:8419/"),
            (OPEN, "http://192.0.2.99:8419/"),
            (OPEN, "http://self.test:8419/"),
            ("0.0.0.0:8419", "http://192.0.2.99:8419/"),
            ("0.0.0.0:8419", "http://self.test:8419/"),
            ("[::]:8419", "http://[::ffff:192.0.2.99]:8419/"),
            ("0.0.0.0:8419", "http://127.0.0.1:8419/"),
            ("[::]:8419", "http://127.0.0.1:8419/"),
            ("[::1]:8419", "http://[::]:8419/"),
        ] {
            let refused = admitted(&targets, own, url).unwrap_err();
            assert!(
                matches!(&refused, NotAdmitted::Refused(why) if why.contains("itself")),
                "{own} {url}: {refused:?}"
            );
            let other = url.replace(":8419", ":8420");
            assert!(admitted(&targets, own, &other).is_ok(), "{own} {other}");
        }
        assert_eq!(admitted(&targets, LOCAL, "http://127.0.0.2:8419/"), Ok(1));
        assert_eq!(admitted(&["192.0.2.98"], "0.0.0.0:8419", "http://192.0.2.98:8419/"), Ok(1));
    }

    #[test]
    fn user_information_and_interfaces_lead_to_no_other_host() {
        assert!(is_refused(&[], LOCAL, "http://127.0.0.1@shop.test/"));
        assert!(is_refused(&[], LOCAL, "http://127.0.0.1:80@192.0.2.1/"));
        assert!(is_refused(&["fe80::1"], OPEN, "http://[fe80::1%25lo]/"));
        assert!(is_refused(&["fe80::1"], OPEN, "http://[fe80::1%lo]/"));
        assert_eq!(admitted(&["fe80::1"], OPEN, "http://[fe80::1]/"), Ok(1));
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
            let outcome = admitted(&["gone.test", "empty.test"], LOCAL, url);
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
