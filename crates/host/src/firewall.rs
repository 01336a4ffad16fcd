//! Firewall rules in front of servers, as input of the programs that load them. Pure: [`crate::network`] runs these programs in a
//! namespace of its own.
//!
//! Every rule looks at the source address only, so rule sets differ only in the way an address is found: one rule after the
//! other, or in a set or a map. All but one of the addresses are those of RFC 2544 for measurements, which no caller has.

use std::fmt::Write;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first address that no caller has: 198.18.0.0/15 is reserved for measurements (RFC 2544).
const FIRST_OTHER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Maximum number of rules: addresses in 198.18.0.0/15, rounded down.
pub const MAX_RULES: u32 = 100_000;

/// Method and program that look up an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Firewall {
    /// One rule for each address, by iptables on the nftables backend of the kernel.
    Iptables,
    /// One rule for each address, by iptables on its own backend.
    IptablesLegacy,
    /// One rule of iptables with a set of ipset.
    Ipset,
    /// One rule for each address, by nftables.
    Nftables,
    /// One rule of nftables with a set.
    NftablesSet,
    /// One rule of nftables with a map from addresses to verdicts.
    NftablesMap,
}

/// The place of the only rule that matches the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    /// It is the first.
    First,
    /// It is the last.
    #[default]
    Last,
    /// No rule matches, so every rule is tried.
    None,
}

/// The rules in front of servers. Packets that no rule matches are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirewallSpec {
    /// Method of the lookup of an address.
    pub firewall: Firewall,
    /// Number of rules, or of addresses in the set or map; at most [`MAX_RULES`].
    pub rules: u32,
    /// The place of the one that matches.
    pub matching: Matching,
    /// True if packets of established connections are accepted before all rules, so that only the first packet of a connection is
    /// looked up.
    pub accepts_established: bool,
}

/// One run of a program that loads rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) program: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// Its standard input.
    pub(crate) input: String,
}

impl Firewall {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Iptables,
        Self::IptablesLegacy,
        Self::Ipset,
        Self::Nftables,
        Self::NftablesSet,
        Self::NftablesMap,
    ];

    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::IptablesLegacy => "iptables-legacy",
            Self::Ipset => "ipset",
            Self::Nftables => "nftables",
            Self::NftablesSet => "nftables-set",
            Self::NftablesMap => "nftables-map",
        }
    }
}

impl Matching {
    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::None => "none",
        }
    }
}

impl FirewallSpec {
    /// The programs that load the rules, with their input, for packets from `caller`.
    pub(crate) fn steps(self, caller: Ipv4Addr) -> Vec<Step> {
        let iptables =
            |program, rules: String| Step { program, arguments: &[], input: iptables_table(&rules) };
        let nft = |objects: &str, rules: &str| Step {
            program: "nft",
            arguments: &["-f", "-"],
            input: format!(
                "table ip hoptax {{\n{objects}chain input {{\ntype filter hook input priority filter; policy accept;\niif \"lo\" \
                 accept\n{}{rules}}}\n}}\n",
                if self.accepts_established { "ct state established,related accept\n" } else { "" }
            ),
        };
        let each = |line: fn(Ipv4Addr, bool) -> String| -> String {
            self.addresses(caller).map(|(address, is_caller)| line(address, is_caller)).collect()
        };
        let verdict = |is_caller| if is_caller { "accept" } else { "drop" };
        match self.firewall {
            Firewall::Iptables => {
                vec![iptables("iptables-nft-restore", self.established() + &each(iptables_rule))]
            }
            Firewall::IptablesLegacy => {
                vec![iptables("iptables-legacy-restore", self.established() + &each(iptables_rule))]
            }
            Firewall::Ipset => {
                let create = format!("create callers hash:ip family inet maxelem {}\n", MAX_RULES + 1);
                let add = each(|address, _| format!("add callers {address}\n"));
                let rule = "-A INPUT -m set --match-set callers src -j ACCEPT\n";
                vec![
                    Step { program: "ipset", arguments: &["restore"], input: create + &add },
                    iptables("iptables-nft-restore", self.established() + rule),
                ]
            }
            Firewall::Nftables => {
                let rule = |address, is_caller| format!("ip saddr {address} {}\n", verdict(is_caller));
                let rules: String =
                    self.addresses(caller).map(|(address, is_caller)| rule(address, is_caller)).collect();
                vec![nft("", &rules)]
            }
            Firewall::NftablesSet => {
                let elements = elements(self.addresses(caller).map(|(address, _)| address.to_string()));
                let set = format!("set callers {{ type ipv4_addr; {elements} }}\n");
                vec![nft(&set, "ip saddr @callers accept\n")]
            }
            Firewall::NftablesMap => {
                let element = |(address, is_caller)| format!("{address} : {}", verdict(is_caller));
                let elements = elements(self.addresses(caller).map(element));
                let map = format!("map verdicts {{ type ipv4_addr : verdict; {elements} }}\n");
                vec![nft(&map, "ip saddr vmap @verdicts\n")]
            }
        }
    }

    /// The rule of iptables for packets of established connections, if there is one.
    fn established(self) -> String {
        let rule = "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n";
        if self.accepts_established { rule.to_owned() } else { String::new() }
    }

    /// The addresses in their order, each with true if it is that of the caller.
    fn addresses(self, caller: Ipv4Addr) -> impl Iterator<Item = (Ipv4Addr, bool)> {
        let rules = self.rules.min(MAX_RULES);
        let of_caller = match self.matching {
            Matching::First => Some(0),
            Matching::Last => rules.checked_sub(1),
            Matching::None => None,
        };
        (0..rules).map(move |number| {
            let is_caller = Some(number) == of_caller;
            let other = Ipv4Addr::from_bits(FIRST_OTHER.to_bits() + number);
            (if is_caller { caller } else { other }, is_caller)
        })
    }
}

fn iptables_rule(address: Ipv4Addr, is_caller: bool) -> String {
    format!("-A INPUT -s {address}/32 -j {}\n", if is_caller { "ACCEPT" } else { "DROP" })
}

/// The filter table with `rules` after the usual first one, which accepts packets between the processes of the namespace.
fn iptables_table(rules: &str) -> String {
    format!("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -i lo -j ACCEPT\n{rules}COMMIT\n")
}

/// The elements of a set or map of nftables, which must not be an empty list.
fn elements(all: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for element in all {
        let before = if text.is_empty() { "elements = { " } else { ", " };
        let _ = write!(text, "{before}{element}");
    }
    if text.is_empty() { text } else { text + " };" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALLER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);

    fn inputs(firewall: Firewall, rules: u32, matching: Matching) -> String {
        let spec = FirewallSpec { firewall, rules, matching, accepts_established: rules == 3 };
        let steps = spec.steps(CALLER);
        steps
            .iter()
            .map(|step| format!("{} {}\n{}", step.program, step.arguments.join(" "), step.input))
            .collect()
    }

    #[test]
    fn the_input_of_every_firewall() {
        let text: String = Firewall::ALL
            .into_iter()
            .map(|firewall| format!("--- {}\n{}", firewall.as_str(), inputs(firewall, 3, Matching::Last)))
            .collect();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn without_rules_there_is_no_address_and_no_empty_list() {
        for firewall in Firewall::ALL {
            let text = inputs(firewall, 0, Matching::First);
            let has = |words: &str| text.contains(words);
            assert!(!has("198.18") && !has("10.78") && !has("elements"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_caller_is_matched_where_it_should_be(rules in 1_u32..400, place in 0_usize..3) {
            let matching = [Matching::First, Matching::Last, Matching::None][place];
            let spec = FirewallSpec { firewall: Firewall::Iptables, rules, matching, accepts_established: false };
            let all: Vec<(Ipv4Addr, bool)> = spec.addresses(CALLER).collect();
            prop_assert_eq!(all.len(), rules as usize);
            let found = all.iter().position(|(address, _)| *address == CALLER);
            let expected = [Some(0), Some(rules as usize - 1), None][place];
            prop_assert_eq!(found, expected);
            prop_assert!(all.iter().all(|(address, is_caller)| *is_caller == (*address == CALLER)));
            let distinct: std::collections::BTreeSet<_> = all.iter().collect();
            prop_assert_eq!(distinct.len(), all.len());
        }
    }
}
