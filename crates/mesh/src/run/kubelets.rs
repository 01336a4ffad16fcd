//! The metrics of the kubelets, as a source of CPU times.

use std::collections::BTreeSet;

use hoptax_cluster::usage::readings;
use hoptax_cluster::{Cluster, Refused};

use super::placed::namespaces;
use crate::plan::Plan;
use crate::used::Poll;

/// The nodes to read, and the namespaces whose containers are kept.
#[derive(Clone, Debug)]
pub(super) struct Kubelets {
    nodes: Vec<String>,
    namespaces: BTreeSet<String>,
}

impl Kubelets {
    pub(super) fn new(plan: &Plan, nodes: Vec<String>) -> Self {
        Self { nodes, namespaces: namespaces(plan) }
    }

    /// The latest readings of all nodes.
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
