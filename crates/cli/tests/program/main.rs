//! The program as a user runs it: loads, searches, results and their formats. Loads go to an origin, most of them without Envoy.
//!
//! All tests of this folder are one program, because each program links the whole of hoptax. They run beside each other. What
//! disturbs the machine on purpose, or needs a process to itself, has a program of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod bodies;
mod collector;
mod crosscheck;
mod dns;
mod fortio;
mod http3;
mod interchange;
mod intervals;
mod load;
mod merge;
mod network;
mod protocols;
mod reference;
mod requests;
mod scale;
mod signals;
mod size;
mod store;
mod streams;
mod tables;

#[test]
fn every_file_of_this_folder_is_a_module_of_this_program() {
    support::assert_modules("program", include_str!("main.rs"));
}
