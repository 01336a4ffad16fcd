//! What is measured: the processes from the generator's socket to the origin, and how they are wired.

pub mod envoy;
