//! The catalogue of listeners: all of it renders, and a part of it to a snapshot.

use hoptax_listeners::{
    Form, Format, Imported, Rendered, Resource, Source, import, is_listeners, read, render,
};
use serde_json::Value;

const LISTENERS: Source<'_> =
    Source { name: "listeners.yaml", text: include_str!("catalogue/listeners.yaml") };
const SERVICES: Source<'_> = Source { name: "services.yaml", text: include_str!("catalogue/services.yaml") };
const EDGE: Source<'_> = Source { name: "edge.yaml", text: include_str!("catalogue/edge.yaml") };

fn rendered(source: Source<'_>, services: Option<Source<'_>>) -> Rendered {
    let plan = read(source, services).unwrap_or_else(|problems| panic!("{problems}"));
    render(&plan).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn more_than_forty_listeners_are_rendered() {
    let rendered = rendered(LISTENERS, Some(SERVICES));
    assert!(rendered.listeners.len() > 40, "{}", rendered.listeners.len());
    let names: Vec<&Value> = rendered.clusters.iter().map(|one| &one.message["name"]).collect();
    // Two listeners without differences share one, the split has its own, and the upstreams that are stated theirs.
    for name in [
        "pages",
        "history",
        "history-split",
        "pages-tests",
        "images_north_example_org_443",
        "ratelimit_service",
    ] {
        assert_eq!(names.iter().filter(|own| ***own == name).count(), 1, "{name}: {names:?}");
    }
}

/// A listener and clusters of it as YAML.
fn shown(rendered: &Rendered, name: &str, clusters: &[&str]) -> String {
    let meant = |all: &[Resource], names: &[&str]| {
        all.iter().filter(|one| names.iter().any(|name| one.message["name"] == *name)).cloned().collect()
    };
    let mut part = rendered.clone();
    part.listeners = meant(&rendered.listeners, &[name]);
    part.clusters = meant(&rendered.clusters, clusters);
    part.outputs(Form::Bootstrap, Format::Yaml).remove(0).text
}

#[test]
fn a_listener_with_a_split_becomes_routes_and_clusters() {
    insta::assert_snapshot!(shown(
        &rendered(LISTENERS, Some(SERVICES)),
        "history",
        &["history", "history-split"]
    ));
}

#[test]
fn a_front_proxy_becomes_virtual_hosts() {
    insta::assert_snapshot!(shown(&rendered(EDGE, None), "front", &["shop"]));
}

#[test]
fn a_listener_with_limits_and_functions_has_them_all() {
    insta::assert_snapshot!(shown(&rendered(EDGE, None), "guarded", &["shop-guarded"]));
}

#[test]
fn every_form_holds_the_same_messages() {
    let rendered = rendered(EDGE, None);
    let bootstrap = rendered.bootstrap();
    for format in [Format::Yaml, Format::Json] {
        let values = |form| -> Vec<Value> {
            let outputs = rendered.clone().outputs(form, format);
            outputs.iter().map(|one| hoptax_text::yaml::envoy::first(&one.text).unwrap().to_value()).collect()
        };
        assert_eq!(values(Form::Bootstrap), std::slice::from_ref(&bootstrap));
        assert_eq!(values(Form::Helm)[0]["envoy"]["bootstrap"], bootstrap);
        let map = values(Form::ConfigMap);
        assert_eq!((&map[0]["kind"], &map[0]["metadata"]["name"]), (&"ConfigMap".into(), &"envoy".into()));
        let inner = map[0]["data"]["envoy.yaml"].as_str().unwrap();
        assert_eq!(hoptax_text::yaml::envoy::first(inner).unwrap().to_value(), bootstrap);
        let watched = values(Form::LdsCds);
        for (file, kind) in watched.iter().zip(["listeners", "clusters"]) {
            let resources = file["resources"].as_array().unwrap();
            let plain = resources.iter().map(|one| {
                let mut one = one.clone();
                one.as_object_mut().unwrap().shift_remove("@type").unwrap();
                one
            });
            assert_eq!(plain.collect::<Value>(), bootstrap["static_resources"][kind]);
        }
    }
}

#[test]
fn pointers_of_the_bootstrap_lead_to_the_lines_of_their_listeners() {
    let (bootstrap, lines) = rendered(EDGE, None).traced();
    let of = |kind: &str, name: &str| {
        let all = bootstrap["static_resources"][kind].as_array().unwrap();
        let number = all.iter().position(|one| one["name"] == name).unwrap();
        [
            lines.line(&format!("/static_resources/{kind}/{number}")),
            lines.line(&format!("/static_resources/{kind}/{number}/type")),
        ]
    };
    let expected =
        |needle: &str| EDGE.text.lines().position(|line| line.contains(needle)).unwrap() as u64 + 1;
    assert_eq!(of("listeners", "guarded"), [expected("name: guarded"); 2]);
    assert_eq!(of("clusters", "shop-search"), [expected("cluster: shop-search"); 2]);
    for other in [
        "",
        "/admin",
        "/static_resources/listeners",
        "/static_resources/listeners/99/name",
        "/static_resources/x/0",
    ] {
        assert_eq!(lines.line(other), 1, "{other}");
    }
}

/// Listeners in the form of values of Wikimedia's charts.
const CHART: &str = "\
main_app: {name: shop}
services_proxy:
  history:
    keepalive: 4.5s
    port: 6021
    timeout: 20s
    retry_policy: {retry_on: connect-failure, num_retries: 1}
    split: {percentage: 10, upstream: {address: history.south.example.org, port: 4112, encryption: true, sets_sni: true}}
    upstream: {ips: [10.2.1.11], address: history.example.org, port: 4112, encryption: true, sets_sni: true}
";

#[test]
fn values_of_a_chart_are_the_same_listeners() {
    let own = "\
listeners:
  - name: history
    keepalive: 4.5s
    port: 6021
    timeout: 20s
    retry_policy: {retry_on: connect-failure, num_retries: 1}
    split: {percentage: 10, upstream: {address: history.south.example.org, port: 4112, encryption: true}, sets_sni: true}
    upstream: {address: history.example.org, port: 4112, encryption: true}
    sets_sni: true
";
    let bootstrap = |text| rendered(Source { name: "x.yaml", text }, None).bootstrap();
    assert_eq!(bootstrap(CHART), bootstrap(own));
    let wrong = CHART.replace("port: 6021", "prot: 6021");
    let problems = read(Source { name: "x.yaml", text: &wrong }, None).unwrap_err().to_string();
    assert!(problems.contains("x.yaml:5:5: unknown key `prot`"), "{problems}");
}

/// A host has the listeners that its file of hiera enables.
#[test]
fn a_file_of_hiera_says_which_listeners_a_host_has() {
    let text = "\
profile::services_proxy::envoy::enabled_listeners: [b]
profile::services_proxy::envoy::listeners:
  - {name: a, port: 6021, timeout: 2s, upstream: {address: a.example.org, port: 443}}
  - {name: b, port: 6022, timeout: 2s, upstream: {address: b.example.org, port: 443}}
";
    let names = |text: &str| -> Vec<Value> {
        let rendered = rendered(Source { name: "x.yaml", text }, None);
        rendered.listeners.iter().map(|one| one.message["name"].clone()).collect()
    };
    assert_eq!(names(text), ["b"]);
    assert_eq!(names(&text.replace("enabled_listeners", "others")), ["a", "b"]);
    let wrong = text.replace("[b]", "[b, c]");
    let problems = read(Source { name: "x.yaml", text: &wrong }, None).unwrap_err().to_string();
    assert_eq!(problems, "x.yaml:1:56: enables `c`, but no listener has that name");
}

#[test]
fn files_of_listeners_are_told_from_configurations_of_envoy() {
    for text in [LISTENERS.text, EDGE.text, CHART] {
        assert!(is_listeners(text), "{text}");
    }
    let bootstrap = rendered(EDGE, None).outputs(Form::Bootstrap, Format::Yaml).remove(0).text;
    for other in [
        &bootstrap,
        SERVICES.text,
        "listeners: []\n",
        "listeners: [{name: a, address: {}}]\n",
        "- a\n",
        "a: [\n",
    ] {
        assert!(!is_listeners(other), "{other}");
    }
}

#[test]
fn an_import_of_what_is_rendered_is_rendered_to_the_same() {
    let rendered = rendered(EDGE, None);
    let Imported { text, left } = import(&rendered.bootstrap());
    let expected = [
        "listener `guarded`: the HTTP filter `envoy.filters.http.compressor`",
        "listener `guarded`: the HTTP filter `envoy.filters.http.local_ratelimit`",
    ];
    for line in expected {
        assert!(left.iter().any(|own| own.words == line), "{line}: {left:#?}");
    }
    // The only rest is from functions, the log and the front proxy's second name.
    let rest = ["HTTP filter", "http_filters", "access", "lb_policy"];
    let is_expected = |line: &&str| rest.iter().any(|part| line.contains(part));
    let all = left.iter().map(|own| own.words.as_str());
    let others: Vec<&str> = all.filter(|line| !is_expected(line)).collect();
    assert!(others.is_empty(), "{others:#?}\n{text}");
}
