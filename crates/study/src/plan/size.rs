//! How much a plan brings up in each round, for estimates of its time and its memory.

use hoptax_functions::count;

use super::{Arm, Hop, Plan, fragment};
use crate::file::Protocol;

/// Parts of the configuration of an Envoy that may be many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// Clusters besides that of the origin.
    pub clusters: u64,
    /// Listeners besides that of the requests.
    pub listeners: u64,
    /// Routes besides the one that matches.
    pub routes: u64,
}

impl Hop {
    /// What its functions add to its configuration. Zero for a configuration of the user, and for other proxies.
    pub fn items(&self) -> Items {
        if self.functions.is_empty() {
            return Items::default();
        }
        let fragment = fragment(self);
        Items {
            clusters: count(&fragment.clusters),
            listeners: count(&fragment.listeners),
            routes: (fragment.routes.len() as u64).saturating_sub(1),
        }
    }
}

impl Arm {
    /// Whether it has origins of its own: in its network, or with flags of its functions.
    pub fn has_own_origins(&self) -> bool {
        self.network.is_some() || !self.application().is_empty()
    }
}

impl Plan {
    /// The number of origins that all arms without a network share: as many as the arm with most upstreams needs.
    pub fn shared_origins(&self) -> usize {
        let sharing = self.arms.iter().filter(|arm| arm.network.is_none());
        sharing.map(|arm| arm.upstreams).max().unwrap_or(1)
    }

    /// The number of origins of a round.
    pub fn origins(&self) -> usize {
        let own: usize = self.arms.iter().filter(|arm| arm.has_own_origins()).map(|arm| arm.upstreams).sum();
        let has_tcp = self.arms.iter().any(|arm| arm.conditions.protocol == Protocol::Tcp);
        let has_given = self.arms.iter().any(|arm| arm.chain.is_given());
        self.shared_origins() + own + usize::from(has_tcp) + usize::from(has_given)
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;
    use crate::file;

    fn plan(arms: &str) -> Plan {
        let text = format!("name: test\narms: [{arms}]\nloads: [{{name: a, loop: closed}}]\n");
        let (file, positions) = file::read("test.yaml", &text).unwrap();
        Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap()
    }

    #[test]
    fn the_items_of_a_configuration_are_counted() {
        let items = |function: &str| plan(&format!("baseline, '{function}'")).arms[1].chain.hops[0].items();
        let of = |clusters, listeners, routes| Items { clusters, listeners, routes };
        assert_eq!(items("configuration/clusters{clusters=3000}"), of(3_000, 0, 0));
        assert_eq!(items("configuration/listeners{listeners=20}"), of(0, 20, 0));
        assert_eq!(items("route/path{routes=500}"), of(0, 0, 499));
        assert_eq!(items("lua"), Items::default());
    }

    #[test]
    fn clones_and_networks_have_origins() {
        assert_eq!(plan("baseline, same").origins(), 1);
        assert_eq!(
            plan("baseline, {name: x, hops: [{name: front}, {name: sidecar, clones: 20}]}").origins(),
            20
        );
        let in_networks =
            "baseline, {name: near, network: {servers: host}}, {name: inside, network: {servers: container}}";
        assert_eq!(plan(in_networks).origins(), 3);
    }
}
