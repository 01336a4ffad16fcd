//! `hoptax mesh` on a real Istio in a real Kubernetes, those of `tools/meshes` and `tools/cluster`: its own webhook puts sidecars into the pods
//! of the built-in template. `make test-cluster` builds both, starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::agent_pods_cluster::{IMAGE, prepared};
use super::mesh_cluster::{alone, mesh, wait_until_clean};
use super::pod::{envoy, kubectl};
use crate::support::{checked, hoptax, ran, root, run, wait_at_pace};

/// The part of a pod that has a sidecar.
const PROXY: &str = "proxies: [istio-proxy]";

/// The built-in template with another name and more of each pod.
fn template(name: &str, origin: &str, caller: &str) -> String {
    format!(
        "\
name: {name}
summary: Istio in another way
namespace: {{labels: {{istio-injection: enabled}}}}
origin: {{{origin}}}
caller: {{{caller}}}
url: http://origin:8080/
objects:
- apiVersion: v1
  kind: Service
  metadata: {{name: origin}}
  spec: {{selector: {{app: origin}}, ports: [{{name: http, port: 8080}}]}}
"
    )
}

/// All sidecars refuse plain text.
const STRICT: &str = "
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: all, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
";

/// Has Istio installed, whose sidecars accept mutual TLS alone.
pub(super) fn istio() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Two images at once would be made in one folder.
        prepared();
        let envoy = format!("{}/envoy", envoy());
        let mut install = Command::new(root().join("tools/meshes"));
        assert!(install.args(["install", "istio", &envoy]).status().unwrap().success());
        kubectl(&["apply", "--filename", "-"], STRICT);
    });
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn both_sidecars_of_istio_cost_cpu_time_and_a_way_around_them_is_found() {
    let _alone = alone();
    istio();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    let around =
        |ports: &str| format!("{PROXY}, annotations: {{traffic.sidecar.istio.io/{ports}: \"8080\"}}");
    let (origin, caller) = (around("excludeInboundPorts"), around("excludeOutboundPorts"));
    let path = folder.path().join("around.yaml");
    fs::write(&path, template("istio-around", &origin, &caller)).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin", "--mesh", "istio"]);
    command.arg("--template").arg(&path);
    command.arg("--json").arg(&json).arg("--out").arg(folder.path().join("out"));
    ran(&mut command).succeeded();
    let result = checked("study", &fs::read_to_string(&json).unwrap());
    let arms = result["arms"].as_array().unwrap();
    let ids: Vec<&str> = arms.iter().map(|arm| arm["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["host-network", "pod-network", "istio", "istio-around"]);
    let istio = &arms[2];
    for (hop, position) in ["client", "server"].into_iter().enumerate() {
        let used = &istio["hops"][hop];
        assert_eq!(used["name"], position);
        assert!(used["cpu_us_per_request"]["estimate"].as_f64() > Some(20.0), "{used:#}");
        let image = istio["subject"]["hops"][hop]["version"].as_str().unwrap();
        assert!(image.starts_with("hoptax.invalid/proxyv2:"), "{image}");
    }
    assert_eq!(istio["book"]["sent"], istio["book"]["answered"], "{istio:#}");
    let installed = &result["environment"]["cluster"]["control_planes"][0];
    assert!(
        installed.as_str().is_some_and(|image| image.starts_with("hoptax.invalid/pilot:")),
        "{installed}"
    );
    let findings = result["findings"].as_array().unwrap().iter();
    let bypassed: Vec<&Value> =
        findings.filter(|one| one["id"] == "mesh-bypassed").map(|one| &one["arm"]).collect();
    assert_eq!(bypassed, ["istio-around"]);
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_caller_that_istio_refuses_is_named_with_the_next_step() {
    let _alone = alone();
    istio();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.yaml");
    let without = "labels: {sidecar.istio.io/inject: \"false\"}";
    fs::write(&path, template("istio-plain", PROXY, without)).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&path).arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let expected = "the origin of `istio-plain` does not answer at http://origin:8080/";
    assert!(
        ran.stderr.contains(expected) && ran.stderr.contains("whether its policies do"),
        "{}",
        ran.stderr
    );
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
fn the_dump_of_a_sidecar_of_istio_is_read_and_its_bill_is_measured() {
    let _alone = alone();
    istio();
    kubectl(&["apply", "--filename", "-"], POD);
    // A negative time is a week.
    kubectl(&["--namespace", "meshed", "wait", "--timeout=-1s", "--for=condition=Ready", "pod/cart-0"], "");
    let outlined = || run(["price", "--dry-run", "--pod", "meshed/cart-0"]);
    wait_at_pace(Duration::from_secs(1), "its listener", || outlined().stdout.contains("virtualInbound"));
    let ran = outlined().succeeded();
    assert!(ran.stderr.contains("container `istio-proxy`, port 15000"), "{ran:?}");
    // Before the filter chain for the port of the pod, there are those for all other ports.
    let (_, inbound) = ran.stdout.split_once("Listener virtualInbound").unwrap();
    let (inbound, _) = inbound.split_once("\n\n").unwrap();
    assert!(inbound.contains("to cluster inbound|8080||"), "{inbound}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bill.json");
    let mut command = hoptax();
    command.args(["price", "--pod", "meshed/cart-0", "--listener", "virtualInbound"]);
    command.args(["--rate", "200", "--rounds", "2", "--json"]).arg(&file);
    let priced = self::ran(command.arg("--out").arg(folder.path().join("out")));
    // Two rounds beside a cluster may support no number.
    assert!(matches!(priced.code, Some(0 | 4)), "{priced:?}");
    let bill = checked("bill", &fs::read_to_string(&file).unwrap());
    assert_eq!((&bill["listener"], &bill["rounds"]), (&"virtualInbound".into(), &2.into()), "{bill:#}");
    assert_eq!(bill["request"]["statuses"], json!([200]), "{bill:#}");
    let parts = bill["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["kind"] == "downstream TLS"), "{bill:#}");
    assert!(parts.iter().any(|part| !part["arm"].is_null()), "{bill:#}");
    kubectl(&["delete", "namespace", "meshed", "--wait=false"], "");
}
