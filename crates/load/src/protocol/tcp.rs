//! Bytes over TCP, with or without TLS.

use hoptax_wire::{ClientProtocol, Encoded, Hidden};

use super::{Content, Definition, Scheme};

pub(super) static TCP: Definition = Definition {
    name: "tcp",
    title: "TCP",
    schemes: &[Scheme { name: "tcp", is_secure: false }, Scheme { name: "tls", is_secure: true }],
    content: Content::Bytes,
    calls: None,
    has_streams: false,
    uses_quic: false,
    encode: |unencoded| Ok((Encoded::plain(unencoded.request.body.clone(), false), Hidden::default())),
    connection: |plan| ClientProtocol::Tcp { response_bytes: plan.response_bytes },
};
