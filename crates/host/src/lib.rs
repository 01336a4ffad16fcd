//! Linux interfaces: processors and pinning, CPU and run-delay accounting, steal, child processes, the machine probe.
//!
//! Code that reads `/proc` or uses uncommon system calls is in this crate. The only `unsafe` code of the workspace is in
//! [`child`].

pub mod accounting;
pub mod awake;
pub mod child;
pub mod clock;
pub mod command;
pub mod container_groups;
pub mod environment;
pub mod event_loops;
pub mod firewall;
pub mod freeze;
pub mod handover;
pub mod known_files;
pub mod limits;
pub mod link;
pub mod machine;
pub mod namespace;
pub mod network;
pub mod open_files;
pub mod parts;
pub mod pressure;
pub mod process_state;
pub mod processors;
pub mod reload;
pub mod reserved_port;
pub mod running;
pub mod sampler;
pub mod scoped;
pub mod service;
pub mod signals;
pub mod sockets;
pub mod spinner;
pub mod unassigned_port;
pub mod usable;
pub mod wake;

#[cfg(test)]
mod fixture;
