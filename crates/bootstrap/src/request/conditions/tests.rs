use super::*;
use crate::fixture::{adapted, passed_parts, request_of};
use crate::request::{StatedRequest, stated};

/// A listener with a filter, the match and the action of a route, and further settings of the connection manager.
fn listener(filter: &str, matching: &str, action: &str, more: &str) -> Adapted {
    adapted(&format!(
        "static_resources:
  listeners:
  - name: l
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          {more}
          route_config: {{virtual_hosts: [{{name: v, domains: ['*'], routes: [{{match: {matching}, route: {{cluster: c{action}}}}}],
            rate_limits: [{{stage: 5, actions: [{{request_headers: {{header_name: x-of-host, descriptor_key: h}}}}]}}]}}]}}
          http_filters: [{filter}, {{name: router, typed_config: {{'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}]"
    ))
}

fn filter(of: &str, settings: &str) -> String {
    format!("{{name: f, typed_config: {{'@type': type.googleapis.com/{HTTP}{of}, {settings}}}}}")
}

/// The hint of the first part.
fn hint(adapted: &Adapted) -> String {
    passed_parts(adapted)[0].exercised_by.clone().unwrap()
}

const RATE_LIMIT: &str = "ratelimit.v3.RateLimit";

fn with_actions(actions: &str) -> Adapted {
    listener(
        &filter(RATE_LIMIT, "domain: d"),
        "{prefix: /}",
        &format!(", rate_limits: [{{actions: [{actions}]}}]"),
        "",
    )
}

#[test]
fn a_request_has_what_the_actions_of_a_rate_limit_ask_for() {
    let adapted = with_actions(
        "{request_headers: {header_name: x-api-key, descriptor_key: k}},
         {request_headers: {header_name: x-optional, descriptor_key: o, skip_if_absent: true}},
         {header_value_match: {descriptor_value: m, headers: [{name: ':method', string_match: {exact: POST}}]}},
         {header_value_match: {descriptor_value: n, expect_match: false, headers: [{name: x-bot, present_match: true}]}},
         {query_parameters: {query_parameter_name: user, descriptor_key: u}},
         {query_parameter_value_match: {descriptor_value: q, query_parameters: [{name: size, string_match: {exact: big}}]}},
         {remote_address: {}}, {generic_key: {descriptor_value: g}}, {destination_cluster: {}},
         {metadata: {descriptor_key: d, metadata_key: {key: a}, default_value: x}}",
    );
    let request = request_of(&adapted);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/?user=1&size=big"));
    assert_eq!(request.headers, [("x-api-key".to_owned(), "1".to_owned())]);
    let expected = "a request with the header `x-api-key`, the method POST, not the header `x-bot`, the query parameter `user` and the \
                    query parameter `size=big`";
    assert_eq!(hint(&adapted), expected);
}

#[test]
fn what_no_request_has_by_itself_is_said() {
    let adapted = with_actions(
        "{request_headers: {header_name: x-api-key, descriptor_key: k}}, {metadata: {descriptor_key: d, metadata_key: {key: a}}}",
    );
    assert_eq!(request_of(&adapted).headers, [], "half of a descriptor is none");
    let expected = "a request with the header `x-api-key` and metadata of `a`, which a filter before it sets";
    assert_eq!(hint(&adapted), expected);
    let without = listener(&filter(RATE_LIMIT, "domain: d"), "{prefix: /}", "", "");
    assert!(hint(&without).contains("which this route lacks"), "{}", hint(&without));
    assert_eq!(hint(&with_actions("{remote_address: {}}")), "any request to its route");
}

/// True if the request does not meet the conditions of the first part.
fn is_unmet(adapted: &Adapted) -> bool {
    passed_parts(adapted)[0].is_unmet
}

#[test]
fn a_request_has_another_method_where_a_condition_excludes_one() {
    let not = |headers: &str| {
        with_actions(&format!(
            "{{header_value_match: {{descriptor_value: m, expect_match: false, headers: [{headers}]}}}}"
        ))
    };
    let get = "{name: ':method', string_match: {exact: GET}}";
    let excluded = not(get);
    assert_eq!(request_of(&excluded).method, "POST");
    assert!(
        !is_unmet(&excluded) && hint(&excluded) == "a request with not the method GET",
        "{}",
        hint(&excluded)
    );
    // It is enough that one of them does not hold.
    let host = "{name: ':authority', string_match: {exact: hoptax.test}}";
    let several =
        not(&format!("{host}, {{name: ':method', string_match: {{safe_regex: {{regex: 'GET|POST'}}}}}}"));
    assert_eq!(request_of(&several).method, "PUT");
    let inverted = with_actions(
        "{header_value_match: {descriptor_value: m, headers: [{name: ':method', string_match: {exact: GET}, invert_match: true}]}}",
    );
    assert_eq!(request_of(&inverted).method, "POST");
    let of_route =
        "{prefix: /, headers: [{name: ':method', string_match: {exact: GET}, invert_match: true}]}";
    let adapted = listener(&filter("cdn_loop.v3.CdnLoopConfig", "cdn_id: a"), of_route, "", "");
    assert_eq!(request_of(&adapted).method, "POST");
}

#[test]
fn a_request_without_a_body_states_none() {
    let length = |value: &str| {
        with_actions(&format!(
            "{{header_value_match: {{descriptor_value: m, headers: [{{name: x-n, range_match: {{start: 5, end: 9}}}}, {{name: content-length, {value}}}]}}}}"
        ))
    };
    let twelve = length("string_match: {exact: '12'}");
    assert_eq!(request_of(&twelve).headers, [], "the rest of a descriptor is of no use");
    assert!(is_unmet(&twelve), "{}", hint(&twelve));
    let expected =
        "a request with the header `x-n` and the header `content-length: 12` (no derived request has a body)";
    assert_eq!(hint(&twelve), expected);
    let none = length("present_match: false");
    assert_eq!((request_of(&none).header("x-n"), is_unmet(&none)), (Some("5"), false));
}

#[test]
fn conditions_that_nothing_in_a_request_meets_are_said() {
    let method = |method: &str| {
        format!(
            "{{header_value_match: {{descriptor_value: m, headers: [{{name: ':method', string_match: {{exact: {method}}}}}]}}}}"
        )
    };
    for (actions, unmet) in [
        (format!("{}, {}", method("POST"), method("PUT")), true),
        ("{metadata: {descriptor_key: k, metadata_key: {key: a}}}".to_owned(), true),
        ("{extension: {name: x, typed_config: {'@type': type.googleapis.com/xds.type.matcher.v3.HttpAttributesCelMatchInput}}}".to_owned(), true),
        (method("POST"), false),
        (format!("{}]}}, {{actions: [{}", method("POST"), method("PUT")), false),
        ("{remote_address: {}}".to_owned(), false),
    ] {
        let adapted = with_actions(&actions);
        assert_eq!(is_unmet(&adapted), unmet, "{actions}: {}", hint(&adapted));
    }
    assert!(is_unmet(&listener(&filter(RATE_LIMIT, "domain: d"), "{prefix: /}", "", "")));
    let perhaps = listener(&filter("cache.v3.CacheConfig", "typed_config: {}"), "{prefix: /}", "", "");
    assert!(!is_unmet(&perhaps), "{}", hint(&perhaps));
}

#[test]
fn a_request_keeps_its_route_and_what_the_user_states() {
    let actions = ", rate_limits: [{actions: [{header_value_match: {descriptor_value: m, headers: [{name: ':method', string_match: {exact: POST}}]}}]},
        {actions: [{request_headers: {header_name: x-a, descriptor_key: k}}]}]";
    let of_get = "{prefix: /, headers: [{name: ':method', string_match: {exact: GET}}]}";
    let adapted = listener(&filter(RATE_LIMIT, "domain: d"), of_get, actions, "");
    let request = request_of(&adapted);
    assert_eq!((request.method.as_str(), request.header("x-a")), ("GET", Some("1")));
    let any = listener(&filter(RATE_LIMIT, "domain: d"), "{prefix: /}", actions, "");
    let wanted = StatedRequest { method: Some("PUT".to_owned()), ..StatedRequest::default() };
    let request = stated(&any, &any.listeners[0], &wanted).unwrap();
    assert_eq!((request.method.as_str(), request.header("x-a")), ("PUT", Some("1")));
}

#[test]
fn limits_are_those_of_the_stage_of_the_route_or_of_its_host() {
    let of = |settings: &str, action: &str| {
        let adapted = listener(&filter(RATE_LIMIT, settings), "{prefix: /}", action, "");
        request_of(&adapted).headers.into_iter().map(|(name, _)| name).collect::<Vec<String>>()
    };
    let of_route = ", rate_limits: [{actions: [{request_headers: {header_name: x-r, descriptor_key: k}}]}]";
    assert_eq!(of("domain: d", of_route), ["x-r"]);
    assert_eq!(of("domain: d, stage: 5", ""), ["x-of-host"]);
    assert_eq!(of("domain: d, stage: 5", of_route), Vec::<String>::new());
    assert_eq!(
        of("domain: d, stage: 5", &format!(", include_vh_rate_limits: true{of_route}")),
        ["x-of-host"]
    );
    let own =
        "domain: d, rate_limits: [{actions: [{request_headers: {header_name: x-own, descriptor_key: k}}]}]";
    assert_eq!(of(own, of_route), ["x-own"]);
}

#[test]
fn a_local_limit_gets_the_value_that_has_a_bucket() {
    let settings = "stat_prefix: s, rate_limits: [{actions: [{request_headers: {header_name: x-tier, descriptor_key: tier}}]}],
        descriptors: [{entries: [{key: tier, value: gold}]}]";
    let adapted = listener(&filter("local_ratelimit.v3.LocalRateLimit", settings), "{prefix: /}", "", "");
    assert_eq!(request_of(&adapted).header("x-tier"), Some("gold"));
    assert_eq!(hint(&adapted), "a request with the header `x-tier: gold`");
}

#[test]
fn other_filters_and_logs_get_what_they_ask_for() {
    let header = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
    let input = "input: {name: i, typed_config: {'@type': type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput, header_name: x-who}}";
    let action = "{action: {name: a, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction}}}";
    let composite = format!(
        "{{name: f, typed_config: {{'@type': type.googleapis.com/{WITH_MATCHER}, xds_matcher: {{matcher_tree: {{{input}, exact_match_map: {{map: {{me: {action}}}}}}}}}}}}}"
    );
    for (filter, expected) in [
        (
            filter("fault.v3.HTTPFault", "headers: [{name: x-fault, string_match: {exact: now}}]"),
            header("x-fault", "now"),
        ),
        (
            filter("fault.v3.HTTPFault", "delay: {header_delay: {}}"),
            header("x-envoy-fault-delay-request", "1"),
        ),
        (filter("csrf.v3.CsrfPolicy", "filter_enabled: {}"), header("origin", "http://hoptax.test")),
        (
            filter(
                "header_to_metadata.v3.Config",
                "request_rules: [{header: x-version, on_header_present: {key: v}}]",
            ),
            header("x-version", "1"),
        ),
        (composite, header("x-who", "me")),
        (
            filter("health_check.v3.HealthCheck", "headers: [{name: ':path', string_match: {exact: /up}}]"),
            None,
        ),
        (filter("fault.v3.HTTPFault", "abort: {header_abort: {}}"), None),
    ] {
        let adapted = listener(&filter, "{prefix: /}", "", "");
        assert_eq!(request_of(&adapted).headers.first().cloned(), expected, "{filter}");
    }
    let up = filter("health_check.v3.HealthCheck", "headers: [{name: ':path', string_match: {exact: /up}}]");
    let up = listener(&up, "{prefix: /}", "", "");
    assert_eq!(hint(&up), "a request with the path `/up`, which the filter answers itself");
    let web = "{name: f, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.grpc_web.v3.GrpcWeb}}";
    let web = listener(web, "{prefix: /}", "", "");
    assert!(
        hint(&web).starts_with("a request with the header `content-type: application/grpc-web`"),
        "{}",
        hint(&web)
    );
    assert_eq!(request_of(&web).headers, []);
    let log =
        "access_log: [{name: l, filter: {header_filter: {header: {name: x-log, string_match: {exact: a}}}}}]";
    let adapted = listener(&filter("cdn_loop.v3.CdnLoopConfig", "cdn_id: a"), "{prefix: /}", "", log);
    assert_eq!(request_of(&adapted).header("x-log"), Some("a"));
}

#[test]
fn values_of_secret_headers_are_not_told() {
    let adapted = with_actions(
        "{header_value_match: {descriptor_value: m, headers: [{name: x-api-key, string_match: {exact: hunter2}}]}}",
    );
    assert!(!hint(&adapted).contains("hunter2"), "{}", hint(&adapted));
}
