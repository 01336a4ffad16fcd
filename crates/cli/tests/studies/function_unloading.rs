//! Functions that are removed from a running Envoy: nothing of them is left in its live configuration.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use hoptax_functions::{Catalogue, Context, Function, REQUEST_PATH};
use hoptax_subject::envoy::bootstrap::{ProxyPlan, WatchedFiles};
use hoptax_subject::envoy::process::{Proxy, ProxySpec};
use hoptax_subject::envoy::release::Envoy;
use serde_json::{Value, json};

use crate::composition::composed;
use crate::support::proxied::respond;
use crate::support::study::{StudyFolder, arm, smallest_study};
use crate::support::{origin, wait_until};

/// A proxy in `folder` with a function, whose listener and clusters can be replaced. The first origin is the companion, too.
fn spec(envoy: &Envoy, function: Option<&Function>, folder: &Path, origins: &[SocketAddr]) -> ProxySpec {
    let fragment = function.map(|function| {
        let context = Context { directory: folder, companion: origins.first().copied() };
        function.render(&function.default_knobs(), &context).unwrap()
    });
    let upstreams = function.map_or(1, |function| function.upstreams);
    let origins = origins.iter().take(usize::from(upstreams)).copied().collect();
    let plain = ProxyPlan::plain(([127, 0, 0, 1], 0).into(), origins);
    ProxySpec {
        envoy: envoy.clone(),
        directory: folder.to_owned(),
        source: ProxyPlan { fragment, watched: Some(WatchedFiles::in_folder(folder)), ..plain }.into(),
        environment: function.map(|function| function.environment.clone()).unwrap_or_default(),
        flags: Vec::new(),
        workers: 1,
        processors: Vec::new(),
        generation: None,
    }
}

/// The listeners and clusters that Envoy uses for new connections, and those that it cannot replace.
fn live(proxy: &Proxy) -> Value {
    let url = format!("http://{}/config_dump", proxy.admin.unwrap());
    let text = ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap();
    let dump: Value = serde_json::from_str(&text).unwrap();
    let section = |name: &str| {
        let is_it = |section: &&Value| section["@type"].as_str().unwrap().ends_with(name);
        dump["configs"].as_array().unwrap().iter().find(is_it).cloned().unwrap_or_default()
    };
    let each = |list: &Value, keys: &[&str]| -> Vec<Value> {
        let of = |one: &Value| keys.iter().fold(one.clone(), |value, key| value[*key].clone());
        list.as_array().into_iter().flatten().map(of).collect()
    };
    let (clusters, listeners) = (section("ClustersConfigDump"), section("ListenersConfigDump"));
    json!({
        "clusters": each(&clusters["dynamic_active_clusters"], &["cluster"]),
        "listeners": each(&listeners["dynamic_listeners"], &["active_state", "listener"]),
        "fixed": [&clusters["static_clusters"], &listeners["static_listeners"]],
    })
}

/// Sends requests of a function through its proxy, all of which must be answered, until its proofs show that it is at work: a log is written
/// after the response.
fn assert_at_work(function: &Function, proxy: &Proxy) {
    let (id, knobs, request) = (&function.id, function.default_knobs(), &function.request);
    let query = request.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let path = format!("{REQUEST_PATH}{query}");
    let headers: BTreeMap<String, String> =
        request.headers.clone().into_iter().chain(request.own_headers.clone()).collect();
    let body = function.body(&knobs).unwrap().unwrap_or_default();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let proofs = function.proofs(&knobs).unwrap();
    let names: Vec<String> = proofs.iter().map(|proof| proof.name.clone()).collect();
    let read = || proxy.statistics(&names).unwrap().unwrap();
    let before = read();
    // A function may count the connections that are open.
    let _open = TcpStream::connect(proxy.address).unwrap();
    wait_until(&format!("{id} at work"), || {
        let response = respond(proxy.address, method, &path, &headers, &body);
        assert!(response.starts_with("HTTP/1.1 200 "), "{id}: {response}");
        let now = read();
        let mut readings = proofs.iter().zip(before.iter().zip(&now));
        readings.all(|(proof, (before, now))| proof.holds(*before, *now))
    });
}

/// A function that a composition has is measured alone by no study of these tests, so here it is at work alone before it is removed.
#[test]
fn the_live_configuration_after_unloading_is_that_of_the_plain_proxy() {
    let folder = tempfile::tempdir().unwrap();
    // As many as a function that distributes requests needs.
    let started = [(); 4].map(|()| origin(&[]));
    let address = |url: &str| -> SocketAddr {
        url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap()
    };
    let origins: Vec<SocketAddr> = started.iter().map(|(_, url)| address(url)).collect();
    let composed = composed();
    let envoy = Envoy::usual().unwrap();
    let plain = spec(&envoy, None, &folder.path().join("plain"), &origins);
    plain.configure().unwrap();
    let proxy = plain.start().unwrap().wait().unwrap();
    let expected = live(&proxy);
    proxy.end().unwrap();
    assert_eq!(expected["clusters"].as_array().unwrap().len(), 1, "{expected}");
    assert_eq!(expected["listeners"].as_array().unwrap().len(), 1, "{expected}");

    let (mut unloaded, mut changed_clusters) = (0, 0);
    for function in Catalogue::load().unwrap().iter() {
        if function.obstacle_to_unloading(&function.default_knobs()).unwrap().is_some() {
            continue;
        }
        let id = &function.id;
        let spec = spec(&envoy, Some(function), &folder.path().join(id.replace('/', "-")), &origins);
        spec.configure().unwrap();
        let proxy = spec.start().unwrap().wait().unwrap_or_else(|error| panic!("{id}: {error}"));
        let before = live(&proxy);
        assert_ne!(before, expected, "{id} changes nothing");
        changed_clusters += usize::from(before["clusters"] != expected["clusters"]);
        if composed.contains(id) {
            assert_at_work(function, &proxy);
        }
        spec.unload(&proxy).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(live(&proxy), expected, "{id} left something");
        let answer = ureq::get(format!("http://{}/hoptax", proxy.address)).call();
        assert!(answer.is_ok_and(|answer| answer.status() == 200), "{id}");
        proxy.end().unwrap();
        unloaded += 1;
    }
    // Both kinds occurred: functions within the listener, and functions that are elsewhere too.
    assert!(unloaded > 40 && changed_clusters > 10, "{unloaded}, {changed_clusters}");
}

#[test]
fn a_study_measures_an_arm_without_its_unloaded_function() {
    let arms = "baseline, {unloaded: lua}, {unloaded: circuit-breaker}, {unloaded: balance/maglev}, \
                {name: edge, hops: [{name: front, functions: [cors]}, {name: back, functions: [lua, header-mutation]}], protocol: http2, unloaded: true}";
    let study = StudyFolder::new(&smallest_study(arms, 2));
    let result = study.short_form();
    for (id, file, word) in [
        ("lua unloaded", "lua-unloaded/listener.json", "lua"),
        ("circuit-breaker unloaded", "circuit-breaker-unloaded/clusters.json", "track_remaining"),
        ("balance/maglev unloaded", "balance-maglev-unloaded/clusters.json", "MAGLEV"),
        ("edge @ http2 unloaded", "edge-at-http2-unloaded/front/listener.json", "cors"),
        ("edge @ http2 unloaded", "edge-at-http2-unloaded/back/listener.json", "header_mutation"),
    ] {
        let arm = arm(&result, id);
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{id}");
        assert_eq!(arm["unproven"], json!([]), "{id}");
        let text = fs::read_to_string(study.path("out/arms").join(file)).unwrap();
        assert!(!text.contains(word), "{id}: {text}");
    }
}
