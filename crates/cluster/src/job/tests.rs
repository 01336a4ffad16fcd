use super::*;

/// A job of three agents.
pub(super) fn job() -> AgentJob {
    AgentJob {
        name: "hoptax-load-1".to_owned(),
        namespace: "perf".parse().unwrap(),
        agents: 3,
        image: "registry.example/hoptax:1".to_owned(),
        pull: Pull::IfNotPresent,
        port: PORT,
        targets: vec!["shop.web.svc:80".to_owned()],
        deadline: Duration::from_mins(5),
        cpu_millis: 2_000,
        memory_mib: 256,
        avoided: Vec::new(),
        patch: PodPatch::default(),
    }
}

#[test]
fn manifests_are_those_that_a_dry_run_shows() {
    let avoided = Avoided {
        namespace: "web".to_owned(),
        labels: BTreeMap::from([("app".to_owned(), "shop".to_owned())]),
    };
    let expected = include_str!("expected.yaml");
    let shown = AgentJob { avoided: vec![avoided], ..job() }.shown();
    assert_eq!(shown, expected, "{shown}");
}

#[test]
fn pods_pass_the_restricted_profile_of_pod_security() {
    // https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    let manifest = job().manifest();
    let pod = &manifest["spec"]["template"]["spec"];
    let of_pod = &pod["securityContext"];
    assert_eq!(of_pod["runAsNonRoot"], true);
    assert!(of_pod["runAsUser"].as_u64() > Some(0));
    assert_eq!(of_pod["seccompProfile"]["type"], "RuntimeDefault");
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let of_container = &containers[0]["securityContext"];
    assert_eq!(of_container["allowPrivilegeEscalation"], false);
    assert_eq!(of_container["capabilities"], json!({"drop": ["ALL"]}));
    for shared in ["hostNetwork", "hostPID", "hostIPC", "initContainers", "ephemeralContainers"] {
        assert!(pod.get(shared).is_none(), "{shared}");
    }
    let volumes = pod["volumes"].as_array().unwrap();
    assert!(volumes.iter().all(|volume| volume.get("secret").is_some()), "{volumes:?}");
    assert!(containers[0].get("ports").is_none());
}

#[test]
fn requests_are_limits_and_processors_are_whole_unless_asked_otherwise() {
    let resources = |cpu_millis| {
        let manifest = AgentJob { cpu_millis, ..job() }.manifest();
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"].clone()
    };
    let whole = resources(2_000);
    assert_eq!(whole["requests"], whole["limits"]);
    assert_eq!(whole["requests"], json!({"cpu": "2", "memory": "256Mi"}));
    assert_eq!(resources(250)["requests"]["cpu"], "250m");
}

#[test]
fn an_agent_may_send_to_the_named_targets_alone() {
    let manifest = AgentJob { targets: vec!["a:1".to_owned(), "b:2".to_owned()], ..job() }.manifest();
    let arguments = &manifest["spec"]["template"]["spec"]["containers"][0]["args"];
    let arguments: Vec<&str> =
        arguments.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let targets: Vec<&str> =
        arguments.windows(2).filter(|pair| pair[0] == "--allow-target").map(|pair| pair[1]).collect();
    assert_eq!(targets, ["a:1", "b:2"]);
    assert!(arguments.contains(&"127.0.0.1:8420"), "{arguments:?}");
}

#[test]
fn names_are_new_and_leave_room_for_those_of_pods() {
    let names = [new_name(), new_name()];
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.len() < 40 && name.parse::<Namespace>().is_ok()), "{names:?}");
}

#[test]
fn a_host_is_a_service_if_it_has_the_form_of_one() {
    let from: Namespace = "perf".parse().unwrap();
    for (host, expected) in [
        ("shop", Some(("perf", "shop"))),
        ("shop.web", Some(("web", "shop"))),
        ("shop.web.svc", Some(("web", "shop"))),
        ("shop.web.svc.cluster.local.", Some(("web", "shop"))),
        ("shop.example.com", None),
        ("10.0.0.1", None),
        ("2001:db8::1", None),
        ("", None),
    ] {
        assert_eq!(service_of(host, &from), expected, "{host}");
    }
}
