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
    /// Connections of its closed loop, where the load has fewer.
    pub connections: Option<usize>,
    /// Environment variables of its proxy.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query.iter().cloned();
        let connections = self.connections.iter().map(|number| format!("connections={number}"));
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        f.write_str(&query.chain(connections).chain(environment).collect::<Vec<_>>().join(","))
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
