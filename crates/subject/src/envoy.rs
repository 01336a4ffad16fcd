//! Envoy: its release, its configuration, and its process.

pub mod bootstrap;
pub mod chosen;
pub mod given;
pub mod process;
pub mod release;
pub mod shared_memory;
