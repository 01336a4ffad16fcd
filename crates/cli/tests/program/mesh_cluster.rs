//! `hoptax mesh` in a real Kubernetes, that of `tools/cluster`, which has no mesh: a template of the test puts an Envoy before the origin.
//! `make test-cluster` starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::agent_pods::{begun, line_with};
use super::agent_pods_cluster::{IMAGE, asked, prepared};
use super::pod::{envoy, kubectl};
use crate::support::{TOLERANT, checked, hoptax, ran, wait_at_pace};

/// A mesh whose sidecar is an Envoy of the machine, in the pod of the origin.
const TEMPLATE: &str = r#"
name: sidecar
summary: an Envoy before the origin
url: "http://{{ address }}:10000/"
origin:
  proxies: [envoy]
  spec:
    containers:
    - name: envoy
      image: hoptax.invalid/host:1
      imagePullPolicy: Never
      securityContext: {runAsUser: 0, runAsNonRoot: false}
      command: [/envoy/envoy, --disable-hot-restart, --concurrency, "1", --config-yaml]
      args:
      - |
        static_resources:
          listeners:
          - name: inbound
            address: {socket_address: {address: 0.0.0.0, port_value: 10000}}
            filter_chains:
            - filters:
              - name: http
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                  stat_prefix: inbound
                  http_filters:
                  - name: router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
                  route_config:
                    virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes: [{match: {prefix: /}, route: {cluster: app}}]
          clusters:
          - name: app
            load_assignment:
              cluster_name: app
              endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8080}}}}]}]
      volumeMounts:
      - {name: usr, mountPath: /usr, readOnly: true}
      - {name: envoy, mountPath: /envoy, readOnly: true}
    volumes:
    - {name: usr, hostPath: {path: /usr}}
    - {name: envoy, hostPath: {path: ENVOY}}
"#;

/// `hoptax mesh` at a rate that leaves the machine time for the cluster.
fn mesh(image: &str, more: &[&str]) -> Command {
    prepared();
    let mut command = hoptax();
    command.args(["mesh", "--image", image, "--pull", "never", "--rate", "100", "--connections", "4"]);
    command.args(["--rounds", "2"]).args(more).args(TOLERANT);
    command
}

/// Waits until the cluster has removed all namespaces of measurements.
fn wait_until_clean() {
    let left = ["get", "namespaces", "--selector=app.kubernetes.io/name=hoptax-mesh", "--output", "name"];
    wait_at_pace(Duration::from_secs(1), "nothing is left", || asked(&left).is_empty());
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_cpu_time_of_a_sidecar_has_an_interval_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (template, json) = (folder.path().join("sidecar.yaml"), folder.path().join("result.json"));
    fs::write(&template, TEMPLATE.replace("ENVOY", &envoy())).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&template).arg("--json").arg(&json);
    command.arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = checked("study", &fs::read_to_string(&json).unwrap());
    let arms = result["arms"].as_array().unwrap();
    let ids: Vec<&str> = arms.iter().map(|arm| arm["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["host-network", "pod-network", "sidecar"]);
    let sidecar = &arms[2];
    let cost = &sidecar["cost"]["cpu_us_per_request"];
    let of = |name: &str| cost[name].as_f64().unwrap_or_else(|| panic!("{sidecar:#}"));
    assert!(of("estimate") > 5.0 && of("low") < of("estimate") && of("estimate") < of("high"), "{cost}");
    assert_eq!(sidecar["hops"][0]["name"], "server");
    assert_eq!(sidecar["subject"]["hops"][0]["version"], "hoptax.invalid/host:1");
    for arm in arms {
        assert!(arm["response_us"]["p50"]["estimate"].as_f64() > Some(0.0), "{arm:#}");
        assert_eq!(arm["book"]["sent"], arm["book"]["answered"], "{arm:#}");
    }
    let cluster = &result["environment"]["cluster"];
    assert_eq!(cluster["kubernetes"], "v1.32.1");
    assert_eq!(cluster["nodes"][0]["name"], "node", "{cluster}");
    let findings = result["findings"].as_array().unwrap();
    let has = |id: &str| findings.iter().any(|finding| finding["id"] == id);
    assert!(has("cpu-source") && has("one-node") && !has("cpu-unknown"), "{findings:#?}");
    assert!(has("idle-proxies") && !has("mesh-bypassed"), "{findings:#?}");
    // After two rounds, the interval may contain zero.
    assert!(ran.stdout.contains("`sidecar` costs "), "{}", ran.stdout);
    assert!(ran.stdout.contains("report.html") && folder.path().join("out/report.html").is_file());
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn what_does_not_come_is_said_with_the_next_step_and_nothing_is_left() {
    for (image, more, code, expected) in [
        (IMAGE, vec!["--mesh", "istio"], 3, "`istio` put no proxy `istio-proxy` into the pod of the origin"),
        (IMAGE, vec!["--mesh", "istio"], 3, "kubectl get mutatingwebhookconfigurations"),
        (IMAGE, vec!["--mesh", "istio-ambient"], 3, "no pod `ztunnel-…` of namespace `istio-system`"),
        ("hoptax.invalid/none:1", vec![], 3, "cannot get the image of container `origin` (ErrImageNeverPull"),
        (IMAGE, vec!["--node", "nowhere"], 3, "fits on no node"),
        (IMAGE, vec!["--kube-context", "admn"], 2, "no context `admn`"),
        (
            IMAGE,
            vec!["--kube-context", "expired"],
            3,
            "does not accept the credentials of the kubeconfig: 401",
        ),
        (IMAGE, vec!["--kube-context", "alice"], 3, "`alice` may not `create` `namespaces`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = mesh(image, &more);
        let ran = ran(command.arg("--out").arg(folder.path().join("out")));
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{more:?}: {ran:?}");
        assert!(!folder.path().join("out").exists());
    }
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn an_interrupt_removes_all_that_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = mesh(IMAGE, &[]);
    command.arg("--out").arg(folder.path().join("out"));
    let (mut process, mut lines) = begun(command);
    line_with(&mut lines, "waits until the nodes have read");
    process.signal("INT");
    lines.for_each(drop);
    assert_eq!(process.0.wait().unwrap().code(), Some(130));
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_printed_rule_grants_what_a_measurement_needs() {
    let of_alice = |image: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = mesh(image, &["--kube-context", "alice"]);
        ran(command.arg("--out").arg(folder.path().join("out")))
    };
    let forbidden = of_alice("hoptax.invalid/none:1");
    let (_, rule) = forbidden.stderr.split_once("\n\n").unwrap_or_else(|| panic!("{forbidden:?}"));
    kubectl(&["apply", "--filename", "-"], rule);
    // The API server learns of a rule a moment after it was applied.
    wait_at_pace(Duration::from_secs(1), "the rights", || {
        of_alice("hoptax.invalid/none:1").stderr.contains("cannot get the image")
    });
    for what in [&["get", "nodes"][..], &["get", "nodes", "--subresource=proxy"], &["create", "services"]] {
        let asked = asked(&[&["auth", "can-i", "--as", "alice"], what].concat());
        assert_eq!(asked.trim(), "yes", "{what:?}");
    }
    kubectl(&["delete", "clusterrolebinding", "hoptax-mesh"], "");
    wait_until_clean();
}
