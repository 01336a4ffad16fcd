//! Predictions on results whose truth is known, and properties of converted lists.
//!
//! They call public functions alone, and are not unit tests: here, the code that simulates is optimized, and that of the tests is not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod prices_properties;
mod size;
