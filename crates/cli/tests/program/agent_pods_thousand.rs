//! `hoptax load --agent-pods` with a thousand pods that do not exist: kwok says of each that it runs, and later that its node evicted it.
//! `make test-cluster` starts the cluster and runs this test in its network namespace.

use std::env;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::agent_pods::begun;
use super::agent_pods_cluster::wait_until_clean;
use super::load_ends::peak_memory_bytes;
use super::mesh_cluster::alone;
use super::pod::{kubectl, programs};
use crate::support::{Guarded, hoptax, root};

const AGENTS: usize = 1_000;
/// The namespace of their pods, and the key of the label and the taint of their nodes.
const NAMESPACE: &str = "thousand";
const SIMULATED: &str = "hoptax.invalid/simulated";
/// The most memory of the controller, MiB.
const MOST_MIB: u64 = 500;

/// A namespace whose pods go to the nodes of kwok, and these nodes, to which no others go.
fn namespace_and_nodes() -> String {
    let tolerations = format!(r#"[{{"key": "{SIMULATED}", "operator": "Exists"}}]"#);
    let namespace = format!(
        "\
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels: {{pod-security.kubernetes.io/enforce: restricted}}
  annotations:
    scheduler.alpha.kubernetes.io/node-selector: {SIMULATED}=yes
    scheduler.alpha.kubernetes.io/defaultTolerations: '{tolerations}'
"
    );
    let node = |number: u32| {
        let name = format!("simulated-{number}");
        format!(
            "\
---
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{{SIMULATED}: \"yes\", kubernetes.io/hostname: {name}}}}}
spec: {{taints: [{{key: {SIMULATED}, effect: NoSchedule}}]}}
"
        )
    };
    let nodes: String = (0..10).map(node).collect();
    namespace + &nodes
}

/// Has kwok simulate the nodes and their pods.
fn kwok() -> Guarded {
    let stages = root().join("crates/cli/tests/fixtures/kwok.yaml");
    let mut kwok = Command::new(programs().join("kwok"));
    kwok.arg("--kubeconfig").arg(env::var_os("KUBECONFIG").unwrap()).arg("--config").arg(stages);
    // The real kubelet listens at this address. It knows none of these pods, so it refuses to forward their ports.
    kwok.args(["--manage-all-nodes=false", "--node-ip=10.99.0.1"]);
    kwok.arg(format!("--manage-nodes-with-label-selector={SIMULATED}=yes"));
    Guarded(kwok.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// The CPU time of a process that has ended and for which nobody has waited, seconds.
fn cpu_s(process_id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat")).unwrap();
    // User and system time, in ticks of a hundredth of a second, are the 12th and 13th word after the name.
    let words = stat.rsplit(')').next().unwrap().split_whitespace();
    words.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// The number of pods that a message about their eviction is about: it names three at most, and counts the others.
fn evicted(message: &str) -> usize {
    let Some((pods, _)) = message.split_once(" was evicted: The node was low on resource") else { return 0 };
    // The end of a load without agents names them by their indices.
    let named = pods.matches(" on node `simulated-").count();
    let others = pods.strip_suffix(" more").and_then(|pods| pods.rsplit(' ').next());
    named + others.map_or(0, |number| number.parse::<usize>().unwrap())
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_thousand_evicted_pods_are_said_in_a_few_lines_and_nothing_is_left() {
    // A thousand pods take the time of the API server, beside which nothing can be measured.
    let _alone = alone();
    let _kwok = kwok();
    kubectl(&["apply", "--filename", "-"], &namespace_and_nodes());
    let selector = format!("--selector={SIMULATED}=yes");
    // A negative time is a week.
    kubectl(&["wait", "--timeout=-1s", "--for=condition=Ready", "nodes", &selector], "");
    let mut command = hoptax();
    let agents = AGENTS.to_string();
    command.args(["load", "--agent-pods", &agents, "--namespace", NAMESPACE]);
    command.args(["--agent-image", "hoptax.invalid/none:1", "--agent-pull", "never"]);
    command.args(["--agent-cpus", "0.1", "--agent-memory", "64", "-w", "1", "-c", &agents, "-n", &agents]);
    command.args(["--warmup", "0s", "-d", "1m", "--never-halt", "never", "http://10.244.0.1:1/"]);
    let began = Instant::now();
    let (mut load, lines) = begun(command);
    let process_id = load.0.id();
    let (said, peak_mib) = thread::scope(|scope| {
        let peak = scope.spawn(|| peak_memory_bytes(process_id, Duration::from_millis(200)) >> 20);
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        (said, peak.join().unwrap())
    });
    let (wall_s, cpu_s) = (began.elapsed().as_secs_f64(), cpu_s(process_id));
    eprintln!("controller of {AGENTS} pods: {cpu_s:.1} s of CPU time in {wall_s:.0} s, {peak_mib} MiB");
    assert_eq!(load.0.wait().unwrap().code(), Some(3), "{said:#?}");
    assert_eq!(said.iter().map(|line| evicted(line)).sum::<usize>(), AGENTS, "{said:#?}");
    let end = said.iter().position(|line| line.contains("nothing was sent:")).expect("the end of the load");
    let reason = "never joined: cannot connect to it: its pod was evicted: The node was low on resource";
    assert_eq!(said[end..].iter().filter(|line| line.contains(reason)).count(), 3, "{said:#?}");
    assert!(said[end..].iter().any(|line| line.contains("997 more agents for the same reason")), "{said:#?}");
    // Polls are 5 s apart, and each says what is new to it.
    assert!(said.len() < 100, "{said:#?}");
    assert!(peak_mib < MOST_MIB, "{peak_mib} MiB");
    wait_until_clean(NAMESPACE);
    kubectl(&["delete", "namespace", NAMESPACE], "");
    kubectl(&["delete", "nodes", &selector], "");
}
