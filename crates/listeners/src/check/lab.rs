//! Adapts a rendered bootstrap to a lab on this machine: replaces its ports, servers and files, and changes nothing else.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::plan::RATELIMIT;

/// Pointer to the HTTP version of a cluster's connections.
const PROTOCOL: &str = "/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions/explicit_http_config";

/// Addresses, certificates and files of a lab, which replace those in a bootstrap.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The server of each cluster.
    pub servers: BTreeMap<String, SocketAddr>,
    /// The second server of clusters that need one.
    pub seconds: BTreeMap<String, SocketAddr>,
    /// An address that ignores connection attempts.
    pub full_backlog: SocketAddr,
    /// The server of all other clusters.
    pub other: SocketAddr,
    /// The certificate authority of servers and clients.
    pub authority: PathBuf,
    /// The certificate of the listeners.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The file of all access logs.
    pub access_log: PathBuf,
}

/// How a proxy in the lab deviates from the file. Some promises cannot be tried otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// No deviation.
    Usual,
    /// A minute for each request and each connection, regardless of the timeouts of its route and its cluster, so that many can be in
    /// flight at once even on a busy machine.
    Patient,
    /// Servers that ignore connection attempts.
    FullBacklog,
    /// A second server for clusters with outlier detection, because Envoy does not eject the only one.
    Doubled,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Usual, Self::Patient, Self::FullBacklog, Self::Doubled];
}

/// The bootstrap in a lab. The kernel chooses the ports of listeners and of the admin interface.
#[must_use]
pub fn in_lab(mut bootstrap: Value, lab: &Lab, variant: Variant) -> Value {
    if let Some(port) = bootstrap.pointer_mut("/admin/address/socket_address/port_value") {
        *port = json!(0);
    }
    for listener in all(&mut bootstrap, "listeners") {
        listener["address"] = json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}});
        if let Value::Object(keys) = listener {
            keys.remove("additional_addresses");
        }
    }
    for cluster in all(&mut bootstrap, "clusters") {
        let name = cluster.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let server = lab.servers.get(&name).copied().unwrap_or(lab.other);
        let is_limits = name == RATELIMIT;
        let servers = match (variant, lab.seconds.get(&name)) {
            (Variant::FullBacklog, _) if !is_limits => vec![lab.full_backlog],
            (Variant::Doubled, Some(second)) => vec![server, *second],
            _ => vec![server],
        };
        move_endpoints(cluster, &servers);
        if variant == Variant::Patient {
            cluster["connect_timeout"] = json!("60s");
        }
        // The servers of a lab speak HTTP/1.1, except the rate limit service.
        if !is_limits && let Some(protocol) = cluster.pointer_mut(PROTOCOL) {
            *protocol = json!({"http_protocol_options": {}});
        }
    }
    replace_files(&mut bootstrap, lab);
    if variant == Variant::Patient {
        raise_times(&mut bootstrap);
    }
    bootstrap
}

/// The messages of a kind.
fn all<'b>(bootstrap: &'b mut Value, kind: &str) -> &'b mut [Value] {
    let messages = bootstrap.pointer_mut(&format!("/static_resources/{kind}"));
    messages.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

fn raise_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(raise_times),
        Value::Object(keys) if keys.contains_key("match") && keys.contains_key("route") => {
            if let Some(Value::Object(action)) = keys.get_mut("route") {
                for key in ["timeout", "idle_timeout"] {
                    action.insert(key.to_owned(), json!("60s"));
                }
                if let Some(Value::Object(retry)) = action.get_mut("retry_policy") {
                    retry.remove("per_try_timeout");
                }
            }
        }
        Value::Object(keys) => keys.values_mut().for_each(raise_times),
        _ => {}
    }
}

/// Moves the endpoints of a cluster to other servers. Their host names stay, because a Host header may be that of the upstream.
fn move_endpoints(cluster: &mut Value, servers: &[SocketAddr]) {
    let Some(Value::Array(localities)) = cluster.pointer_mut("/load_assignment/endpoints") else { return };
    for endpoints in localities.iter_mut().filter_map(|one| one.get_mut("lb_endpoints")?.as_array_mut()) {
        let moved = |one: &Value, server: &SocketAddr| {
            let mut moved = one.clone();
            let Some(endpoint) = moved.get_mut("endpoint") else { return moved };
            let name = endpoint.pointer("/address/socket_address/address").cloned().unwrap_or_default();
            endpoint["address"] = json!({"socket_address": {
                "address": server.ip().to_string(),
                "port_value": server.port(),
            }});
            endpoint["hostname"] = name;
            moved
        };
        *endpoints =
            endpoints.iter().flat_map(|one| servers.iter().map(|server| moved(one, server))).collect();
    }
}

/// Replaces the files of certificates and access logs everywhere in a value.
fn replace_files(value: &mut Value, lab: &Lab) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace_files(item, lab)),
        Value::Object(keys) => {
            let files = [
                ("trusted_ca", &lab.authority),
                ("certificate_chain", &lab.certificate),
                ("private_key", &lab.key),
            ];
            for (key, file) in files {
                if let Some(source) = keys.get_mut(key) {
                    *source = json!({"filename": file});
                }
            }
            let is_log = keys
                .get("@type")
                .and_then(Value::as_str)
                .is_some_and(|name| name.ends_with(".FileAccessLog"));
            if is_log {
                keys.insert("path".to_owned(), json!(lab.access_log));
            }
            keys.values_mut().for_each(|inner| replace_files(inner, lab));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, read, render};

    /// A lab for the only cluster of a file.
    fn lab(cluster: &str) -> Lab {
        let server = |port| (cluster.to_owned(), SocketAddr::from(([127, 0, 0, 1], port)));
        Lab {
            servers: [server(1111)].into(),
            seconds: [server(3333)].into(),
            full_backlog: SocketAddr::from(([127, 0, 0, 1], 4444)),
            other: SocketAddr::from(([127, 0, 0, 1], 2222)),
            authority: "/lab/ca.pem".into(),
            certificate: "/lab/a.pem".into(),
            key: "/lab/a.key".into(),
            access_log: "/lab/log".into(),
        }
    }

    fn rendered(text: &str) -> Value {
        render(&read(Source { name: "a.yaml", text }, None).unwrap()).unwrap().bootstrap()
    }

    const ENDPOINTS: &str = "/static_resources/clusters/0/load_assignment/endpoints/0/lb_endpoints";

    #[test]
    fn nothing_of_the_users_machine_is_left_in_a_lab() {
        let text = "listeners:\n  - name: a\n    port: 6001\n    listen: [0.0.0.0, '::']\n    timeout: 1s\n    \
            tls: {certificate: /own/a.pem, key: /own/a.key, client_ca: /own/ca.pem}\n    \
            http2: true\n    upstream: {address: a.example, port: 443, encryption: true}\n\
            ca: /own/roots.pem\naccess_log: {path: /own/log}\ntracing: {address: b.example, port: 4317}\n";
        let before = rendered(text);
        for variant in Variant::ALL {
            let text = in_lab(before.clone(), &lab("a_example_443"), variant).to_string();
            for own in ["/own/", "6001", "9901", "0.0.0.0", "4317"] {
                assert!(!text.contains(own), "{variant:?} {own}: {text}");
            }
        }
        let adapted = in_lab(before, &lab("a_example_443"), Variant::Usual);
        let endpoint = adapted.pointer(&format!("{ENDPOINTS}/0/endpoint")).unwrap();
        assert_eq!(endpoint["hostname"], "a.example");
        assert_eq!(endpoint["address"]["socket_address"]["port_value"], 1111);
        assert!(adapted.to_string().contains("2222"), "{adapted}");
        let protocol = adapted.pointer(&format!("/static_resources/clusters/0{PROTOCOL}"));
        assert_eq!(protocol, Some(&json!({"http_protocol_options": {}})));
    }

    const RETRIES: &str = "listeners:\n  - name: a\n    port: 6001\n    timeout: 2s\n    retry: {retry_on: 5xx}\n    \
        upstream: {address: a.example, port: 80}\n";

    #[test]
    fn a_patient_bootstrap_has_other_times_of_requests_and_nothing_else() {
        let before = in_lab(rendered(RETRIES), &lab("a_example_80"), Variant::Usual);
        let after = in_lab(rendered(RETRIES), &lab("a_example_80"), Variant::Patient);
        let route = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/route_config/virtual_hosts/0/routes/0/route";
        let action = after.pointer(route).unwrap();
        assert_eq!((&action["timeout"], &action["retry_policy"]["num_retries"]), (&json!("60s"), &json!(1)));
        assert_eq!(action["retry_policy"].get("per_try_timeout"), None);
        let mut restored = after;
        *restored.pointer_mut(route).unwrap() = before.pointer(route).unwrap().clone();
        let cluster = restored.pointer_mut("/static_resources/clusters/0/connect_timeout").unwrap();
        assert_eq!(std::mem::replace(cluster, json!("0.25s")), "60s");
        assert_eq!(restored, before);
    }

    #[test]
    fn other_variants_have_other_servers_and_nothing_else() {
        let usual = in_lab(rendered(RETRIES), &lab("a_example_80"), Variant::Usual);
        for (variant, ports) in [(Variant::FullBacklog, &[4444][..]), (Variant::Doubled, &[1111, 3333])] {
            let mut other = in_lab(rendered(RETRIES), &lab("a_example_80"), variant);
            let endpoints = other.pointer_mut(ENDPOINTS).unwrap().as_array_mut().unwrap();
            let port = |one: &Value| one.pointer("/endpoint/address/socket_address/port_value").cloned();
            assert_eq!(endpoints.iter().filter_map(port).collect::<Vec<_>>(), ports);
            endpoints.truncate(1);
            *endpoints.first_mut().unwrap() = usual.pointer(&format!("{ENDPOINTS}/0")).unwrap().clone();
            assert_eq!(other, usual);
        }
    }
}
