//! Limits of connections.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Node, Places, Proxy};

/// Connection limits of single listeners.
pub(crate) struct ListenerLimits<'a> {
    filters: Places<'a>,
    /// Keys of the runtime, which may set limits.
    keys: BTreeSet<String>,
}

impl ListenerLimits<'_> {
    /// Returns true if a listener has its own connection limit.
    pub(crate) fn has(&self, listener: &Node<'_>) -> bool {
        let key = format!("envoy.resource_limits.listener.{}.connection_limit", listener.name());
        self.keys.contains(&key) || self.filters.has_inside(listener)
    }
}

impl<'a> Proxy<'a> {
    /// Returns true if there is a connection limit for all listeners together.
    pub(crate) fn has_global_limit(&self) -> bool {
        let monitors = self.root.items("/overload_manager/resource_monitors");
        monitors.iter().any(|monitor| {
            let of = monitor.extension();
            of.ends_with(".DownstreamConnectionsConfig")
                || of == "envoy.resource_monitors.global_downstream_max_connections"
        }) || self.has_runtime_limit()
    }

    /// Returns true if the runtime limits the connections of all listeners together, including the admin interface.
    pub(crate) fn has_runtime_limit(&self) -> bool {
        self.runtime_keys().contains("overload.global_downstream_max_connections")
    }

    /// Returns the connection limits of single listeners.
    pub(crate) fn listener_limits(&self) -> ListenerLimits<'a> {
        let filters = self.index.of_type(|of| of.ends_with(".ConnectionLimit"));
        ListenerLimits { filters: Places::new(filters), keys: self.runtime_keys() }
    }

    /// The runtime keys in the file. A key may be written with dots, or as nested mappings.
    fn runtime_keys(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for layer in self.root.items("/layered_runtime/layers") {
            if let Some(layer) = layer.get("/static_layer") {
                collect("", layer.value, &mut keys);
            }
        }
        keys
    }
}

fn collect(before: &str, value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            let dot = if before.is_empty() { "" } else { "." };
            for (key, value) in entries {
                collect(&format!("{before}{dot}{key}"), value, keys);
            }
        }
        _ => drop(keys.insert(before.to_owned())),
    }
}
