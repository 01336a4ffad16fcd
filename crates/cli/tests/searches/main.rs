//! `hoptax find`, on servers whose capacity is known.
//!
//! A search measures response times, which many other tests beside it would spoil, so searches have a program of their own. It leaves
//! processors idle for most of the time: `make test` compiles and runs unit tests beside it, at idle priority.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod long;
mod search_of_arms;
mod search_of_server;

#[test]
fn every_file_of_this_folder_is_a_module_of_this_program() {
    support::assert_modules("searches", include_str!("main.rs"));
}
