//! A network between callers and servers, in network namespaces of its own: virtual Ethernet to a host, and from there, if the
//! servers are in a container, a bridge with or without address translation; with firewall rules in front of the servers.
//!
//! ```text
//! callers 10.78.0.1 ---- 10.78.0.2 host 10.78.1.1 ---- 10.78.1.2 container
//! ```
//!
//! Every command runs inside one of these namespaces, so interfaces, addresses and rules of the machine stay as they are. The
//! kernel removes a namespace with its interfaces and rules when its last process and its last handle are gone, even after
//! `kill -9`.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::firewall::{Firewall, FirewallSpec, Step};
use crate::link::CALLER_SETTINGS;
use crate::namespace::{Namespace, NamespaceError};

/// The address of callers.
const CALLERS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
/// The address of the host, as callers see it.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// The address of the bridge on the host.
const BRIDGE: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 1);
/// The address of the container.
const CONTAINER: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 2);
/// The addresses that callers may connect to, for certificates.
pub const SERVERS: [Ipv4Addr; 2] = [HOST, CONTAINER];
/// The interface of a namespace towards callers.
const INTERFACE: &str = "hoptax0";
/// The interface of the bridge on the host.
const BRIDGE_INTERFACE: &str = "bridge0";

/// Parts of a network between callers and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkSpec {
    /// Place of the servers.
    pub servers: Servers,
    /// The program that translates the address of the host to that of the container; none if callers connect to the container's own
    /// address, and without a container.
    pub nat: Option<Nat>,
    /// Rules for packets that arrive where the servers are.
    pub firewall: Option<FirewallSpec>,
}

/// Place of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Servers {
    /// On the host.
    #[default]
    Host,
    /// In a container, behind the bridge of the host.
    Container,
}

/// A program that translates addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nat {
    /// iptables on the nftables backend of the kernel.
    Iptables,
    /// nftables.
    Nftables,
}

impl Servers {
    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Container => "container",
        }
    }
}

impl Nat {
    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        }
    }
}

/// A program that a network needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needed {
    /// Its name.
    pub program: &'static str,
    /// The Debian package that contains it.
    pub package: &'static str,
}

/// Reason why a network cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A namespace cannot be created or entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program failed, or is missing.
    #[error("`{program}` of the package {package} failed in a network namespace: {cause}")]
    Program {
        /// The program.
        program: &'static str,
        /// Its package.
        package: &'static str,
        /// Its message.
        cause: String,
    },
    /// A setting of the kernel cannot be changed for a namespace, or a counter of it cannot be read.
    #[error("cannot use `{path}` in a network namespace: {cause}")]
    File {
        /// The file.
        path: &'static str,
        /// The cause.
        cause: io::Error,
    },
}

/// A network. Dropping it removes it, once its processes have ended.
#[derive(Debug)]
pub struct Network {
    spec: NetworkSpec,
    callers: Namespace,
    host: Namespace,
    container: Option<Namespace>,
}

impl NetworkSpec {
    /// The programs that it needs.
    pub fn needs(&self) -> Vec<Needed> {
        let of_nat = self.nat.map(|nat| match nat {
            Nat::Iptables => "iptables-nft-restore",
            Nat::Nftables => "nft",
        });
        let of_firewall = self.firewall.iter().flat_map(|spec| match spec.firewall {
            Firewall::Iptables => ["iptables-nft-restore"].as_slice(),
            Firewall::IptablesLegacy => &["iptables-legacy-restore"],
            Firewall::Ipset => &["ipset", "iptables-nft-restore"],
            Firewall::Nftables | Firewall::NftablesSet | Firewall::NftablesMap => &["nft"],
        });
        let programs = ["ip"].into_iter().chain(of_nat).chain(of_firewall.copied());
        programs.map(|program| Needed { program, package: package(program) }).collect()
    }
}

/// The Debian package of a program.
fn package(program: &str) -> &'static str {
    match program {
        "ip" => "iproute2",
        "nft" => "nftables",
        "ipset" => "ipset",
        _ => "iptables",
    }
}

impl Network {
    /// Creates the namespaces and the interfaces between them, and loads the rules.
    ///
    /// # Errors
    /// Without root, when a program is missing, and when the kernel lacks a part of the network.
    pub fn create(spec: &NetworkSpec) -> Result<Self, NetworkError> {
        let container = matches!(spec.servers, Servers::Container).then(Namespace::create).transpose()?;
        let network =
            Self { spec: *spec, callers: Namespace::create()?, host: Namespace::create()?, container };
        network.connect_host()?;
        if let Some(container) = &network.container {
            network.connect_container(container)?;
        }
        if let Some(nat) = spec.nat {
            run_step(&network.host, &translation(nat))?;
        }
        for step in spec.firewall.iter().flat_map(|rules| rules.steps(CALLERS)) {
            run_step(network.servers(), &step)?;
        }
        Ok(network)
    }

    /// The namespace of callers.
    pub fn callers(&self) -> &Namespace {
        &self.callers
    }

    /// The namespace of servers.
    pub fn servers(&self) -> &Namespace {
        self.container.as_ref().unwrap_or(&self.host)
    }

    /// The address that servers listen on.
    pub fn listening(&self) -> IpAddr {
        if self.container.is_some() { CONTAINER.into() } else { HOST.into() }
    }

    /// The address that callers connect to. The port is that of the server.
    pub fn reached_at(&self) -> IpAddr {
        if self.spec.nat.is_some() { HOST.into() } else { self.listening() }
    }

    /// Packets that arrived from callers where the servers are, so far.
    ///
    /// # Errors
    /// When the kernel does not report them.
    pub fn received_packets(&self) -> Result<u64, NetworkError> {
        // `/proc/net` would be that of the main thread.
        let path = "/proc/thread-self/net/dev";
        let text = self
            .servers()
            .within(|| fs::read_to_string(path))?
            .map_err(|cause| NetworkError::File { path, cause })?;
        received(&text).ok_or_else(|| {
            let cause =
                io::Error::new(io::ErrorKind::InvalidData, format!("no packets of `{INTERFACE}` in it"));
            NetworkError::File { path, cause }
        })
    }

    fn connect_host(&self) -> Result<(), NetworkError> {
        let route = if self.container.is_some() {
            format!("route add {BRIDGE}/32 via {HOST}\nroute add {CONTAINER}/32 via {HOST}\n")
        } else {
            String::new()
        };
        ip(
            &self.callers,
            &format!(
                "link add {INTERFACE} type veth peer name {INTERFACE} netns {}\naddress add {CALLERS}/24 dev {INTERFACE}\n\
                 link set {INTERFACE} up\n{route}",
                self.host.path()
            ),
        )?;
        ip(&self.host, &format!("address add {HOST}/24 dev {INTERFACE}\nlink set {INTERFACE} up\n"))?;
        for namespace in [&self.callers, self.servers()] {
            for (path, value) in CALLER_SETTINGS {
                set(namespace, path, value)?;
            }
        }
        Ok(())
    }

    fn connect_container(&self, container: &Namespace) -> Result<(), NetworkError> {
        ip(
            &self.host,
            &format!(
                "link add {BRIDGE_INTERFACE} type bridge\naddress add {BRIDGE}/24 dev {BRIDGE_INTERFACE}\n\
                 link set {BRIDGE_INTERFACE} up\nlink add container0 type veth peer name {INTERFACE} netns {}\n\
                 link set container0 master {BRIDGE_INTERFACE} up\n",
                container.path()
            ),
        )?;
        ip(
            container,
            &format!(
                "address add {CONTAINER}/24 dev {INTERFACE}\nlink set {INTERFACE} up\nroute add default via {BRIDGE}\n"
            ),
        )?;
        set(&self.host, "/proc/sys/net/ipv4/ip_forward", "1")
    }
}

/// The rules that translate the address of the host to that of the container, as container engines write them.
fn translation(nat: Nat) -> Step {
    match nat {
        Nat::Iptables => Step {
            program: "iptables-nft-restore",
            arguments: &[],
            input: format!(
                "*nat\n-A PREROUTING -d {HOST}/32 -j DNAT --to-destination {CONTAINER}\n\
                 -A POSTROUTING -s {CONTAINER}/32 ! -o {BRIDGE_INTERFACE} -j MASQUERADE\nCOMMIT\n\
                 *filter\n:FORWARD DROP [0:0]\n-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n\
                 -A FORWARD -d {CONTAINER}/32 -o {BRIDGE_INTERFACE} -j ACCEPT\nCOMMIT\n"
            ),
        },
        Nat::Nftables => Step {
            program: "nft",
            arguments: &["-f", "-"],
            input: format!(
                "table ip hoptax {{\nchain prerouting {{ type nat hook prerouting priority dstnat; ip daddr {HOST} dnat to \
                 {CONTAINER}; }}\nchain postrouting {{ type nat hook postrouting priority srcnat; ip saddr {CONTAINER} oifname \
                 != \"{BRIDGE_INTERFACE}\" masquerade; }}\nchain forward {{ type filter hook forward priority filter; policy \
                 drop; ct state established,related accept; ip daddr {CONTAINER} oifname \"{BRIDGE_INTERFACE}\" accept; \
                 }}\n}}\n"
            ),
        },
    }
}

fn ip(namespace: &Namespace, commands: &str) -> Result<(), NetworkError> {
    run(namespace, "ip", &["-batch", "-"], commands)
}

fn set(namespace: &Namespace, path: &'static str, value: &str) -> Result<(), NetworkError> {
    namespace.within(|| fs::write(path, value))?.map_err(|cause| NetworkError::File { path, cause })
}

fn run_step(namespace: &Namespace, step: &Step) -> Result<(), NetworkError> {
    run(namespace, step.program, step.arguments, &step.input)
}

/// Runs a program in a namespace. It ends with its input, also if hoptax is killed meanwhile.
fn run(
    namespace: &Namespace,
    program: &'static str,
    arguments: &[&str],
    input: &str,
) -> Result<(), NetworkError> {
    let ran = namespace.within(|| {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    })?;
    let failed = |cause: String| NetworkError::Program { program, package: package(program), cause };
    let output = ran.map_err(|error: io::Error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    Err(failed(if first.is_empty() { output.status.to_string() } else { first.join("; ") }))
}

/// The packets received by [`INTERFACE`] according to `/proc/net/dev`.
fn received(text: &str) -> Option<u64> {
    let counters =
        text.lines().find_map(|line| line.trim_start().strip_prefix(INTERFACE)?.strip_prefix(':'))?;
    counters.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_packets_are_those_of_the_interface() {
        let text = "Inter-|   Receive\n face |bytes packets errs\n    lo:  5 6 0\nhoptax0: 1000 12 0 0 0 0 0 0 2000 13\n";
        assert_eq!(received(text), Some(12));
        assert_eq!(received("    lo:  5 6 0\n"), None);
    }

    /// Without root, there is no namespace to fail in.
    #[test]
    fn rules_that_cannot_be_loaded_leave_those_of_the_machine_as_they_are() {
        let rules = || Command::new("nft").args(["list", "ruleset"]).output().map(|output| output.stdout);
        let (Ok(namespace), Ok(before)) = (Namespace::create(), rules()) else { return };
        // Valid up to its last line.
        let input = "table ip hoptax {\n}\nadd rule ip hoptax nowhere drop\n";
        let error = run(&namespace, "nft", &["-f", "-"], input).unwrap_err().to_string();
        assert!(
            error.starts_with("`nft` of the package nftables failed") && error.contains("nowhere"),
            "{error}"
        );
        let missing = run(&namespace, "hoptax-missing", &[], "").unwrap_err().to_string();
        assert!(missing.contains("No such file"), "{missing}");
        assert_eq!(rules().unwrap(), before);
    }

    #[test]
    fn a_network_names_each_program_and_its_package() {
        let rules = |firewall| FirewallSpec {
            firewall,
            rules: 1,
            matching: crate::firewall::Matching::First,
            accepts_established: false,
        };
        let needs = |firewall: Option<Firewall>, nat: Option<Nat>| -> Vec<String> {
            let spec = NetworkSpec { servers: Servers::Container, nat, firewall: firewall.map(rules) };
            spec.needs().iter().map(|needed| format!("{} {}", needed.program, needed.package)).collect()
        };
        assert_eq!(needs(None, None), ["ip iproute2"]);
        assert_eq!(needs(None, Some(Nat::Nftables)), ["ip iproute2", "nft nftables"]);
        let ipset = ["ip iproute2", "ipset ipset", "iptables-nft-restore iptables"];
        assert_eq!(needs(Some(Firewall::Ipset), None), ipset);
    }
}
