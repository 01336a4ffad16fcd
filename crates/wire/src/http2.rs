//! HTTP/2 (RFC 9113): concurrent streams, header compression and flow control.
//!
//! [`Http2`] is the client side, [`Server`] the server side, for the origin. Of the optional features, priorities and
//! server push are omitted: priorities are meaningless to a server with a single client, and push is no longer in use.

mod client;
mod fields;
mod frame;
pub(crate) mod hpack;
mod huffman;
mod request;
mod server;
mod session;

pub use crate::server::{Body, Head, ServerEvent};
pub use client::{Http2, Settings};
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
