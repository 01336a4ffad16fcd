//! Predicts the CPU time and memory of the proxies of a service graph from results of studies, and compares such predictions with
//! compositions that a study measured.
//!
//! A graph file becomes rates of requests by proxy ([`graph`], `flow`). The results become curves: CPU time per request over the busy share
//! of the processors, for plain proxies and for the additions of functions (`learn`). A prediction is a weighted sum of points of these
//! curves, so that its interval includes the errors that the points share (`sum`). New connections cost additional CPU time
//! (`connections`). Proxies that share processors cost each other CPU time (`sharing`), so their busy shares are solved for all proxies
//! together (`busy`).
//!
//! The times that proxies add to responses are also curves, of whole distributions (`times`). A simulation of requests through the graph
//! combines them (`walk`, `latency`).
//!
//! Nothing here reads a file or a clock.

mod arms;
mod busy;
mod check;
mod check_response;
mod connections;
mod extrapolation;
mod flow;
pub mod graph;
pub mod import;
mod interpolation;
mod items;
mod kubernetes_resources;
mod latency;
mod learn;
mod measured_at;
mod memory;
mod money;
mod predict;
mod proxy;
mod saved;
mod sharing;
mod simulation;
mod sum;
mod times;
mod walk;

pub use busy::Processors;
pub use check::{SizeCheckError, check};
pub use flow::requests_by_proxy;
pub use money::{HOURS_PER_MONTH, Prices, money};
pub use predict::{SizeError, size, size_on};
