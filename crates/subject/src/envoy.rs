//! Envoy: which one, its configuration, and its process.

pub mod bootstrap;
pub mod process;
pub mod release;
