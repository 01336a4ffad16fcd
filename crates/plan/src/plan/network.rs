//! The network between the callers and the proxies of an arm, in words.

use hoptax_host::firewall::Matching;
use hoptax_host::network::{Nat, NetworkSpec, Servers};

/// A one-line description.
pub(super) fn in_words(spec: &NetworkSpec) -> String {
    let place = match (spec.servers, spec.nat) {
        (Servers::Host, _) => "on a host",
        (Servers::Container, None) => "in a container",
        (Servers::Container, Some(Nat::Iptables)) => "in a container behind NAT by iptables",
        (Servers::Container, Some(Nat::Nftables)) => "in a container behind NAT by nftables",
    };
    let Some(rules) = spec.firewall else { return place.to_owned() };
    let matching = match rules.matching {
        Matching::First => "the first matches",
        Matching::Last => "the last matches",
        Matching::None => "none matches",
    };
    let established = if rules.accepts_established { " after established connections" } else { "" };
    format!("{place} with {} rules of {}, {matching}{established}", rules.rules, rules.firewall.as_str())
}
