//! Sans-I/O protocol implementations, without sockets or clocks.
//!
//! The load engine owns the sockets. A [`Client`] encodes requests to bytes and interprets received bytes, with the
//! same interface for every protocol, with or without [`tls`]. Server sides exist for the origin where client and
//! server share code.

mod body;
mod client;
mod cookies;
mod encoded;
mod error_codes;
mod field;
mod fields;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod http3;
mod malformed;
mod number;
pub mod proto;
pub mod proxy_protocol;
mod request_flags;
mod response;
mod server;
mod tcp;
pub mod tls;
pub mod websocket;

pub use body::{ExpectedBody, ExpectedJson};
pub use client::{Client, ClientProtocol};
pub use encoded::{Encoded, Hidden};
pub use error_codes::{ERROR_CODES, STREAM_RESETS};
pub use malformed::{Malformed, Truncated};
pub use request_flags::RequestFlags;
pub use response::{Event, ExpectedHeader, Loss, ProtocolError, QuicError, Response};
pub use tcp::Tcp;
