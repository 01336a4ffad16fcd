//! A secret that does not exist.

use std::collections::BTreeSet;

use super::hint;
use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};
use hoptax_bootstrap::tree;

pub(super) static RULE: Rule = Rule {
    id: "unknown-secret",
    severity: Severity::Error,
    title: "a secret that does not exist",
    why: "Envoy refuses a file that names a secret, but neither defines it nor says where it comes from.",
    cure: "Define it in `static_resources.secrets`, or add `sds_config`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/transport_sockets/tls/v3/secret.proto",
    check,
};

/// Fields that name a secret.
const FIELDS: [&str; 4] = [
    "tls_certificate_sds_secret_configs",
    "validation_context_sds_secret_config",
    "session_ticket_keys_sds_secret_config",
    "generic_secret",
];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // In a file with only listeners, the secrets are elsewhere.
    if !proxy.is_complete {
        return;
    }
    let secrets = proxy.root.items("/static_resources/secrets");
    let known: BTreeSet<&str> = secrets.iter().map(Node::name).collect();
    for node in proxy.index.with_any(&FIELDS) {
        for named in FIELDS.iter().flat_map(|field| node.items(&tree::join("", field))) {
            let name = named.name();
            if !name.is_empty() && !named.has("/sds_config") && !known.contains(name) {
                let hint = hint(name, known.iter().copied(), found);
                found.push(named.found("/name", format!("there is no secret `{name}`{hint}")));
            }
        }
    }
}
