//! Texts that are no bootstrap, but hold resources of one: a list of `resources`, or a listener or a cluster alone.

use serde_json::Value;

use super::{Configuration, Found, Resources};
use crate::names::is_field;
use crate::place::Problem;
use crate::tree::{message_type, text};

/// The list of a file of resources.
const RESOURCES: &str = "resources";
/// The types of what is placed by its name.
const TYPES: [&str; 5] = [LISTENER, CLUSTER, ROUTES, ENDPOINTS, SECRET];
const LISTENER: &str = "envoy.config.listener.v3.Listener";
const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
const ENDPOINTS: &str = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";

/// Whether a value is a file of resources.
pub(crate) fn is_list(value: &Value) -> bool {
    let items = value.get(RESOURCES).and_then(Value::as_array);
    items.is_some_and(|items| items.iter().any(|item| TYPES.contains(&message_type(item))))
}

/// Whether a value is a listener or a cluster alone.
pub(crate) fn is_one(value: &Value) -> bool {
    one(value).is_some()
}

/// The list of a bootstrap in which a value belongs that is one of its items.
fn one(value: &Value) -> Option<&'static str> {
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

impl Configuration {
    /// Makes a bootstrap of resources. Routes and endpoints are left to be placed.
    pub(super) fn join_resources(&mut self, mut content: Value, malformed: &mut Vec<Problem>) -> Resources {
        self.tree = serde_json::json!({"static_resources": {}});
        let mut resources = Resources::default();
        if let Some(list) = one(&content) {
            self.append(list, Found { document: 0, pointer: String::new(), value: content });
            return resources;
        }
        let items = content.get_mut(RESOURCES).and_then(Value::as_array_mut).map(std::mem::take);
        for (index, value) in items.into_iter().flatten().enumerate() {
            let pointer = format!("/{RESOURCES}/{index}");
            if let Some(problem) = self.no_mapping(0, &pointer, &value) {
                malformed.push(problem);
                continue;
            }
            let name = text(&value, "/name").to_owned();
            let of = message_type(&value).to_owned();
            let found = Found { document: 0, pointer, value };
            match of.as_str() {
                LISTENER => self.append("listeners", found),
                CLUSTER => self.append("clusters", found),
                ROUTES => drop(resources.routes.insert(name, found)),
                ENDPOINTS => {
                    let name = text(&found.value, "/cluster_name").to_owned();
                    resources.endpoints.insert(name, found);
                }
                SECRET => drop(self.secrets.insert(name, found.value)),
                _ => {}
            }
        }
        resources
    }
}
