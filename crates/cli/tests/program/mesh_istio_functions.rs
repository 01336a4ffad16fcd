//! Functions of Istio as arms of `hoptax mesh`, on the Istio of module `mesh_istio`.

use std::fs;

use serde_json::Value;

use super::agent_pods_cluster::IMAGE;
use super::mesh_cluster::{alone, mesh, wait_until_clean};
use super::mesh_istio::istio;
use crate::support::{checked, ran};

/// A policy that also permits what the policy of the template that it extends refuses.
const OPEN: &str = "
name: istio-open
extends: istio-authorization-1
objects:
- apiVersion: security.istio.io/v1
  kind: AuthorizationPolicy
  metadata: {name: more}
  spec:
    selector: {matchLabels: {app: origin}}
    action: ALLOW
    rules: [{to: [{operation: {paths: [/refused]}}]}]
";

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn functions_of_istio_are_measured_beside_it_and_compared_with_it() {
    let _alone = alone();
    istio();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    let functions = ["istio-mutual-tls-off", "istio-authorization-100"];
    let mut command = mesh(IMAGE, &["--kube-context", "admin", "--mesh", "istio"]);
    for function in functions {
        command.args(["--mesh", function]);
    }
    command.arg("--json").arg(&json).arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    // A policy that did not refuse what it must, or a route that is not there, would end it.
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = checked("study", &fs::read_to_string(&json).unwrap());
    let arms = result["arms"].as_array().unwrap();
    for function in functions {
        let arm = arms.iter().find(|arm| arm["id"] == function).unwrap();
        assert_eq!(arm["compared_with"], "istio", "{function}");
        assert_eq!(arm["book"]["sent"], arm["book"]["answered"], "{function}: {arm:#}");
        for hop in arm["hops"].as_array().unwrap() {
            assert!(hop["cpu_us_per_request"]["estimate"].as_f64() > Some(20.0), "{function}: {hop:#}");
        }
        let cost = &arm["cost"]["cpu_us_per_request"];
        assert!(cost["low"].as_f64() < cost["high"].as_f64(), "{function}: {cost:#}");
        assert!(ran.stdout.contains(&format!("`{function}` adds ")), "{}", ran.stdout);
    }
    let is_bypassed = |finding: &Value| finding["id"] == "mesh-bypassed";
    assert!(!result["findings"].as_array().unwrap().iter().any(is_bypassed), "{result:#}");
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_policy_that_does_not_refuse_what_it_must_is_not_measured() {
    let _alone = alone();
    istio();
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("open.yaml");
    fs::write(&template, OPEN).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&template).arg("--out").arg(folder.path().join("out"));
    let ran = ran(&mut command);
    let expected =
        "`istio-open` is not in effect: http://origin:8080/refused does not answer with `status=403`";
    ran.fails(3, expected);
    wait_until_clean();
}
