//! The needed fields of a service in the Kubernetes API, and the pod behind one of its ports.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::described::{Pod, Port};

/// A service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Service {
    pub(crate) spec: ServiceSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceSpec {
    /// The labels of its pods.
    pub(crate) selector: BTreeMap<String, String>,
    ports: Vec<ServicePort>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServicePort {
    port: u16,
    target_port: Option<PodPort>,
}

/// The port of a pod: its number, or the name that a container defines.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum PodPort {
    Number(u16),
    Name(String),
}

impl Service {
    /// The pod behind a port of the service, by its name, with the port of the pod. Among several ready pods, the first by name, so that
    /// repeated calls return the same one.
    ///
    /// # Errors
    /// The reason, when there is none.
    pub fn pod(&self, pods: &[Pod], port: u16) -> Result<(String, u16), String> {
        let ServiceSpec { selector, ports } = &self.spec;
        if selector.is_empty() {
            return Err("its service selects no pods: name its URL".to_owned());
        }
        let Some(of_service) = ports.iter().find(|one| one.port == port) else {
            let there: Vec<String> = ports.iter().map(|one| one.port.to_string()).collect();
            return Err(format!("its service has no port {port}, but {}", there.join(", ")));
        };
        let is_one = |pod: &&Pod| {
            let labels = &pod.metadata.labels;
            let is_selected = selector.iter().all(|(name, value)| labels.get(name) == Some(value));
            is_selected && pod.is_ready() && pod.metadata.deletion_timestamp.is_none()
        };
        let Some(pod) = pods.iter().filter(is_one).min_by_key(|pod| pod.name()) else {
            return Err("no pod of its service is ready".to_owned());
        };
        let number = match &of_service.target_port {
            None => Some(port),
            Some(PodPort::Number(number)) => Some(*number),
            Some(PodPort::Name(name)) => named(pod, name),
        };
        let without = || format!("no container of its pod `{}` names the port of its service", pod.name());
        Ok((pod.name().to_owned(), number.ok_or_else(without)?))
    }
}

/// The port of a pod with this name.
fn named(pod: &Pod, name: &str) -> Option<u16> {
    let mut all = pod.spec.containers.iter().flat_map(|container| &container.ports);
    all.find(|port: &&Port| port.name == name).map(|port| port.container_port)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(spec: &Value) -> Service {
        serde_json::from_value(json!({"spec": spec})).unwrap()
    }

    fn pod(name: &str, app: &str, ready: &str) -> Pod {
        let container = json!({"name": "prometheus", "ports": [{"name": "web", "containerPort": 9090}]});
        let conditions = [json!({"type": "Ready", "status": ready})];
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": app, "more": "yes"}},
            "spec": {"containers": [container]},
            "status": {"conditions": conditions},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn of_the_ready_pods_behind_a_port_it_is_the_first_by_name() {
        let pods = [
            pod("prometheus-2", "prometheus", "True"),
            pod("prometheus-1", "prometheus", "True"),
            pod("prometheus-0", "prometheus", "False"),
            pod("alertmanager-0", "alertmanager", "True"),
        ];
        let found = |target: &Value| {
            let port = json!({"port": 80, "targetPort": target});
            service(&json!({"selector": {"app": "prometheus"}, "ports": [port]})).pod(&pods, 80)
        };
        let first = |port: u16| Ok(("prometheus-1".to_owned(), port));
        assert_eq!(found(&json!("web")), first(9090));
        assert_eq!(found(&json!(9091)), first(9091));
        assert_eq!(found(&Value::Null), first(80));
        assert!(found(&json!("other")).unwrap_err().contains("no container of its pod `prometheus-1`"));
    }

    #[test]
    fn a_service_without_pods_or_the_port_is_said() {
        let pods = [pod("prometheus-0", "prometheus", "False")];
        let of = |spec: Value| service(&spec).pod(&pods, 9090).unwrap_err();
        let ports = json!([{"port": 9090}]);
        let selector = json!({"app": "prometheus"});
        assert!(of(json!({"ports": ports})).contains("selects no pods"));
        let other = of(json!({"selector": selector, "ports": [{"port": 80}, {"port": 443}]}));
        assert_eq!(other, "its service has no port 9090, but 80, 443");
        assert_eq!(of(json!({"selector": selector, "ports": ports})), "no pod of its service is ready");
    }
}
