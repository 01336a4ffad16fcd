//! The rights of agents in pods on a real Kubernetes, that of `tools/cluster`: each form of them in `deploy/` suffices, and each that is
//! missing is named. `make test-cluster` starts the cluster and runs these tests in its network namespace.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use super::agent_pods::{begun, line_with};
use super::agent_pods_cluster::{
    COUNTED, IMAGE, NAMESPACE, asked, load_of, prepared, reachable, wait_until_clean,
};
// Another test gives alice the rights of a mesh in the whole cluster for a while.
use super::mesh_cluster::alone;
use super::pod::{kubectl, programs};
use crate::support::{Ran, hoptax, ran, root, wait_at_pace};

/// The rights of alice in a namespace, by the base of kustomize with an overlay.
fn rights_by_base(namespace: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (base, overlay) = (folder.path().join("base"), folder.path().join("overlay"));
    for of in [&base, &overlay] {
        fs::create_dir(of).unwrap();
    }
    // An overlay names its base by a relative path.
    for name in ["kustomization.yaml", "rbac.yaml"] {
        fs::copy(root().join("deploy").join(name), base.join(name)).unwrap();
    }
    let text = format!(
        "namespace: {namespace}\nresources: [../base]\npatches:\n- target: {{kind: RoleBinding, name: hoptax-load}}\n  patch: |-\n    \
         - {{op: replace, path: /subjects/0/name, value: alice}}\n"
    );
    fs::write(overlay.join("kustomization.yaml"), text).unwrap();
    asked(&["kustomize", overlay.to_str().unwrap()])
}

/// The output of `helm template` or `helm install` of the chart in a namespace.
fn chart(command: &str, namespace: &str, values: &[&str]) -> Output {
    let mut helm = Command::new(programs().join("helm"));
    helm.args(["--kube-context", "admin", command, "rights"]).arg(root().join("deploy/hoptax-agents"));
    helm.args(["--namespace", namespace]).args(values).output().unwrap()
}

/// The rights that a dry run prints for a namespace, for alice.
fn rights_by_dry_run(namespace: &str) -> String {
    let mut command = load_of(namespace, IMAGE, &["--dry-run", "http://10.244.0.1:1/"]);
    let shown = ran(&mut command).stdout;
    let rights: Vec<&str> = shown.split("---\n").take(2).collect();
    rights.join("---\n").replace("YOUR-USER", "alice")
}

/// A load of alice from agents in a namespace, repeated until its end is so: the API server learns of a rule a moment after it was applied.
fn load_of_alice(namespace: &str, url: &str, is_so: impl Fn(&Ran) -> bool) -> Ran {
    let of_alice = || {
        let mut command = load_of(namespace, IMAGE, &COUNTED);
        ran(command.args(["--kube-context", "alice"]).arg(url))
    };
    let mut last = of_alice();
    wait_at_pace(Duration::from_millis(500), "the rights", || {
        if !is_so(&last) {
            last = of_alice();
        }
        is_so(&last)
    });
    last
}

/// True if a load was not refused for a missing right.
fn is_permitted(load: &Ran) -> bool {
    !load.stderr.contains("may not")
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_cluster_that_does_not_take_agents_is_named_with_the_cause() {
    let _alone = alone();
    let url = "http://10.244.0.1:1/";
    for (namespace, context, code, expected) in [
        (
            NAMESPACE,
            "admn",
            2,
            "no context `admn`; it has `admin`, `alice`, `expired`, `nobody`; did you mean `admin`?",
        ),
        (NAMESPACE, "expired", 3, "does not accept the credentials of the kubeconfig: 401"),
        (NAMESPACE, "nobody", 3, "the cluster treats you as `system:anonymous`"),
        (NAMESPACE, "alice", 3, "`alice` may not `create` `jobs` in namespace `load`"),
        ("laod", "admin", 2, "no namespace `laod`; did you mean `load`?"),
    ] {
        let mut command = load_of(namespace, IMAGE, &["--kube-context", context, url]);
        let ran = ran(&mut command);
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{context}: {ran:?}");
    }
    let mut cleanup = hoptax();
    ran(cleanup.args(["runs", "cleanup", "--kube-context", "alice"]))
        .fails(2, "name a namespace with --namespace");
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_rights_of_a_dry_run_and_of_the_base_suffice() {
    let _alone = alone();
    prepared();
    let (_origin, url) = reachable();
    for (namespace, rights) in
        [("of-alice", rights_by_dry_run("of-alice")), ("of-base", rights_by_base("of-base"))]
    {
        kubectl(&["apply", "--dry-run=server", "--filename", "-"], &rights);
        kubectl(&["apply", "--filename", "-"], &rights);
        let load = load_of_alice(namespace, &url, is_permitted);
        assert_eq!(load.code, Some(0), "{namespace}: {load:?}");
        wait_until_clean(namespace);
    }
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_installed_chart_gives_the_rights_and_takes_them_again() {
    let _alone = alone();
    prepared();
    let (_origin, url) = reachable();
    let namespace = "of-chart";
    let installed = chart("install", namespace, &["--set", "users={alice}"]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let load = load_of_alice(namespace, &url, is_permitted);
    assert_eq!(load.code, Some(0), "{load:?}");
    let mut helm = Command::new(programs().join("helm"));
    helm.args(["--kube-context", "admin", "uninstall", "rights", "--namespace", namespace]);
    assert!(helm.status().unwrap().success());
    let left = asked(&["--namespace", namespace, "get", "roles,rolebindings", "--output", "name"]);
    assert_eq!(left, "");
    // The release was a Secret of the namespace.
    wait_until_clean(namespace);
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn each_right_that_is_missing_is_named_with_the_rule_that_grants_it_and_nothing_is_left() {
    let _alone = alone();
    prepared();
    let (_origin, url) = reachable();
    let namespace = "of-each";
    let rights = rights_by_dry_run(namespace);
    for (rule, without, missing) in [
        (
            "resources: [jobs], verbs: [create, list, delete]",
            "resources: [jobs], verbs: [list, delete]",
            "`create` `jobs`",
        ),
        (
            "resources: [secrets], verbs: [create]",
            "resources: [secrets], verbs: [update]",
            "`create` `secrets`",
        ),
        ("resources: [pods], verbs: [list]", "resources: [pods], verbs: [get]", "`list` `pods`"),
        (
            "resources: [pods/portforward], verbs: [get, create]",
            "resources: [pods/portforward], verbs: [update]",
            "`get` `pods/portforward`",
        ),
    ] {
        assert!(rights.contains(rule), "{rule}: {rights}");
        kubectl(&["apply", "--filename", "-"], &rights.replace(rule, without));
        let named = format!("`alice` may not {missing} in namespace `{namespace}`");
        let load = load_of_alice(namespace, &url, |load| load.stderr.contains(&named));
        load.fails(3, rule);
        wait_until_clean(namespace);
    }
    // Without the right to remove the Job, the load is sent, and the Job goes later.
    let without = rights.replace("verbs: [create, list, delete]", "verbs: [create, list]");
    kubectl(&["apply", "--filename", "-"], &without);
    let named = format!("`alice` may not `delete` `jobs` in namespace `{namespace}`");
    let load = load_of_alice(namespace, &url, |load| load.stderr.contains(&named));
    assert!(load.code == Some(0) && load.stderr.contains("which was not removed"), "{load:?}");
    kubectl(&["--namespace", namespace, "delete", "jobs", "--all"], "");
    wait_until_clean(namespace);
}

/// Events are read while pods are missing, which a quota of none keeps so.
#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn without_the_right_to_read_events_the_load_waits_for_its_pods_and_says_so() {
    let _alone = alone();
    prepared();
    let namespace = "full";
    let rule = "resources: [events], verbs: [list]";
    let rights = rights_by_dry_run(namespace);
    assert!(rights.contains(rule), "{rights}");
    kubectl(&["apply", "--filename", "-"], &rights.replace(rule, "resources: [events], verbs: [get]"));
    let may = || asked_as_alice(&["create", "jobs.batch", "--namespace", namespace]);
    wait_at_pace(Duration::from_millis(500), "the rights", || may() == "yes");
    let mut command = load_of(namespace, IMAGE, &["--kube-context", "alice"]);
    command.arg("http://10.244.0.1:1/");
    let (mut load, mut lines) = begun(command);
    line_with(&mut lines, "`alice` may not `list` `events` in namespace `full`");
    load.signal("INT");
    lines.for_each(drop);
    assert_eq!(load.0.wait().unwrap().code(), Some(130));
    wait_until_clean(namespace);
}

/// What the cluster says of a right of alice: `yes` or `no`.
fn asked_as_alice(right: &[&str]) -> String {
    let mut command = Command::new(programs().join("kubectl"));
    let asked = command.args(["--context", "alice", "auth", "can-i"]).args(right).output().unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_chart_binds_users_groups_and_service_accounts_and_refuses_to_bind_nobody() {
    prepared();
    let values =
        ["--set", "users={alice}", "--set", "groups={system:masters}", "--set", "serviceAccounts={ci/gate}"];
    let output = chart("template", NAMESPACE, &values);
    let text = String::from_utf8(output.stdout).unwrap();
    kubectl(&["apply", "--dry-run=server", "--filename", "-"], &text);
    let documents = text.split("---\n").filter(|document| document.contains("kind: RoleBinding"));
    let bindings: Vec<Value> = documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    let [binding] = bindings.as_slice() else { panic!("{text}") };
    let group = "rbac.authorization.k8s.io";
    assert_eq!(
        binding["subjects"],
        json!([
            {"apiGroup": group, "kind": "User", "name": "alice"},
            {"apiGroup": group, "kind": "Group", "name": "system:masters"},
            {"kind": "ServiceAccount", "namespace": "ci", "name": "gate"},
        ])
    );
    for (values, expected) in [
        (vec![], "name who may have agents in pods"),
        (vec!["--set", "serviceAccounts={gate}"], "a service account is NAMESPACE/NAME"),
    ] {
        let output = chart("template", NAMESPACE, &values);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{values:?}: {said}");
    }
}
