//! The cost of a mesh in an existing Kubernetes cluster.
//!
//! The arms build on each other: the network of nodes, the pod network, each mesh, and functions of meshes. Each arm has its own namespace
//! with an origin and a caller, which is an agent of `hoptax load`. In each round, all arms have new pods and one slice of the same open
//! loop, in an order drawn for the round, and then one slice of a closed loop if maximum rates are measured. CPU time is that of the
//! proxies' containers, read from control groups by readers on their nodes, from the kubelets of the nodes, or from a Prometheus that
//! scrapes these. The result is that of a study.
//!
//! [`template`], [`plan`], [`source`], [`manifests`], [`used`], [`measured`], [`evidence`] and [`findings`] decide; `run`, behind the
//! feature `client`, communicates with the cluster. Without that feature, [`measure`] refuses.

pub mod evidence;
pub mod findings;
mod kept;
pub mod manifests;
pub mod measured;
pub mod plan;
#[cfg(feature = "client")]
mod run;
pub mod source;
mod target;
pub mod template;
pub mod used;

pub use kept::{MeasuredMesh, MeshSettings, measure};
