//! HTTP/1.1, the default of its schemes.

use hoptax_wire::{ClientProtocol, Encoded, Hidden};

use super::{Content, Definition, Scheme};

/// Scheme of HTTP.
pub(super) const HTTP: Scheme = Scheme { name: "http", is_secure: false };
/// Scheme of HTTP over TLS or QUIC.
pub(super) const HTTPS: Scheme = Scheme { name: "https", is_secure: true };

pub(super) static HTTP1: Definition = Definition {
    name: "http1",
    title: "HTTP/1.1",
    schemes: &[HTTP, HTTPS],
    content: Content::Requests,
    calls: None,
    has_streams: false,
    uses_quic: false,
    encode: |unencoded| Ok((Encoded::http1(&unencoded.request)?, Hidden::default())),
    connection: |_| ClientProtocol::Http1,
};
