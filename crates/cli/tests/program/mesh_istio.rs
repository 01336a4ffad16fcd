//! `hoptax mesh` on a real Istio in a real Kubernetes, those of `tools/meshes` and `tools/cluster`: its own webhook puts sidecars into the pods
//! of the built-in template. `make test-cluster` builds both, starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::agent_pods_cluster::IMAGE;
use super::mesh_cluster::{mesh, wait_until_clean};
use super::pod::{envoy, kubectl};
use crate::support::{checked, ran, root, run, wait_at_pace};

/// The built-in template with another name, more of each pod and an object of Istio.
fn template(name: &str, origin: &str, caller: &str, mode: &str) -> String {
    format!(
        "\
name: {name}
summary: Istio in another way
namespace: {{labels: {{istio-injection: enabled}}}}
origin: {{proxies: [istio-proxy], {origin}}}
caller: {{{caller}}}
url: http://origin:8080/
objects:
- apiVersion: v1
  kind: Service
  metadata: {{name: origin}}
  spec: {{selector: {{app: origin}}, ports: [{{name: http, port: 8080}}]}}
- apiVersion: security.istio.io/v1
  kind: PeerAuthentication
  metadata: {{name: all}}
  spec: {{mtls: {{mode: {mode}}}}}
"
    )
}

/// Has Istio installed.
fn istio() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let envoy = format!("{}/envoy", envoy());
        let mut install = Command::new(root().join("tools/meshes"));
        assert!(install.args(["install", "istio", &envoy]).status().unwrap().success());
    });
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn both_sidecars_of_istio_cost_cpu_time_with_mutual_tls_and_a_way_around_them_is_found() {
    istio();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    let around = |ports: &str| format!("annotations: {{traffic.sidecar.istio.io/{ports}: \"8080\"}}");
    let caller = format!("proxies: [istio-proxy], {}", around("excludeOutboundPorts"));
    let templates = [
        ("istio-strict", template("istio-strict", "", "proxies: [istio-proxy]", "STRICT")),
        ("istio-around", template("istio-around", &around("excludeInboundPorts"), &caller, "PERMISSIVE")),
    ];
    let mut command = mesh(IMAGE, &["--kube-context", "admin", "--mesh", "istio"]);
    for (name, text) in &templates {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        command.arg("--template").arg(path);
    }
    command.arg("--json").arg(&json).arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = checked("study", &fs::read_to_string(&json).unwrap());
    let arms = result["arms"].as_array().unwrap();
    let ids: Vec<&str> = arms.iter().map(|arm| arm["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["host-network", "pod-network", "istio", "istio-strict", "istio-around"]);
    for arm in &arms[2..4] {
        for (hop, position) in ["client", "server"].iter().enumerate() {
            let used = &arm["hops"][hop];
            assert_eq!(used["name"], **position);
            assert!(used["cpu_us_per_request"]["estimate"].as_f64() > Some(20.0), "{used:#}");
            let image = arm["subject"]["hops"][hop]["version"].as_str().unwrap();
            assert!(image.starts_with("hoptax.invalid/proxyv2:"), "{image}");
        }
        assert_eq!(arm["book"]["sent"], arm["book"]["answered"], "{arm:#}");
    }
    let found: Vec<&Value> = result["findings"].as_array().unwrap().iter().collect();
    let bypassed: Vec<&Value> =
        found.into_iter().filter(|finding| finding["id"] == "mesh-bypassed").map(|one| &one["arm"]).collect();
    assert_eq!(bypassed, ["istio-around"]);
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_caller_that_istio_refuses_is_named_with_the_next_step() {
    istio();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.yaml");
    let without = "labels: {sidecar.istio.io/inject: \"false\"}";
    fs::write(&path, template("istio-plain", "", without, "STRICT")).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&path).arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let expected = "the origin of `istio-plain` does not answer at http://origin:8080/";
    assert!(ran.stderr.contains(expected) && ran.stderr.contains("by its policies"), "{}", ran.stderr);
    wait_until_clean();
}

/// A pod whose sidecar Istio's webhook adds.
const POD: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: meshed, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-0, namespace: meshed, labels: {app: cart}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: hoptax.invalid/host:1, imagePullPolicy: Never, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: meshed}
spec: {selector: {app: cart}, ports: [{name: http, port: 8080}]}
";

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_dump_of_a_sidecar_of_istio_is_read() {
    istio();
    kubectl(&["apply", "--filename", "-"], POD);
    // A negative time is a week.
    kubectl(&["--namespace", "meshed", "wait", "--timeout=-1s", "--for=condition=Ready", "pod/cart-0"], "");
    let outlined = || run(["price", "--dry-run", "--pod", "meshed/cart-0"]);
    wait_at_pace(Duration::from_secs(1), "its listener", || outlined().stdout.contains("virtualInbound"));
    let ran = outlined();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("container `istio-proxy`, port 15000"), "{ran:?}");
    kubectl(&["delete", "namespace", "meshed", "--wait=false"], "");
}
