//! `hoptax mesh` in a real Kubernetes, that of `tools/cluster`, which has no mesh: a template of the test puts an Envoy before the origin.
//! `make test-cluster` starts the cluster and runs these tests in its network namespace.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hoptax_cluster::job::Pull;
use hoptax_cluster::rights::rule_of_mesh;
use hoptax_cluster::usage::readings;
use hoptax_mesh::plan::{Asked, Plan};
use hoptax_mesh::source::CpuTime;
use hoptax_mesh::template::Template;
use serde_json::Value;

use super::agent_pods::{begun, line_with};
use super::agent_pods_cluster::{IMAGE, asked, leaving, prepared};
use super::pod::{envoy, kubectl, programs};
use crate::support::{TOLERANT, checked, hoptax, ran, run, wait_at_pace};

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

/// Tests that measure run one after the other: each waits until nothing of any measurement is left, and measurements disturb each other.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `hoptax mesh` at a rate that leaves the machine time for the cluster.
pub(super) fn mesh(image: &str, more: &[&str]) -> Command {
    mesh_at("100", image, more)
}

/// The same at another rate.
fn mesh_at(rate: &str, image: &str, more: &[&str]) -> Command {
    prepared();
    let mut command = hoptax();
    command.args(["mesh", "--image", image, "--pull", "never", "--rate", rate, "--connections", "4"]);
    command.args(["--rounds", "2"]).args(more).args(TOLERANT);
    command
}

/// The same of the sidecar, with its result in this folder.
pub(super) fn sidecar(rate: &str, folder: &Path, more: &[&str]) -> Command {
    let template = folder.join("sidecar.yaml");
    fs::write(&template, TEMPLATE.replace("ENVOY", &envoy())).unwrap();
    let mut command = mesh_at(rate, IMAGE, &["--kube-context", "admin"]);
    command.arg("--template").arg(&template).arg("--json").arg(folder.join("result.json"));
    command.arg("--out").arg(folder.join("out")).args(more);
    command
}

/// The result in a folder.
pub(super) fn result_in(folder: &Path) -> Value {
    checked("study", &fs::read_to_string(folder.join("result.json")).unwrap())
}

/// The findings with an id.
pub(super) fn found<'a>(result: &'a Value, id: &str) -> Vec<&'a Value> {
    result["findings"].as_array().unwrap().iter().filter(|finding| finding["id"] == id).collect()
}

/// Waits until the cluster has removed all namespaces of measurements.
pub(super) fn wait_until_clean() {
    let left = ["get", "namespaces", "--selector=app.kubernetes.io/name=hoptax-mesh", "--output", "name"];
    wait_at_pace(Duration::from_secs(1), "nothing is left", || asked(&left).is_empty());
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_cpu_time_of_a_sidecar_has_an_interval_and_nothing_is_left() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ran = ran(&mut sidecar("100", folder.path(), &["--cpu-time", "kubelet"])).succeeded();
    let result = result_in(folder.path());
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
    assert_eq!((&cluster["nodes"][0]["name"], &cluster["cpu_time"]), (&"node".into(), &"kubelet".into()));
    let has = |id: &str| !found(&result, id).is_empty();
    assert!(has("cpu-source") && has("one-node") && !has("cpu-unknown"), "{:#}", result["findings"]);
    assert!(has("idle-proxies") && !has("mesh-bypassed"), "{:#}", result["findings"]);
    // After two rounds, the interval may contain zero.
    assert!(ran.stdout.contains("`sidecar` costs "), "{}", ran.stdout);
    assert!(ran.stdout.contains("report.html") && folder.path().join("out/report.html").is_file());
    wait_until_clean();
}

/// A seed with which the sidecar is the first arm of both rounds: kubelets have read its container after its slice, before it goes.
fn seed() -> u64 {
    let is_first = |seed: &u64| {
        let asked = Asked {
            meshes: vec![Template::read(TEMPLATE).unwrap()],
            image: IMAGE.to_owned(),
            pull: Pull::Never,
            rate: 1.0,
            has_max_rate: false,
            connections: 1,
            rounds: 2,
            slice: None,
            warmup: Duration::ZERO,
            seed: *seed,
            nodes: [None, None],
            cpu_time: CpuTime::Cgroup,
            prometheus: None,
        };
        let plan = Plan::new(asked).unwrap();
        (0..2).all(|round| plan.order(round)[0] == 2)
    };
    (1..1_000).find(is_first).unwrap()
}

/// The last CPU time that the kubelet states of the container `envoy` of each pod, by namespace and pod, until something is over, seconds.
fn counted_by_kubelet(is_over: &AtomicBool) -> BTreeMap<(String, String), f64> {
    let mut counted = BTreeMap::new();
    while !is_over.load(Ordering::Relaxed) {
        let metrics = asked(&["get", "--raw", "/api/v1/nodes/node/proxy/metrics/cadvisor"]);
        let of_envoy = readings(&metrics).into_iter().filter(|(container, _)| container.name == "envoy");
        counted.extend(of_envoy.map(|(one, reading)| ((one.namespace, one.pod), reading.cpu_s)));
        thread::sleep(Duration::from_secs(2));
    }
    counted
}

/// CPU time of Envoy before its first request, and in all the time without requests, seconds.
const BESIDE_REQUESTS_S: f64 = 1.0;
/// Requests that Envoy got, as a multiple of those in the slice of 20 s: the warm-up of 3 s and the requests until it answered are more.
const BESIDE_SLICE: f64 = 1.5;

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn cpu_times_from_control_groups_are_within_those_that_the_kubelet_counts_until_the_end() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let seed = seed().to_string();
    let slices = ["--cpu-time", "cgroup", "--slice", "20s", "--seed", &seed];
    let mut command = sidecar("400", folder.path(), &slices);
    let is_over = AtomicBool::new(false);
    let (ran, counted) = thread::scope(|scope| {
        let kubelet = scope.spawn(|| counted_by_kubelet(&is_over));
        let ran = ran(&mut command);
        is_over.store(true, Ordering::Relaxed);
        (ran, kubelet.join().unwrap())
    });
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = result_in(folder.path());
    assert_eq!(result["environment"]["cluster"]["cpu_time"], "cgroup");
    let source = found(&result, "cpu-source")[0]["message"].as_str().unwrap();
    assert!(source.contains("from the control groups of the containers (as --cpu-time asks)"), "{source}");
    assert!(found(&result, "cpu-unknown").is_empty() && found(&result, "throttled").is_empty(), "{result:#}");
    // The first line names the namespaces. Kubelets know those of measurements before for a while.
    let own =
        counted.into_iter().filter(|((namespace, _), _)| ran.stderr.contains(&format!("`{namespace}`")));
    let counted: BTreeMap<String, f64> = own.map(|((_, pod), cpu_s)| (pod, cpu_s)).collect();
    let rounds = result["rounds"].as_array().unwrap();
    assert_eq!((rounds.len(), counted.len()), (2, 2), "{counted:?}");
    for round in rounds {
        let samples = round["samples"].as_array().unwrap();
        let sample = samples.iter().find(|sample| sample["arm"] == "sidecar").unwrap();
        let us = sample["values"]["cpu_us_per_request"][0].as_f64().unwrap_or_else(|| panic!("{sample:#}"));
        let of_slice_s = us * sample["book"]["answered"].as_f64().unwrap() / 1e6;
        let until_end_s = counted[&format!("origin-{}", round["round"])];
        assert!(of_slice_s <= until_end_s, "{of_slice_s} s of {until_end_s} s");
        let most_s = of_slice_s * BESIDE_SLICE + BESIDE_REQUESTS_S;
        assert!(until_end_s <= most_s, "{of_slice_s} s of {until_end_s} s");
    }
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn slices_last_half_a_minute_where_control_groups_can_be_read_and_readers_go_with_their_round() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ran = ran(&mut sidecar("100", folder.path(), &["--max-rate"])).succeeded();
    let result = result_in(folder.path());
    assert_eq!(result["environment"]["cluster"]["cpu_time"], "cgroup", "{}", ran.stderr);
    let slice_s = result["plan"]["loads"][0]["slice_s"].as_f64().unwrap();
    // Kubelets need 36 s or more.
    assert!((30.0..36.0).contains(&slice_s), "{slice_s} s");
    assert!(result["arms"][2]["cost"]["cpu_us_per_request"]["estimate"].as_f64() > Some(5.0), "{result:#}");
    for round in result["rounds"].as_array().unwrap() {
        let samples = round["samples"].as_array().unwrap().iter();
        let closed: Vec<&Value> = samples.filter(|sample| sample["load"] == "saturation").collect();
        // Each arm answers far more than the 100 requests/s of its other slice.
        let is_fast = |sample: &&Value| sample["values"]["rate"][0].as_f64() > Some(200.0);
        assert!(closed.len() == 3 && closed.iter().all(is_fast), "{round:#}");
    }
    wait_until_clean();
    assert_eq!(asked(&["get", "daemonsets", "--all-namespaces", "--output", "name"]), "");
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn stored_measurements_are_compared() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let store = format!("--store={}", folder.path().join("store.sqlite").display());
    for number in ["1", "2"] {
        let of_run = folder.path().join(number);
        fs::create_dir(&of_run).unwrap();
        let more = ["--cpu-time", "cgroup", "--slice", "10s", &store];
        let ran = ran(&mut sidecar("100", &of_run, &more)).succeeded();
        assert!(ran.stderr.contains(&format!("stored as run {number} in ")), "{}", ran.stderr);
    }
    let compared = run(["runs", "compare", "1", "2", &store]).succeeded();
    assert!(compared.stdout.contains("Run 2 against run 1: "), "{}", compared.stdout);
    let has_arm = compared.stdout.lines().any(|line| line.starts_with("sidecar "));
    assert!(has_arm, "{}", compared.stdout);
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn what_does_not_come_is_said_with_the_next_step_and_nothing_is_left() {
    let _alone = alone();
    for (image, more, code, expected) in [
        (
            IMAGE,
            vec!["--mesh", "linkerd"],
            3,
            "`linkerd` put no proxy `linkerd-proxy` into the pod of the origin",
        ),
        (IMAGE, vec!["--mesh", "linkerd"], 3, "kubectl get mutatingwebhookconfigurations"),
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
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut command = mesh(IMAGE, &[]);
    command.arg("--out").arg(folder.path().join("out"));
    let (mut process, mut lines) = begun(command);
    line_with(&mut lines, "reads CPU times from control groups");
    process.signal("INT");
    lines.for_each(drop);
    assert_eq!(process.0.wait().unwrap().code(), Some(130));
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_cleanup_removes_what_a_killed_measurement_left_once_nobody_can_be_using_it() {
    let _alone = alone();
    let _leaving = leaving();
    let folder = tempfile::tempdir().unwrap();
    let mut command = mesh(IMAGE, &["--kube-context", "admin", "--slice", "30s"]);
    command.arg("--out").arg(folder.path().join("out"));
    let (mut process, mut lines) = begun(command);
    line_with(&mut lines, "reads CPU times from control groups");
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    // It has a name and a label as ours.
    let theirs = "apiVersion: v1\nkind: Namespace\n\
                  metadata: {name: hoptax-mesh-1-theirs, labels: {app.kubernetes.io/managed-by: hoptax}}\n";
    kubectl(&["apply", "--filename", "-"], theirs);
    let cleaned = || run(["runs", "cleanup", "--kube-context", "admin"]).succeeded();
    let first = cleaned();
    assert_eq!(first.stderr.matches("was kept: it is new, or agents run in it").count(), 2, "{first:?}");
    // Agents end at the deadline of the round, eleven minutes after its beginning with slices of this length.
    let mut removed = first.stdout;
    wait_at_pace(Duration::from_secs(10), "the removal of both namespaces", || {
        removed += &cleaned().stdout;
        removed.matches("removed namespace hoptax-mesh-").count() == 2
    });
    wait_until_clean();
    assert!(!removed.contains("theirs"), "{removed}");
    kubectl(&["delete", "namespace", "hoptax-mesh-1-theirs"], "");
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_printed_rule_grants_what_a_measurement_needs() {
    let _alone = alone();
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
    for what in [
        &["get", "nodes"][..],
        &["get", "nodes", "--subresource=proxy"],
        &["create", "services"],
        &["create", "daemonsets.apps"],
    ] {
        let asked = asked(&[&["auth", "can-i", "--as", "alice"], what].concat());
        assert_eq!(asked.trim(), "yes", "{what:?}");
    }
    kubectl(&["delete", "clusterrolebinding", "hoptax-mesh"], "");
    wait_until_clean();
}

/// A kubeconfig in this folder whose `admin` is an account of the cluster. It has the rights of a measurement, but none for `daemonsets`, and of
/// the nodes these. It is not `alice`, whose rights other tests give and take. Its rights are named `hoptax-ACCOUNT`.
pub(super) fn without_readers(account: &str, folder: &Path, of_nodes: &str) -> PathBuf {
    let user = format!("system:serviceaccount:default:{account}");
    kubectl(&["--namespace", "default", "create", "serviceaccount", account], "");
    let token = asked(&["--namespace", "default", "create", "token", account]);
    let rule = rule_of_mesh(Some(&user), &[]).replace("hoptax-mesh", &format!("hoptax-{account}"));
    let rule = rule.replace("[nodes, nodes/proxy]", &format!("[{of_nodes}]"));
    let without: String =
        rule.lines().filter(|line| !line.contains("daemonsets")).map(|line| format!("{line}\n")).collect();
    kubectl(&["apply", "--filename", "-"], &without);
    wait_at_pace(Duration::from_secs(1), "the rights", || {
        let mut asked = Command::new(programs().join("kubectl"));
        asked.args(["--context", "admin", "auth", "can-i", "create", "namespaces", "--as", &user]);
        asked.output().unwrap().status.success()
    });
    let kubeconfig = folder.join("kubeconfig");
    let of_admin = fs::read_to_string(env::var("KUBECONFIG").unwrap()).unwrap();
    fs::write(&kubeconfig, of_admin.replace("token: admin", &format!("token: {}", token.trim()))).unwrap();
    kubeconfig
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn without_the_right_to_make_a_daemon_set_cpu_times_are_those_of_kubelets_and_the_reason_is_said() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = without_readers("kubelets", folder.path(), "nodes, nodes/proxy");
    let of_user = |more: &[&str]| {
        let mut command = mesh(IMAGE, &["--kube-context", "admin"]);
        command.env("KUBECONFIG", &kubeconfig).arg("--out").arg(folder.path().join("out")).args(more);
        command
    };
    let (mut process, mut lines) = begun(of_user(&[]));
    let line = line_with(&mut lines, "CPU times come from the kubelets, because");
    assert!(
        line.contains("control groups cannot be read") && line.contains("cannot create resource"),
        "{line}"
    );
    line_with(&mut lines, "waits until the nodes have read");
    process.signal("INT");
    lines.for_each(drop);
    assert_eq!(process.0.wait().unwrap().code(), Some(130));
    ran(&mut of_user(&["--cpu-time", "cgroup"])).fails(3, "resources: [daemonsets], verbs: [create, delete]");
    kubectl(&["delete", "clusterrolebinding", "hoptax-kubelets"], "");
    wait_until_clean();
}
