//! What an arm has in common with the arm that its cost is the difference from.

use std::collections::BTreeMap;
use std::fmt;

use super::{Arm, Load};

/// Conditions under which an arm is measured that change what plain proxying costs. An arm that has some is compared
/// with a baseline that has the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The query of its requests.
    pub query: Option<String>,
    /// The body of its requests, which are `POST` then.
    pub body: Option<Vec<u8>>,
    /// Headers that its requests have beside those of all.
    pub headers: BTreeMap<String, String>,
    /// Connections of its closed loop, where the load has fewer.
    pub connections: Option<usize>,
    /// Environment variables of its proxy.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query.iter().cloned();
        let body = self.body.iter().map(|body| format!("body={} B", body.len()));
        let headers = self.headers.iter().map(|(name, value)| format!("{name}={value}"));
        let connections = self.connections.iter().map(|number| format!("connections={number}"));
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
        match self.conditions.connections {
            Some(connections) if load.open.is_none() => connections.max(load.connections),
            _ => load.connections,
        }
    }
}
