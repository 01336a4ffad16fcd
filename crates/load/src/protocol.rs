//! The protocols of a load: one file for each, and the list of them.
//!
//! Definitions are read when requests are encoded and connections are planned. Requests that are sent never look at them.

mod grpc;
mod http1;
mod http2;
mod http3;
mod tcp;
mod websocket;

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use hoptax_wire::http1::{Request, RequestError};
use hoptax_wire::{ClientProtocol, Encoded, Hidden};
use thiserror::Error;

/// Makes the protocol, and the list of all, from the names of protocols and their definitions.
macro_rules! protocols {
    ($($(#[$attribute:meta])* $protocol:ident: $definition:path;)*) => {
        /// The protocol of a load.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Protocol {
            $($(#[$attribute])* $protocol,)*
        }

        impl Protocol {
            /// Every protocol, for help texts and error messages.
            pub const ALL: &[Self] = &[$(Self::$protocol),*];

            fn definition(self) -> &'static Definition {
                match self {
                    $(Self::$protocol => &$definition,)*
                }
            }
        }
    };
}

// The order in which texts list them. The first protocol of a scheme is its default.
protocols! {
    /// HTTP/1.1.
    #[default]
    Http1: http1::HTTP1;
    /// HTTP/2.
    Http2: http2::HTTP2;
    /// HTTP/3.
    Http3: http3::HTTP3;
    /// gRPC over HTTP/2.
    Grpc: grpc::GRPC;
    /// gRPC over HTTP/3.
    GrpcHttp3: grpc::GRPC_HTTP3;
    /// TCP: echo of bytes.
    Tcp: tcp::TCP;
    /// WebSocket: echo of messages.
    WebSocket: websocket::WEBSOCKET;
}

/// What requests of a protocol are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Requests of HTTP, with a method, headers and cookies.
    Requests,
    /// gRPC calls.
    Calls,
    /// Messages, never empty, on a connection that begins with an upgrade of HTTP. URL and headers belong to the upgrade.
    Messages,
    /// Bytes, at least one, without a method, headers or credentials.
    Bytes,
}

/// A protocol.
struct Definition {
    /// Its name in flags and results.
    name: &'static str,
    /// Its name in a sentence.
    title: &'static str,
    /// The schemes of its URLs, its own before those that it shares.
    schemes: &'static [Scheme],
    content: Content,
    /// The protocol of gRPC calls over it.
    calls: Option<Protocol>,
    /// True if a connection multiplexes requests.
    has_streams: bool,
    /// True if it uses QUIC, and so UDP.
    uses_quic: bool,
    /// Encodes a request, and the upgrade that starts its connection; that is empty for protocols without one.
    encode: fn(&Unencoded) -> Result<(Encoded, Hidden), EncodeError>,
    connection: fn(&ConnectionPlan) -> ClientProtocol,
}

/// A scheme of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scheme {
    name: &'static str,
    /// True if it implies TLS.
    is_secure: bool,
}

/// A request before it is encoded for a protocol.
#[derive(Debug)]
pub(crate) struct Unencoded {
    pub(crate) request: Request,
    /// True if it is sent over TLS.
    pub(crate) is_secure: bool,
    /// The deadline of a gRPC call.
    pub(crate) deadline: Option<Duration>,
}

/// Properties of the connections of a load.
#[derive(Debug)]
pub(crate) struct ConnectionPlan {
    /// Concurrent requests on each, at least one.
    pub(crate) streams: u32,
    /// Size of a response in bytes, for protocols that do not delimit responses.
    pub(crate) response_bytes: u64,
    /// The server of the first request.
    pub(crate) address: SocketAddr,
}

/// Reason why a request cannot be encoded.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// A connection-specific header, which HTTP/2 does not allow.
    #[error(
        "the header `{name}` cannot be sent with HTTP/2: it is specific to a connection of HTTP/1.1; remove it, or use \
         --protocol http1"
    )]
    Header {
        /// Its name.
        name: String,
    },
    /// The request is invalid.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Protocol {
    /// Its name in flags and results.
    pub fn as_str(self) -> &'static str {
        self.definition().name
    }

    /// Its name in a sentence.
    pub fn title(self) -> &'static str {
        self.definition().title
    }

    /// What its requests are.
    pub fn content(self) -> Content {
        self.definition().content
    }

    /// True if requests are gRPC calls.
    pub fn is_grpc(self) -> bool {
        self.content() == Content::Calls
    }

    /// True if it uses QUIC, and so UDP.
    pub fn uses_quic(self) -> bool {
        self.definition().uses_quic
    }

    /// True if a connection multiplexes requests.
    pub fn has_streams(self) -> bool {
        self.definition().has_streams
    }

    /// True if URLs with this scheme allow it.
    pub fn has_scheme(self, name: &str) -> bool {
        self.scheme(name).is_some()
    }

    /// Its usual scheme with or without TLS; the other one if it has only that.
    pub fn usual_scheme(self, is_secure: bool) -> &'static str {
        let schemes = self.definition().schemes;
        let wanted = schemes.iter().find(|scheme| scheme.is_secure == is_secure);
        wanted.or(schemes.first()).map_or("", |scheme| scheme.name)
    }

    /// All schemes, in the order of the protocols.
    pub(crate) fn schemes() -> Vec<&'static str> {
        let mut names = Vec::new();
        for scheme in Self::ALL.iter().flat_map(|protocol| protocol.definition().schemes) {
            if !names.contains(&scheme.name) {
                names.push(scheme.name);
            }
        }
        names
    }

    /// Returns the protocols that a URL scheme allows, the default first, and true if it implies TLS.
    pub(crate) fn from_scheme(name: &str) -> Option<(Vec<Self>, bool)> {
        let allowed: Vec<Self> = Self::ALL.iter().copied().filter(|one| one.has_scheme(name)).collect();
        let is_secure = allowed.first()?.scheme(name)?.is_secure;
        Some((allowed, is_secure))
    }

    /// The protocol of requests if this one is selected and a URL allows these: for URLs of gRPC, it may only state the version of HTTP.
    pub(crate) fn among(self, allowed: &[Self]) -> Option<Self> {
        [Some(self), self.definition().calls].into_iter().flatten().find(|one| allowed.contains(one))
    }

    /// Encodes a request, and the upgrade that starts its connection; that is empty for protocols without one.
    ///
    /// # Errors
    /// When the request is invalid, or the protocol cannot send a part of it.
    pub(crate) fn encode(self, unencoded: &Unencoded) -> Result<(Encoded, Hidden), EncodeError> {
        (self.definition().encode)(unencoded)
    }

    /// Connections with these properties.
    pub(crate) fn connection(self, plan: &ConnectionPlan) -> ClientProtocol {
        (self.definition().connection)(plan)
    }

    fn scheme(self, name: &str) -> Option<&'static Scheme> {
        self.definition().schemes.iter().find(|scheme| scheme.name == name)
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
        for &protocol in Protocol::ALL {
            assert_eq!(protocol.as_str().parse(), Ok(protocol));
            let schemes = protocol.definition().schemes;
            assert!(schemes.iter().any(|scheme| scheme.is_secure || !protocol.uses_quic()), "{protocol}");
            let alike = Protocol::ALL.iter().filter(|other| other.title() == protocol.title()).count();
            assert_eq!(alike, 1, "{protocol}");
        }
    }

    /// The protocols of a scheme agree whether it implies TLS, and lists of schemes in texts keep their order.
    #[test]
    fn a_scheme_allows_its_default_first() {
        let names = |scheme: &str| {
            let (allowed, is_secure) = Protocol::from_scheme(scheme).unwrap();
            for protocol in &allowed {
                assert_eq!(protocol.scheme(scheme).unwrap().is_secure, is_secure, "{scheme}");
            }
            (allowed.into_iter().map(Protocol::as_str).collect::<Vec<_>>().join(" "), is_secure)
        };
        let all = [
            ("http", "http1 http2 grpc", false),
            ("https", "http1 http2 http3 grpc grpc-http3", true),
            ("grpc", "grpc", false),
            ("grpcs", "grpc grpc-http3", true),
            ("tcp", "tcp", false),
            ("tls", "tcp", true),
            ("ws", "websocket", false),
            ("wss", "websocket", true),
        ];
        for (scheme, protocols, is_secure) in all {
            assert_eq!(names(scheme), (protocols.to_owned(), is_secure), "{scheme}");
        }
        assert_eq!(Protocol::schemes(), all.map(|(scheme, ..)| scheme));
        assert_eq!(Protocol::from_scheme("ftp"), None);
    }

    #[test]
    fn the_usual_scheme_is_the_own_one_of_a_protocol() {
        let usual = |protocol: Protocol| [false, true].map(|is_secure| protocol.usual_scheme(is_secure));
        assert_eq!(usual(Protocol::Http2), ["http", "https"]);
        assert_eq!(usual(Protocol::Http3), ["https", "https"]);
        assert_eq!(usual(Protocol::Grpc), ["grpc", "grpcs"]);
        assert_eq!(usual(Protocol::Tcp), ["tcp", "tls"]);
    }

    #[test]
    fn connections_have_the_streams_and_the_wire_protocol_of_their_definition() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        for &protocol in Protocol::ALL {
            let connection = protocol.connection(&ConnectionPlan { streams: 3, response_bytes: 5, address });
            assert_eq!(connection.streams() == 3, protocol.has_streams(), "{protocol}");
            assert_eq!(connection.has_datagrams(), protocol.uses_quic(), "{protocol}");
        }
        let tcp = Protocol::Tcp.connection(&ConnectionPlan { streams: 1, response_bytes: 5, address });
        assert_eq!(tcp, ClientProtocol::Tcp { response_bytes: 5 });
    }
}
