//! The forms in which people have configurations of Envoy, and files that are none: YAML by the rules of Envoy, objects of Kubernetes,
//! API v2, templates, and objects of systems that configure proxies.

use std::fs;

use crate::support::proxied::refusal;
use crate::support::{Ran, run};

/// A configuration that Envoy accepts and that forwards a request; its first line is a comment.
const ENVOY: &str = r#"# Envoy
static_resources:
  listeners:
  - name: l
    address: {socket_address: {address: 0.0.0.0, port_value: 10000}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          route_config: {virtual_hosts: [{name: v, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: s}}]}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - {name: s, type: STATIC, load_assignment: {cluster_name: s, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}]}]}}
"#;

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{:by$}{line}\n", "")).collect()
}

fn config_map(name: &str) -> String {
    let text = indented(ENVOY, 4);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  envoy.yaml: |\n{text}")
}

/// `hoptax price` on a text, as a dry run; `choice` follows the name of its file.
fn dry_run(text: &str, choice: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("given.yaml");
    fs::write(&path, text).unwrap();
    run(["price", &format!("{}{choice}", path.display()), "--dry-run"])
}

/// The configuration with a listener for each of these names and ports, as they are written.
fn with_listeners(all: &[(&str, &str)]) -> String {
    let (head, rest) = ENVOY.split_once("  - name: l\n").unwrap();
    let (listener, clusters) = rest.split_once("  clusters:\n").unwrap();
    let listeners: String = all
        .iter()
        .map(|(name, port)| format!("  - name: {name}\n{}", listener.replace("10000", port)))
        .collect();
    format!("{head}{listeners}  clusters:\n{clusters}")
}

/// The rules by which the program reads YAML are those of Envoy: each text is accepted by both, or refused by both. Parts that
/// both accept may stand in one text: who refuses a part of it refuses it.
#[test]
fn yaml_is_accepted_where_envoy_accepts_it() {
    let folder = tempfile::tempdir().unwrap();
    let with = |before: &str| format!("{before}\n{ENVOY}");
    for (text, is_accepted) in [
        (with("!ignore shared: [&a x, {b: &c {d: e}}]\n!<!ignore> other: 1\n!ignore &k third: 1"), true),
        (with("!ignore shared: &id {id: x}\nnode: *id"), true),
        (with("shared: 1"), false),
        (with("!!ignore shared: 1"), false),
        (with("!other shared: 1"), false),
        (with("!ignore base: &b {id: x}\nnode: {<<: *b, cluster: z}"), false),
        (with("node: {metadata: {<<: {a: 1}}}"), true),
        (with("<<: {node: {id: x}}"), false),
        (with("node: {id: x}\nnode: {id: z}"), true),
        (with("node: {id: y}"), false),
        (with("node: {id: *none}"), false),
        (with("? [a]\n: 1"), false),
        (with("node: !other {id: x}"), true),
        (with("\u{feff}node: {id: x}"), true),
        (format!("\u{feff}{ENVOY}"), true),
        (format!("{ENVOY}---\nadmin: {{}}\n"), true),
        (format!("{ENVOY}---\n{{{{ no YAML\n"), true),
        (format!("---\n---\n{ENVOY}"), false),
        (format!("%YAML 1.1\n---\n{ENVOY}"), true),
        (
            with_listeners(&[
                ("ingress.1", "010"),
                ("1.10", "0x1F90"),
                ("3000000000", "\"8081\""),
                ("'on'", "10000"),
                ("~", "10001"),
            ]),
            true,
        ),
    ] {
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, &text).unwrap();
        assert_eq!(refusal(&path).is_none(), is_accepted, "by Envoy:\n{text}");
        let out = folder.path().join("out");
        let ran = run(["price", path.to_str().unwrap(), "--try", "--out", out.to_str().unwrap()]);
        assert_eq!(ran.code == Some(0), is_accepted, "{}{}\n{text}", ran.stdout, ran.stderr);
    }
}

/// Scalars without quotes have the values that Envoy prints when it refuses a configuration for another field.
#[test]
fn scalars_are_read_as_envoy_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    let scalars = "[010, 0x1F, 0o10, 1_000, 08, +5, -010, -0, 1e3, 1.5, .5, 5., .inf, .NaN, inf, 2147483648, -2147483649, \
                   9223372036854775808, yes, No, ON, yEs, y, N, 'y', ~, Null, nULL, 'null', !!str 5, !!str '5', ! 5, !foo 5, !!null x, \
                   2001-01-01, 1:30, 0b1, +0x10]";
    let text = format!("node: {{metadata: {{a: {scalars}}}}}\nadmin: 5\n");
    fs::write(&path, &text).unwrap();
    let said = refusal(&path).unwrap();
    let (_, printed) = said.split_once("\"a\":").unwrap_or_else(|| panic!("{said}"));
    let (list, _) = printed.split_once(']').unwrap();
    let by_envoy: serde_json::Value = serde_json::from_str(&format!("{list}]")).unwrap();
    let read = hoptax_text::yaml::envoy::first(&text).unwrap().to_value();
    assert_eq!(read["node"]["metadata"]["a"], by_envoy);
}

#[test]
fn a_configuration_in_objects_of_kubernetes_is_found_named_and_used() {
    let ran = dry_run(&config_map("shop"), "").succeeded();
    let place = ran.stdout.lines().next().unwrap();
    assert!(place.starts_with("Configuration `envoy.yaml` of ConfigMap `shop`, "), "{place}");
    assert!(place.ends_with("given.yaml:7"), "the comment is line 6: {place}");
    assert!(ran.stdout.contains("given.yaml:10 "), "the address of the listener: {}", ran.stdout);
    let chart = format!(
        "---\n# Source: a/b.yaml\napiVersion: v1\nkind: Service\n---\n# Source: a/c.yaml\n{}---\n{}",
        config_map("one"),
        config_map("two")
    );
    let ran = dry_run(&chart, "");
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    for name in ["#one/envoy.yaml` is this one", "#two/envoy.yaml` is this one"] {
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
    let ran = dry_run(&chart, "#two/envoy.yaml").succeeded();
    assert!(ran.stdout.starts_with("Configuration `envoy.yaml` of ConfigMap `two`, "), "{}", ran.stdout);
    // A fault inside of it is reported on its line in the file.
    dry_run(&config_map("shop").replace("    # Envoy", "    a: *b"), "").fails(2, "given.yaml:6: ");
}

#[test]
fn a_study_and_a_comparison_take_a_configuration_in_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.yaml");
    fs::write(&path, format!("{}---\n{}", config_map("one"), config_map("two"))).unwrap();
    let study = folder.path().join("study.yaml");
    let arm =
        |name: &str| format!("  - {{name: {name}, hops: [{{config: 'map.yaml#{name}/envoy.yaml'}}]}}\n");
    let loads = "loads:\n  - {name: saturation, loop: closed, connections: 2}\n";
    fs::write(&study, format!("name: s\narms:\n  - baseline\n{}{}{loads}", arm("one"), arm("two"))).unwrap();
    let ran = run(["study", study.to_str().unwrap(), "--dry-run"]).succeeded();
    assert!(ran.stderr.contains("is `envoy.yaml` of ConfigMap `two`"), "{}", ran.stderr);
    let unnamed = fs::read_to_string(&study).unwrap().replace("#one/envoy.yaml", "");
    fs::write(&study, unnamed).unwrap();
    run(["study", study.to_str().unwrap(), "--dry-run"]).fails(2, "#one/envoy.yaml` is this one");
}

#[test]
fn what_is_no_configuration_is_refused_with_what_helps() {
    let v2 = ENVOY.replace(
        "extensions.filters.network.http_connection_manager.v3",
        "config.filter.network.http_connection_manager.v2",
    );
    let untyped = "static_resources:\n  listeners:\n  - name: l\n    filter_chains:\n    - filters:\n      - name: envoy.http_connection_manager\n        config: {http_filters: [{name: envoy.router}]}\n  clusters:\n  - {name: s, hosts: [], tls_context: {}}\n";
    let template = "static_resources:\n  listeners:\n  - name: {{ .name }}\n";
    let route = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: shop}\n";
    for (text, line, parts) in [
        (v2.as_str(), 10, &["since 1.18", "envoy.extensions.filters.network.http_connection_manager.v3"][..]),
        (untyped, 7, &["envoy.router", "`load_assignment`", "UpstreamTlsContext"]),
        (template, 3, &["looks like a template (`{{` in line 3)", "helm template"]),
        (route, 1, &["VirtualService `shop` of Istio", "istioctl proxy-config all"]),
        ("{\"listeners\": [],\n\"cluster_manager\": {}}", 2, &["API v1"]),
    ] {
        let ran = dry_run(text, "");
        ran.fails(2, &format!("given.yaml:{line}: "));
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("--listener") && !ran.stderr.contains("--envoy"), "{}", ran.stderr);
    }
}
