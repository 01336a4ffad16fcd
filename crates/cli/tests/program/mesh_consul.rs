//! `hoptax mesh` on a real Consul in a real Kubernetes, that of `tools/cluster`. Nothing there injects sidecars, so a template of the tests
//! adds them. `make test-cluster` starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::agent_pods_cluster::IMAGE;
use super::mesh_cluster::{alone, found, mesh, result_in, wait_until_clean};
use super::pod::{envoy, kubectl, programs};
use crate::support::{ran, root};

/// The service of a pod, which Kubernetes puts in its place.
const OWN: &str = "$(SERVICE)";

/// A fixture with the folders of the machine's programs.
fn fixture(name: &str) -> String {
    let text = fs::read_to_string(root().join("crates/cli/tests/fixtures").join(name)).unwrap();
    let text = text.replace("path: ENVOY", &format!("path: {}", envoy()));
    let text = text.replace("path: PROGRAMS", &format!("path: {}", programs().display()));
    // Kubernetes refuses a path with `..`.
    let filters = root().join("filters").canonicalize().unwrap();
    text.replace("path: FILTERS", &format!("path: {}", filters.display()))
}

/// Has the server of Consul run.
fn consul() {
    static RUNS: OnceLock<()> = OnceLock::new();
    RUNS.get_or_init(|| {
        kubectl(&["apply", "--filename", "-"], &fixture("consul-server.yaml"));
        // A negative time is a week.
        let ready = ["wait", "--timeout=-1s", "--for=condition=Ready", "pod/consul-server-0"];
        kubectl(&[&["--namespace", "consul"], &ready[..]].concat(), "");
    });
}

/// The template with an extension of the sidecar of a service: the filter in WebAssembly that enforces the plans of the image registry.
fn with_plans(service: &str) -> String {
    let settings = json!({
        "key": "aG9wdGF4LXRlc3Qta2V5LW9mLTMyLWJ5dGVzLS0tLS0",
        "images": "/",
        "token_header": "x-hoptax-registry-token",
        "enterprise": 1_000_000_000,
    });
    let plugin = json!({
        "Name": "plans",
        "RootID": "plans",
        "VmConfig": {"Runtime": "v8", "Code": {"Local": {"Filename": "/filters/hoptax_filters.wasm"}}},
        "Configuration": format!("plans {settings}"),
    });
    let arguments = json!({"Protocol": "http", "ListenerType": "inbound", "PluginConfig": plugin});
    let entry = json!({
        "Kind": "service-defaults",
        "Name": service,
        "Protocol": "http",
        // Without this, a sidecar that cannot have the extension would run without it.
        "EnvoyExtensions": [{"Name": "builtin/wasm", "Required": true, "Arguments": arguments}],
    });
    let function = root().join("crates/functions/catalogue/plan-limit/wasm.yaml");
    let function: Value = serde_saphyr::from_str(&fs::read_to_string(function).unwrap()).unwrap();
    let headers = &function["request"]["headers"];
    assert!(headers["x-hoptax-registry-token"].is_string(), "{headers}");
    let proof = "{path: /, headers: {x-hoptax-registry-token: none}, expect: status=401}";
    let text = fixture("mesh-consul.yaml");
    let text = text.replace("name: consul-by-hand\n", "name: consul-plans\n");
    // A JSON string is a YAML scalar.
    let text = text.replace(
        "{name: ENTRY, value: \"\"}",
        &format!("{{name: ENTRY, value: {}}}", Value::from(entry.to_string())),
    );
    format!("{text}headers: {headers}\nproof: {proof}\n")
}

/// The result of measuring these templates, whose requests all were answered through both sidecars.
fn measured(folder: &Path, templates: &[String]) -> Value {
    consul();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    for (number, text) in templates.iter().enumerate() {
        let path = folder.join(format!("{number}.yaml"));
        fs::write(&path, text).unwrap();
        command.arg("--template").arg(path);
    }
    command.arg("--json").arg(folder.join("result.json")).arg("--out").arg(folder.join("out"));
    ran(&mut command).succeeded();
    let result = result_in(folder);
    for arm in &result["arms"].as_array().unwrap()[2..] {
        for (hop, position) in ["client", "server"].into_iter().enumerate() {
            let used = &arm["hops"][hop];
            assert_eq!(used["name"], position);
            assert!(used["cpu_us_per_request"]["estimate"].as_f64() > Some(20.0), "{used:#}");
        }
        assert_eq!(arm["book"]["sent"], arm["book"]["answered"], "{arm:#}");
    }
    assert!(found(&result, "mesh-bypassed").is_empty(), "{:#}", result["findings"]);
    wait_until_clean();
    result
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn both_sidecars_of_consul_cost_cpu_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let result = measured(folder.path(), &[fixture("mesh-consul.yaml")]);
    assert_eq!(result["arms"][2]["id"], "consul-by-hand");
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn plans_of_the_image_registry_are_enforced_in_a_sidecar_of_consul_beside_one_without_them() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // A sidecar that answers requests without a valid token otherwise than by refusing them would not be measured.
    let result = measured(folder.path(), &[fixture("mesh-consul.yaml"), with_plans(OWN)]);
    let ids: Vec<&Value> = result["arms"].as_array().unwrap().iter().map(|arm| &arm["id"]).collect();
    assert_eq!(ids, ["host-network", "pod-network", "consul-by-hand", "consul-plans"]);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_sidecar_of_consul_that_enforces_no_plan_is_not_measured_as_one_that_does() {
    let _alone = alone();
    consul();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.yaml");
    fs::write(&path, with_plans("another")).unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&path).arg("--out").arg(folder.path().join("out"));
    ran(&mut command).fails(3, "`consul-plans` is not in effect");
    wait_until_clean();
}
