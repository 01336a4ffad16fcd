//! Studies on real Envoy: their subjects, their parts, how they end, and the commands that run studies of their own.
//!
//! All tests of this folder are one program, because each program links the whole of hoptax. They run beside each other, and begin in
//! the order of their names: those that wait long should not be the last. A test that disturbs the machine on purpose, or needs a process to
//! itself, has a program of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod chain;
mod commands;
mod compare;
mod composition;
mod configurations;
mod container;
mod courses;
mod envoy;
mod external;
mod forms;
mod function_unloading;
mod gate;
mod gate_in_ci;
mod given;
mod graph_run;
mod link;
mod lint;
mod lint_faults;
mod lint_mended;
mod listeners;
mod listeners_check;
mod listeners_run;
mod listeners_service;
mod listeners_slow;
mod long;
mod mechanisms;
mod networks;
mod price;
mod price_secrets;
mod prices;
mod resume;
mod served;
mod sittings;
mod smoke;
mod study;
mod thresholds;
