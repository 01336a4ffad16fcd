//! The conditions of a study or of one arm.

use std::borrow::Cow;

use hoptax_functions::Tls;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::Protocol;
use super::word::one_of_words;

/// Maximum request size, bytes: the default limit of Envoy's buffers.
const MAX_REQUEST_BYTES: u64 = 1 << 20;
/// Maximum response size, bytes: the limit of the origin.
pub const MAX_RESPONSE_BYTES: u64 = 64 << 20;
/// Maximum number of additional headers. Envoy accepts a hundred headers and the origin 96, and functions add more.
const MAX_HEADERS: u64 = 50;
/// Maximum number of connections, as for a load.
const MAX_CONNECTIONS: u64 = 10_000;
/// Maximum number of workers of a proxy.
const MAX_WORKERS: u64 = 64;

/// Conditions, each a single value or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ConditionsSection {
    /// Protocol on both sides of the proxy: `http1`, `http2`, `grpc`, `websocket` or `tcp`. Functions work on the requests
    /// of the first three, on the request that opens a WebSocket, and on TCP connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "protocols")]
    pub protocol: Option<OneOrMore<Protocol>>,
    /// Security between generator and proxy: `none`, `tls`, or `mtls` (also `mutual`), on connections that stay open unless a load says
    /// otherwise. The proxy connects to the origin in plaintext. Does not apply without a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tls_words")]
    pub tls: Option<OneOrMore<TlsWord>>,
    /// Size of each request body in bytes; requests are then `POST`. 0 for none. With gRPC, size of the message, which
    /// is echoed as the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "request_bytes")]
    pub request_bytes: Option<OneOrMore<u64>>,
    /// Size of each response's body in bytes. Default: 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "response_bytes")]
    pub response_bytes: Option<OneOrMore<u64>>,
    /// Headers added to each request, each with a value of 20 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "headers")]
    pub headers: Option<OneOrMore<u64>>,
    /// Connections of closed loops, overriding those of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "connections")]
    pub connections: Option<OneOrMore<u64>>,
    /// Worker threads of the proxy, all on its usual processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "workers")]
    pub workers: Option<OneOrMore<u64>>,
    /// Envoy of the proxies: a release such as `1.39.3`, the path of a program, or its name on PATH. An arm with an Envoy of
    /// its own keeps it. Does not apply without a proxy. Default: that of `--envoy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "releases")]
    pub envoy: Option<OneOrMore<String>>,
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// A list.
    More(Vec<T>),
}

/// Security of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsWord {
    /// Plaintext.
    #[default]
    None,
    /// TLS with a server certificate.
    Tls,
    /// Mutual TLS.
    #[serde(alias = "mutual")]
    Mtls,
}

impl<T> OneOrMore<T> {
    /// All values.
    pub fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(list) => list,
        }
    }
}

impl TlsWord {
    /// The security that it stands for; none for plaintext.
    pub fn security(self) -> Option<Tls> {
        match self {
            Self::None => None,
            Self::Tls => Some(Tls::Tls),
            Self::Mtls => Some(Tls::Mtls),
        }
    }

    /// Its spelling in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tls => "tls",
            Self::Mtls => "mtls",
        }
    }
}

/// The words of TLS in study files, each with its description.
const TLS_WORDS: [(&str, &str); 4] = [
    ("none", "Plaintext."),
    ("tls", "TLS with a server certificate."),
    ("mtls", "Mutual TLS."),
    ("mutual", "Another word for `mtls`."),
];

/// Written by hand, since a derived schema does not have the second word for mutual TLS.
impl JsonSchema for TlsWord {
    fn schema_name() -> Cow<'static, str> {
        "TlsWord".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = one_of_words(TLS_WORDS.into_iter());
        schema.insert("description".to_owned(), "Security of connections.".into());
        schema
    }
}

impl ConditionsSection {
    /// Returns true if no condition is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These conditions with a protocol that the arm states beside them.
    ///
    /// # Errors
    /// They state another protocol.
    pub(crate) fn with_protocol(&self, protocol: Option<Protocol>) -> Result<Self, String> {
        let Some(protocol) = protocol else { return Ok(self.clone()) };
        if self.protocol.as_ref().is_some_and(|own| own.all() != [protocol]) {
            return Err(format!(
                "`protocol: {}` is not the `protocol` of `at`: remove one of the two",
                protocol.as_str()
            ));
        }
        Ok(Self { protocol: Some(OneOrMore::One(protocol)), ..self.clone() })
    }

    /// These conditions without those that `other` sets.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        fn left<T: Clone>(own: Option<&T>, other: Option<&T>) -> Option<T> {
            own.filter(|_| other.is_none()).cloned()
        }
        Self {
            protocol: left(self.protocol.as_ref(), other.protocol.as_ref()),
            tls: left(self.tls.as_ref(), other.tls.as_ref()),
            request_bytes: left(self.request_bytes.as_ref(), other.request_bytes.as_ref()),
            response_bytes: left(self.response_bytes.as_ref(), other.response_bytes.as_ref()),
            headers: left(self.headers.as_ref(), other.headers.as_ref()),
            connections: left(self.connections.as_ref(), other.connections.as_ref()),
            workers: left(self.workers.as_ref(), other.workers.as_ref()),
            envoy: left(self.envoy.as_ref(), other.envoy.as_ref()),
        }
    }
}

fn protocols(_: &mut SchemaGenerator) -> Schema {
    words(&Protocol::ALL.map(Protocol::as_str))
}

fn tls_words(_: &mut SchemaGenerator) -> Schema {
    words(&TLS_WORDS.map(|(word, _)| word))
}

fn request_bytes(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MAX_REQUEST_BYTES)
}

fn response_bytes(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MAX_RESPONSE_BYTES)
}

fn headers(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MAX_HEADERS)
}

fn connections(_: &mut SchemaGenerator) -> Schema {
    numbers(1, MAX_CONNECTIONS)
}

fn workers(_: &mut SchemaGenerator) -> Schema {
    numbers(1, MAX_WORKERS)
}

fn releases(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "array"],
        "minLength": 1,
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "uniqueItems": true,
    })
}

/// Schema of one of `words`, or a list of them.
pub(super) fn words(words: &[&str]) -> Schema {
    let one_of: Vec<Schema> = words.iter().map(|word| json_schema!({"const": word})).collect();
    json_schema!({"anyOf": [
        {"type": "array", "items": {"oneOf": one_of}, "minItems": 1, "uniqueItems": true},
        {"oneOf": one_of},
    ]})
}

/// Schema of a number in this range, or a list of such numbers. In a JSON schema, keywords for numbers apply to numbers
/// only, and likewise for lists.
pub(super) fn numbers(least: u64, most: u64) -> Schema {
    json_schema!({
        "type": ["integer", "array"],
        "minimum": least,
        "maximum": most,
        "items": {"type": "integer", "minimum": least, "maximum": most},
        "minItems": 1,
        "uniqueItems": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_tls_is_read_and_mutual_is_mtls() {
        for (word, _) in TLS_WORDS {
            let read: TlsWord = serde_json::from_value(word.into()).unwrap();
            assert_eq!(read.as_str(), if word == "mutual" { "mtls" } else { word });
        }
    }
}
