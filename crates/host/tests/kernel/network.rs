//! Networks with bridges, address translation and firewall rules: the packets that pass them, and that the rules of the machine
//! stay as they are. Without root, or without the programs, a network is not tested, which is printed.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use hoptax_host::firewall::{Firewall, FirewallSpec, Matching};
use hoptax_host::namespace::Namespace;
use hoptax_host::network::{Nat, Network, NetworkSpec, Servers};

use crate::outer::Outer;

/// Returns true if a program runs on this machine.
fn runs(program: &str) -> bool {
    let command = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    command.is_ok()
}

/// The network; none without the required privileges or programs, which is printed.
fn network(spec: &NetworkSpec) -> Option<Network> {
    let missing: Vec<&str> =
        spec.needs().iter().filter(|needed| !runs(needed.program)).map(|needed| needed.package).collect();
    match Network::create(spec) {
        Ok(network) => {
            assert!(missing.is_empty(), "{missing:?}");
            Some(network)
        }
        Err(error) if missing.is_empty() && rustix::process::geteuid().is_root() => {
            panic!("{spec:?}: {error}")
        }
        Err(error) => {
            let message = error.to_string();
            assert!(
                message.contains("needs root") || missing.iter().any(|package| message.contains(package)),
                "{message}"
            );
            eprintln!("not tested: {message}");
            None
        }
    }
}

fn rules(firewall: Firewall, rules: u32, matching: Matching) -> NetworkSpec {
    let spec = FirewallSpec { firewall, rules, matching, accepts_established: false };
    NetworkSpec { firewall: Some(spec), ..NetworkSpec::default() }
}

/// The address from which a server got a connection, after a byte went to it and back.
fn echoed(network: &Network) -> IpAddr {
    let listener = network.servers().within(|| TcpListener::bind((network.listening(), 0)).unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, peer) = listener.accept().unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
        peer.ip()
    });
    let address = SocketAddr::new(network.reached_at(), port);
    let mut stream = network.callers().within(|| TcpStream::connect(address).unwrap()).unwrap();
    stream.write_all(b"x").unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"x");
    server.join().unwrap()
}

/// Returns the output of a program in a namespace.
fn printed(namespace: &Namespace, program: &str, arguments: &[&str]) -> String {
    let output = namespace.within(|| Command::new(program).args(arguments).output()).unwrap();
    String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
}

#[test]
fn callers_reach_servers_on_the_host_and_in_a_container_by_their_own_address() {
    for (servers, nat) in [
        (Servers::Host, None),
        (Servers::Container, None),
        (Servers::Container, Some(Nat::Iptables)),
        (Servers::Container, Some(Nat::Nftables)),
    ] {
        let Some(network) = network(&NetworkSpec { servers, nat, firewall: None }) else { continue };
        let is_translated = network.reached_at() != network.listening();
        assert_eq!(is_translated, nat.is_some());
        let before = network.received_packets().unwrap();
        assert_eq!(echoed(&network).to_string(), "10.78.0.1", "{servers:?} {nat:?}");
        // At least a SYN, its acknowledgement, the byte, and the end.
        assert!(network.received_packets().unwrap() >= before + 3);
    }
}

#[test]
fn packets_pass_every_firewall_and_meet_all_of_its_rules() {
    for firewall in Firewall::ALL {
        for matching in [Matching::First, Matching::Last, Matching::None] {
            let Some(network) = network(&rules(firewall, 300, matching)) else { continue };
            echoed(&network);
            let list = |program, arguments: &[&str]| printed(network.servers(), program, arguments);
            let listed = match firewall {
                Firewall::Iptables => list("iptables-nft-save", &[]),
                Firewall::IptablesLegacy => list("iptables-legacy-save", &[]),
                Firewall::Ipset => list("ipset", &["save"]),
                Firewall::Nftables | Firewall::NftablesSet | Firewall::NftablesMap => {
                    list("nft", &["list", "ruleset"])
                }
            };
            let of_others = listed.matches("198.18.").count();
            let expected = if matching == Matching::None { 300 } else { 299 };
            // Neighbouring addresses of a set may be printed as a range only if the set has intervals, which these do not have.
            assert_eq!(of_others, expected, "{firewall:?} {matching:?}");
            assert_eq!(listed.contains("10.78.0.1"), matching != Matching::None, "{firewall:?} {matching:?}");
        }
    }
}

#[test]
fn the_rules_and_interfaces_of_the_machine_stay_byte_for_byte_as_they_are() {
    let Some(machine) = Outer::create() else { return };
    let before = machine.state();
    for firewall in Firewall::ALL {
        let network = machine.within(|| network(&rules(firewall, 10, Matching::Last))).unwrap();
        assert_eq!(machine.state(), before, "{firewall:?}");
        drop(network);
    }
    for nat in [Nat::Iptables, Nat::Nftables] {
        let spec = NetworkSpec { servers: Servers::Container, nat: Some(nat), firewall: None };
        let network = machine.within(|| network(&spec)).unwrap();
        assert_eq!(machine.state(), before, "{nat:?}");
        drop(network);
    }
    assert_eq!(machine.state(), before);
}

#[test]
fn a_removed_rule_or_an_added_interface_of_the_machine_is_seen() {
    let Some(machine) = Outer::create() else { return };
    for change in [
        "iptables-legacy --flush",
        "nft delete table inet own",
        "ipset destroy own",
        "ip link add more0 type veth",
    ] {
        let before = machine.state();
        machine.within(|| assert!(Command::new("sh").args(["-c", change]).status().unwrap().success()));
        assert_ne!(machine.state(), before, "{change}");
    }
}
