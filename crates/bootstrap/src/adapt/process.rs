//! Adapts settings of the process that do not concern requests: the admin interface, discovery, the runtime, name resolution.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::{Context, described_address, socket_address};
use crate::tree::{items, join, set};

/// Fields of the bootstrap that connect to a control plane, resolve names or refer to paths on the machine.
const REMOVED: [(&str, &str); 10] = [
    ("dynamic_resources", "the resources that it loads are in this configuration already"),
    ("hds_config", "the lab has no control plane"),
    ("config_sources", "the lab has no control plane"),
    ("default_config_source", "the lab has no control plane"),
    ("xds_delegate_extension", "the lab has no control plane"),
    ("xds_config_tracker_extension", "the lab has no control plane"),
    ("dns_resolution_config", "clusters of the lab have addresses, not names"),
    ("typed_dns_resolver_config", "clusters of the lab have addresses, not names"),
    ("flags_path", "it is a path on another machine"),
    ("default_socket_interface", "the lab uses the sockets of the kernel"),
];

pub(super) fn adapt(context: &mut Context<'_>) {
    let admin = context.tree.pointer("/admin/address").map(described_address);
    let lab = socket_address(SocketAddr::from((Ipv4Addr::LOCALHOST, context.lab.admin_port)));
    set(&mut context.tree, "admin", json!({"address": lab}));
    if let Some(admin) = admin {
        context.list("/admin/address", &format!("admin interface on {admin}"), "127.0.0.1");
    }
    for (key, why) in REMOVED {
        context.remove_key("", key, why);
    }
    for (parent, key) in
        [("/cluster_manager", "load_stats_config"), ("/cluster_manager", "upstream_bind_config")]
    {
        context.remove_key(parent, key, "the lab has no control plane and one network");
    }
    let layers: Vec<(String, bool)> = items(&context.tree, "/layered_runtime/layers")
        .into_iter()
        .map(|(pointer, layer)| {
            (pointer, layer.get("rtds_layer").is_some() || layer.get("disk_layer").is_some())
        })
        .collect();
    for (pointer, is_elsewhere) in layers {
        if is_elsewhere {
            context.remove(&pointer, "a runtime layer", "its values are not in the configuration");
        }
    }
    let at = join("/cluster_manager", "local_cluster_name");
    if context.tree.pointer(&at).is_some()
        && context.tree.pointer("/static_resources/clusters").is_none_or(Value::is_null)
    {
        context.remove_key("/cluster_manager", "local_cluster_name", "the configuration has no clusters");
    }
}
