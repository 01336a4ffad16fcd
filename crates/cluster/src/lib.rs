//! Takes dumps of Envoys in pods of a Kubernetes cluster, and runs agents in pods, through the API of the cluster.
//!
//! [`config_dump`] reads the pod, finds the port of Envoy's admin interface ([`pod`]), makes the API server forward it, and requests
//! `/config_dump`. Forwarding reaches an interface on the loopback of the pod without running anything in the pod.
//!
//! [`job`] has the manifests of agents, and reads the states of their pods; `client` makes their Job, forwards their ports, and removes it.
//! For the cost of a mesh, [`seen`] reads its pods, [`usage`] the CPU time of their containers in the metrics of kubelets, and [`prometheus`]
//! that in the answers of a Prometheus, which is behind a [`service`] or at a URL.
//!
//! Only `client` depends on the Kubernetes client library and opens sockets. It is behind the feature `client`; without it, [`config_dump`]
//! reports how to get a program that has it.

mod admin;
mod answer;
#[cfg(feature = "client")]
mod client;
mod described;
mod excerpt;
pub mod job;
mod name;
mod pod;
pub mod prometheus;
mod refused;
pub mod rights;
pub mod seen;
pub mod service;
pub mod usage;

use std::fmt;

pub use admin::Admin;
pub use answer::dump_of;
#[cfg(feature = "client")]
pub use client::{
    Cluster, PendingAgent, Prometheus, Removed, Running, config_dump, remove_left, remove_left_namespaces,
    selector, start_agents,
};
pub use described::Pod;
pub use name::{Namespace, PodName};
pub use refused::Refused;

/// The proxy to dump: its pod, and further settings of the user.
#[derive(Clone, Copy, Debug)]
pub struct DumpSource<'a> {
    /// The pod.
    pub pod: &'a PodName,
    /// The context of the kubeconfig; none for the current one.
    pub context: Option<&'a str>,
    /// The container of the proxy; none to recognise it by its name.
    pub container: Option<&'a str>,
    /// The port of Envoy's admin interface; none for the one stated in the pod.
    pub admin_port: Option<u16>,
}

/// The dump of a proxy in a pod.
#[derive(Clone, PartialEq, Eq)]
pub struct Dump {
    /// The answer of `/config_dump?include_eds`, unchanged. Envoy masks private keys and passwords in it, but no other secrets.
    pub text: String,
    /// The admin interface that answered.
    pub admin: Admin,
}

/// Shows only the length of the dump, which may contain secrets.
impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, admin } = self;
        write!(f, "Dump({} bytes, {admin:?})", text.len())
    }
}

/// Takes the dump of the proxy in a pod.
///
/// # Errors
/// Always: this build has no Kubernetes client.
#[cfg(not(feature = "client"))]
pub fn config_dump(source: &DumpSource<'_>) -> Result<Dump, Refused> {
    Err(Refused::NotBuilt { context: source.context.map(str::to_owned), pod: source.pod.clone() })
}
