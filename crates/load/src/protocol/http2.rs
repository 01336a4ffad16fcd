//! HTTP/2, and the header fields that HTTP/3 and gRPC share with it.

use hoptax_wire::http1::{Request, expects_body};
use hoptax_wire::http2::Settings;
use hoptax_wire::{ClientProtocol, Encoded, Hidden};

use super::http1::{HTTP, HTTPS};
use super::{ConnectionPlan, Content, Definition, EncodeError, Protocol, Unencoded};

pub(super) static HTTP2: Definition = Definition {
    name: "http2",
    title: "HTTP/2",
    schemes: &[HTTP, HTTPS],
    content: Content::Requests,
    calls: Some(Protocol::Grpc),
    has_streams: true,
    uses_quic: false,
    encode: |unencoded| encode(unencoded, defaults(&unencoded.request)),
    connection,
};

/// Connections of HTTP/2.
pub(super) fn connection(plan: &ConnectionPlan) -> ClientProtocol {
    ClientProtocol::Http2(Settings::with_streams(plan.streams))
}

/// Encodes a request with these default header fields.
pub(super) fn encode(
    unencoded: &Unencoded,
    defaults: Vec<(String, String)>,
) -> Result<(Encoded, Hidden), EncodeError> {
    let fields = fields(unencoded, defaults)?;
    Ok((Encoded::http2(&fields, &unencoded.request.body), Hidden::default()))
}

/// A header field.
pub(super) fn field(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// The default header fields of a request that is not a gRPC call.
pub(super) fn defaults(request: &Request) -> Vec<(String, String)> {
    let has_length = !request.body.is_empty() || expects_body(&request.method);
    Vec::from_iter(has_length.then(|| field("content-length", request.body.len().to_string())))
}

/// The header fields of a request, pseudo-headers first. A header of the request replaces the default of the same name and may occur
/// several times.
pub(super) fn fields(
    unencoded: &Unencoded,
    mut defaults: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, EncodeError> {
    let Unencoded { request, is_secure, .. } = unencoded;
    // The restrictions of HTTP/1.1 on the request apply to later versions as well.
    request.encode()?;
    let (mut host, mut given) = (request.host.clone(), Vec::new());
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "host" => host.clone_from(value),
            "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {
                return Err(EncodeError::Header { name });
            }
            _ => given.push((name, value.trim().to_owned())),
        }
    }
    defaults.retain(|(name, _)| given.iter().all(|(other, _)| other != name));
    let mut fields = vec![
        field(":method", request.method.clone()),
        field(":scheme", if *is_secure { "https" } else { "http" }),
        field(":authority", host),
        field(":path", request.target.clone()),
    ];
    fields.append(&mut defaults);
    fields.append(&mut given);
    Ok(fields)
}
