//! `hoptax mesh` on a real Consul in a real Kubernetes, that of `tools/cluster`. Nothing there injects sidecars, so a template of the tests adds
//! them. `make test-cluster` starts the cluster and runs these tests in its network namespace.

use std::fs;

use super::agent_pods_cluster::IMAGE;
use super::mesh_cluster::{alone, mesh, wait_until_clean};
use super::pod::{envoy, kubectl, programs};
use crate::support::{checked, ran, root};

/// A fixture with the folders of the machine's programs.
fn fixture(name: &str) -> String {
    let text = fs::read_to_string(root().join("crates/cli/tests/fixtures").join(name)).unwrap();
    let text = text.replace("path: ENVOY", &format!("path: {}", envoy()));
    text.replace("path: PROGRAMS", &format!("path: {}", programs().display()))
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn both_sidecars_of_consul_cost_cpu_time() {
    let _alone = alone();
    kubectl(&["apply", "--filename", "-"], &fixture("consul-server.yaml"));
    // A negative time is a week.
    let ready = ["wait", "--timeout=-1s", "--for=condition=Ready", "pod/consul-server-0"];
    kubectl(&[&["--namespace", "consul"], &ready[..]].concat(), "");
    let folder = tempfile::tempdir().unwrap();
    let (template, json) = (folder.path().join("consul.yaml"), folder.path().join("result.json"));
    fs::write(&template, fixture("mesh-consul.yaml")).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&template).arg("--json").arg(&json);
    ran(command.arg("--out").arg(folder.path().join("out"))).succeeded();
    let result = checked("study", &fs::read_to_string(&json).unwrap());
    let consul = &result["arms"][2];
    assert_eq!(consul["id"], "consul-by-hand");
    for (hop, position) in ["client", "server"].into_iter().enumerate() {
        let used = &consul["hops"][hop];
        assert_eq!(used["name"], position);
        assert!(used["cpu_us_per_request"]["estimate"].as_f64() > Some(20.0), "{used:#}");
    }
    assert_eq!(consul["book"]["sent"], consul["book"]["answered"], "{consul:#}");
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["id"] != "mesh-bypassed"), "{findings:#?}");
    wait_until_clean();
}
