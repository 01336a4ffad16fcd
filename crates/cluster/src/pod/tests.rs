use super::*;

fn name() -> PodName {
    "shop/cart-1".parse().unwrap()
}

/// A pod that runs, from the flow mappings of its containers.
fn pod(containers: &[&str]) -> Pod {
    serde_saphyr::from_str(&format!(
        "{{spec: {{containers: [{}]}}, status: {{phase: Running}}}}",
        containers.join(", ")
    ))
    .unwrap()
}

fn admin(pod: &Pod) -> (Option<String>, u16, String) {
    let Admin { container, port, source } = pod.admin(&name(), None, None).unwrap();
    (container, port, source)
}

fn refused(pod: &Pod, container: Option<&str>, port: Option<u16>) -> String {
    pod.admin(&name(), container, port).unwrap_err().to_string()
}

#[test]
fn containers_of_known_proxies_have_their_usual_ports() {
    for (container, port) in [
        ("istio-proxy", 15000),
        ("consul-dataplane", 19000),
        ("consul-dataplane-web", 19000),
        ("envoy-sidecar", 19000),
        ("kuma-sidecar", 9901),
        ("envoy", 9901),
    ] {
        let found = admin(&pod(&["{name: app}", &format!("{{name: {container}}}")]));
        assert_eq!(found, (Some(container.to_owned()), port, format!("the usual port of `{container}`")));
    }
    for unknown in ["envoy-init", "istio-proxy-2", "app"] {
        let text = refused(&pod(&[&format!("{{name: {unknown}}}")]), None, None);
        assert!(text.contains(&format!("`{unknown}`")) && text.contains("--container"), "{text}");
    }
}

#[test]
fn a_port_that_the_container_states_counts_before_the_usual_one() {
    let bootstrap = "admin:\\n  address:\\n    socket_address: {address: 127.0.0.1, port_value: 19001}\\n";
    for (container, port, source) in [
        (
            "{name: consul-dataplane-web, args: [-addresses=a, -envoy-admin-bind-port=19001]}",
            19001,
            "-envoy-admin",
        ),
        ("{name: consul-dataplane, args: [--envoy-admin-bind-port, '19002']}", 19002, "-envoy-admin"),
        (
            "{name: consul-dataplane, command: [a, -envoy-admin-bind-port=1, -envoy-admin-bind-port=2]}",
            2,
            "-envoy-admin",
        ),
        (
            "{name: istio-proxy, env: [{name: PROXY_CONFIG, value: '{\"proxyAdminPort\": 15100}'}]}",
            15100,
            "PROXY_CONFIG",
        ),
        (
            "{name: envoy, env: [{name: ENVOY_ADMIN_ACCESS_PORT, value: '9902'}]}",
            9902,
            "ENVOY_ADMIN_ACCESS_PORT",
        ),
        (
            "{name: envoy, ports: [{containerPort: 80}, {name: admin, containerPort: 9903}]}",
            9903,
            "name of its port",
        ),
        (format!("{{name: envoy, args: [--config-yaml, \"{bootstrap}\"]}}").as_str(), 19001, "--config-yaml"),
        // Nothing of these states a port.
        (
            "{name: istio-proxy, env: [{name: PROXY_CONFIG, valueFrom: {secretKeyRef: {name: a}}}]}",
            15000,
            "usual port",
        ),
        ("{name: istio-proxy, env: [{name: PROXY_CONFIG, value: '{}'}]}", 15000, "usual port"),
        ("{name: istio-proxy, env: [{name: PROXY_CONFIG, value: ': ['}]}", 15000, "usual port"),
        ("{name: consul-dataplane, args: [-envoy-admin-bind-port=0]}", 19000, "usual port"),
        ("{name: consul-dataplane, args: [-envoy-admin-bind-port-range=1]}", 19000, "usual port"),
        ("{name: consul-dataplane, args: [-envoy-admin-bind-port]}", 19000, "usual port"),
        ("{name: envoy, args: [--config-yaml, 'node: {id: a}']}", 9901, "usual port"),
    ] {
        let found = admin(&pod(&[container]));
        assert!(found.1 == port && found.2.contains(source), "{container}: {found:?}");
    }
}

#[test]
fn an_annotation_states_the_port_of_its_own_proxy_alone() {
    let of = |container: &str| -> Pod {
        let text = format!(
            "metadata:\n  annotations:\n    kuma.io/envoy-admin-port: '9911'\n    proxy.istio.io/config: |\n      \
             proxyAdminPort: 15200\nspec: {{containers: [{{name: {container}}}]}}\n"
        );
        serde_saphyr::from_str(&text).unwrap()
    };
    assert_eq!(admin(&of("kuma-sidecar")).1, 9911);
    assert_eq!(admin(&of("istio-proxy")).1, 15200);
    assert_eq!(admin(&of("envoy")).1, 9901);
}

#[test]
fn a_sidecar_may_be_an_init_container_that_is_always_restarted() {
    let of = |policy: &str| -> Pod {
        let text =
            format!("spec: {{containers: [{{name: app}}], initContainers: [{{name: istio-proxy{policy}}}]}}");
        serde_saphyr::from_str(&text).unwrap()
    };
    assert_eq!(admin(&of(", restartPolicy: Always")).1, 15000);
    assert!(refused(&of(""), None, None).contains("`app`"));
}

#[test]
fn the_user_states_what_the_pod_does_not_show() {
    let two = pod(&[
        "{name: consul-dataplane-web}",
        "{name: consul-dataplane-admin, args: [-envoy-admin-bind-port=19001]}",
    ]);
    let several = refused(&two, None, None);
    assert!(several.contains("`consul-dataplane-web`, `consul-dataplane-admin`"), "{several}");
    assert!(several.contains("--container"), "{several}");
    assert_eq!(two.admin(&name(), Some("consul-dataplane-admin"), None).unwrap().port, 19001);

    let other = pod(&["{name: app}", "{name: gateway}"]);
    let misspelt = refused(&other, Some("gatewy"), None);
    let expected = "has no running container `gatewy`; name one with --container: `app`, `gateway`; did you mean `gateway`?";
    assert!(misspelt.ends_with(expected), "{misspelt}");
    let without_port = refused(&other, Some("gateway"), None);
    assert!(without_port.contains("--admin-port"), "{without_port}");
    let stated = other.admin(&name(), Some("gateway"), Some(8001)).unwrap();
    assert_eq!((stated.container.as_deref(), stated.port), (Some("gateway"), 8001));
    assert_eq!(other.admin(&name(), None, Some(8001)).unwrap().container, None);
    // A stated port counts before all others.
    let known = pod(&["{name: consul-dataplane, args: [-envoy-admin-bind-port=19001]}"]);
    let stated = known.admin(&name(), None, Some(8001)).unwrap();
    assert_eq!((stated.port, stated.source.as_str()), (8001, "--admin-port"));
}

#[test]
fn the_proxy_of_linkerd_and_ztunnel_are_no_envoys() {
    let linkerd = pod(&["{name: app}", "{name: linkerd-proxy}"]);
    for text in [refused(&linkerd, None, None), refused(&linkerd, Some("linkerd-proxy"), Some(4191))] {
        assert!(text.contains("Linkerd's proxy, which is not Envoy") && text.contains("`url`"), "{text}");
    }
    let ztunnel = refused(&pod(&["{name: istio-proxy, args: [proxy, ztunnel]}"]), None, None);
    assert!(ztunnel.contains("is Istio's ztunnel, which is not Envoy"), "{ztunnel}");
    // The user may know of an Envoy beside it.
    assert_eq!(linkerd.admin(&name(), None, Some(9901)).unwrap().port, 9901);
}

#[test]
fn a_pod_or_a_proxy_that_does_not_run_is_refused_with_the_reason_of_the_cluster() {
    let check = |status: &str, container: Option<&str>| {
        let pod: Pod = serde_saphyr::from_str(&format!("status: {status}")).unwrap();
        pod.check_running("prod", &name(), container).map_err(|refused| refused.to_string())
    };
    let waiting = "[{name: istio-proxy, state: {waiting: {reason: ImagePullBackOff}}}]";
    for (status, expected) in [
        (format!("{{phase: Pending, containerStatuses: {waiting}}}"), "Pending (`istio-proxy`: ImagePullBackOff)"),
        ("{phase: Failed, reason: Evicted}".to_owned(), "Failed (Evicted)"),
        ("{phase: Succeeded}".to_owned(), "phase is Succeeded"),
        ("{}".to_owned(), "phase is unknown"),
        (format!("{{phase: Running, containerStatuses: {waiting}}}"), "`istio-proxy`: ImagePullBackOff"),
        (
            "{phase: Running, initContainerStatuses: [{name: istio-proxy, state: {terminated: {reason: Error}}}]}".to_owned(),
            "`istio-proxy`: Error",
        ),
        ("{phase: Running, containerStatuses: [{name: istio-proxy}]}".to_owned(), "`istio-proxy` has not started"),
    ] {
        let text = check(&status, Some("istio-proxy")).unwrap_err();
        assert!(text.contains(expected), "{status}: {text}");
        assert!(text.contains("`kubectl --context prod -n shop describe pod cart-1`"), "{text}");
    }
    // Another container that waits does not matter.
    assert_eq!(check(&format!("{{phase: Running, containerStatuses: {waiting}}}"), Some("envoy")), Ok(()));
    let runs = "{phase: Running, containerStatuses: [{name: istio-proxy, state: {running: {startedAt: a}}}]}";
    assert_eq!(check(runs, Some("istio-proxy")), Ok(()));
    assert_eq!(check(runs, None), Ok(()));
    let init =
        "{phase: Pending, initContainerStatuses: [{name: init, state: {terminated: {reason: Completed}}}]}";
    assert!(check(init, None).unwrap_err().contains("phase is Pending"), "no reason");
    assert!(!check(init, None).unwrap_err().contains("Completed"));
}
