//! The result types: how they are written and read, and what their functions say.
//!
//! They are no unit tests, since those would compile the whole crate, and all that its types derive, a second time. Some need the feature
//! `sample`, which the tests of other crates enable.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod answer;
mod arm;
mod book;
mod bound;
mod calibrated;
mod digits;
mod find;
mod finding;
mod interval;
#[cfg(feature = "sample")]
mod known;
mod limits;
mod lint;
mod measures;
mod memory_per_connection;
#[cfg(feature = "sample")]
mod newer;
mod numbers;
#[cfg(feature = "sample")]
mod older;
mod parts;
#[cfg(feature = "sample")]
mod plan;
mod published;
mod reasons;
mod received_bytes;
mod report;
mod speeds;
#[cfg(feature = "sample")]
mod standing;
mod unless_zero;
#[cfg(feature = "sample")]
mod usable;
mod version;
