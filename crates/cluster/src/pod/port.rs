//! The port of an admin interface, from a container and its pod.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::described::{Container, Port};

/// A container with a known proxy.
#[derive(Debug)]
pub(super) struct Known {
    /// Its name. Consul adds `-SERVICE` if a pod has several services.
    name: &'static str,
    /// The default port of its admin interface.
    pub(super) port: u16,
}

/// The known containers: of Istio, of Consul (`envoy-sidecar` before consul-k8s 1.0), of Kuma, and of plain Envoy, for which the port is
/// that of Envoy's examples.
const KNOWN: [Known; 5] = [
    Known { name: "istio-proxy", port: 15000 },
    Known { name: "consul-dataplane", port: 19000 },
    Known { name: "envoy-sidecar", port: 19000 },
    Known { name: "kuma-sidecar", port: 9901 },
    Known { name: "envoy", port: 9901 },
];

/// The flag of consul-dataplane. For the second service of a pod, the port differs from the default.
const CONSUL_FLAG: &str = "envoy-admin-bind-port";
/// Envoy's flag for a bootstrap in YAML, which Envoy Gateway uses for the whole bootstrap.
const BOOTSTRAP_FLAG: &str = "config-yaml";
/// The variable in which Istio's injector writes the merged `ProxyConfig` of a sidecar.
const ISTIO_VARIABLE: &str = "PROXY_CONFIG";
/// The annotation with part of that configuration, for pods that the injector did not create.
const ISTIO_ANNOTATION: &str = "proxy.istio.io/config";
/// The variable of App Mesh's Envoy.
const APP_MESH_VARIABLE: &str = "ENVOY_ADMIN_ACCESS_PORT";
/// Kuma's annotation.
const KUMA_ANNOTATION: &str = "kuma.io/envoy-admin-port";
/// Names of container ports that belong to the admin interface.
const PORT_NAMES: [&str; 2] = ["admin", "envoy-admin"];

/// The known proxy of a container, by the name of the container.
pub(super) fn known(container: &str) -> Option<&'static Known> {
    let is_it = |known: &&Known| {
        let rest = container.strip_prefix(known.name);
        rest.is_some_and(|rest| rest.is_empty() || known.name == "consul-dataplane" && rest.starts_with('-'))
    };
    KNOWN.iter().find(is_it)
}

/// The port that a container or its pod states, with the place where it is stated.
pub(super) fn stated(container: &Container, annotations: &BTreeMap<String, String>) -> Option<(u16, String)> {
    let with =
        |port: Option<u16>, source: &str| port.filter(|port| *port > 0).map(|port| (port, source.to_owned()));
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let variable = |name: &str| {
        let variables = container.env.iter().filter(|variable| variable.name == name);
        variables.filter_map(|variable| variable.value.as_deref()).next_back()
    };
    let annotation =
        |name: &str, of: &str| annotations.get(name).map(String::as_str).filter(|_| container.name == of);
    let named = || {
        let is_it = |port: &&Port| PORT_NAMES.contains(&port.name.as_str());
        container.ports.iter().find(is_it).map(|port| port.container_port)
    };
    with(flag(container, CONSUL_FLAG).and_then(number), "its argument `-envoy-admin-bind-port`")
        .or_else(|| with(flag(container, BOOTSTRAP_FLAG).and_then(of_bootstrap), "its `--config-yaml`"))
        .or_else(|| with(variable(ISTIO_VARIABLE).and_then(of_istio), "its variable `PROXY_CONFIG`"))
        .or_else(|| {
            let config = annotation(ISTIO_ANNOTATION, "istio-proxy").and_then(of_istio);
            with(config, "the annotation `proxy.istio.io/config`")
        })
        .or_else(|| {
            with(variable(APP_MESH_VARIABLE).and_then(number), "its variable `ENVOY_ADMIN_ACCESS_PORT`")
        })
        .or_else(|| {
            let port = annotation(KUMA_ANNOTATION, "kuma-sidecar").and_then(number);
            with(port, "the annotation `kuma.io/envoy-admin-port`")
        })
        .or_else(|| with(named(), "the name of its port"))
}

/// The value of a container's flag: `-NAME=VALUE`, `--NAME=VALUE`, or the next word. The last occurrence wins.
fn flag<'a>(container: &'a Container, name: &str) -> Option<&'a str> {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    let value = |at: usize| {
        let rest = words.get(at)?.strip_prefix('-')?;
        let rest = rest.strip_prefix('-').unwrap_or(rest).strip_prefix(name)?;
        if rest.is_empty() { words.get(at + 1).copied() } else { rest.strip_prefix('=') }
    };
    (0..words.len()).rev().find_map(value)
}

/// The needed part of Istio's `ProxyConfig`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProxyConfig {
    proxy_admin_port: Option<u16>,
}

fn of_istio(text: &str) -> Option<u16> {
    yaml::<ProxyConfig>(text)?.proxy_admin_port
}

/// The needed part of a bootstrap.
#[derive(Deserialize)]
struct Bootstrap {
    admin: AdminSection,
}

#[derive(Deserialize)]
struct AdminSection {
    address: Address,
}

#[derive(Deserialize)]
struct Address {
    socket_address: SocketAddress,
}

#[derive(Deserialize)]
struct SocketAddress {
    port_value: u16,
}

fn of_bootstrap(text: &str) -> Option<u16> {
    yaml::<Bootstrap>(text).map(|bootstrap| bootstrap.admin.address.socket_address.port_value)
}

/// Parses YAML, which includes JSON. None for anything else, which is no error: the pod runs with it.
fn yaml<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_saphyr::from_str(text).ok()
}
