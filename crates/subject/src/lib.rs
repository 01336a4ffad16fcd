//! What is measured: processes, and how they are wired together.
//!
//! Everything started here listens on loopback, on a port that the kernel chose, and ends with hoptax, however
//! hoptax ends (see [`hoptax_host::child`]).

pub mod envoy;
pub mod front;
pub mod lab;
pub mod origin;
