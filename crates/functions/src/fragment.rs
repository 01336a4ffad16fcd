//! Fragments: the parts of Envoy configuration that turn one function on, each for its place in the bootstrap.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a function adds to the configuration of a plain proxy.
///
/// Lists are inserted; maps are merged key by key into what is already there. A key that is there with another
/// value is a conflict, and the function is refused, unless `replaces` says that it is meant.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fragment {
    /// HTTP filters, inserted in order before the router.
    pub http_filters: Vec<Map<String, Value>>,
    /// Routes, in the order in which Envoy tries them, each with its own `match` and with the default route's
    /// action. They replace the default route, which takes every request: a function whose routes match nothing
    /// then shows as failed requests rather than as a function that costs nothing.
    pub routes: Vec<Map<String, Value>>,
    /// Merged into every route.
    pub route: Map<String, Value>,
    /// Merged into the virtual host.
    pub virtual_host: Map<String, Value>,
    /// Merged into the HTTP connection manager.
    pub connection_manager: Map<String, Value>,
    /// Access loggers of the HTTP connection manager.
    pub access_log: Vec<Map<String, Value>>,
    /// Filters of the listener that come before the HTTP connection manager.
    pub network_filters: Vec<Map<String, Value>>,
    /// Merged into the cluster of the origin.
    pub cluster: Map<String, Value>,
    /// The zones that the origins are spread over evenly, in their order; none is told if there is none.
    pub origin_zones: Vec<String>,
    /// Clusters beside that of the origin.
    pub clusters: Vec<Map<String, Value>>,
    /// Merged into the listener.
    pub listener: Map<String, Value>,
    /// The group that keys are exchanged on where connections are secured.
    pub key_exchange_group: KeyExchangeGroup,
    /// Merged into the bootstrap.
    pub bootstrap: Map<String, Value>,
    /// Fields that the plain proxy sets and that this fragment means to set otherwise, as dotted paths that begin
    /// with the name of one of the maps above: `connection_manager.generate_request_id`. A path at which nothing
    /// is replaced is an error too.
    pub replaces: Vec<String>,
    /// Files that Envoy reads beside its configuration: where each must be, and its bytes. They come from the program, not
    /// from the catalogue.
    #[serde(skip)]
    pub files: Vec<(PathBuf, &'static [u8])>,
}

/// A group that keys are exchanged on in a handshake of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyExchangeGroup {
    /// Curve25519.
    #[default]
    X25519,
    /// Curve25519 together with ML-KEM-768, against attackers who will have quantum computers. Envoy 1.40 prefers it where the
    /// other side offers it.
    X25519Mlkem768,
    /// The curve P-256 of NIST.
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

    /// The name under which it is registered with IANA.
    pub fn registered_name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519Mlkem768 => "X25519MLKEM768",
            Self::P256 => "secp256r1",
        }
    }
}
