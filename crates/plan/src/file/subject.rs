//! The positions of the proxies of an arm, and the protocol through them.

use std::fmt;

use hoptax_load::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProxyWord;

/// An arm defined by its proxies and protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SubjectEntry {
    /// The positions of its proxies, and the protocol.
    pub subject: SubjectSection,
}

/// The positions of proxies between generator and origin, and the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SubjectSection {
    /// `direct` (no proxy), `client` (a sidecar at the caller), `server` (one at the origin), `both`, `gateway` (a
    /// front proxy), or `gateway+both`.
    pub position: Position,
    /// Mutual TLS on links that cross a network.
    #[serde(default)]
    pub mtls: bool,
    /// TLS with a server certificate only on these links.
    #[serde(default)]
    pub tls: bool,
    /// `http1`, `http2`, `grpc` or `tcp`.
    #[serde(default)]
    pub protocol: Protocol,
    /// `envoy`, or, as a front proxy of plain HTTP/1.1, one of the others.
    #[serde(default)]
    pub proxy: ProxyWord,
}

/// Positions of proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Position {
    /// No proxy.
    Direct,
    /// A sidecar at the caller.
    Client,
    /// A sidecar at the origin.
    Server,
    /// A sidecar at each end.
    Both,
    /// A front proxy.
    #[default]
    Gateway,
    /// A front proxy, with a sidecar at each end behind it.
    #[serde(rename = "gateway+both")]
    GatewayAndBoth,
}

/// The protocol from end to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2.
    Http2,
    /// Unary gRPC calls.
    Grpc,
    /// WebSocket messages.
    WebSocket,
    /// A TCP byte stream.
    Tcp,
}

impl SubjectSection {
    /// Returns true if it uses TLS, with or without client certificates.
    pub fn is_secure(&self) -> bool {
        self.mtls || self.tls
    }
}

impl Position {
    /// All positions.
    pub const ALL: [Self; 6] =
        [Self::Direct, Self::Client, Self::Server, Self::Both, Self::Gateway, Self::GatewayAndBoth];

    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Client => "client",
            Self::Server => "server",
            Self::Both => "both",
            Self::Gateway => "gateway",
            Self::GatewayAndBoth => "gateway+both",
        }
    }

    /// The proxies in the order in which a request passes them.
    pub fn hops(self) -> &'static [&'static str] {
        match self {
            Self::Direct => &[],
            Self::Client => &["client"],
            Self::Server => &["server"],
            Self::Both => &["client", "server"],
            Self::Gateway => &["gateway"],
            Self::GatewayAndBoth => &["gateway", "client", "server"],
        }
    }

    /// Returns for each link, in the order in which a request passes them, true if it would cross a network. The order is: from the
    /// generator to the first proxy or the origin, between proxies, and to the origin. A sidecar shares a host with its service, and
    /// traffic from outside to a front proxy is not part of the mesh.
    pub fn links(self) -> &'static [bool] {
        match self {
            Self::Direct => &[true],
            Self::Client | Self::Gateway => &[false, true],
            Self::Server => &[true, false],
            Self::Both => &[false, true, false],
            Self::GatewayAndBoth => &[false, true, true, false],
        }
    }
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 5] = [Self::Http1, Self::Http2, Self::Grpc, Self::WebSocket, Self::Tcp];

    /// The protocol of a load that has its name, its title, its schemes and the content of its requests.
    pub fn of_load(self) -> hoptax_load::Protocol {
        match self {
            Self::Http1 => hoptax_load::Protocol::Http1,
            Self::Http2 => hoptax_load::Protocol::Http2,
            Self::Grpc => hoptax_load::Protocol::Grpc,
            Self::WebSocket => hoptax_load::Protocol::WebSocket,
            Self::Tcp => hoptax_load::Protocol::Tcp,
        }
    }

    /// What its requests are.
    pub fn content(self) -> Content {
        self.of_load().content()
    }

    /// Returns true if functions act on a connection when it is opened, and not on the data that is sent over it.
    pub fn is_of_connections(self) -> bool {
        match self.content() {
            Content::Requests | Content::Calls => false,
            Content::Messages | Content::Bytes => true,
        }
    }

    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        self.of_load().as_str()
    }
}

impl fmt::Display for SubjectSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secure = match (self.mtls, self.tls) {
            (true, _) => " mtls",
            (false, true) => " tls",
            (false, false) => "",
        };
        let proxy = self.proxy.front().map_or("", |front| front.name);
        let space = if proxy.is_empty() { "" } else { " " };
        write!(f, "{} {}{secure}{space}{proxy}", self.position.as_str(), self.protocol.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_one_link_more_than_proxies() {
        for position in Position::ALL {
            assert_eq!(position.links().len(), position.hops().len() + 1, "{position:?}");
            let json = serde_json::to_value(position).unwrap();
            assert_eq!(json, position.as_str());
        }
    }

    #[test]
    fn a_protocol_is_spelled_as_that_of_a_load() {
        for protocol in Protocol::ALL {
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.as_str());
        }
        let of_connections = Protocol::ALL.into_iter().filter(|protocol| protocol.is_of_connections());
        assert_eq!(of_connections.collect::<Vec<_>>(), [Protocol::WebSocket, Protocol::Tcp]);
    }
}
