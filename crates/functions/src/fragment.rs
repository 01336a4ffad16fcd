//! Fragments: the parts of Envoy's configuration that enable one function, each with its place in the bootstrap.

mod combine;
mod repeat;

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

pub use repeat::{count, repeat_within, repeated};

/// The configuration that a function adds to a plain proxy.
///
/// Lists are inserted; maps are merged key by key into the existing configuration. An existing key with another value
/// is a conflict and an error, unless it is listed in `replaces`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fragment {
    /// HTTP filters, inserted in order before the router. A file of the catalogue may write many messages of a list in them as one; see
    /// [`repeated`].
    pub http_filters: Vec<Map<String, Value>>,
    /// Routes, in the order in which Envoy tries them, each with its own `match` and with the default route's action.
    /// They replace the default route, which matches every request: a function whose routes match nothing then shows as
    /// failed requests rather than as a function without cost. A file of the catalogue may write many as one; see [`repeated`].
    pub routes: Vec<Map<String, Value>>,
    /// Merged into every route.
    pub route: Map<String, Value>,
    /// Merged into the virtual host.
    pub virtual_host: Map<String, Value>,
    /// Merged into the HTTP connection manager.
    pub connection_manager: Map<String, Value>,
    /// Access loggers of the HTTP connection manager, or of the TCP proxy.
    pub access_log: Vec<Map<String, Value>>,
    /// Network filters before the HTTP connection manager, or before the TCP proxy.
    pub network_filters: Vec<Map<String, Value>>,
    /// Merged into the cluster of the origin.
    pub cluster: Map<String, Value>,
    /// The zones that the origins are assigned to evenly, in their order; without zones if empty.
    pub origin_zones: Vec<String>,
    /// Clusters besides that of the origin; see [`repeated`].
    pub clusters: Vec<Map<String, Value>>,
    /// Merged into the listener.
    pub listener: Map<String, Value>,
    /// Listeners besides that of the requests; see [`repeated`].
    pub listeners: Vec<Map<String, Value>>,
    /// The key exchange group of TLS connections.
    pub key_exchange_group: KeyExchangeGroup,
    /// Source from which Envoy fetches its certificate for connections from clients when a handshake needs it, as a
    /// `ConfigSource`; it reads the certificate at its start if empty. The name of the secret is that of the certificate's file,
    /// without `.pem`.
    pub certificate_source: Map<String, Value>,
    /// True if connections from clients use QUIC, which contains their TLS.
    pub quic_downstream: bool,
    /// True if connections to the origins use QUIC.
    pub quic_upstream: bool,
    /// Merged into the bootstrap.
    pub bootstrap: Map<String, Value>,
    /// Fields of the plain proxy that this fragment overrides, as dotted paths that begin with the name of one of the
    /// maps above: `connection_manager.generate_request_id`. A path at which nothing is replaced is an error too.
    pub replaces: Vec<String>,
    /// Files that Envoy reads besides its configuration: the path and the bytes of each. They are embedded in the
    /// program, not part of the catalogue.
    #[serde(skip)]
    pub files: Vec<(PathBuf, &'static [u8])>,
}

impl Fragment {
    /// The name of a part that only a proxy of HTTP has, if it has one. A proxy of TCP has network filters, access loggers, a
    /// listener and clusters.
    pub fn part_of_http(&self) -> Option<&'static str> {
        let has_options = self.cluster.contains_key("typed_extension_protocol_options");
        let logs_http = |logger: &Map<String, Value>| {
            logger.get("name").and_then(Value::as_str) == Some("envoy.access_loggers.http_grpc")
        };
        let parts = [
            ("HTTP filters", !self.http_filters.is_empty()),
            ("routes", !self.routes.is_empty() || !self.route.is_empty() || !self.virtual_host.is_empty()),
            ("settings of the HTTP connection manager", !self.connection_manager.is_empty()),
            ("HTTP options of the cluster", has_options),
            ("an access log of HTTP requests", self.access_log.iter().any(logs_http)),
        ];
        parts.into_iter().find(|(_, is_there)| *is_there).map(|(part, _)| part)
    }

    /// The options of HTTP to the origin.
    fn http_options(&self) -> Option<&Value> {
        self.cluster.get("typed_extension_protocol_options")?.get(HTTP_PROTOCOL_OPTIONS)
    }

    /// Returns true if it sets options of HTTP to the origin. Envoy demands that they choose the protocol.
    pub fn has_http_options(&self) -> bool {
        self.http_options().is_some()
    }

    /// The field of `explicit_http_config` that chooses the protocol to the origin; none if it leaves the choice to the plain
    /// proxy.
    pub fn protocol_to_origin(&self) -> Option<&str> {
        let chosen = self.http_options()?.get("explicit_http_config")?.as_object()?;
        chosen.keys().next().map(String::as_str)
    }

    /// Returns true if the proxy uses HTTP/2 to the origin.
    pub fn uses_http2_to_origin(&self) -> bool {
        self.protocol_to_origin() == Some("http2_protocol_options")
    }
}

/// The name of a cluster's extension that chooses the HTTP protocol.
const HTTP_PROTOCOL_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// A key exchange group of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyExchangeGroup {
    /// Curve25519.
    #[default]
    X25519,
    /// Curve25519 combined with ML-KEM-768, which resists attacks by quantum computers. Envoy 1.40 prefers it if the
    /// peer offers it.
    X25519Mlkem768,
    /// The NIST curve P-256.
    P256,
}

impl KeyExchangeGroup {
    /// Its name in Envoy's `ecdh_curves` and in its statistics `ssl.curves`.
    pub fn envoy_name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519Mlkem768 => "X25519MLKEM768",
            Self::P256 => "P-256",
        }
    }

    /// Its name in the IANA registry.
    pub fn registered_name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519Mlkem768 => "X25519MLKEM768",
            Self::P256 => "secp256r1",
        }
    }
}
