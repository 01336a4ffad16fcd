//! `hoptax mesh` with a Prometheus as the source of CPU times, in a real Kubernetes, that of `tools/cluster`, which has both. `make test-cluster`
//! starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::time::Duration;

use super::agent_pods_cluster::asked;
use super::mesh_cluster::{alone, found, result_in, sidecar, wait_until_clean, without_readers};
use super::pod::{kubectl, programs};
use crate::support::{ran, root, wait_at_pace};

/// Has a Prometheus run that has asked the kubelet of the cluster.
fn prometheus() {
    let text = fs::read_to_string(root().join("crates/cli/tests/fixtures/prometheus.yaml")).unwrap();
    let text = text.replace("path: PROGRAMS", &format!("path: {}", programs().display()));
    let certificate = programs().with_file_name("state").join("certificates/kubelet.crt");
    let text = text.replace("path: CERTIFICATE", &format!("path: {}", certificate.display()));
    kubectl(&["apply", "--filename", "-"], &text);
    // A negative time is a week.
    let ready = ["wait", "--timeout=-1s", "--for=condition=Ready", "pod/prometheus-0"];
    kubectl(&[&["--namespace", "monitoring"], &ready[..]].concat(), "");
    let pod = "/api/v1/namespaces/monitoring/pods/prometheus-0:9090/proxy";
    let own = format!("{pod}/api/v1/query?query=container_cpu_usage_seconds_total");
    wait_at_pace(Duration::from_secs(1), "its own CPU time", || {
        asked(&["get", "--raw", &own]).contains("\"container\":\"prometheus\"")
    });
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn without_control_groups_and_kubelets_cpu_times_are_those_of_the_prometheus_of_the_cluster() {
    let _alone = alone();
    prometheus();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = without_readers("prometheus", folder.path(), "nodes");
    let mut command = sidecar("100", folder.path(), &["--prometheus", "monitoring/prometheus:80"]);
    ran(command.env("KUBECONFIG", kubeconfig)).succeeded();
    let result = result_in(folder.path());
    assert_eq!(result["environment"]["cluster"]["cpu_time"], "prometheus");
    let cost = &result["arms"][2]["cost"]["cpu_us_per_request"];
    assert!(cost["estimate"].as_f64() > Some(5.0), "{result:#}");
    let source = found(&result, "cpu-source")[0];
    assert_eq!(source["severity"], "info", "its times are those of the kubelet: {source:#}");
    let message = source["message"].as_str().unwrap();
    for expected in [
        "from a Prometheus",
        "control groups cannot be read",
        "the metrics of the kubelets cannot be read: the cluster does not show the metrics of node `node`",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert!(found(&result, "cpu-unknown").is_empty(), "{:#}", result["findings"]);
    kubectl(&["delete", "clusterrolebinding", "hoptax-prometheus"], "");
    kubectl(&["delete", "namespace", "monitoring", "--wait=false"], "");
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_prometheus_that_is_not_there_is_said_before_anything_is_made() {
    let _alone = alone();
    for (address, expected) in [
        ("default/none:9090", "does not show service `default/none`: 404"),
        ("default/kubernetes:443", "gives no CPU times: its service selects no pods"),
        ("http://127.0.0.1:1", "Prometheus `http://127.0.0.1:1` gives no CPU times"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ran = ran(&mut sidecar("100", folder.path(), &["--prometheus", address]));
        ran.fails(3, expected);
        assert!(!ran.stderr.contains("in namespaces"), "{ran:?}");
    }
}
