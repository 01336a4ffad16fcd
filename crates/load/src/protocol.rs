//! The protocols of a load, and their names.

use std::fmt;
use std::str::FromStr;

/// The protocol of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
    /// gRPC over HTTP/2.
    Grpc,
    /// gRPC over HTTP/3.
    GrpcHttp3,
    /// TCP: echo of bytes.
    Tcp,
    /// WebSocket: echo of messages.
    WebSocket,
}

impl Protocol {
    /// Every protocol, for help texts and error messages.
    pub const ALL: &[Self] =
        &[Self::Http1, Self::Http2, Self::Http3, Self::Grpc, Self::GrpcHttp3, Self::Tcp, Self::WebSocket];

    /// Its name in flags and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Http3 => "http3",
            Self::Grpc => "grpc",
            Self::GrpcHttp3 => "grpc-http3",
            Self::Tcp => "tcp",
            Self::WebSocket => "websocket",
        }
    }

    /// Returns the protocols that a URL scheme allows, the default first, and true if it implies TLS.
    pub(crate) fn from_scheme(scheme: &str) -> Option<(&'static [Self], bool)> {
        Some(match scheme {
            "http" => (&[Self::Http1, Self::Http2, Self::Grpc], false),
            "https" => (&[Self::Http1, Self::Http2, Self::Http3, Self::Grpc, Self::GrpcHttp3], true),
            "grpc" => (&[Self::Grpc], false),
            "grpcs" => (&[Self::Grpc, Self::GrpcHttp3], true),
            "tcp" => (&[Self::Tcp], false),
            "tls" => (&[Self::Tcp], true),
            "ws" => (&[Self::WebSocket], false),
            "wss" => (&[Self::WebSocket], true),
            _ => return None,
        })
    }

    /// The protocol for a URL of this scheme. For gRPC schemes, the selected protocol only states the version of HTTP.
    pub(crate) fn for_scheme(self, scheme: &str) -> Self {
        match (scheme, self) {
            ("grpc" | "grpcs", Self::Http2) => Self::Grpc,
            ("grpc" | "grpcs", Self::Http3) => Self::GrpcHttp3,
            _ => self,
        }
    }

    /// True if requests are gRPC calls.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::GrpcHttp3)
    }

    /// True if it uses QUIC, and so UDP.
    pub fn uses_quic(self) -> bool {
        matches!(self, Self::Http3 | Self::GrpcHttp3)
    }

    /// True if a connection multiplexes requests.
    pub fn has_streams(self) -> bool {
        !matches!(self, Self::Http1 | Self::Tcp | Self::WebSocket)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|one| one.as_str() == text).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|one| format!("`{one}`")).collect();
            format!("`{text}` is not a protocol; use one of {}", words.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_a_name_and_a_scheme() {
        let schemes = ["http", "https", "grpc", "grpcs", "tcp", "tls", "ws", "wss"];
        for &protocol in Protocol::ALL {
            assert_eq!(protocol.as_str().parse(), Ok(protocol));
            assert!(schemes.iter().any(|scheme| {
                Protocol::from_scheme(scheme).is_some_and(|(allowed, is_secure)| {
                    allowed.contains(&protocol) && (is_secure || !protocol.uses_quic())
                })
            }));
        }
    }
}
