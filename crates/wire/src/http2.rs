//! HTTP/2 (RFC 9113): many requests at once on a connection, with header compression and flow control.
//!
//! [`Http2`] is the client's side, [`Server`] the other, for the origin. Of what is optional, priorities and pushes are left
//! out: the first say nothing to a server with one client, and the second are gone from the field.

mod client;
mod frame;
pub(crate) mod hpack;
mod huffman;
mod request;
mod server;
mod session;

pub use client::{Http2, Settings};
pub use frame::MAX_PAYLOAD_BYTES;
pub use hpack::TABLE_BYTES;
pub(crate) use request::Field;
pub use server::{Body, Head, Server, ServerEvent};

/// What a client's first bytes are.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Windows before any setting.
const FIRST_WINDOW_BYTES: i64 = 65_535;
/// The largest that a window may be.
const MAX_WINDOW_BYTES: u32 = 0x7fff_ffff;
/// Most bytes of a header block.
const MAX_BLOCK_BYTES: usize = 64 * 1024;
/// The error code of a stream that its side no longer wants.
const CANCEL: u32 = 8;

/// The names of error codes (RFC 9113, section 7), as results have them.
pub const ERROR_CODES: [&str; 14] = [
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
];
