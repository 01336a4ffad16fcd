//! HTTP/3 (RFC 9114) over QUIC.
//!
//! QUIC is implemented by quinn (`quinn-proto`), which is sans-I/O too; this module implements requests, responses and
//! header compression. [`Http3`] is the client side, [`Server`] the server side, for the origin. Of the optional
//! features, the dynamic table, server push and priorities are omitted, as our settings state.

mod client;
mod frame;
mod qpack;
mod quic;
mod request;
mod response;
mod server;

use crate::encoded::Encoded;
pub use client::{Http3, Setup};
pub use request::RequestId;
pub use response::ResponseReader;
pub use server::Server;

/// The ALPN name.
pub const ALPN: &[u8] = b"h3";
/// The error code `H3_NO_ERROR` (RFC 9114, section 8.1).
const NO_ERROR: u32 = 0x100;
/// The error code `H3_REQUEST_CANCELLED` (RFC 9114, section 8.1).
const REQUEST_CANCELLED: u32 = 0x10c;

impl Encoded {
    /// An HTTP/3 request with these fields and this body, which is the same on every connection.
    pub fn http3<T: AsRef<str>>(fields: &[(T, T)], body: &[u8], is_head: bool) -> Self {
        let mut bytes = Vec::new();
        frame::put_headers(&mut bytes, fields.iter().map(|(name, value)| (name.as_ref(), value.as_ref())));
        if !body.is_empty() {
            frame::put_head(&mut bytes, frame::kind::DATA, body.len() as u64);
        }
        let body_from = bytes.len();
        bytes.extend_from_slice(body);
        Self { body_from, ..Self::plain(bytes, is_head) }
    }
}

/// Maps an HTTP/3 error code to the closest one of HTTP/2, so that both are counted under the same names.
fn code_of_http2(code: u64) -> u32 {
    match code {
        0x100 => 0,
        0x102 => 2,
        0x107 => 11,
        0x10b => 7,
        0x10c => 8,
        0x10f => 10,
        0x110 => 13,
        // All others are protocol errors.
        _ => 1,
    }
}
