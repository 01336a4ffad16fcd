//! Samples of CPU time as `perf script` prints them: the layer of each, stacks in the folded format, and flame graphs. Pure: text
//! in, numbers and text out.

pub mod flame;
pub mod folded;
pub mod layers;
pub mod script;

pub use layers::{LAYERS, Layer, layer_of};
pub use script::{Frame, Sample, samples};
