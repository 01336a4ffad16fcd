//! The metrics of the kubelets, as a source of CPU times.

use std::collections::BTreeSet;

use hoptax_cluster::usage::readings;
use hoptax_cluster::{Cluster, Refused};

use crate::plan::Plan;
use crate::used::Poll;

/// The nodes that are asked, and the namespaces whose containers are kept.
#[derive(Clone, Debug)]
pub(super) struct Kubelets {
    nodes: Vec<String>,
    namespaces: BTreeSet<String>,
}

impl Kubelets {
    pub(super) fn new(plan: &Plan, nodes: Vec<String>) -> Self {
        let own = plan.arms.iter().map(|arm| arm.namespace.as_str());
        let shared = plan.arms.iter().flat_map(|arm| &arm.template.shared);
        let namespaces = own.chain(shared.map(|shared| shared.namespace.as_str()));
        Self { nodes, namespaces: namespaces.map(str::to_owned).collect() }
    }

    /// The last readings of all nodes.
    pub(super) fn poll(&self, cluster: &Cluster) -> Result<Poll, Refused> {
        let mut poll = Poll::default();
        for node in &self.nodes {
            let path = format!("/api/v1/nodes/{node}/proxy/metrics/cadvisor");
            let metrics = cluster.text(&path, &format!("show the metrics of node `{node}`"))?;
            let kept = readings(&metrics).into_iter();
            poll.readings.extend(kept.filter(|(one, _)| self.namespaces.contains(&one.namespace)));
        }
        Ok(poll)
    }
}
