//! Numbers of processes and configured items that a plan brings up in each round, for estimates of its time and its memory.

use hoptax_functions::count;
use hoptax_subject::application::Application;

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
    /// Returns the numbers of items that its functions add to its configuration. Zero for a configuration of the user, and for other
    /// proxies.
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
    /// Returns true if the arm has origins of its own: in its network, or with flags of its functions.
    pub fn has_own_origins(&self) -> bool {
        self.network.is_some() || !self.application_flags().is_empty()
    }
}

impl Plan {
    /// The applications that arms share, none being the origin, each with the number of its processes: as many as the arm with
    /// most upstreams needs.
    pub fn shared_applications(&self) -> Vec<(Option<&Application>, usize)> {
        let mut all: Vec<(Option<&Application>, usize)> = Vec::new();
        let is_shared = |arm: &&Arm| {
            let has_others = arm.external.is_some() || arm.chain.is_given();
            !arm.has_own_origins() && !has_others && arm.conditions.protocol != Protocol::Tcp
        };
        for arm in self.arms.iter().filter(is_shared) {
            match all.iter_mut().find(|(application, _)| *application == arm.application()) {
                Some((_, count)) => *count = (*count).max(arm.upstreams),
                None => all.push((arm.application(), arm.upstreams)),
            }
        }
        all
    }

    /// The number of origins for plain TCP, which the first byte does not distinguish from other protocols.
    pub fn tcp_origins(&self) -> usize {
        let arms = self.arms.iter().filter(|arm| arm.conditions.protocol == Protocol::Tcp);
        arms.map(|arm| arm.upstreams).max().unwrap_or(0)
    }

    /// Returns true if a given configuration presents a certificate to upstream servers that request one.
    pub fn presents_certificate(&self) -> bool {
        let given = self.arms.iter().flat_map(|arm| &arm.chain.hops).filter_map(|hop| hop.given.as_ref());
        let mut configurations = given.filter_map(|given| self.configurations.get(&given.path).ok());
        configurations.any(|one| one.adapted.files.presents_certificate)
    }

    /// The number of origins and applications of a round.
    pub fn origins(&self) -> usize {
        let shared: usize = self.shared_applications().iter().map(|(_, count)| count).sum();
        let own: usize = self.arms.iter().filter(|arm| arm.has_own_origins()).map(|arm| arm.upstreams).sum();
        let has_given = self.arms.iter().any(|arm| arm.chain.is_given());
        shared + own + self.tcp_origins() + usize::from(has_given)
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    fn plan(arms: &str) -> Plan {
        let text = format!("name: test\narms: [{arms}]\nloads: [{{name: a, loop: closed}}]\n");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap()
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
