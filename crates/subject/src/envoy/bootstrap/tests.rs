use hoptax_functions::{Catalogue, Context, FunctionCall, Secured};

use super::*;

fn plan(fragment: Option<Fragment>) -> ProxyPlan {
    let plain = ProxyPlan::plain(([127, 0, 0, 1], 10000).into(), vec![([127, 0, 0, 1], 8080).into()]);
    ProxyPlan { admin_port: 9901, fragment, ..plain }
}

fn rendered(call: &str) -> Fragment {
    let catalogue = Catalogue::load().unwrap();
    let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
    function.render(&knobs, &Context { directory: "/run/arm".as_ref(), companion: None }).unwrap()
}

fn json(plan: &ProxyPlan) -> Value {
    bootstrap(plan).unwrap()
}

fn connection_manager(plan: &ProxyPlan) -> Value {
    json(plan)["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"].take()
}

fn map(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_plain_proxy_does_little_more_than_proxy() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&json(&plan(None))).unwrap());
}

#[test]
fn the_router_comes_last() {
    let manager = connection_manager(&plan(Some(rendered("lua"))));
    let names: Vec<&Value> =
        manager["http_filters"].as_array().unwrap().iter().map(|filter| &filter["name"]).collect();
    assert_eq!(names, ["envoy.filters.http.lua", "envoy.filters.http.router"]);
}

#[test]
fn routes_of_a_function_replace_the_default_route() {
    let manager = connection_manager(&plan(Some(rendered("route/path{routes=3}"))));
    let routes = manager["route_config"]["virtual_hosts"][0]["routes"].as_array().unwrap();
    let paths: Vec<&Value> = routes.iter().map(|route| &route["match"]["path"]).collect();
    assert_eq!(paths, ["/other-0001", "/other-0002", "/hoptax"]);
    assert!(routes.iter().all(|route| route["route"]["cluster"] == ORIGIN));
}

#[test]
fn every_origin_becomes_an_endpoint() {
    let mut plan = plan(None);
    plan.origins.push(([127, 0, 0, 1], 8081).into());
    let endpoints =
        json(&plan)["static_resources"]["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"]
            .take();
    assert_eq!(endpoints.as_array().unwrap().len(), 2);
    plan.origins.clear();
    assert!(matches!(bootstrap(&plan), Err(MergeError::NoOrigin)));
}

#[test]
fn no_cluster_of_a_function_has_breakers_that_open() {
    let clusters = json(&plan(Some(rendered("route/mirror"))))["static_resources"]["clusters"].take();
    let limits: Vec<(&Value, &Value)> = clusters
        .as_array()
        .unwrap()
        .iter()
        .map(|cluster| (&cluster["name"], &cluster["circuit_breakers"]["thresholds"][0]["max_requests"]))
        .collect();
    let never = Value::from(1_000_000_000);
    assert_eq!(limits, [(&Value::from(ORIGIN), &never), (&Value::from("shadow"), &never)]);
}

#[test]
fn origins_are_spread_over_the_zones_of_the_function() {
    let mut plan = plan(Some(rendered("balance/zone")));
    plan.origins = (8080..8084).map(|port| ([127, 0, 0, 1], port).into()).collect();
    let assignment = json(&plan)["static_resources"]["clusters"][0]["load_assignment"]["endpoints"].take();
    let zones: Vec<(&Value, usize)> = assignment
        .as_array()
        .unwrap()
        .iter()
        .map(|of_zone| (&of_zone["locality"]["zone"], of_zone["lb_endpoints"].as_array().unwrap().len()))
        .collect();
    assert_eq!(zones, [(&Value::from("near"), 2), (&Value::from("far"), 2)]);
}

/// The defaults differ between releases of Envoy.
#[test]
fn both_sides_of_tls_state_their_version_and_their_group() {
    let tls = TlsSettings { authority: "ca.pem".into(), identity: None, peer: None };
    for (fragment, group) in
        [(None, "X25519"), (Some(rendered("tls/terminate{group=x25519mlkem768}")), "X25519MLKEM768")]
    {
        let mut plan = plan(fragment);
        (plan.downstream, plan.upstream) = (Some(tls.clone()), Some(tls.clone()));
        let resources = json(&plan)["static_resources"].take();
        for socket in [
            &resources["listeners"][0]["filter_chains"][0]["transport_socket"],
            &resources["clusters"][0]["transport_socket"],
        ] {
            assert_eq!(
                socket["typed_config"]["common_tls_context"]["tls_params"],
                serde_json::json!({
                    "tls_minimum_protocol_version": "TLSv1_3",
                    "tls_maximum_protocol_version": "TLSv1_3",
                    "ecdh_curves": [group],
                })
            );
        }
    }
}

/// Envoy would reject session resumption together with on-demand certificates, and a certificate from files would take precedence.
#[test]
fn a_certificate_that_is_fetched_on_demand_is_not_read_from_a_file() {
    let context = |call: &str| {
        let mut plan = plan(Some(rendered(call)));
        let identity = Some(("/lab/gateway.pem".into(), "/lab/gateway.key".into()));
        plan.downstream = Some(TlsSettings { authority: "ca.pem".into(), identity, peer: None });
        let socket = "/static_resources/listeners/0/filter_chains/0/transport_socket/typed_config";
        json(&plan).pointer(socket).unwrap().clone()
    };
    let read = context("tls/terminate");
    assert_eq!(read["common_tls_context"]["custom_tls_certificate_selector"], Value::Null);
    assert_eq!(read["disable_stateless_session_resumption"], Value::Null);
    let fetched = context("tls/on-demand-certificate");
    assert_eq!(fetched["disable_stateless_session_resumption"], true);
    assert_eq!(fetched["disable_stateful_session_resumption"], true);
    assert_eq!(fetched["common_tls_context"]["tls_certificates"], Value::Null);
    let selector = &fetched["common_tls_context"]["custom_tls_certificate_selector"]["typed_config"];
    assert_eq!(selector["certificate_mapper"]["typed_config"]["name"], "gateway");
    assert_eq!(selector["config_source"]["api_config_source"]["api_type"], "DELTA_GRPC");
}

#[test]
fn a_fragment_overwrites_only_the_listed_paths() {
    let mut fragment = Fragment {
        connection_manager: map(serde_json::json!({"generate_request_id": true})),
        ..Fragment::default()
    };
    let error = bootstrap(&plan(Some(fragment.clone()))).unwrap_err().to_string();
    assert!(error.contains("`connection_manager.generate_request_id` to true"), "{error}");
    fragment.replaces = vec!["connection_manager.generate_request_id".to_owned()];
    assert_eq!(connection_manager(&plan(Some(fragment.clone())))["generate_request_id"], true);
    fragment.replaces.push("cluster.lb_policy".to_owned());
    let error = bootstrap(&plan(Some(fragment))).unwrap_err().to_string();
    assert!(error.contains("replaces `cluster.lb_policy`, but nothing"), "{error}");
}

/// Envoy rejects HTTP options without a protocol, and with two protocols.
#[test]
fn options_of_http_to_the_origin_have_one_protocol() {
    let protocols = |fragment: &Fragment, codec: Codec| -> Option<Vec<String>> {
        let plan = ProxyPlan { codec, ..plan(Some(fragment.clone())) };
        let cluster = json(&plan)["static_resources"]["clusters"][0].take();
        let of_http = cluster.get("typed_extension_protocol_options")?.as_object()?.values().next()?;
        let chosen = of_http["explicit_http_config"].as_object();
        Some(chosen.into_iter().flat_map(|chosen| chosen.keys().cloned()).collect())
    };
    let (http1, http2) = (["http_protocol_options".to_owned()], ["http2_protocol_options".to_owned()]);
    let idle_timeout = rendered("idle-timeout");
    assert_eq!(protocols(&idle_timeout, Codec::Http1).unwrap(), http1);
    assert_eq!(protocols(&idle_timeout, Codec::Http2ToHttp1).unwrap(), http1);
    assert_eq!(protocols(&idle_timeout, Codec::Http2).unwrap(), http2);
    assert_eq!(protocols(&rendered("grpc-json"), Codec::Http1).unwrap(), http2);
    assert_eq!(protocols(&rendered("lua"), Codec::Http1), None);
    let context = Context { directory: "/run/arm".as_ref(), companion: None };
    for function in Catalogue::load().unwrap().iter() {
        let fragment = function.render(&function.default_knobs(), &context).unwrap();
        for codec in [Codec::Http1, Codec::Http2, Codec::Http2ToHttp1, Codec::WebSocket] {
            let chosen = protocols(&fragment, codec);
            assert!(chosen.is_none_or(|chosen| chosen.len() == 1), "{} {codec:?}", function.id);
        }
    }
}

#[test]
fn a_budget_of_retries_stands_beside_the_limits_of_the_plain_proxy() {
    let limits = |fragment: Fragment| {
        let cluster = json(&plan(Some(fragment)))["static_resources"]["clusters"][0].take();
        cluster["circuit_breakers"]["thresholds"].as_array().unwrap().clone()
    };
    let with_budget = limits(rendered("retry/budget"));
    assert_eq!(with_budget.len(), 1);
    assert_eq!(with_budget[0]["max_requests"], 1_000_000_000);
    assert_eq!(with_budget[0]["retry_budget"]["min_retry_concurrency"], 3);
    // The circuit breaker replaces the limits.
    assert_eq!(limits(rendered("circuit-breaker"))[0]["max_requests"], 4096);
    let thresholds = serde_json::json!({"circuit_breakers": {"thresholds": [{"max_requests": 5}]}});
    let fragment = Fragment { cluster: map(thresholds), ..Fragment::default() };
    let error = bootstrap(&plan(Some(fragment))).unwrap_err().to_string();
    assert!(error.contains("`cluster.circuit_breakers.thresholds.max_requests` to 5"), "{error}");
}

#[test]
fn the_whole_catalogue_fits_the_plain_proxy() {
    for function in Catalogue::load().unwrap().iter() {
        let fragment = function
            .render(&function.default_knobs(), &Context { directory: "/run/arm".as_ref(), companion: None })
            .unwrap();
        // Some functions are in the application, in TLS settings, or in the number of workers.
        let is_elsewhere = function.fragment() == "{}" || function.secured != Secured::default();
        assert!(is_elsewhere || fragment != Fragment::default(), "{} changes nothing", function.id);
        let result = bootstrap(&plan(Some(fragment)));
        assert!(result.is_ok(), "{}: {}", function.id, result.unwrap_err());
    }
}
