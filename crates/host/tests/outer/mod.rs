//! A network namespace that stands for the machine in tests: with rules of every kind, a set, interfaces and a route of its own, so that
//! comparing them before and after compares something. A process inside cannot tell it from a machine.

use std::process::{Command, Output, Stdio};

use hoptax_host::namespace::Namespace;

/// Script that sets it up. Each line has an address or a name that nothing else has.
const SETUP: &str = "set -e
nft 'add table inet own; add chain inet own input { type filter hook input priority 0; }; add rule inet own input ip saddr 192.0.2.1 drop'
iptables-nft --append INPUT --source 192.0.2.2 --jump DROP
iptables-nft --table nat --append POSTROUTING --source 192.0.2.3 --jump MASQUERADE
iptables-legacy --append INPUT --source 192.0.2.4 --jump DROP
ipset create own hash:ip
ipset add own 192.0.2.5
ip link add own0 type veth peer name own1
ip address add 192.0.2.6/32 dev lo
ip route add 192.0.2.7/32 dev lo";

/// Commands that list its state, with the parts of [`SETUP`] in the output of each.
const LISTINGS: [(&[&str], &[&str]); 7] = [
    (&["nft", "list", "ruleset"], &["192.0.2.1 ", "192.0.2.2 ", "192.0.2.3 "]),
    (&["iptables-nft-save"], &["192.0.2.2/32", "192.0.2.3/32"]),
    (&["iptables-legacy-save"], &["192.0.2.4/32"]),
    (&["ipset", "save"], &["192.0.2.5"]),
    (&["ip", "-brief", "link"], &["own0@own1", "own1@own0"]),
    (&["ip", "-brief", "address"], &["192.0.2.6/32"]),
    (&["ip", "route"], &["192.0.2.7 dev lo"]),
];

/// The namespace. It is removed with all in it when it is dropped and its processes have ended.
pub(crate) struct Outer(Namespace);

impl Outer {
    /// Creates it. None without root or a program that it needs, which is printed.
    pub(crate) fn create() -> Option<Self> {
        let is_missing = |program: &&str| {
            Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_err()
        };
        let missing: Vec<&str> = ["ip", "nft", "iptables-nft", "iptables-legacy", "ipset"]
            .into_iter()
            .filter(is_missing)
            .collect();
        if !missing.is_empty() || !rustix::process::geteuid().is_root() {
            eprintln!("not tested: this needs root, and misses the programs {missing:?}");
            return None;
        }
        let outer = Self(Namespace::create().unwrap());
        let made = outer.output("sh", &["-c", SETUP]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for (listed, (command, parts)) in outer.state().iter().zip(LISTINGS) {
            for part in parts {
                assert!(listed.contains(part), "`{part}` is not in the output of {command:?}: {listed}");
            }
        }
        Some(outer)
    }

    /// Runs `work` inside, on the calling thread. Processes and threads that it starts stay inside.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.within(work).unwrap()
    }

    /// All of its rules, sets, interfaces, addresses and routes, byte for byte, without the time and the counters of packets in
    /// `iptables-save`: a study may use its loopback interface.
    pub(crate) fn state(&self) -> Vec<String> {
        let listed = |(command, _): (&[&str], &[&str])| -> String {
            let output = self.output(command[0], &command[1..]);
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            let lines = text.split_inclusive('\n').filter(|line| !line.starts_with('#'));
            // `:INPUT ACCEPT [packets:bytes]`
            lines
                .map(|line| {
                    line.split_once(" [").filter(|_| line.starts_with(':')).map_or(line, |(chain, _)| chain)
                })
                .collect()
        };
        LISTINGS.map(listed).to_vec()
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Output {
        self.within(|| Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap())
    }
}
