//! The studies and the pages of this repository.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documents;
mod studies;
