//! Runs a graph file of `hoptax predict size` as processes on this machine, and compares what its proxies use with the prediction.
//!
//! A graph file becomes a plan: proxies with rendered functions, services with their calls, and the requests of each ([`plan`]).
//! Every round starts all processes again, with proxies and without any ([`Setting`]), and visits both conditions in short slices
//! ([`run()`]). [`measure()`] does all of it for a command. Numbers, findings and the comparison with a prediction are functions of the recorded rounds ([`summary`], [`check`]).

pub mod check;
pub mod file;
mod findings;
mod measure;
pub mod plan;
mod processes;
mod proxy;
mod run;
pub mod summary;

pub use measure::{GraphText, Wanted, measure, names, read};
pub use processes::{GraphError, Setting};
pub use run::{CONNECTIONS, Event, RunSpec, WARMUP, run};
