//! Runs a graph file of `hoptax predict size` as processes on this machine, and compares the use of its proxies with the prediction.
//!
//! A graph file becomes a plan: proxies with rendered functions, services with their calls, and the requests of each ([`plan`]).
//! Every round starts all processes again, with proxies and without any ([`processes`]), and visits both conditions in short slices
//! ([`run`]). Numbers, findings and the comparison with a prediction are functions of the recorded rounds ([`summary`], [`check`]).

mod check;
pub mod file;
mod findings;
mod measure;
mod plan;
mod processes;
mod proxy;
mod run;
mod summary;

pub use measure::{GraphRunSettings, GraphText, is_runnable, measure, read};
pub use run::RunSpec;
