//! The public interface of the protocols: clients and servers against each other, and parsers on bytes of unknown peers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http2;
mod http2_flood;
mod response;
mod response_properties;
