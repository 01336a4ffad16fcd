use std::fmt::Write;

use serde_json::{Value, json};

use super::*;
use crate::fixture::{configuration, lab};

fn none(path: &str) -> Result<Loaded, String> {
    Err(format!("`{path}` does not exist"))
}

#[test]
fn listeners_clusters_and_routes_come_from_the_files_that_are_named() {
    let text = "dynamic_resources:
  lds_config: {path_config_source: {path: lds.yaml}}
  cds_config: {path: cds.yaml}";
    let load = |path: &str| {
        let text = match path {
            "lds.yaml" => {
                "resources:
  - '@type': type.googleapis.com/envoy.config.listener.v3.Listener
    name: a
    filter_chains:
      - filters:
          - typed_config:
              rds: {route_config_name: r, config_source: {path_config_source: {path: rds.yaml}}}"
            }
            "cds.yaml" => {
                "resources: [{name: c, type: EDS, eds_cluster_config: {eds_config: {path: eds.yaml}}}]"
            }
            "rds.yaml" => "resources:\n  - name: other\n  - name: r\n    virtual_hosts: []",
            "eds.yaml" => "resources: [{cluster_name: c, endpoints: []}]",
            _ => return none(path),
        };
        Ok(Loaded { name: path.to_owned(), text: text.to_owned() })
    };
    let configuration = read("envoy.yaml", text, None, &load).unwrap();
    let manager = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
    assert_eq!(configuration.tree.pointer(&format!("{manager}/route_config/name")), Some(&json!("r")));
    assert_eq!(configuration.tree.pointer(&format!("{manager}/rds")), Some(&Value::Null));
    assert_eq!(configuration.tree.pointer("/static_resources/listeners/0/@type"), None);
    assert_eq!(
        configuration.tree.pointer("/static_resources/clusters/0/load_assignment/cluster_name"),
        Some(&json!("c"))
    );
    let place = |pointer: &str| configuration.place(pointer).to_string();
    assert_eq!(place("/static_resources/listeners/0/name"), "lds.yaml:3");
    assert_eq!(place(&format!("{manager}/route_config/virtual_hosts")), "rds.yaml:4");
    assert_eq!(place("/dynamic_resources/cds_config"), "envoy.yaml:3");
}

#[test]
fn what_a_control_plane_sends_is_asked_for_with_each_line() {
    let text = "dynamic_resources:\n  lds_config: {ads: {}}\n  cds_config: {ads: {}}\n";
    let error = configuration(text).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].starts_with("envoy.yaml:2: ") && lines[1].starts_with("envoy.yaml:3: "), "{error}");
    assert!(lines.iter().all(|line| line.contains("/config_dump")), "{error}");
}

#[test]
fn a_filter_that_is_discovered_in_a_file_is_read_from_there() {
    let with_filter = |name: &str| {
        let text = format!(
            "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                http_filters:
                  - name: {name}
                    config_discovery: {{config_source: {{path_config_source: {{path: ecds.yaml}}}}}}"
        );
        let load = |path: &str| -> Result<Loaded, String> {
            let filters = "resources:
  - name: other
  - name: own
    typed_config: {'@type': type.googleapis.com/a.B}";
            Ok(Loaded { name: path.to_owned(), text: filters.to_owned() })
        };
        read("envoy.yaml", &text, None, &load)
    };
    let configuration = with_filter("own").unwrap();
    let filter = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0";
    let of = configuration.tree.pointer(&format!("{filter}/typed_config/@type"));
    assert_eq!(of, Some(&json!("type.googleapis.com/a.B")));
    assert_eq!(configuration.place(&format!("{filter}/typed_config")).to_string(), "ecds.yaml:4");
    let error = with_filter("missing").unwrap_err().to_string();
    assert!(error.starts_with("envoy.yaml:9: ") && error.contains("no filter `missing`"), "{error}");
}

#[test]
fn problems_of_reading_and_of_adapting_are_reported_together() {
    let text = "dynamic_resources:
  lds_config: {ads: {}}
static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                http_filters: [{name: w, typed_config: {config: {vm_config: {code: {remote: {}}}}}}]";
    let error = configuration(text).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let [first, second] = lines.as_slice() else { panic!("{error}") };
    assert!(first.starts_with("envoy.yaml:2: ") && second.starts_with("envoy.yaml:9: "), "{error}");
}

/// A dump with this many clusters and routes.
fn dump(clusters: usize) -> String {
    let mut text = String::from(
        r#"{"configs": [
        {"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump",
         "bootstrap": {"node": {"id": "n"}, "static_resources": {"clusters": [{"name": "static"}]},
                       "dynamic_resources": {"ads_config": {}}}},
        {"@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump", "dynamic_listeners": [{"name": "l",
         "active_state": {"listener": {"@type": "x", "name": "l", "address": {"socket_address": {"address": "10.0.0.1", "port_value": 80}},
          "filter_chains": [{"filters": [{"typed_config": {"rds": {"route_config_name": "r", "config_source": {"ads": {}}},
           "http_filters": [{"name": "f", "config_discovery": {"config_source": {"ads": {}}}},
                            {"name": "f", "config_discovery": {"config_source": {"ads": {}}}}]}}]}]}}}]},
        {"@type": "type.googleapis.com/envoy.admin.v3.EcdsConfigDump", "ecds_filters": [{"ecds_filter":
          {"name": "f", "typed_config": {"@type": "type.googleapis.com/a.B"}}}]},
        {"@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump", "dynamic_active_secrets": [{"name": "s", "secret":
          {"name": "s", "tls_certificate": {"private_key": {"inline_bytes": "W3JlZGFjdGVkXQ=="}}}}]},
        {"@type": "type.googleapis.com/envoy.admin.v3.RoutesConfigDump", "dynamic_route_configs": [{"route_config":
          {"name": "r", "virtual_hosts": []}}]},
        {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
         "static_clusters": [{"cluster": {"name": "static"}}], "dynamic_active_clusters": ["#,
    );
    for index in 0..clusters {
        let end = if index + 1 == clusters { "" } else { "," };
        write!(
            text,
            r#"{{"version_info": "1", "cluster": {{"name": "cluster-{index}", "type": "EDS", "connect_timeout": "5s",
            "eds_cluster_config": {{"eds_config": {{"ads": {{}}}}, "service_name": "service-{index}.namespace.svc.cluster.local"}},
            "metadata": {{"filter_metadata": {{"istio": {{"services": [{{"host": "service-{index}", "name": "n"}}]}}}}}}}}}}{end}"#
        )
        .unwrap();
    }
    // The next version of an active cluster, and a new cluster.
    text + r#"], "dynamic_warming_clusters": [{"cluster": {"name": "cluster-0"}}, {"cluster": {"name": "warming"}}]}]}"#
}

#[test]
fn a_dump_becomes_a_static_bootstrap() {
    let configuration = configuration(&dump(2)).unwrap();
    let adapted = configuration.adapt(&lab(), &|_| None).unwrap();
    let bootstrap = adapted.bootstrap();
    let names = |list: &str| -> Vec<&str> {
        let items = bootstrap["static_resources"][list].as_array().unwrap();
        items.iter().filter_map(|item| item["name"].as_str()).collect()
    };
    assert_eq!(names("clusters"), ["static", "cluster-0", "cluster-1", "warming"]);
    assert_eq!(names("listeners"), ["l"]);
    let manager =
        &bootstrap["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"];
    assert_eq!(manager["route_config"]["name"], "r");
    for filter in 0..2_usize {
        assert_eq!(manager["http_filters"][filter]["typed_config"]["@type"], "type.googleapis.com/a.B");
    }
    assert!(bootstrap.get("dynamic_resources").is_none());
    let place = adapted.place("/static_resources/clusters/1/name").pointer;
    assert_eq!(place, "/configs/5/dynamic_active_clusters/0/cluster/name");
}

#[test]
fn a_file_that_is_no_configuration_is_refused() {
    let error = configuration("- 1").unwrap_err().to_string();
    assert!(error.contains("neither an Envoy bootstrap nor a /config_dump"), "{error}");
    for text in [r#"{"name": "x", "version": "1"}"#, "admin: {}", "static_resources:"] {
        let error = configuration(text).unwrap_err().to_string();
        assert!(error.contains("it has none of `configs`, `static_resources`"), "{text}: {error}");
    }
    let error = configuration(r#"{"configs": []}"#).unwrap_err().to_string();
    assert!(error.contains("BootstrapConfigDump"), "{error}");
}

#[test]
fn a_file_of_secrets_that_cannot_be_parsed_is_refused_with_its_line_and_one_that_is_missing_is_not() {
    let text = "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters: [{typed_config: {secret_of_a_filter: {name: s, sds_config: {path_config_source: {path: sds.yaml}}}}}]";
    let of = |content: Option<&str>| {
        let load = |path: &str| match content {
            Some(text) => Ok(Loaded { name: path.to_owned(), text: text.to_owned() }),
            None => none(path),
        };
        read("envoy.yaml", text, None, &load)
    };
    let error = of(Some("resources:\n  - name: s\n    generic_secret: [hunter2")).unwrap_err().to_string();
    assert!(error.starts_with("sds.yaml:") && error.contains("neither YAML nor JSON"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    let sound = Some("resources: [{name: s, generic_secret: {}}]");
    for (content, has_secret) in [(None, false), (Some("text"), false), (Some("[]"), false), (sound, true)] {
        assert_eq!(of(content).unwrap().secrets.contains_key("s"), has_secret, "{content:?}");
    }
}

#[test]
fn what_is_no_mapping_is_refused_with_its_place_and_nothing_is_adapted_then() {
    let section = |of: &str, entries: &str| {
        let bootstrap =
            r#"{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {}}"#;
        format!(
            r#"{{"configs": [{bootstrap}, {{"@type": "type.googleapis.com/envoy.admin.v3.{of}", {entries}}}]}}"#
        )
    };
    let listeners = section("ListenersConfigDump", r#""static_listeners": [{"listener": "hunter2"}]"#);
    let filters = section("EcdsConfigDump", r#""ecds_filters": [{"ecds_filter": "hunter2"}]"#);
    let items = section("ClustersConfigDump", r#""static_clusters": ["hunter2"]"#);
    let cases = [
        (
            r#"{"static_resources": {"listeners": ["hunter2"]}, "dynamic_resources": {"lds_config": {"ads": {}}}}"#,
            "envoy.yaml /static_resources/listeners/0: ",
        ),
        ("static_resources:\n  listeners: [hunter2]", "envoy.yaml:2: "),
        ("static_resources:\n  clusters: [hunter2]", "envoy.yaml:2: "),
        ("static_resources:\n  clusters:\n    hunter2", "envoy.yaml:2: "),
        ("static_resources:\n  clusters: [{name: a}, [], 1]", "envoy.yaml:2: "),
        (
            "static_resources:\n  clusters:\n  - load_assignment:\n      endpoints:\n      - lb_endpoints:\n        - endpoint: x",
            "envoy.yaml:6: ",
        ),
        (
            "static_resources:\n  listeners:\n  - filter_chains:\n    - filters:\n      - typed_config:\n          route_config: {virtual_hosts: [x]}",
            "envoy.yaml:6: ",
        ),
        (
            "static_resources: []\ntracing: {grpc_service: {google_grpc: {target_uri: 'a:1'}}}",
            "envoy.yaml:1: ",
        ),
        ("static_resources: x\ndynamic_resources: {lds_config: {path: lds.yaml}}", "envoy.yaml:1: "),
        (listeners.as_str(), "envoy.yaml /configs/1/static_listeners/0/listener: "),
        (filters.as_str(), "envoy.yaml /configs/1/ecds_filters/0/ecds_filter: "),
        (items.as_str(), "envoy.yaml /configs/1/static_clusters/0: "),
        (r#"{"configs": ["hunter2"]}"#, "envoy.yaml /configs/0: "),
    ];
    for (text, place) in cases {
        let error = configuration(text).unwrap_err().to_string();
        let is_placed = |line: &str| line.starts_with(place) && line.contains("this must be a ");
        assert!(error.lines().any(is_placed), "{text}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let load = |path: &str| Ok(Loaded { name: path.to_owned(), text: "resources:\n  - x".to_owned() });
    let error =
        read("envoy.yaml", "dynamic_resources: {cds_config: {path: cds.yaml}}", None, &load).unwrap_err();
    assert!(error.to_string().starts_with("cds.yaml:2: this must be a mapping"), "{error}");
}

/// The tree of a text of resources, with the place of a node.
fn partly(text: &str) -> Partly {
    read_partly("lds.yaml", text, None, &|path| Err(format!("`{path}` does not exist"))).unwrap()
}

#[test]
fn files_of_resources_and_resources_alone_are_read_for_those_who_only_look() {
    let list = "resources:\n- \"@type\": type.googleapis.com/envoy.config.listener.v3.Listener\n  name: a\n- \"@type\": \
                type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: b\n";
    let alone = "name: a\naddress: {}\nfilterChains: []\n";
    let Partly { configuration, unread, is_part } = partly(list);
    assert!(is_part && unread.is_empty());
    let name = |list: &str| configuration.tree().pointer(&format!("/static_resources/{list}/0/name"));
    assert_eq!([name("listeners"), name("clusters")], [Some(&"a".into()), Some(&"b".into())]);
    assert_eq!(configuration.place("/static_resources/clusters/0/name").to_string(), "lds.yaml:5");
    let configuration = partly(alone).configuration;
    let place = configuration.place("/static_resources/listeners/0/filter_chains");
    assert_eq!((place.line, place.column), (3, 1));
    assert_eq!(configuration.origin("/static_resources/listeners/0/name"), (0, "/name".to_owned()));
    // Envoy cannot run either of them, so they cannot be billed.
    assert!(read("lds.yaml", list, None, &|_| Err(String::new())).is_err());
}

#[test]
fn what_comes_from_elsewhere_is_named_and_the_rest_is_read() {
    let text = "dynamic_resources:\n  cds_config: {path_config_source: {path: cds.yaml}}\nstatic_resources:\n  listeners:\n  - name: a\n";
    let Partly { configuration, unread, is_part } = partly(text);
    assert!(!is_part && !configuration.has_all_clusters());
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert!(configuration.tree().pointer("/static_resources/listeners/0").is_some());
    assert!(partly("static_resources:\n  clusters: []\n").configuration.has_all_clusters());
}

#[test]
fn keys_that_are_there_twice_are_found_once_each_with_their_places() {
    let text = "static_resources:\n  clusters:\n  - &c {name: a, name: b}\n  - *c\nadmin: {}\nadmin: {}\n";
    let duplicates = partly(text).configuration.duplicates();
    let found: Vec<_> =
        duplicates.iter().map(|one| (one.key.as_str(), one.place.line, one.place.column)).collect();
    assert_eq!(found, [("name", 3, 18), ("admin", 6, 1)]);
}
