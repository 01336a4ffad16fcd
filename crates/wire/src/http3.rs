//! HTTP/3 (RFC 9114) over QUIC: built with the feature `http3`, and young beside the other protocols.
//!
//! QUIC itself is that of quinn (`quinn-proto`), which knows nothing about sockets either; requests, answers and the
//! compression of header fields are here. [`Http3`] is the client's side, [`Server`] the other, for the origin. Of what is
//! optional, the dynamic table of header fields, pushes and priorities are left out: our settings say so.

mod answer;
mod client;
mod frame;
mod qpack;
mod quic;
mod server;

pub use answer::AnswerReader;
pub use client::{Http3, Setup};
pub use server::{Request, Server};

/// The name of the protocol in the negotiation of TLS (ALPN).
pub const ALPN: &[u8] = b"h3";
/// The error code of a stream that its side no longer wants (RFC 9114, section 8.1).
const REQUEST_CANCELLED: u32 = 0x10c;

/// The bytes of a request with these fields and this body, which are the same on every connection.
pub(crate) fn request(fields: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::put_headers(&mut bytes, fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if !body.is_empty() {
        frame::put_head(&mut bytes, frame::kind::DATA, body.len() as u64);
        bytes.extend_from_slice(body);
    }
    bytes
}

/// The code of HTTP/2 that is nearest to one of HTTP/3, so that both are counted by the same names.
fn code_of_http2(code: u64) -> u32 {
    match code {
        0x100 => 0,
        0x102 => 2,
        0x107 => 11,
        0x10b => 7,
        0x10c => 8,
        0x10f => 10,
        0x110 => 13,
        // Everything else is a rule that somebody broke.
        _ => 1,
    }
}
