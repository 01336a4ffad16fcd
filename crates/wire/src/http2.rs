//! HTTP/2 (RFC 9113): concurrent streams, header compression and flow control.
//!
//! [`Http2`] is the client side, [`Server`] the server side, for the origin. Of the optional features, priorities and
//! server push are omitted: priorities are meaningless to a server with a single client, and push is no longer in use.

mod client;
mod field;
mod fields;
mod frame;
pub(crate) mod hpack;
mod huffman;
mod request;
mod server;
mod session;

pub use crate::server::{Body, Head, ServerEvent};
pub use client::{Http2, Settings};
pub(crate) use field::Field;
pub use frame::MAX_PAYLOAD_BYTES;
pub use hpack::TABLE_BYTES;
pub use server::Server;

/// The client's connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The initial window size before any setting.
const FIRST_WINDOW_BYTES: i64 = 65_535;
/// The largest window size.
const MAX_WINDOW_BYTES: u32 = 0x7fff_ffff;
/// Maximum size of a header block: that of a head of HTTP/1.1.
const MAX_BLOCK_BYTES: usize = crate::http1::MAX_HEAD_BYTES;
/// The error code `NO_ERROR`.
const NO_ERROR: u32 = 0;
/// The error code `REFUSED_STREAM`.
pub(crate) const REFUSED_STREAM: u32 = 7;
/// The error code `PROTOCOL_ERROR`.
const PROTOCOL_ERROR: u32 = 1;
/// The error code CANCEL.
const CANCEL: u32 = 8;

/// Defines both lists from one, as `concat!` takes only literals.
macro_rules! error_codes {
    ($($name:literal,)*) => {
        /// The names of error codes (RFC 9113, section 7), as in results.
        pub const ERROR_CODES: &[&str] = &[$($name),*];
        /// The names of stream resets by error code, as failures are named in results.
        pub const STREAM_RESETS: &[&str] = &[$(concat!("stream-reset-", $name)),*];
    };
}

error_codes! {
    "no-error",
    "protocol-error",
    "internal-error",
    "flow-control-error",
    "settings-timeout",
    "stream-closed",
    "frame-size-error",
    "refused-stream",
    "cancel",
    "compression-error",
    "connect-error",
    "enhance-your-calm",
    "inadequate-security",
    "http-1-1-required",
}
