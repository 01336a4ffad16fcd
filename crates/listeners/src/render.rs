//! Renders a plan as Envoy's messages: listeners, clusters, and the other fields of the bootstrap.

mod cluster;
mod listener;
mod merge;

use serde_json::{Map, Value, json};

use crate::plan::{Plan, RATELIMIT, TRACING};
use crate::problem::{Problem, Problems};

/// A message, with the line of the file from which it comes.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The message.
    pub message: Value,
    /// The line, from 1; 0 for a node without its own line.
    pub line: u64,
}

/// Envoy's messages for a plan.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The listeners.
    pub listeners: Vec<Resource>,
    /// The clusters.
    pub clusters: Vec<Resource>,
    /// Other fields of the bootstrap.
    pub(crate) rest: Map<String, Value>,
}

/// Envoy's messages for a plan.
///
/// # Errors
/// When functions of the catalogue set a field that a listener sets, too.
pub fn render(plan: &Plan) -> Result<Rendered, Problems> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut listeners = Vec::with_capacity(plan.listeners.len());
    for one in &plan.listeners {
        match listener::message(plan, one) {
            Ok(message) => listeners.push(Resource { message, line: one.place.line }),
            Err(why) => problems.push(Problem { message: why, ..one.place.clone() }),
        }
    }
    let mut clusters = Vec::with_capacity(plan.clusters.len());
    for one in &plan.clusters {
        match cluster::message(one, &plan.ca) {
            Ok(message) => clusters.push(Resource { message, line: one.place.line }),
            Err(why) => problems.push(Problem { message: why, ..one.place.clone() }),
        }
    }
    if !problems.is_empty() {
        return Err(Problems::new(problems));
    }
    let is_used = |one: fn(&crate::plan::Listener) -> bool| plan.listeners.iter().any(one);
    if let Some(tracing) = plan.tracing.as_ref().filter(|_| is_used(|listener| listener.is_traced)) {
        let message = cluster::of_grpc(TRACING, &tracing.address, tracing.port);
        clusters.push(Resource { message, line: 0 });
    }
    if let Some(service) =
        plan.ratelimit_service.as_ref().filter(|_| is_used(|listener| listener.ratelimit.is_some()))
    {
        let message = cluster::of_grpc(RATELIMIT, &service.address, service.port);
        clusters.push(Resource { message, line: 0 });
    }
    Ok(Rendered { listeners, clusters, rest: rest(plan) })
}

/// Returns the fields of the bootstrap other than listeners and clusters.
fn rest(plan: &Plan) -> Map<String, Value> {
    let rest = json!({
        "admin": {
            "address": {"socket_address": {"address": "127.0.0.1", "port_value": plan.admin_port}},
            // The admin interface must stay reachable when the runtime's connection limit is reached.
            "ignore_global_conn_limit": true,
        },
        // An admin layer allows changes through the admin interface, which last until the process ends.
        "layered_runtime": {"layers": [{"name": "base", "static_layer": {}}, {"name": "admin", "admin_layer": {}}]},
        "overload_manager": {"resource_monitors": [{
            "name": "envoy.resource_monitors.global_downstream_max_connections",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
                "max_active_downstream_connections": plan.connection_limit,
            },
        }]},
    });
    match rest {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}
