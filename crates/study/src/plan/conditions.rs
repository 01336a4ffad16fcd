//! What an arm has in common with the arm that its cost is the difference from.

use std::collections::BTreeMap;
use std::fmt;

use super::{Arm, Load};
use crate::file::{Protocol, TlsWord};

/// Bytes of the body of an answer, and of a message of gRPC, TCP or WebSocket, where nothing is said of them.
pub const USUAL_BYTES: u64 = 64;
/// The value of each additional header.
const HEADER_VALUE: &str = "0123456789abcdefghij";

/// Conditions under which an arm is measured that change what plain proxying costs. An arm that has some is compared
/// with a baseline that has the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// What is spoken from end to end.
    pub protocol: Protocol,
    /// How the generator speaks with the proxy.
    pub tls: TlsWord,
    /// The body of its requests, which are `POST` then; of gRPC, the message of each call in place of the usual one.
    pub body: Option<Vec<u8>>,
    /// Bytes of the body of its answers, for which its requests ask in their query.
    pub response_bytes: Option<u64>,
    /// The query of its requests beside that.
    pub query: Option<String>,
    /// Headers that its requests have beside those of all.
    pub headers: BTreeMap<String, String>,
    /// How many more headers they have, which mean nothing.
    pub more_headers: u64,
    /// Connections of its closed loops in place of those of the load.
    pub connections: Option<u64>,
    /// The least connections of its closed loops.
    pub least_connections: Option<u64>,
    /// Environment variables of its proxy.
    pub environment: BTreeMap<String, String>,
    /// Worker threads of its proxy; as many as it has processors if not given, which is one.
    pub workers: Option<u64>,
}

impl Conditions {
    /// The query of each request, without `?`; none where nothing is asked for.
    pub fn query(&self) -> Option<String> {
        let size = self.response_bytes.map(|bytes| format!("size={bytes}"));
        let parts: Vec<String> = self.query.clone().into_iter().chain(size).collect();
        (!parts.is_empty()).then(|| parts.join("&"))
    }

    /// The headers of each request beside those of all arms.
    pub fn all_headers(&self) -> impl Iterator<Item = (String, String)> {
        let more = (1..=self.more_headers).map(|number| format!("x-hoptax-more-{number}"));
        let own = self.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        own.chain(more.map(|name| (name, HEADER_VALUE.to_owned())))
    }
}

/// What functions bring themselves; what a study file asks for is named as it is there ([`super::points`]).
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query().into_iter();
        let body = self.body.iter().map(|body| format!("body={} B", body.len()));
        let headers = self.headers.iter().map(|(name, value)| format!("{name}={value}"));
        let connections = self.least_connections.iter().map(|number| format!("connections={number}"));
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        f.write_str(
            &query
                .chain(body)
                .chain(headers)
                .chain(connections)
                .chain(environment)
                .collect::<Vec<_>>()
                .join(","),
        )
    }
}

impl Arm {
    /// Its connections under `load`.
    pub fn connections(&self, load: &Load) -> usize {
        if load.open.is_some() {
            return load.connections;
        }
        let asked = self.conditions.connections.map_or(load.connections, |number| number as usize);
        asked.max(self.conditions.least_connections.unwrap_or(0) as usize)
    }
}
