//! The processes under measurement, and the connections between them.
//!
//! All processes started here listen on loopback, on a port chosen by the kernel. They end with hoptax, however hoptax ends (see
//! [`hoptax_host::child`]).

pub mod application;
pub mod caller;
pub mod digest;
pub mod envoy;
pub mod front;
pub mod lab;
#[cfg(test)]
mod named_proxy;
pub mod origin;
mod placeholders;
pub mod program;
