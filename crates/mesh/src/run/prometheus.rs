//! A Prometheus that asks the kubelets, as a source of CPU times.

use std::collections::BTreeSet;

use hoptax_cluster::prometheus::Address;
use hoptax_cluster::{Cluster, Refused};

use super::placed::namespaces;
use crate::plan::Plan;
use crate::used::Poll;

/// The one that is asked, and the namespaces whose containers are kept.
#[derive(Clone, Debug)]
pub(super) struct Prometheus {
    asked: hoptax_cluster::Prometheus,
    namespaces: BTreeSet<String>,
}

impl Prometheus {
    pub(super) fn new(address: &Address, plan: &Plan) -> Self {
        Self { asked: hoptax_cluster::Prometheus::new(address.clone()), namespaces: namespaces(plan) }
    }

    /// Sees that it has CPU times of containers.
    pub(super) fn check(&mut self, cluster: &Cluster) -> Result<(), Refused> {
        self.asked.check(cluster)
    }

    /// Its newest readings.
    pub(super) fn poll(&mut self, cluster: &Cluster) -> Result<Poll, Refused> {
        let namespaces = self.namespaces.iter().map(String::as_str);
        let readings = self.asked.readings(cluster, namespaces)?;
        Ok(Poll { readings, is_late: true, ..Poll::default() })
    }
}
