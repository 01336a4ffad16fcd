//! Predicts the CPU time and memory of the proxies of a service graph from results of studies, and compares such predictions with
//! compositions that a study measured.
//!
//! A graph file becomes rates of requests by proxy ([`graph`], `flow`). The results become curves: CPU time per request over the
//! busy share of the processors, for plain proxies and for what functions add (`learn`). A prediction is a weighted sum of points
//! of these curves, so that its interval contains what the points share (`sum`).
//!
//! Nothing here reads a file or a clock.

mod arms;
mod check;
mod extrapolation;
mod flow;
pub mod graph;
mod learn;
mod predict;
mod proxy;
mod sum;

pub use check::{NoCheck, check};
pub use predict::{NoSize, size};

#[cfg(test)]
mod tests;
