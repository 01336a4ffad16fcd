//! The cost of a mesh in a cluster of Kubernetes that the user already has.
//!
//! Arms are rungs: the network of nodes, that of pods, each mesh, and functions of meshes. Each has a namespace of its own, with an origin
//! and a caller, which is an agent of `hoptax load`. In each round all have new pods, and one slice of the same open loop each, in an order of
//! its own. CPU time is that of the containers of proxies, as readers on their nodes read it from control groups, as the kubelets of the
//! nodes do, or as a Prometheus has it from these. The result is that of a study.
//!
//! [`template`], [`plan`], [`source`], [`manifests`], [`used`], [`measured`], [`evidence`] and [`findings`] decide; `run`, behind the feature
//! `client`, sends.

pub mod evidence;
pub mod findings;
pub mod manifests;
pub mod measured;
pub mod plan;
#[cfg(feature = "client")]
mod run;
pub mod source;
mod target;
pub mod template;
pub mod used;

#[cfg(feature = "client")]
pub use run::measure;
