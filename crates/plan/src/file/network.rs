//! The network between the callers and the proxies of an arm.

use hoptax_host::firewall::{Firewall, FirewallSpec, MAX_RULES, Matching};
use hoptax_host::network::{Nat, NetworkSpec, Servers};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::OneOrMore;
use super::conditions::{numbers, words};

/// A network of network namespaces, which hoptax creates for each round and removes with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct NetworkSection {
    /// Place of proxies and origin: on the `host`, which callers reach over virtual Ethernet, or in a `container`, behind
    /// a bridge of the host.
    pub servers: Servers,
    /// Translation of the address of the host to that of the container: `none`, so that callers connect to the address
    /// of the container, `iptables` or `nftables`.
    pub nat: NatWord,
    /// Rules for all packets that arrive where the servers are, by source address: `iptables` (on the nftables backend of
    /// the kernel), `iptables-legacy` or `nftables`, with a rule for each address; `ipset` (one rule of iptables with a
    /// set), `nftables-set` or `nftables-map` (one rule with a set, or a map to verdicts). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firewall: Option<Firewall>,
    /// Number of rules, or of addresses in the set or map. A list makes an arm of each number. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules")]
    pub rules: Option<OneOrMore<u32>>,
    /// The place of the only rule that matches the callers: `first`, `last`, or `none`. A list makes an arm of each place.
    /// Packets that no rule matches are accepted. Default: `last`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "matching")]
    pub matching: Option<OneOrMore<Matching>>,
    /// Accept packets of established connections before all rules, so that only the first packet of a
    /// connection is looked up.
    pub accept_established: bool,
}

/// A program that translates addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum NatWord {
    /// None.
    #[default]
    None,
    /// iptables.
    Iptables,
    /// nftables.
    Nftables,
}

/// One network of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelledNetwork {
    pub(crate) spec: NetworkSpec,
    /// The keys that differ from those of the other networks of the section: `rules=10,match=last`. Empty if there is only one network.
    pub(crate) label: String,
}

impl NetworkSection {
    /// All its networks: one for each combination of its lists.
    ///
    /// # Errors
    /// The key and the message of every combination of keys that does not make sense.
    pub(crate) fn plan(&self) -> Result<Vec<LabelledNetwork>, Vec<(&'static str, String)>> {
        let mut problems = Vec::new();
        if self.nat != NatWord::None && self.servers == Servers::Host {
            let message =
                "`nat` translates to the address of a container: set `servers: container`, or remove it";
            problems.push(("nat", message.to_owned()));
        }
        let of_firewall = [
            ("rules", self.rules.is_some()),
            ("match", self.matching.is_some()),
            ("accept_established", self.accept_established),
        ];
        for (key, _) in of_firewall.iter().filter(|(_, is_set)| *is_set && self.firewall.is_none()) {
            problems.push((*key, format!("`{key}` needs a `firewall`: add it, or remove `{key}`")));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let spec = |firewall| NetworkSpec { servers: self.servers, nat: self.nat.into(), firewall };
        let Some(firewall) = self.firewall else {
            return Ok(vec![LabelledNetwork { spec: spec(None), label: String::new() }]);
        };
        let all_rules = self.rules.as_ref().map_or([0].as_slice(), OneOrMore::all);
        let places = self.matching.as_ref().map_or([Matching::Last].as_slice(), OneOrMore::all);
        let of = |rules: u32, matching: Matching| {
            let parts = [
                (all_rules.len() > 1).then(|| format!("rules={rules}")),
                (places.len() > 1).then(|| format!("match={}", matching.as_str())),
            ];
            let spec = spec(Some(FirewallSpec {
                firewall,
                rules,
                matching,
                accepts_established: self.accept_established,
            }));
            LabelledNetwork { spec, label: parts.into_iter().flatten().collect::<Vec<_>>().join(",") }
        };
        Ok(places.iter().flat_map(|place| all_rules.iter().map(|rules| of(*rules, *place))).collect())
    }
}

impl From<NatWord> for Option<Nat> {
    fn from(word: NatWord) -> Self {
        match word {
            NatWord::None => None,
            NatWord::Iptables => Some(Nat::Iptables),
            NatWord::Nftables => Some(Nat::Nftables),
        }
    }
}

fn rules(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MAX_RULES.into())
}

fn matching(_: &mut SchemaGenerator) -> Schema {
    words(&["first", "last", "none"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelt_as_the_rules_are_named() {
        for firewall in Firewall::ALL {
            assert_eq!(serde_json::to_value(firewall).unwrap(), firewall.as_str());
        }
        for matching in [Matching::First, Matching::Last, Matching::None] {
            assert_eq!(serde_json::to_value(matching).unwrap(), matching.as_str());
        }
        for servers in [Servers::Host, Servers::Container] {
            assert_eq!(serde_json::to_value(servers).unwrap(), servers.as_str());
        }
    }
}
