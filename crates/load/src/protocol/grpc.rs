//! gRPC, over HTTP/2 and over HTTP/3.

use super::http1::{HTTP, HTTPS};
use super::http2::field;
use super::{Content, Definition, Scheme, Unencoded, http2, http3};

/// Scheme of gRPC without TLS.
const GRPC_PLAIN: Scheme = Scheme { name: "grpc", is_secure: false };
/// Scheme of gRPC over TLS or QUIC.
const GRPC_SECURE: Scheme = Scheme { name: "grpcs", is_secure: true };

pub(super) static GRPC: Definition = Definition {
    name: "grpc",
    title: "gRPC",
    schemes: &[GRPC_PLAIN, GRPC_SECURE, HTTP, HTTPS],
    content: Content::Calls,
    calls: None,
    has_streams: true,
    uses_quic: false,
    encode: |unencoded| http2::encode(unencoded, defaults(unencoded)),
    connection: http2::connection,
};

pub(super) static GRPC_HTTP3: Definition = Definition {
    name: "grpc-http3",
    title: "gRPC over HTTP/3",
    schemes: &[GRPC_SECURE, HTTPS],
    content: Content::Calls,
    calls: None,
    has_streams: true,
    uses_quic: true,
    encode: |unencoded| http3::encode(unencoded, defaults(unencoded)),
    connection: http3::connection,
};

/// The default header fields of a call.
fn defaults(unencoded: &Unencoded) -> Vec<(String, String)> {
    let mut fields = vec![field("content-type", "application/grpc"), field("te", "trailers")];
    if let Some(deadline) = unencoded.deadline {
        // At most eight digits (gRPC over HTTP/2, "Timeout").
        fields.push(field("grpc-timeout", format!("{}m", deadline.as_millis().clamp(1, 99_999_999))));
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hoptax_wire::http1::Request;

    use super::*;

    #[test]
    fn repeated_headers_are_kept_and_replace_defaults() {
        let given = [("X-A", "1"), ("Content-Type", "a/b"), ("x-a", "2"), ("Host", "other")];
        let headers = given.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let request = Request {
            method: "POST".to_owned(),
            target: "/".to_owned(),
            host: "a".to_owned(),
            headers,
            body: Vec::new(),
        };
        let mut unencoded = Unencoded { request, is_secure: false, deadline: None };
        let fields = |unencoded: &Unencoded| -> Vec<String> {
            let fields = http2::fields(unencoded, defaults(unencoded)).unwrap();
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        assert_eq!(
            fields(&unencoded)[2..],
            [":authority=other", ":path=/", "te=trailers", "x-a=1", "content-type=a/b", "x-a=2"]
        );
        unencoded.deadline = Some(Duration::from_secs(2));
        assert_eq!(fields(&unencoded)[5], "grpc-timeout=2000m");
    }
}
