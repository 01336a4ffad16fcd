//! Runs a graph file of `hoptax predict size` as processes on this machine, and compares the use of its proxies with the prediction
//! ([`predict`] makes one alone).
//!
//! A graph file becomes a plan: proxies with their functions, services with their calls, and the requests of each ([`plan`]).
//! Every round starts all processes again, with proxies and without any, and visits both conditions in short slices ([`run`]), which
//! are trials of the runner ([`hoptax_run::runner::Live`]). Numbers, findings and the comparison with a prediction are functions of the
//! recorded rounds ([`summary`], [`check`]).

mod check;
pub mod file;
mod findings;
mod measure;
mod plan;
mod predicted;
mod run;
mod summary;

pub use measure::{GraphRunSettings, measure};
pub use predicted::{Predicted, PredictionSettings, predict};
pub use run::RunSpec;
