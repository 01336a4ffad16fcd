//! Arms with a name and a chain of proxies.

use hoptax_functions::Component;
use hoptax_host::network::NetworkSpec;

use super::super::chain::Hop;
use super::super::hops;
use super::super::points::Requested;
use super::super::{Placed, network};
use super::{Named, Planned, cannot_be_unloaded, placed};
use crate::file::{ApplicationEntry, ChainEntry, LabelledNetwork};

impl Planned<'_> {
    /// Adds the arms of a chain of proxies, one for each combination of conditions and networks. Returns the problems of the
    /// entry with their places.
    pub(super) fn chain(&mut self, index: usize, entry: &ChainEntry, pointer: &str) -> Vec<(String, String)> {
        if let Some(duplicate) = self.taken(index, &entry.name) {
            return placed(pointer, vec![duplicate]);
        }
        let found = hops::resolve(entry, self.catalogue, self.configurations, pointer);
        let (resolved, networks) = match (found, networks(entry, pointer)) {
            (Ok(resolved), Ok(networks)) => (resolved, networks),
            (resolved, networks) => {
                return [resolved.err(), networks.err()].into_iter().flatten().flatten().collect();
            }
        };
        let mut problems = Vec::new();
        let at = entry.at.with_protocol(entry.protocol).unwrap_or_else(|message| {
            problems.push((format!("{pointer}/protocol"), message));
            entry.at.clone()
        });
        let own = entry.application.as_ref().map(ApplicationEntry::plan);
        let application = own.unwrap_or_else(|| Ok(self.application.clone())).unwrap_or_else(|message| {
            problems.push((format!("{pointer}/application"), message));
            None
        });
        let without_proxy = [
            ("compared_with", entry.compared_with.is_some()),
            ("network", entry.network.is_some()),
            ("unloaded", entry.unloaded),
        ];
        for (key, _) in without_proxy.iter().filter(|(_, is_set)| *is_set && resolved.chain.hops.is_empty()) {
            let message = format!("`{key}` does not apply without a proxy: remove it, or add `hops`");
            problems.push((format!("{pointer}/{key}"), message));
        }
        if entry.unloaded && !resolved.chain.hops.is_empty() {
            problems.extend(placed(&format!("{pointer}/unloaded"), problems_of_unloading(&resolved)));
        }
        if !problems.is_empty() {
            return problems;
        }
        let mut messages = Vec::new();
        for requested in self.possible(&at, application.as_ref()) {
            for network in &networks {
                let added = self.chain_in(network.as_ref(), index, entry, &resolved, &requested);
                messages.extend(added.err().into_iter().flatten());
            }
        }
        placed(pointer, messages)
    }

    /// Adds the arm of an entry in one network, under one combination of conditions.
    fn chain_in(
        &mut self,
        network: Option<&LabelledNetwork>,
        index: usize,
        entry: &ChainEntry,
        resolved: &hops::Resolved,
        requested: &Requested,
    ) -> Result<(), Vec<String>> {
        let label = network.map(|network| network.label.as_str()).unwrap_or_default();
        let name = if label.is_empty() { entry.name.clone() } else { format!("{}{{{label}}}", entry.name) };
        let spec: Option<NetworkSpec> = network.map(|network| network.spec);
        let summary = [Some(hops::summary(entry)), spec.as_ref().map(network::in_words)];
        let summary = summary.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if resolved.chain.hops.is_empty() {
            return self.direct(&name, summary, requested, index);
        }
        let compared_with = entry.compared_with.as_deref();
        let named = Named { entry: Some(index), is_unloaded: entry.unloaded, compared_with, network: spec };
        self.with_functions(&name, summary, resolved.clone(), requested, named)
    }
}

/// Returns the reasons why functions of these proxies cannot be removed again.
fn problems_of_unloading(resolved: &hops::Resolved) -> Vec<String> {
    if resolved.functions.is_empty() {
        return vec!["no proxy has a function that could be removed: add `functions`".to_owned()];
    }
    let of_hop = |hop: &Hop| {
        let given = hop
            .given
            .as_ref()
            .map(|given| format!("`{}` has a `config`, whose functions cannot be removed", given.path));
        // Functions of the catalogue were rendered when it was loaded.
        let obstacle = |component: &Component| {
            let reason = component.function.obstacle_to_unloading(&component.knobs).ok().flatten()?;
            Some(cannot_be_unloaded(&component.name, &reason))
        };
        let of_functions: Vec<String> = hop.functions.components().iter().filter_map(obstacle).collect();
        given.into_iter().chain(of_functions)
    };
    resolved.chain.hops.iter().flat_map(of_hop).collect()
}

/// The networks of an entry, whose place in the file is `pointer`; one absent network without any.
fn networks(entry: &ChainEntry, pointer: &str) -> Result<Vec<Option<LabelledNetwork>>, Placed> {
    let Some(section) = &entry.network else { return Ok(vec![None]) };
    let place = |(key, message)| (format!("{pointer}/network/{key}"), message);
    let networks = section.plan().map_err(|found| found.into_iter().map(place).collect::<Placed>())?;
    Ok(networks.into_iter().map(Some).collect())
}
