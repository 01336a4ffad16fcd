//! The server as its clients see it: who may ask, where loads may go, and what becomes of a job. Most requests go to the router in this
//! process, without a socket; loads go to an origin on loopback.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compare;
mod connections;
mod dashboard;
mod kinds;
mod labels;
mod loads;
mod pages;
mod runs;
mod security;
mod strangers;
mod support;
