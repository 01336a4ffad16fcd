//! Recognises texts that are not a bootstrap but contain resources: a list of `resources`, or a single listener or cluster.

use serde_json::Value;

use crate::names::is_field;
use crate::tree::message_type;

/// The list of a file of resources.
pub(crate) const RESOURCES: &str = "resources";
/// The types of resources that have names.
const TYPES: [&str; 5] = [LISTENER, CLUSTER, ROUTES, ENDPOINTS, SECRET];
pub(crate) const LISTENER: &str = "envoy.config.listener.v3.Listener";
pub(crate) const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
pub(crate) const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
pub(crate) const ENDPOINTS: &str = "envoy.config.endpoint.v3.ClusterLoadAssignment";
pub(crate) const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";

/// True if a value is a file of resources.
pub(crate) fn is_list(value: &Value) -> bool {
    let items = value.get(RESOURCES).and_then(Value::as_array);
    items.is_some_and(|items| items.iter().any(|item| TYPES.contains(&message_type(item))))
}

/// True if a value is a single listener or cluster.
pub(crate) fn is_one(value: &Value) -> bool {
    list_of(value).is_some()
}

/// The list of a bootstrap to which a resource belongs.
pub(crate) fn list_of(value: &Value) -> Option<&'static str> {
    let entries = value.as_object()?;
    let has = |field: &str| entries.iter().any(|(key, value)| is_field(key, field) && !value.is_null());
    match message_type(value) {
        LISTENER => Some("listeners"),
        CLUSTER => Some("clusters"),
        "" if has("name") && has("filter_chains") && has("address") => Some("listeners"),
        "" if has("name") && (has("load_assignment") || has("eds_cluster_config")) => Some("clusters"),
        _ => None,
    }
}
