//! `hoptax mesh`, as far as no cluster is needed. Module `mesh_cluster` has a real one.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Guarded, hoptax, run};

/// A measurement that needs no cluster to be refused or shown.
const ASKED: [&str; 3] = ["mesh", "--image", "a/b:1"];

#[test]
fn a_dry_run_prints_the_rights_and_the_manifests_and_needs_no_cluster() {
    let ran = run(ASKED.into_iter().chain(["--mesh", "istio,linkerd", "--dry-run"])).succeeded();
    let documents: Vec<Value> =
        ran.stdout.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    let of = |kind: &str| documents.iter().filter(|document| document["kind"] == kind).count();
    assert_eq!((of("Namespace"), of("Pod"), of("Job"), of("ClusterRole")), (4, 4, 4, 1), "{}", ran.stdout);
    assert_eq!(of("DaemonSet"), 1, "{}", ran.stdout);
    // Five rounds of four slices, each 30 s after a warm-up of 3 s.
    let summary = "4 namespaces, each with a Pod and a Job, 1 DaemonSet; 5 rounds, at least 11 min\n";
    assert_eq!(ran.stderr, summary);
    assert!(
        ran.stdout.contains("istio-injection: enabled") && ran.stdout.contains("linkerd.io/inject: enabled")
    );
}

#[test]
fn functions_of_a_mesh_are_arms_with_objects_whose_rights_a_dry_run_prints() {
    let shown = |more: &[&str]| {
        let ran = run(ASKED.into_iter().chain(more.iter().copied()).chain(["--dry-run"])).succeeded();
        let documents: Vec<Value> =
            ran.stdout.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
        documents
    };
    let groups = |documents: &[Value]| {
        let rules = documents[0]["rules"].as_array().unwrap().iter();
        let groups = rules.map(|rule| rule["apiGroups"][0].as_str().unwrap().to_owned());
        groups.filter(|group| group.contains("istio") || group.contains("consul")).collect::<Vec<_>>()
    };
    let namespaces = |documents: &[Value]| {
        let of = documents.iter().filter(|document| document["kind"] == "Namespace");
        of.map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plain = shown(&["--mesh", "istio,consul"]);
    assert!(groups(&plain).is_empty(), "only what a chosen template needs is granted");
    let one = shown(&["--mesh", "istio,istio-authorization-100"]);
    assert_eq!(groups(&one), ["security.istio.io"]);
    let policy = one.iter().find(|document| document["kind"] == "AuthorizationPolicy").unwrap();
    assert_eq!(policy["metadata"]["namespace"], namespaces(&one)[3].as_str());
    assert_eq!(policy["spec"]["rules"].as_array().unwrap().len(), 100);
    let all = shown(&["--mesh", "consul,consul-retries", "--functions"]);
    let ids: Vec<String> = namespaces(&all)
        .iter()
        // Before it is `hoptax-mesh-NUMBER-`.
        .map(|name| name.splitn(4, '-').last().unwrap().to_owned())
        .collect();
    let networks = ["host-network", "pod-network"];
    let chosen = ["consul", "consul-retries"];
    let more = ["consul-http", "consul-authorization-1", "consul-authorization-100", "consul-traffic-split"];
    assert_eq!(ids, [&networks[..], &chosen[..], &more[..]].concat());
}

#[test]
fn a_measurement_by_the_metrics_of_kubelets_or_a_prometheus_makes_no_daemon_set() {
    let kubelet = ["--cpu-time", "kubelet"];
    let prometheus = ["--cpu-time", "prometheus", "--prometheus", "monitoring/prometheus:9090"];
    for source in [&kubelet[..], &prometheus[..]] {
        let ran = run(ASKED.into_iter().chain(source.iter().copied()).chain(["--dry-run"]));
        assert!(ran.code == Some(0) && !ran.stdout.contains("kind: DaemonSet"), "{ran:?}");
    }
}

/// The answer of a reader to a question, both as JSON.
fn answer_of_reader(address: &str, question: &Value) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let question = question.to_string();
    stream.write_all(&u32::try_from(question.len()).unwrap().to_be_bytes()).unwrap();
    stream.write_all(question.as_bytes()).unwrap();
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(head) as usize];
    stream.read_exact(&mut answer).unwrap();
    serde_json::from_slice(&answer).unwrap()
}

#[test]
fn a_reader_answers_with_the_counters_of_containers_of_pods_and_ends_at_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let id = "0a".repeat(32);
    let group = folder.path().join("kubepods/burstable/pod1").join(&id);
    fs::create_dir_all(&group).unwrap();
    fs::write(folder.path().join("cgroup.controllers"), "cpu\n").unwrap();
    let counters = "usage_usec 1500\nnr_periods 20\nnr_throttled 3\nthrottled_usec 500000\n";
    fs::write(group.join("cpu.stat"), counters).unwrap();
    let mut command = hoptax();
    command.args(["lab", "reader", "--listen", "127.0.0.1:0", "--groups"]).arg(folder.path());
    let mut reader = Guarded(command.stdout(Stdio::piped()).spawn().unwrap());
    let address = &reader.address();
    let other = "0b".repeat(32);
    let answer = answer_of_reader(address, &json!({"version": 2, "containers": [id, other]}));
    let reading = &answer["Ok"][&id];
    assert_eq!(reading["cpu_ns"], 1_500_000, "{answer}");
    assert_eq!(reading["limit"], json!({"periods": 20, "throttled": 3, "throttled_s": 0.5}), "{answer}");
    assert!(reading["at_ns"].as_u64() > Some(0) && answer["Ok"][&other].is_null(), "{answer}");
    let refused = answer_of_reader(address, &json!({"version": 2, "containers": ["../../etc"]}));
    assert!(refused["Err"].as_str().unwrap().contains("64 digits"), "{refused}");
    reader.signal("TERM");
    assert_eq!(reader.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_others_reach_or_without_control_groups_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let groups = folder.path().to_str().unwrap();
    for (listen, code, expected) in [
        ("0.0.0.0:0", 2, "let it listen on loopback"),
        ("127.0.0.1:0", 3, "no control groups with CPU times"),
    ] {
        let ran = run(["lab", "reader", "--listen", listen, "--groups", groups]);
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{ran:?}");
    }
}

#[test]
fn a_mesh_that_cannot_be_measured_is_refused_with_the_reason_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.yaml");
    fs::write(&path, "name: pod-network\nurl: http://a/\norigin: {proxies: [envoy]}\n").unwrap();
    let twice = path.to_str().unwrap();
    let outside = folder.path().join("outside.yaml");
    fs::write(&outside, "name: a\nurl: http://victim.example/\norigin: {proxies: [envoy]}\n").unwrap();
    let outside = outside.to_str().unwrap();
    let elsewhere = folder.path().join("elsewhere.yaml");
    let strict = "{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: all, namespace: istio-system}}";
    fs::write(&elsewhere, format!("name: a\nextends: istio\nobjects:\n- {strict}\n")).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    run(["mesh", "--image", "", "--dry-run"]).fails(2, "for '--image <IMAGE>': it is empty");
    for (arguments, expected) in [
        (vec!["--mesh", "itsio"], "itsio"),
        (vec!["--template", "none.yaml"], "cannot read the template `none.yaml`"),
        (vec!["--template", twice], "two arms are named `pod-network`"),
        (vec!["--template", outside], "no load may leave the cluster"),
        (vec!["--template", elsewhere], "the PeerAuthentication `all` names a namespace"),
        (vec!["--functions"], "--mesh"),
        (vec!["--rounds", "1"], "--rounds"),
        (vec!["--rate", "0"], "--rate"),
        (vec!["--cpu-time", "metrics"], "--cpu-time"),
        (vec!["--cpu-time", "prometheus"], "`--prometheus NAMESPACE/SERVICE:PORT`"),
        (
            vec!["--cpu-time", "kubelet", "--prometheus", "a/b:80"],
            "`--prometheus a/b:80` would never be used",
        ),
        (vec!["--prometheus", "prometheus:9090"], "`prometheus:9090` is not the address of a Prometheus"),
        (vec!["--prometheus", "https://a/"], "uses TLS"),
        (vec!["--threshold", "none=1"], "no threshold `none`"),
        (vec!["--kube-context", ""], "--kube-context"),
        (vec!["--node", ""], "--node"),
    ] {
        run(ASKED.into_iter().chain(arguments.iter().copied()).chain(["--dry-run"])).fails(2, expected);
    }
}

/// With a client of Kubernetes, `make test-cluster` tests the rest.
#[cfg(not(feature = "cluster"))]
#[test]
fn a_mesh_needs_a_program_with_a_client_of_kubernetes() {
    run(ASKED).fails(3, "--features cluster");
}
