//! The services of a graph. Parts of a waterfall appear on the calls that they affect.

use schemars::JsonSchema;
use serde::Serialize;

/// The services of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ServiceGraph {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The services, each after all that call it.
    pub(crate) services: Vec<GraphService>,
}

/// A service of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GraphService {
    /// Its name.
    pub(crate) name: String,
    /// True if it has a proxy.
    pub(crate) has_proxy: bool,
    /// Its calls.
    pub(crate) calls: Vec<GraphCall>,
    /// The parts that act on requests to it: their places among those of the waterfall.
    pub(crate) inbound: Vec<usize>,
    /// The parts that act on its calls.
    pub(crate) outbound: Vec<usize>,
}

/// A call of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GraphCall {
    /// The place of the service that is called.
    pub(crate) to: usize,
    /// How often it is called, in words.
    pub(crate) text: String,
}
