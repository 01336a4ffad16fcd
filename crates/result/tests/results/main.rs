//! The result types: how they are written and read, and what their functions say.
//!
//! They are no unit tests, since those would compile the whole crate, and all that its types derive, a second time.

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
mod freedoms;
mod interval;
mod known;
mod limits;
mod lint;
mod measures;
mod memory_per_connection;
mod newer;
mod numbers;
mod older;
mod parts;
mod plan;
mod prices;
mod published;
mod reasons;
mod received_bytes;
mod report;
mod shape;
mod shares;
mod speeds;
mod standing;
mod unless_zero;
mod usable;
mod version;
