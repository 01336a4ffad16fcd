//! Arms with a configuration of the user.

use std::fs;
use std::path::Path;

use hoptax_subject::envoy::given::Given;

use super::*;
use crate::configurations::{Configuration, Configurations};
use crate::request::requests_sha256;

/// Two listeners: one for plaintext with a filter and a route for one host, one for TLS.
const CONFIG: &str = "\
static_resources:
  listeners:
    - name: plain
      address: {socket_address: {address: 0.0.0.0, port_value: 80}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config: &manager
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                http_filters:
                  - name: lua
                    typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua}
                  - name: router
                    typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
                route_config:
                  virtual_hosts:
                    - {name: shop, domains: [shop.example], routes: [{match: {prefix: /cart}, route: {cluster: shop}}]}
    - name: secure
      address: {socket_address: {address: 0.0.0.0, port_value: 443}}
      filter_chains:
        - transport_socket:
            name: tls
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
              require_client_certificate: true
              common_tls_context: {tls_certificates: [{certificate_chain: {filename: a.pem}, private_key: {filename: a.key}}]}
          filters: [{name: http, typed_config: *manager}]
  clusters:
    - {name: shop, type: STRICT_DNS}
";

/// The plan of a study in a folder with the files `envoy.yaml` and `none.yaml`, which has no listener.
fn given(arms: &str) -> Result<Plan, Problems> {
    with(&format!("arms: [{arms}]"))
}

/// The plan of a study in such a folder, from the text behind its name.
pub(super) fn with(study: &str) -> Result<Plan, Problems> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("envoy.yaml"), CONFIG).unwrap();
    fs::write(folder.path().join("none.yaml"), "static_resources: {}\n").unwrap();
    read(folder.path(), study)
}

fn read(folder: &Path, study: &str) -> Result<Plan, Problems> {
    let text = format!("name: test\n{study}\n{LOADS}");
    let (file, positions) = file::read("test.yaml", &text)?;
    let configurations = Configurations::named_by(&file, |config| {
        let given = Given::read(&folder.join(config)).map_err(|error| error.to_string())?;
        Configuration::new(given, |_| Ok(String::new()))
    });
    Plan::with_configurations(&file, &positions, Catalogue::load().unwrap(), configurations)
}

#[test]
fn a_configuration_presents_a_certificate_if_a_cluster_has_one() {
    let of = |common: &str| {
        let folder = tempfile::tempdir().unwrap();
        let tls = format!(
            "{{name: shop, type: STRICT_DNS, transport_socket: {{name: tls, typed_config: {{'@type': \
             type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, common_tls_context: {common}}}}}}}"
        );
        let config = CONFIG.replace("{name: shop, type: STRICT_DNS}", &tls);
        assert_ne!(config, CONFIG);
        fs::write(folder.path().join("envoy.yaml"), config).unwrap();
        read(folder.path(), "arms: [baseline, {name: ours, hops: [{config: envoy.yaml}]}]")
            .unwrap()
            .presents_certificate()
    };
    assert!(of(
        "{tls_certificates: [{certificate_chain: {filename: a.pem}, private_key: {filename: a.key}}]}"
    ));
    assert!(!of("{}"));
}

#[test]
fn a_configuration_is_a_proxy_with_a_request_of_its_own() {
    let plan = given("baseline, lua, {name: ours, hops: [{config: envoy.yaml}]}").unwrap();
    let ours = arm(&plan, "ours");
    let request = ours.request.as_ref().unwrap();
    assert_eq!((request.host.as_str(), request.path.as_str()), ("shop.example", "/cart"));
    let given = ours.chain.hops[0].given.as_ref().unwrap();
    assert_eq!((given.listener.as_str(), given.downstream, given.asks_companion), ("plain", None, false));
    let proofs: Vec<String> =
        ours.proofs(&ours.chain.hops[0]).into_iter().map(|(_, proof)| proof.name).collect();
    assert_eq!(proofs, ["http.web.downstream_rq_total"]);
    assert_eq!((ours.kind, ours.compared_with), (ArmKind::Function, Some(0)));
    let hash = |id: &str| requests_sha256(&plan, arm(&plan, id), &plan.loads[0]);
    assert_eq!(hash("baseline"), hash("lua"));
    assert_ne!(hash("baseline"), hash("ours"));
}

#[test]
fn a_part_that_is_left_out_leaves_the_request_as_it_is() {
    let plan = given(
        "baseline, {name: whole, hops: [{config: envoy.yaml}]}, \
         {name: again, hops: [{config: envoy.yaml}], compared_with: whole}, \
         {name: no-lua, hops: [{config: envoy.yaml, without: \
         [/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0]}], compared_with: whole}",
    )
    .unwrap();
    let whole = plan.arms.iter().position(|arm| arm.id == "whole");
    let of = |id: &str| (arm(&plan, id).kind, arm(&plan, id).compared_with);
    assert_eq!(of("again"), (ArmKind::Same, whole));
    assert_eq!(of("no-lua"), (ArmKind::Function, whole));
    assert_eq!(arm(&plan, "no-lua").request, arm(&plan, "whole").request);
    assert_eq!(arm(&plan, "no-lua").summary, "One proxy with `envoy.yaml` less 1 node");
}

#[test]
fn a_replaced_node_is_as_if_the_file_had_it() {
    let filter = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0";
    let buffer = "{name: buffer, typed_config: {'@type': \
                  type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer, max_request_bytes: 1}}";
    let with = |pointer: &str| {
        given(&format!(
            "baseline, {{name: whole, hops: [{{config: envoy.yaml}}]}}, \
             {{name: other, hops: [{{config: envoy.yaml, replace: {{{pointer}: {buffer}}}}}], compared_with: whole}}"
        ))
    };
    let plan = with(filter).unwrap();
    let given = arm(&plan, "other").chain.hops[0].given.clone().unwrap();
    assert_eq!(given.replaced[filter]["name"], "buffer");
    // It is no copy of the whole.
    assert_eq!(arm(&plan, "other").kind, ArmKind::Function);
    assert_eq!(arm(&plan, "other").summary, "One proxy with `envoy.yaml`, 1 node replaced");
    let missing = with("/static_resources/listeners/7").unwrap_err().to_string();
    assert!(missing.contains("no node `/static_resources/listeners/7`"), "{missing}");
}

#[test]
fn tls_of_the_request_follows_the_listener_and_what_is_left_of_it() {
    let plan = given(
        "baseline, {name: whole, hops: [{config: envoy.yaml, listener: sec}]}, \
         {name: open, hops: [{config: envoy.yaml, listener: secure, without: \
         [/static_resources/listeners/1/filter_chains/0/transport_socket]}]}",
    )
    .unwrap();
    assert_eq!(arm(&plan, "whole").tls(), [Some(Tls::Mtls), None]);
    assert_eq!(arm(&plan, "open").tls(), [None, None]);
    // Version and group are those of the configuration.
    assert_eq!(arm(&plan, "whole").key_exchange_group(), None);
}

#[test]
fn a_stated_request_replaces_the_derived_one() {
    let plan = given(
        "baseline, {name: ours, hops: [{config: envoy.yaml}], \
         request: {method: POST, host: other.example, path: /login, headers: {X-A: b}}}",
    )
    .unwrap();
    let request = arm(&plan, "ours").request.clone().unwrap();
    assert_eq!((request.method.as_str(), request.host.as_str()), ("POST", "other.example"));
    assert_eq!(
        (request.path.as_str(), request.headers),
        ("/login", vec![("x-a".to_owned(), "b".to_owned())])
    );
}

#[test]
fn a_listener_that_forwards_is_taken_before_one_that_redirects() {
    let listener = |name: &str, action: &str| {
        format!(
            "    - name: {name}
      filter_chains:
        - filters:
            - name: http
              typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                route_config:
                  virtual_hosts: [{{name: all, domains: ['*'], routes: [{{match: {{prefix: /}}, {action}}}]}}]
"
        )
    };
    let taken = |listeners: &[String]| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("static_resources:\n  listeners:\n{}", listeners.concat());
        fs::write(folder.path().join("envoy.yaml"), text).unwrap();
        let plan =
            read(folder.path(), "arms: [baseline, {name: ours, hops: [{config: envoy.yaml}]}]").unwrap();
        arm(&plan, "ours").chain.hops[0].given.clone().unwrap().listener
    };
    let redirects = listener("redirects", "redirect: {https_redirect: true}");
    let forwards = listener("forwards", "route: {cluster: shop}");
    assert_eq!(taken(&[redirects.clone(), forwards]), "forwards");
    assert_eq!(taken(&[redirects]), "redirects");
}

#[test]
fn every_problem_with_a_configuration_is_placed_in_the_study() {
    let problems = given(
        "baseline,
  {name: a, hops: [{config: none.yaml}]},
  {name: b, hops: [{config: other.yaml}]},
  {name: c, hops: [{config: envoy.yaml, listener: plane}]},
  {name: d, hops: [{config: envoy.yaml, without: [/static_resources/listeners/7]}]},
  {name: e, hops: [{config: envoy.yaml, functions: [lua]}]},
  {name: f, hops: [{listener: plain, functions: [lua]}]},
  {name: g, functions: [lua], request: {path: /}},
  {name: h, hops: [{config: envoy.yaml}], at: {protocol: grpc}},
  {name: i, hops: [{config: envoy.yaml}], at: {tls: tls}},
  {name: j, hops: [{name: edge, functions: [jwt]}, {name: mine, config: envoy.yaml, listener: secure}]},
  {name: k, hops: [{name: mine, config: envoy.yaml}, {name: server, tls: {downstream: tls}}]}",
    )
    .unwrap_err()
    .to_string();
    insta::assert_snapshot!(without_folder(&problems));
}

fn without_folder(problems: &str) -> String {
    let words = problems.split('`').map(|part| {
        let is_path = part.starts_with('/') && part.ends_with("other.yaml");
        if is_path { "FOLDER/other.yaml" } else { part }
    });
    words.collect::<Vec<_>>().join("`")
}

#[test]
fn what_a_configuration_cannot_be_behind_is_refused() {
    let arms = "arms: [baseline, {name: ours, hops: [{config: envoy.yaml}]}]";
    for (more, expected) in [
        ("application: go", "servers for the clusters of its `config`"),
        ("link: {delay: 1ms}", "loopback addresses for its `config`"),
    ] {
        let problems = with(&format!("{arms}\n{more}")).unwrap_err().to_string();
        assert!(problems.contains(expected), "{more}: {problems}");
    }
}
