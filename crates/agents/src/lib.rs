//! One load from many machines.
//!
//! An [`agent`] listens and sends a share of a load. The [`controller`] connects to all agents, compares their clocks, gives each its share
//! of one plan, starts all at one instant, and merges their reports. A share is every `n`-th request of one schedule
//! ([`hoptax_load::Share`]). The result is that of `hoptax load`, with the agents in addition. The stream between the two is of any kind: a
//! connection, or a port that Kubernetes forwards. The decisions of both sides are functions of values; I/O is in `agent`, `agent::serve`,
//! `agent::engine`, `controller` and `controller::driver`.
//!
//! Agents may be pods of a cluster, which `hoptax_cluster` makes: [`PodNeeds`] is what a load needs of them. A [`reader`] listens on a node
//! of a cluster, and reads CPU times of containers for the measurement of a mesh.

pub mod agent;
mod clock;
pub mod controller;
mod frame;
pub mod message;
mod planned;
mod pods;
pub mod reader;

pub use planned::{PlannedShare, SentLoad};
pub use pods::PodNeeds;
