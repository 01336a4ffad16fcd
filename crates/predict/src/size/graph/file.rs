//! A graph file as it is written: services, their proxies with workers and functions, and the calls between them.

use hoptax_plan::file::{MAX_RESPONSE_BYTES, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum time of a service for a request, us: the longest delay of the origin, an hour.
pub(crate) const MAX_SERVICE_TIME_US: u64 = 3_600_000_000;

/// Services that call each other, each behind a proxy of its own unless it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hoptax size graph")]
pub struct GraphFile {
    /// Its name, as results show it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The service that requests from outside arrive at.
    #[schemars(length(min = 1))]
    pub entry: String,
    /// Protocol of all requests: `http1`, `http2`, `grpc`, `websocket` or `tcp`. Default: `http1`.
    #[serde(default)]
    pub protocol: Protocol,
    /// The services.
    #[schemars(length(min = 1))]
    pub services: Vec<ServiceSection>,
}

/// A service and its proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ServiceSection {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// A proxy beside it. Default: true.
    #[serde(default = "has_proxy", skip_serializing_if = "is_with_proxy")]
    pub proxy: bool,
    /// Worker threads of its proxy, each with a processor. Default: 1.
    #[serde(default = "one_worker", skip_serializing_if = "is_one_worker")]
    #[schemars(range(min = 1, max = 1024))]
    pub workers: u32,
    /// Protocol of requests to it. Default: that of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Bytes in the body of each request to it. Default: 0, and 64 in the message of a gRPC call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes in the body of each response of it. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_RESPONSE_BYTES))]
    pub response_bytes: Option<u64>,
    /// Requests after which a connection to its proxy is closed and reopened. Default: connections are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u32>,
    /// Connections that are open to its proxy, which take memory. Default: as many as the studies had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Clusters in the configuration of its proxy that no request needs, which take memory. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Routes in the configuration of its proxy that no request needs, which take memory. Envoy searches routes in their order: a
    /// request that passes many of them is a function, `"route/path{routes=1000}"`. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<u64>,
    /// Functions that its proxy performs for requests to it, as in study files: `jwt`, `"rbac{rules=50}"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Time that the service itself takes for a request, besides its calls, us. It decides which of several calls at the same time is
    /// the slowest. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = MAX_SERVICE_TIME_US))]
    pub service_time_us: f64,
    /// Its outbound calls pass its proxy too, as with a sidecar. Default: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbound: Option<OutboundSection>,
    /// The services that it calls, one after another. The calls of a list within the list are made at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallStep>,
}

impl ServiceSection {
    /// A service with defaults.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            proxy: has_proxy(),
            workers: one_worker(),
            protocol: None,
            request_bytes: None,
            response_bytes: None,
            requests_per_connection: None,
            connections: None,
            clusters: None,
            routes: None,
            functions: Vec::new(),
            service_time_us: 0.0,
            outbound: None,
            calls: Vec::new(),
        }
    }
}

/// Step of a service, before it goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum CallStep {
    /// It calls a service.
    One(CallSection),
    /// It calls services at the same time, and waits for all of them.
    Together(Vec<CallSection>),
}

impl CallStep {
    /// Its calls.
    pub fn calls(&self) -> &[CallSection] {
        match self {
            Self::One(call) => std::slice::from_ref(call),
            Self::Together(calls) => calls,
        }
    }
}

/// Calls of a service that pass its proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct OutboundSection {
    /// Functions that the proxy performs for them.
    pub functions: Vec<String>,
}

/// Calls from one service to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CallSection {
    /// The service that is called.
    pub service: String,
    /// Calls for each request to the caller, on average, which follow each other. Default: 1.
    #[serde(default = "one_call", skip_serializing_if = "is_one")]
    #[schemars(range(max = 1000), extend("exclusiveMinimum" = 0))]
    pub factor: f64,
}

fn has_proxy() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_with_proxy(proxy: &bool) -> bool {
    *proxy
}

pub(super) fn one_worker() -> u32 {
    1
}

fn one_call() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &f64) -> bool {
    number.abs() <= 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &f64) -> bool {
    is_zero(&(number - 1.0))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one_worker(workers: &u32) -> bool {
    *workers == 1
}
