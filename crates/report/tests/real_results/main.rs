//! Outputs of results that were measured.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod price_list;
