//! Links, networks and control groups of a real kernel.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod link;
mod network;
#[path = "../outer/mod.rs"]
mod outer;
mod running;
