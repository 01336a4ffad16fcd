//! What Linux knows: processors and pinning, CPU and run-delay accounting, steal, child processes, the machine.
//!
//! Everything that reads `/proc` or asks the kernel for something out of the ordinary is here, so that the
//! rest of hoptax can be read without knowing Linux. The only `unsafe` of the workspace is in [`child`].

pub mod accounting;
pub mod ask;
pub mod child;
pub mod clock;
pub mod environment;
pub mod freeze;
pub mod handover;
pub mod limits;
pub mod link;
pub mod machine;
pub mod namespace;
pub mod parts;
pub mod pressure;
pub mod processors;
pub mod spinner;
pub mod wake;
