//! `hoptax load --agent-pods`: agents in pods of a real Kubernetes, that of `tools/cluster`. `make test-cluster` starts it and runs these tests
//! in its network namespace.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::agent_pods::{begun, line_with};
use super::agents::stated_s;
use super::bounds::ends;
use super::pod::{kubectl, programs};
use crate::support::{Guarded, TOLERANT, checked, hoptax, origin, program, ran, root, run, wait_at_pace};

/// The namespace of most tests, which takes only pods of the restricted profile.
pub(super) const NAMESPACE: &str = "load";
/// The image of the tested program, and the same for another processor.
pub(super) const IMAGE: &str = "hoptax.invalid/hoptax:1";
const FOREIGN: &str = "hoptax.invalid/foreign:1";
/// The address of the machine on the network of pods.
const MACHINE: &str = "10.244.0.1";
/// Flags of a load that ends with its last response.
pub(super) const COUNTED: [&str; 10] =
    ["-q", "300", "-n", "600", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];

/// Makes an image of a program.
fn image(name: &str, program: &str) {
    let made = Command::new(root().join("tools/cluster")).args(["image", name, program]).status().unwrap();
    assert!(made.success(), "{name}");
}

/// Has the namespace and the images.
pub(super) fn prepared() {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        image(IMAGE, program().to_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("hoptax");
        // The header of a program for the s390, which neither x86 nor Arm runs.
        let mut header = fs::read(program()).unwrap();
        header.truncate(4096);
        header[18..20].copy_from_slice(&[22, 0]);
        fs::write(&foreign, header).unwrap();
        fs::set_permissions(&foreign, fs::Permissions::from_mode(0o755)).unwrap();
        image(FOREIGN, foreign.to_str().unwrap());
        let label = "labels: {pod-security.kubernetes.io/enforce: restricted}";
        let quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: full}, spec: {hard: {pods: 0}}}";
        let of = |name: &str| {
            format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, {label}}}\n---\n")
        };
        let namespaces: String =
            [NAMESPACE, "full", "of-alice", "of-base", "of-chart", "of-each"].map(of).concat();
        let all = format!("{namespaces}{quota}\n");
        kubectl(&["apply", "--filename", "-"], &all);
    });
}

/// The output of `kubectl` as the administrator of the cluster.
pub(super) fn asked(arguments: &[&str]) -> String {
    let mut command = Command::new(programs().join("kubectl"));
    let output = command.args(["--context", "admin"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Tests that leave Jobs behind run one after the other, and so does the one that removes all that is left in the cluster.
pub(super) fn leaving() -> MutexGuard<'static, ()> {
    static LEAVING: Mutex<()> = Mutex::new(());
    LEAVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Jobs, pods and Secrets of a namespace that are there.
fn left(namespace: &str) -> String {
    asked(&["--namespace", namespace, "get", "jobs,pods,secrets", "--output", "name"])
}

/// Waits until nothing is left in a namespace: the cluster removes what belonged to a Job a moment after it.
pub(super) fn wait_until_clean(namespace: &str) {
    wait_at_pace(Duration::from_millis(500), "nothing is left", || left(namespace).is_empty());
}

/// An origin that pods reach, and its URL.
pub(super) fn reachable() -> (Guarded, String) {
    reachable_with(&[])
}

/// The same with these flags.
fn reachable_with(flags: &[&str]) -> (Guarded, String) {
    let (origin, url) = origin(&[&["--listen", "0.0.0.0:0"], flags].concat());
    let (_, port) = url.trim_end_matches('/').rsplit_once(':').unwrap();
    (origin, format!("http://{MACHINE}:{port}/"))
}

/// A command that sends a load from three agents. Together they need less than one processor.
pub(super) fn load_of(namespace: &str, image: &str, flags: &[&str]) -> Command {
    load_with("0.3", namespace, image, flags)
}

/// The same with this number of processors for each agent.
fn load_with(cpus: &str, namespace: &str, image: &str, flags: &[&str]) -> Command {
    load_pulling("never", cpus, namespace, image, flags)
}

/// The same, whose nodes pull the image as this word says.
fn load_pulling(pull: &str, cpus: &str, namespace: &str, image: &str, flags: &[&str]) -> Command {
    prepared();
    let mut command = hoptax();
    command.args(["load", "--agent-pods", "3", "--namespace", namespace, "--agent-image", image]);
    command.args(["--agent-pull", pull, "--agent-cpus", cpus, "--agent-memory", "128", "-w", "1"]);
    command.args(flags).args(TOLERANT);
    command
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn three_agents_in_pods_send_exactly_the_requests_of_one_generator_and_leave_nothing() {
    prepared();
    let (_origin, url) = reachable();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut command = load_of(NAMESPACE, IMAGE, &COUNTED);
    ran(command.arg("--json").arg(&file).arg(&url)).succeeded();
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    for count in ["planned", "sent", "answered"] {
        assert_eq!(result["book"][count], 600, "{count}: {result:#}");
    }
    let all = result["agents"]["all"].as_array().unwrap();
    let answered: Vec<&Value> = all.iter().map(|agent| &agent["answered"]).collect();
    assert_eq!(answered, [200, 200, 200]);
    assert!(all[2]["name"].as_str().unwrap().ends_with("-2"), "{result:#}");
    assert!(all.iter().all(|agent| agent["node"] == "node"), "{result:#}");
    wait_until_clean(NAMESPACE);
}

/// The response time of a server, us: its service, and the time that the network of pods and a busy machine may add to the median.
const TRUTH_US: [f64; 2] = [50_000.0, 55_000.0];

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn three_agents_in_pods_and_one_generator_state_the_response_time_of_a_known_server() {
    let (_origin, url) = reachable_with(&["--default", "service=50ms"]);
    // The server is idle for a quarter of the time, so that no request waits for another one.
    let flags = ["-q", "15", "-n", "300", "-c", "6", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut alone = hoptax();
    alone.arg("load").args(flags).args(TOLERANT);
    for mut command in [alone, load_of(NAMESPACE, IMAGE, &flags)] {
        ran(command.arg("--json").arg(&file).arg(&url)).succeeded();
        let result = checked("load", &fs::read_to_string(&file).unwrap());
        let book = &result["book"];
        assert_eq!((&book["planned"], &book["answered"]), (&300.into(), &300.into()), "{book}");
        let (low_us, high_us) = ends(&result, "p50_us");
        let [low_us, high_us] = [low_us, high_us].map(|us| us.unwrap_or_else(|| panic!("{result:#}")));
        assert!(low_us <= TRUTH_US[1] && high_us >= TRUTH_US[0], "{low_us} to {high_us} us");
    }
    wait_until_clean(NAMESPACE);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_pod_that_is_deleted_is_said_and_the_counts_of_the_others_are_exact() {
    prepared();
    let namespace = "deleted";
    kubectl(&["create", "namespace", namespace], "");
    let (_origin, url) = reachable();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let flags = ["-q", "300", "-n", "9000", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];
    let mut command = load_of(namespace, IMAGE, &flags);
    command.arg("--json").arg(&file).arg(&url);
    let (mut load, mut lines) = begun(command);
    line_with(&mut lines, "start together");
    let of_second = "--selector=batch.kubernetes.io/job-completion-index=1";
    kubectl(&["--namespace", namespace, "delete", "pod", of_second, "--grace-period=0", "--force"], "");
    // Its pod has more letters in its name.
    let line = line_with(&mut lines, "-1` ");
    assert!(line.contains("agent `hoptax-load-"), "{line}");
    lines.for_each(drop);
    assert_eq!(load.0.wait().unwrap().code(), Some(3));
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert_eq!((&result["book"]["planned"], &result["book"]["answered"]), (&6_000.into(), &6_000.into()));
    let reason = result["agents"]["all"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("; its pod is ") && stated_s(reason) <= 10.0, "{reason}");
    wait_until_clean(namespace);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn an_agent_out_of_memory_is_named_with_the_cause_and_the_counts_of_the_others_are_exact() {
    let (_origin, url) = reachable();
    let large = format!("{url}?size=60000000");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    // Bodies are kept to be checked. Of three URLs in turn, the second agent always sends the second one, over four connections.
    let flags = ["-q", "300", "-n", "9000", "-c", "12", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];
    let mut command = load_of(NAMESPACE, IMAGE, &flags);
    command.args(["--expect", "contains=a", "--json"]).arg(&file).args([&url, &large, &url]);
    let (mut load, mut lines) = begun(command);
    let line = line_with(&mut lines, "its 128 MiB of memory (OOMKilled)");
    assert!(line.contains("agent pod") && line.contains("--agent-memory"), "{line}");
    lines.for_each(drop);
    assert_eq!(load.0.wait().unwrap().code(), Some(3));
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert_eq!((&result["book"]["planned"], &result["book"]["answered"]), (&6_000.into(), &6_000.into()));
    let lost = &result["agents"]["all"][1];
    let reason = lost["reason"].as_str().unwrap();
    assert!(lost["outcome"] == "died" && reason.contains("(OOMKilled)"), "{lost}");
    assert!(stated_s(reason) <= 10.0, "{reason}");
    wait_until_clean(NAMESPACE);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn agents_that_their_limit_of_processors_stops_are_found_and_their_counts_are_exact() {
    let (_origin, url) = reachable();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    // A closed loop uses all that its agents have: a twentieth of a processor each.
    let flags = ["-n", "6000", "-c", "6", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];
    let mut command = load_with("0.05", NAMESPACE, IMAGE, &flags);
    // The last value of a threshold counts.
    command.args(["--threshold", "throttled=0", "--json"]).arg(&file).arg(&url);
    ran(&mut command).succeeded();
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert_eq!(result["book"]["answered"], 6_000, "{result:#}");
    let all = result["agents"]["all"].as_array().unwrap();
    assert!(all.iter().all(|agent| agent["throttled"].as_u64() > Some(0)), "{all:#?}");
    let findings = result["findings"].as_array().unwrap();
    let is_limit = |one: &&Value| {
        let message = one["message"].as_str().unwrap();
        one["id"] == "throttled" && message.contains("a CPU limit (cgroup) throttled the generator")
    };
    assert_eq!(findings.iter().filter(is_limit).count(), 3, "{findings:#?}");
    assert!(result["latency"]["response"]["p50_us"].is_null(), "{result:#}");
    wait_until_clean(NAMESPACE);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn pods_that_never_come_are_said_with_the_reason_and_the_next_step() {
    let url = "http://10.244.0.1:1/";
    let none = "hoptax.invalid/none:1";
    for (namespace, pull, image, cpus, expected, next) in [
        (NAMESPACE, "never", none, "0.3", "(ErrImageNeverPull", "--agent-image"),
        // No machine has this name.
        (NAMESPACE, "always", none, "0.3", "cannot get image `hoptax.invalid/none:1` (", "imagePullSecrets"),
        (NAMESPACE, "never", FOREIGN, "0.3", "another architecture", "--agent-image"),
        (
            NAMESPACE,
            "never",
            "hoptax.invalid/host:1",
            "0.3",
            "cannot start image `hoptax.invalid/host:1`",
            "`/hoptax`",
        ),
        ("full", "never", IMAGE, "0.3", "exceeded quota: small", "have the quota raised"),
        (NAMESPACE, "never", IMAGE, "1000", "fits on no node", "--agent-cpus"),
    ] {
        let mut command = load_pulling(pull, cpus, namespace, image, &[]);
        command.arg(url);
        let (mut load, mut lines) = begun(command);
        let line = line_with(&mut lines, expected);
        assert!(line.contains("agent pod") && line.contains(next), "{line}");
        load.signal("INT");
        lines.for_each(drop);
        assert!(matches!(load.0.wait().unwrap().code(), Some(3 | 130)), "{line}");
        wait_until_clean(namespace);
    }
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn what_others_have_in_the_namespace_stays() {
    prepared();
    let namespace = "theirs";
    kubectl(&["create", "namespace", namespace], "");
    // They have names and a label as ours.
    let metadata = "namespace: theirs, labels: {app.kubernetes.io/managed-by: hoptax}";
    let containers = "[{name: agent, image: hoptax.invalid/none:1}]";
    let theirs = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: hoptax-load-1, {metadata}}}\n---\napiVersion: batch/v1\nkind: Job\n\
         metadata: {{name: hoptax-load-1, {metadata}}}\nspec:\n  suspend: true\n  template:\n    spec: {{restartPolicy: Never, containers: \
         {containers}}}\n"
    );
    kubectl(&["apply", "--filename", "-"], &theirs);
    let before = left(namespace);
    assert_eq!(before.lines().count(), 2, "{before}");
    let (_origin, url) = reachable();
    let mut command = load_of(namespace, IMAGE, &COUNTED);
    ran(command.arg(&url)).succeeded();
    let cleaned = run(["runs", "cleanup", "--kube-context", "admin", "--namespace", namespace]);
    assert_eq!((cleaned.code, cleaned.stdout.as_str()), (Some(0), ""), "{cleaned:?}");
    wait_at_pace(Duration::from_millis(500), "the end of ours", || left(namespace).len() <= before.len());
    assert_eq!(left(namespace), before);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_target_that_pods_cannot_resolve_is_named() {
    ran(load_of(NAMESPACE, IMAGE, &COUNTED).arg("http://shop.of-another-cluster.invalid/"))
        .fails(3, "cannot resolve `shop.of-another-cluster.invalid`");
}

/// A random number below another.
fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn ten_controllers_that_are_killed_at_random_moments_leave_nothing_after_the_deadline() {
    let _leaving = leaving();
    prepared();
    let namespace = "kills";
    kubectl(&["create", "namespace", namespace], "");
    let (_origin, url) = reachable();
    let schedule = ["-q", "30", "-c", "3", "--warmup", "0s", "-d", "20s", "--timeout", "1s"];
    // A probe of the machine takes a processor, and each agent has a twentieth of one, so that those of all ten fit.
    let flags = [&schedule[..], &["--never-halt", "never"]].concat();
    let mut killed = Vec::new();
    // From the start there may be a Job or none; then its pods come; then they send.
    for stage in [None, Some("is removed at the end"), Some("start together")].into_iter().cycle().take(10) {
        let mut command = load_with("0.05", namespace, IMAGE, &flags);
        command.arg(&url);
        let (mut load, mut lines) = begun(command);
        if let Some(text) = stage {
            line_with(&mut lines, text);
        }
        let moment = Duration::from_millis(random(2_000));
        thread::sleep(moment);
        load.0.kill().unwrap();
        load.0.wait().unwrap();
        killed.push((stage, moment));
        assert!(stage.is_none() || left(namespace).contains("job.batch/hoptax-load-"), "{killed:?}");
    }
    // Agents that had a controller end at once, and others at their deadline. A negative time is a week.
    let all = ["wait", "--for=delete", "--timeout=-1s", "jobs,pods,secrets", "--all"];
    kubectl(&[&["--namespace", namespace][..], &all].concat(), "");
    // A Job that was removed has left the rest to the cluster.
    let what = format!("the end of all that {killed:?} left");
    wait_at_pace(Duration::from_millis(500), &what, || left(namespace).is_empty());
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_controller_that_is_killed_leaves_agents_that_end_and_a_job_that_is_removed() {
    let _leaving = leaving();
    prepared();
    let (_origin, url) = reachable();
    for (namespace, removes) in [("killed", false), ("removed", true)] {
        kubectl(&["create", "namespace", namespace], "");
        let mut command = load_of(namespace, IMAGE, &["-q", "100", "-d", "1h"]);
        command.arg(&url);
        let (mut load, mut lines) = begun(command);
        line_with(&mut lines, "start together");
        load.0.kill().unwrap();
        load.0.wait().unwrap();
        let failed = ["--for=condition=Failed", "--timeout=-1s", "jobs", "--all"];
        kubectl(&[&["--namespace", namespace, "wait"][..], &failed].concat(), "");
        if removes {
            let ran =
                run(["runs", "cleanup", "--kube-context", "admin", "--namespace", namespace]).succeeded();
            assert!(ran.stdout.starts_with("removed job removed/hoptax-load-"), "{ran:?}");
        }
        wait_until_clean(namespace);
    }
}
