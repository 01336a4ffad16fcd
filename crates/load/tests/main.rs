//! Trials of the engine against servers of the test.
//!
//! All files of this folder are one program, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod by_request;
mod connections;
mod ends;
mod engine;
mod handed_back;
mod limits;
mod network;
mod phases;
mod recompute;
mod secure;
mod support;
mod traffic;
