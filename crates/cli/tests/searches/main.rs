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
