use std::collections::BTreeSet;

use super::*;
use crate::{Catalogue, FunctionCall};

fn component(catalogue: &Catalogue, call: &str) -> Component {
    let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
    Component { name: call.to_owned(), function: function.clone(), knobs }
}

fn composed(calls: &[&str], order: FilterOrder) -> Result<Composition, Vec<Conflict>> {
    let catalogue = Catalogue::load().unwrap();
    Composition::new(calls.iter().map(|call| component(catalogue, call)).collect(), order)
}

fn filters(composition: &Composition) -> Vec<String> {
    let fragment = composition.render(&Context { directory: Path::new("/"), companion: None }).unwrap();
    let name =
        |filter: &serde_json::Map<String, serde_json::Value>| filter["name"].as_str().unwrap().to_owned();
    fragment.http_filters.iter().map(name).collect()
}

fn conflicts(calls: &[&str]) -> Vec<String> {
    composed(calls, FilterOrder::Recommended).unwrap_err().iter().map(ToString::to_string).collect()
}

/// A name of several HTTP filters that a route or the virtual host configures: Envoy cannot tell which one is meant.
fn ambiguous_filter(fragment: &Fragment) -> Option<String> {
    let maps = [&fragment.route, &fragment.virtual_host].into_iter().chain(&fragment.routes);
    let configured = maps.filter_map(|map| map.get("typed_per_filter_config")?.as_object()).flatten();
    let count = |name: &str| fragment.http_filters.iter().filter(|filter| filter["name"] == name).count();
    configured.map(|(name, _)| name.clone()).find(|name| count(name) > 1)
}

/// Number of protocols to the origin that it chooses.
fn protocols_to_origin(fragment: &Fragment) -> usize {
    let options = fragment.cluster.get("typed_extension_protocol_options");
    let of_http = options.and_then(|options| options.as_object()?.values().next());
    let chosen = of_http.and_then(|options| options.get("explicit_http_config")?.as_object());
    chosen.map_or(0, serde_json::Map::len)
}

#[test]
fn every_pair_of_functions_is_combined_or_refused_with_a_reason() {
    let catalogue = Catalogue::load().unwrap();
    let all: Vec<Component> = catalogue.iter().map(|function| component(catalogue, &function.id)).collect();
    // Each is rendered once.
    let all: Vec<Candidate<'_>> = all.iter().map(Candidate::new).collect();
    let (mut combined, mut reasons) = (0, BTreeSet::new());
    for (index, one) in all.iter().enumerate() {
        for two in all.iter().skip(index) {
            let (first, second) = (one.component, two.component);
            let names = format!("{} and {}", first.name, second.name);
            let is_possible = obstacle(two, one).is_none();
            let pair = || vec![first.clone(), second.clone()];
            match obstacle(one, two) {
                None => {
                    combined += 1;
                    assert!(is_possible, "{names} only in one order");
                    let composition = Composition { components: pair(), ..Composition::default() };
                    // As they are rendered together, without the order of filters.
                    let (own, other) = (one.fragment().unwrap(), two.fragment().unwrap());
                    let fragment = own.clone().combine(other.clone()).expect(&names);
                    assert_eq!(
                        fragment.http_filters,
                        [own.http_filters.as_slice(), other.http_filters.as_slice()].concat(),
                        "{names}"
                    );
                    assert_eq!(
                        fragment.access_log.len(),
                        own.access_log.len() + other.access_log.len(),
                        "{names}"
                    );
                    assert_eq!(ambiguous_filter(&fragment), None, "{names}");
                    assert!(protocols_to_origin(&fragment) < 2, "{names}");
                    assert!(!composition.proofs().is_empty(), "{names}");
                }
                Some(why) => {
                    let conflicts = Composition::new(pair(), FilterOrder::AsWritten).unwrap_err();
                    let [conflict] = conflicts.as_slice() else { panic!("{names}: {conflicts:?}") };
                    assert!(!is_possible, "{names} only in one order");
                    assert_eq!(
                        (&conflict.first, &conflict.second, conflict.index),
                        (&first.name, &second.name, 1)
                    );
                    assert!(!why.is_empty() && conflict.why == why, "{names}");
                    reasons.insert(conflict.why.clone());
                }
            }
        }
    }
    // Both happen, or the loop would assert nothing.
    assert!(combined > all.len() * all.len() / 4, "{combined} of {} functions", all.len());
    assert!(reasons.len() > 10, "{reasons:?}");
}

#[test]
fn the_fragment_is_that_which_is_rendered_and_copies_share_it() {
    assert_eq!(Composition::default().fragment(), Some(&Fragment::default()));
    for calls in [&["route/path{routes=50}"][..], &["jwt", "rbac", "access-log/json"]] {
        let composition = composed(calls, FilterOrder::Recommended).unwrap();
        let copy = composition.clone();
        let text = format!("{composition:?}");
        assert_eq!(composition.fragment(), composition.render(&nowhere()).ok().as_ref());
        assert!(std::ptr::eq(composition.fragment().unwrap(), copy.fragment().unwrap()), "{calls:?}");
        assert_eq!(format!("{composition:?}"), text, "plans are recognized by it");
        // Another one of the same functions renders its own, and is equal before and after.
        let another = composed(calls, FilterOrder::Recommended).unwrap();
        assert_eq!(composition, another);
        assert!(!std::ptr::eq(composition.fragment().unwrap(), another.fragment().unwrap()), "{calls:?}");
        assert_eq!(composition, another);
    }
    let lengths = [50, 60].map(|routes| {
        let one = composed(&[&format!("route/path{{routes={routes}}}")], FilterOrder::Recommended).unwrap();
        one.fragment().unwrap().routes.len()
    });
    assert_eq!(lengths, [50, 60]);
}

#[test]
fn a_conflict_names_both_functions_and_what_they_share() {
    let pairs = [
        ["rbac", "rbac{rules=5}"],
        ["route/path", "route/header"],
        ["balance/random", "balance/maglev"],
        ["buffer", "grpc-json"],
        ["tls/terminate", "tls/terminate-mutual"],
        ["lua", "rate-limit/lua"],
        ["retry/policy", "hedging"],
        ["grpc-json", "http3/originate"],
    ];
    let all: Vec<String> = pairs.iter().flat_map(|pair| conflicts(pair)).collect();
    insta::assert_snapshot!(all.join("\n"));
}

/// If 5xx were successes too, the filter would never reject.
#[test]
fn admission_control_counts_errors_of_origins_as_failures() {
    let context = Context { directory: Path::new("/"), companion: None };
    let composition = composed(&["admission-control"], FilterOrder::Recommended).unwrap();
    let fragment = composition.render(&context).unwrap();
    let [filter] = fragment.http_filters.as_slice() else { panic!("{:?}", fragment.http_filters) };
    let successes = &filter["typed_config"]["success_criteria"]["http_criteria"]["http_success_status"];
    assert_eq!(*successes, serde_json::json!([{"start": 100, "end": 500}]));
}

#[test]
fn what_envoy_can_hold_together_is_combined() {
    let context = Context { directory: Path::new("/"), companion: None };
    let rendered =
        |calls: &[&str]| composed(calls, FilterOrder::Recommended).unwrap().render(&context).unwrap();
    let fragment = rendered(&["circuit-breaker", "retry/budget"]);
    let thresholds = fragment.cluster["circuit_breakers"]["thresholds"].as_array().unwrap();
    let [only] = thresholds.as_slice() else { panic!("{thresholds:?}") };
    assert!(only["max_requests"].is_u64() && only["retry_budget"].is_object(), "{only}");
    // One asks the companion over HTTP/1.1, the other over HTTP/2.
    let fragment = rendered(&["ext-authz/http", "access-log/grpc"]);
    let clusters: BTreeSet<&str> =
        fragment.clusters.iter().map(|cluster| cluster["name"].as_str().unwrap()).collect();
    assert_eq!(clusters.len(), 2, "{clusters:?}");
    let fragment = rendered(&["idle-timeout", "grpc-json"]);
    let options = fragment.cluster["typed_extension_protocol_options"].to_string();
    assert!(fragment.uses_http2_to_origin() && options.contains("idle_timeout"), "{options}");
}

/// A cluster without one speaks HTTP/1.1, into which Envoy translates HTTP/2 but not gRPC.
#[test]
fn every_cluster_of_a_function_states_its_protocol() {
    let catalogue = Catalogue::load().unwrap();
    for function in catalogue.iter() {
        let fragment = function.render(&function.default_knobs(), &nowhere()).unwrap();
        for cluster in &fragment.clusters {
            // The service of external authorization that is asked over HTTP/1.1, and clusters to which nothing is sent.
            let without = ["ext-authz/http", "balance/zone", "configuration/clusters"];
            let needs_none = without.contains(&function.id.as_str());
            let is_stated = cluster.contains_key("typed_extension_protocol_options");
            assert_eq!(is_stated, !needs_none, "{}: {}", function.id, cluster["name"]);
        }
    }
}

/// Only the variable tells that a function supports no other path.
#[test]
fn no_function_has_the_path_of_requests_as_a_literal() {
    let catalogue = Catalogue::load().unwrap();
    for function in catalogue.iter() {
        let without_hosts = function.fragment().replace("://", "");
        assert!(!without_hosts.contains("/hop"), "{}", function.id);
    }
    for id in ["route/path", "route/regex", "route/rewrite"] {
        let function = catalogue.get(id).unwrap();
        assert!(function.looks_at_path(), "{id}");
        let text = function.rendered(&function.default_knobs(), &nowhere()).unwrap();
        assert!(text.contains("/hop"), "{text}");
    }
}

#[test]
fn every_function_that_does_not_fit_is_reported() {
    let found = conflicts(&["lua", "rate-limit/lua", "cors", "rbac", "rbac{rules=2}"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("`lua` and `rate-limit/lua`")
            && found[1].starts_with("`rbac` and `rbac{rules=2}`")
    );
}

#[test]
fn filters_are_in_the_recommended_order_or_as_written() {
    let calls = ["rate-limit/local", "rbac", "jwt", "lua", "cors"];
    let names = |order| {
        let names = filters(&composed(&calls, order).unwrap());
        names.iter().map(|name| name.replace("envoy.filters.http.", "")).collect::<Vec<_>>()
    };
    assert_eq!(names(FilterOrder::Recommended), ["cors", "jwt_authn", "lua", "rbac", "local_ratelimit"]);
    assert_eq!(names(FilterOrder::AsWritten), ["local_ratelimit", "rbac", "jwt_authn", "lua", "cors"]);
}

#[test]
fn a_composition_needs_what_each_function_needs() {
    let composition = composed(
        &["jwt", "compress/gzip", "control/delay", "balance/random", "csrf"],
        FilterOrder::Recommended,
    )
    .unwrap();
    let headers = composition.headers();
    for name in ["authorization", "accept-encoding", "origin"] {
        assert!(headers.contains_key(name), "{headers:?}");
    }
    assert_eq!(composition.response_bytes(), Some(4096));
    assert_eq!(composition.query(), None);
    assert_eq!(composition.body(), Some(b"hello".to_vec()));
    assert_eq!((composition.connections(), composition.upstreams()), (Some(64), 4));
    assert_eq!(composition.environment()["EVENT_PRECISE_TIMER"], "1");
    assert_eq!(composition.proofs().len(), 5);
    // The file of csrf lists no points of the request's size.
    assert!(composition.permits("response_bytes") && !composition.permits("request_bytes"));
    assert!(composed(&["buffer"], FilterOrder::Recommended).unwrap().permits("request_bytes"));
}

#[test]
fn a_default_that_is_stated_makes_no_difference() {
    let composition = |calls: &[&str], order| composed(calls, order).unwrap();
    let (recommended, as_written) = (FilterOrder::Recommended, FilterOrder::AsWritten);
    let pair = composition(&["rbac", "lua"], recommended);
    assert!(pair.is_same(&composition(&["rbac{rules=1}", "lua"], recommended)));
    assert!(!pair.is_same(&composition(&["rbac{rules=2}", "lua"], recommended)));
    assert!(!pair.is_same(&composition(&["rbac", "lua"], as_written)));
    // A single function has no order.
    assert!(composition(&["lua"], as_written).is_same(&composition(&["lua"], recommended)));
}
