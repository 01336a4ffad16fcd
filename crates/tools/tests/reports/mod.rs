//! Reports of other load generators: their counters, those of runs that failed, and numbers that cannot be true.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod failures;
mod impossible;
