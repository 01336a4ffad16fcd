//! Listeners files, their problems, and the configurations that they become.
//!
//! All files of this folder are modules of the unit tests, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod catalogue;
mod functions;
mod names;
mod problems;
