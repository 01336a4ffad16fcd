//! HTTP/3.

use hoptax_wire::http3::Setup;
use hoptax_wire::{ClientProtocol, Encoded, Hidden};

use super::http1::HTTPS;
use super::{ConnectionPlan, Content, Definition, EncodeError, Protocol, Unencoded, http2};

pub(super) static HTTP3: Definition = Definition {
    name: "http3",
    title: "HTTP/3",
    schemes: &[HTTPS],
    content: Content::Requests,
    calls: Some(Protocol::GrpcHttp3),
    has_streams: true,
    uses_quic: true,
    encode: |unencoded| encode(unencoded, http2::defaults(&unencoded.request)),
    connection,
};

/// Connections of HTTP/3. Each gets its own address and TLS settings when it is opened.
pub(super) fn connection(plan: &ConnectionPlan) -> ClientProtocol {
    ClientProtocol::Http3(Setup { streams: plan.streams, address: plan.address, security: None })
}

/// Encodes a request with these default header fields.
pub(super) fn encode(
    unencoded: &Unencoded,
    defaults: Vec<(String, String)>,
) -> Result<(Encoded, Hidden), EncodeError> {
    let (fields, request) = (http2::fields(unencoded, defaults)?, &unencoded.request);
    Ok((Encoded::http3(&fields, &request.body, request.method == "HEAD"), Hidden::default()))
}
