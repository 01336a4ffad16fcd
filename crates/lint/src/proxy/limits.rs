//! Limits of connections.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Node, Proxy};

impl Proxy<'_> {
    /// Returns true if the connections of all listeners together have a limit.
    pub(crate) fn has_global_limit(&self) -> bool {
        let monitors = self.root.items("/overload_manager/resource_monitors");
        monitors.iter().any(|monitor| {
            let of = monitor.extension();
            of.ends_with(".DownstreamConnectionsConfig")
                || of == "envoy.resource_monitors.global_downstream_max_connections"
        }) || self.runtime_keys().contains("overload.global_downstream_max_connections")
    }

    /// Returns true if the connections of a listener have a limit of their own.
    pub(crate) fn has_limit(&self, listener: &Node<'_>) -> bool {
        let key = format!("envoy.resource_limits.listener.{}.connection_limit", listener.name());
        let mut is_limited = self.runtime_keys().contains(&key);
        listener.walk(&mut |node| is_limited |= node.message_type().ends_with(".ConnectionLimit"));
        is_limited
    }

    /// The keys that the file states of the runtime. A key may be written with dots, or as a mapping for each part.
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
