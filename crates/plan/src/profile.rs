//! Profiles of a proxy from the records of perf: samples of CPU time with the layer of each, stacks in the folded format, flame graphs,
//! trees of frames, and top-down counters. Text in, numbers and text out.

pub mod flame;
pub mod folded;
pub mod layers;
pub mod script;
pub mod top_down;
pub mod tree;

pub use layers::layer_of;
pub use script::{Frame, Sample, samples};

#[cfg(test)]
mod tests;
