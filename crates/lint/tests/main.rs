//! The rules on files of their own, and on arbitrary ones.
//!
//! All files of this folder are modules of the unit tests, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arbitrary;
mod rules;
