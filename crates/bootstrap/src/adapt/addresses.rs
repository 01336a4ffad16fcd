//! Addresses that no other pass replaced lead to the companion: statistics sinks, daemons, URIs of services.

use serde_json::Value;

use super::{Context, described_address, described_server, socket_address};
use crate::outside;
use crate::tree::join;

pub(super) fn adapt(context: &mut Context<'_>) {
    let folder = context.lab.folder.clone();
    let companion = context.lab.companion;
    let with = described_server(companion, "the companion");
    for pointer in context.find(&|_, node| outside::is_address(node) && !outside::is_local(node, &folder)) {
        let Some(node) = context.tree.pointer(&pointer) else { continue };
        let what = match node.get("port_value").or_else(|| node.get("address")) {
            Some(_) => described_address(&serde_json::json!({"socket_address": node})),
            None => described_address(node),
        };
        let lab = socket_address(companion);
        if node.get("pipe").is_some() {
            context.replace(&join(&pointer, "pipe"), Value::Null, &what, &with);
            if let Some(node) = context.tree.pointer_mut(&pointer) {
                node["socket_address"] = lab["socket_address"].clone();
            }
        } else {
            let protocol = node.get("protocol").cloned();
            let mut lab = lab["socket_address"].clone();
            if let Some(protocol) = protocol {
                lab["protocol"] = protocol;
            }
            context.replace(&pointer, lab, &what, &with);
        }
    }
    for pointer in context.find(&|pointer, node| outside::is_outside_uri(pointer, node)) {
        let Some(uri) = context.tree.pointer(&pointer).and_then(Value::as_str) else { continue };
        // A query or a user may hold a secret, so neither is listed or kept.
        let bare = uri.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = bare.split_once("://").unwrap_or(("http", bare));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit('@').next().unwrap_or(host);
        let what = format!("{scheme}://{host}/{path}");
        let lab = format!("http://{companion}/{path}");
        context.replace(&pointer, lab.into(), &what, &with);
    }
}
