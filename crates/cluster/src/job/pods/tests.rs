use serde_json::{Value, json};

use super::*;

fn job(agents: u32) -> AgentJob {
    AgentJob { agents, ..crate::job::tests::job() }
}

/// A pod of an index on a node with this status.
fn pod(index: u32, status: Value) -> Value {
    let mut pod = json!({
        "metadata": {
            "name": format!("hoptax-load-1-{index}-abcde"),
            "creationTimestamp": "2026-11-29T12:00:00Z",
            "labels": {INDEX: index.to_string()},
        },
        "spec": {"nodeName": "node-a"},
    });
    pod["status"] = status;
    pod
}

/// A status whose agent is in this state.
fn status(phase: &str, state: Value) -> Value {
    // The container of a mesh comes first.
    let beside = json!({"name": "istio-proxy", "state": {"running": {"startedAt": "2026-11-29T12:00:01Z"}}});
    let mut status = json!({"phase": phase, "containerStatuses": [beside, {"name": CONTAINER}]});
    status["containerStatuses"][1]["state"] = state;
    status
}

/// A list, as the API answers.
fn list(items: Value) -> Value {
    let mut list = json!({"kind": "List"});
    list["items"] = items;
    list
}

fn agents_of(pods: Value, events: Value) -> Vec<Agent> {
    let pods: List<Pod> = serde_json::from_value(list(pods)).unwrap();
    let events: List<Event> = serde_json::from_value(list(events)).unwrap();
    agents(&job(3), &pods, &events, &[])
}

/// The agents after those of a look before.
fn agents_after(before: &[Agent], pods: Value) -> Vec<Agent> {
    let pods: List<Pod> = serde_json::from_value(list(pods)).unwrap();
    agents(&job(3), &pods, &List::default(), before)
}

/// The state of the only pod, and the news of it.
fn told(pod: Value) -> (State, String) {
    let all = agents_of(Value::Array(vec![pod]), json!([]));
    let news = News::default().update(&all);
    (all[0].state.clone(), news.join("\n"))
}

#[test]
fn an_agent_that_runs_or_is_on_the_way_is_no_news() {
    let running = pod(0, status("Running", json!({"running": {"startedAt": "2026-11-29T12:00:01Z"}})));
    let creating = pod(1, status("Pending", json!({"waiting": {"reason": "ContainerCreating"}})));
    let all = agents_of(json!([creating, running]), json!([]));
    let states: Vec<&State> = all.iter().map(|agent| &agent.state).collect();
    assert_eq!(states, [&State::Running, &State::Pending, &State::Pending]);
    assert_eq!(all[0].pod.as_deref(), Some("hoptax-load-1-0-abcde"));
    assert_eq!(all[2].pod, None);
    assert!(News::default().update(&all).is_empty());
    let done = pod(0, status("Succeeded", json!({"terminated": {"exitCode": 0, "reason": "Completed"}})));
    assert_eq!(told(done), (State::Done, String::new()));
}

#[test]
fn each_certain_end_is_named_by_pod_node_and_reason_with_the_next_step() {
    let waiting = |reason: &str, message: &str| {
        status("Pending", json!({"waiting": {"reason": reason, "message": message}}))
    };
    let ended = |reason: &str, message: &str, code: i64| {
        let terminated = json!({"reason": reason, "message": message, "exitCode": code});
        status("Failed", json!({"terminated": terminated}))
    };
    let mut leaves = status("Running", json!({"running": {}}));
    leaves["conditions"] = json!([
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "for `b`"},
    ]);
    let evicted =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    for (status, expected, next) in [
        (
            waiting("ImagePullBackOff", "Back-off pulling image"),
            "cannot get image `registry.example/hoptax:1`",
            "--agent-image",
        ),
        (waiting("ErrImageNeverPull", "not present"), "(ErrImageNeverPull: not present)", "--agent-pull"),
        (waiting("InvalidImageName", ""), "(InvalidImageName)", "--agent-image"),
        (ended("OOMKilled", "", 137), "had used its 256 MiB of memory (OOMKilled)", "--agent-memory"),
        (
            ended("StartError", "exec /hoptax: exec format error", 128),
            "another architecture than its node",
            "--agent-image",
        ),
        (
            ended("StartError", "exec: \"/hoptax\": no such file or directory", 128),
            "cannot start image `registry.example/hoptax:1`: exec",
            "`/hoptax`",
        ),
        (
            ended("Error", "error: cannot listen", 3),
            "ended with code 3: error: cannot listen",
            "the same version of hoptax",
        ),
        (evicted, "was evicted: The node was low on resource: memory.", "--agent-memory"),
        (
            json!({"phase": "Failed", "reason": "OutOfcpu"}),
            "by its node (OutOfcpu)",
            "kubectl -n perf get events",
        ),
        (leaves, "is being evicted (PreemptionByScheduler: for `b`)", "nodes that are not drained"),
    ] {
        let (state, text) = told(pod(0, status));
        assert!(matches!(state, State::Lost(_)), "{expected}: {state:?}");
        assert!(text.starts_with("agent pod `hoptax-load-1-0-abcde` on node `node-a` "), "{text}");
        assert!(text.contains(expected) && text.contains(next), "{expected}: {text}");
    }
}

#[test]
fn troubles_that_may_pass_are_told_and_waited_for() {
    let mut unscheduled = pod(
        0,
        json!({"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient cpu.",
        }]}),
    );
    unscheduled["spec"] = json!({});
    let (state, text) = told(unscheduled);
    assert!(matches!(state, State::Stuck(_)), "{state:?}");
    let expected = "agent pod `hoptax-load-1-0-abcde` fits on no node: 0/1 nodes are available: 1 Insufficient cpu.; request less";
    assert!(text.starts_with(expected), "{text}");
    let pulling = status("Pending", json!({"waiting": {"reason": "ErrImagePull", "message": "timeout"}}));
    assert!(matches!(told(pod(0, pulling)).0, State::Stuck(_)));
    let other = status("Pending", json!({"waiting": {"reason": "CreateContainerError", "message": "busy"}}));
    let (state, text) = told(pod(0, other));
    assert!(
        matches!(state, State::Stuck(_)) && text.contains("describe pod hoptax-load-1-0-abcde"),
        "{text}"
    );
}

#[test]
fn a_quota_is_named_for_the_agents_that_have_no_pod() {
    let running = pod(1, status("Running", json!({"running": {}})));
    let events = json!([
        {"reason": "SuccessfulCreate", "message": "Created pod"},
        {"reason": "FailedCreate", "message": "pods \"a\" is forbidden: exceeded quota: small, requested: cpu=1"},
    ]);
    let all = agents_of(json!([running]), events);
    assert_eq!(all[1].state, State::Running);
    let news = News::default().update(&all);
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(
        news[0].starts_with("each of the agent pods of index 0, of index 2 is not created: "),
        "{news:?}"
    );
    assert!(
        news[0].contains("exceeded quota: small") && news[0].contains("have the quota raised"),
        "{news:?}"
    );
    let denied = json!([{"reason": "FailedCreate", "message": "admission webhook denied it"}]);
    let news = News::default().update(&agents_of(json!([]), denied));
    assert!(news[0].contains("describe job hoptax-load-1"), "{news:?}");
}

#[test]
fn a_trouble_is_told_once_and_that_of_many_pods_in_one_sentence() {
    let stuck = |message: &str| {
        let pods: Vec<Value> = (0..3)
            .map(|index| {
                pod(index, json!({"phase": "Pending", "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message},
                ]}))
            })
            .collect();
        agents_of(json!(pods), json!([]))
    };
    let mut news = News::default();
    let first = news.update(&stuck("0/1 nodes"));
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(
        first[0].starts_with("each of the agent pods `hoptax-load-1-0-abcde` on node `node-a`, "),
        "{first:?}"
    );
    // The words change with the nodes.
    assert!(news.update(&stuck("0/2 nodes")).is_empty());
    let lost = pod(1, json!({"phase": "Failed", "reason": "Evicted"}));
    assert_eq!(news.update(&agents_of(json!([lost]), json!([]))).len(), 1);
}

#[test]
fn a_pod_that_is_there_no_more_is_lost_with_the_cause_that_was_known() {
    let running = || pod(0, status("Running", json!({"running": {}})));
    let evicted = pod(1, json!({"phase": "Failed", "reason": "Evicted"}));
    let before = agents_of(json!([running(), evicted]), json!([]));
    let after = agents_after(&before, json!([]));
    assert_eq!(after[0].pod.as_deref(), Some("hoptax-load-1-0-abcde"));
    assert!(matches!(&after[0].state, State::Lost(trouble) if trouble.why == "is gone"), "{:?}", after[0]);
    assert_eq!((&after[1], &after[2]), (&before[1], &Agent::default()));
    let mut news = News::default();
    assert_eq!(news.update(&before).len(), 1);
    let said = news.update(&after);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("agent pod `hoptax-load-1-0-abcde` on node `node-a` is gone; "), "{said:?}");
    // Of one that is there again, the state is its own.
    assert_eq!(agents_after(&after, json!([running()]))[0].state, State::Running);
}

#[test]
fn an_agent_that_has_not_come_says_how_far_it_is() {
    let creating = pod(0, status("Pending", json!({"waiting": {"reason": "ContainerCreating"}})));
    let mut without_node = pod(1, json!({"phase": "Pending"}));
    without_node["spec"] = json!({});
    let running = pod(2, status("Running", json!({"running": {}})));
    let mut all = agents_of(json!([creating, without_node, running]), json!([]));
    let evicted = pod(0, json!({"phase": "Failed", "reason": "Evicted"}));
    all.extend(agents_of(json!([evicted]), json!([])));
    let said: Vec<String> = all.iter().take(5).map(Agent::lateness).collect();
    let expected = [
        "node `node-a` has not started its pod",
        "its pod has no node",
        "its pod runs, but nothing answers at its port",
        "its pod was evicted",
        "its pod is not created",
    ];
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn the_newest_pod_of_an_index_counts_and_strangers_do_not() {
    let mut old = pod(0, status("Failed", json!({"terminated": {"exitCode": 3, "reason": "Error"}})));
    old["metadata"]["creationTimestamp"] = json!("2026-11-29T11:00:00Z");
    let new = pod(0, status("Running", json!({"running": {}})));
    for pods in [
        json!([&old, &new]),
        json!([&new, &old]),
        json!([&new, pod(7, json!({})), {"metadata": {"name": "x"}}]),
    ] {
        assert_eq!(agents_of(pods, json!([]))[0].state, State::Running);
    }
}

#[test]
fn the_agent_of_a_result_has_its_node_and_the_reason_of_the_cluster_once() {
    let lost = |said: Option<&str>, state: State| {
        let reason = said.map(str::to_owned);
        let mut agent = hoptax_result::Agent { reason, ..hoptax_result::Agent::default() };
        let node = Some("node-a".to_owned());
        Agent { pod: None, node, state }.add_to(&mut agent);
        assert_eq!(agent.node.as_deref(), Some("node-a"));
        agent.reason
    };
    let evicted = || State::Lost(deleted("was evicted"));
    assert_eq!(lost(Some("closed"), evicted()).as_deref(), Some("closed; its pod was evicted"));
    assert_eq!(lost(Some("its pod was evicted"), evicted()).as_deref(), Some("its pod was evicted"));
    assert_eq!(lost(Some("closed"), State::Running).as_deref(), Some("closed"));
    assert_eq!(lost(None, evicted()), None, "its part is in the result");
}
