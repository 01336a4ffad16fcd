//! What arms are measured under: the conditions of a study, or of one arm.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::Protocol;

/// Most bytes of a request: what buffers of Envoy hold by default.
const MOST_REQUEST_BYTES: u64 = 1 << 20;
/// Most bytes of an answer: what the origin gives.
const MOST_RESPONSE_BYTES: u64 = 64 << 20;
/// Most additional headers. Envoy takes a hundred headers and the origin 96, and functions have some of their own.
const MOST_HEADERS: u64 = 50;
/// Most connections, as of a load.
const MOST_CONNECTIONS: u64 = 10_000;
/// Most workers of a proxy.
const MOST_WORKERS: u64 = 64;

/// What arms are measured under, each by one value or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ConditionsSection {
    /// What is spoken on both sides of the proxy: `http1`, `http2` or `grpc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "protocols")]
    pub protocol: Option<OneOrMore<Protocol>>,
    /// How the generator speaks with the proxy: `none`, `tls` or `mtls`, on connections that stay open unless a load says
    /// otherwise. The proxy speaks plainly with the origin. Without a proxy there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tls_words")]
    pub tls: Option<OneOrMore<TlsWord>>,
    /// Bytes of the body of each request, which is a `POST` then; 0 for none. With gRPC, bytes of its message, which comes back
    /// as the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "request_bytes")]
    pub request_bytes: Option<OneOrMore<u64>>,
    /// Bytes of the body of each answer; 64 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "response_bytes")]
    pub response_bytes: Option<OneOrMore<u64>>,
    /// Headers of each request beside those that it has anyway, each with a value of 20 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "headers")]
    pub headers: Option<OneOrMore<u64>>,
    /// Connections of closed loops, in place of what the load says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "connections")]
    pub connections: Option<OneOrMore<u64>>,
    /// Worker threads of the proxy, all of them on the processors that it has anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "workers")]
    pub workers: Option<OneOrMore<u64>>,
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

/// How connections are secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsWord {
    /// They are plain.
    #[default]
    None,
    /// The server shows a certificate.
    Tls,
    /// Both sides do.
    Mtls,
}

impl<T> OneOrMore<T> {
    /// All of them.
    pub fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(list) => list,
        }
    }
}

impl TlsWord {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tls => "tls",
            Self::Mtls => "mtls",
        }
    }
}

impl ConditionsSection {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These without those of which `other` says something.
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
        }
    }
}

fn protocols(_: &mut SchemaGenerator) -> Schema {
    words(&[Protocol::Http1, Protocol::Http2, Protocol::Grpc].map(Protocol::word))
}

fn tls_words(_: &mut SchemaGenerator) -> Schema {
    words(&[TlsWord::None, TlsWord::Tls, TlsWord::Mtls].map(TlsWord::word))
}

fn request_bytes(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MOST_REQUEST_BYTES)
}

fn response_bytes(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MOST_RESPONSE_BYTES)
}

fn headers(_: &mut SchemaGenerator) -> Schema {
    numbers(0, MOST_HEADERS)
}

fn connections(_: &mut SchemaGenerator) -> Schema {
    numbers(1, MOST_CONNECTIONS)
}

fn workers(_: &mut SchemaGenerator) -> Schema {
    numbers(1, MOST_WORKERS)
}

/// One of `words`, or a list of them.
fn words(words: &[&str]) -> Schema {
    let one_of: Vec<Schema> = words.iter().map(|word| json_schema!({"const": word})).collect();
    json_schema!({"anyOf": [
        {"type": "array", "items": {"oneOf": one_of}, "minItems": 1, "uniqueItems": true},
        {"oneOf": one_of},
    ]})
}

/// A number in this range, or a list of such. What a schema says of numbers holds for numbers alone, and the same for lists.
fn numbers(least: u64, most: u64) -> Schema {
    json_schema!({
        "type": ["integer", "array"],
        "minimum": least,
        "maximum": most,
        "items": {"type": "integer", "minimum": least, "maximum": most},
        "minItems": 1,
        "uniqueItems": true,
    })
}
