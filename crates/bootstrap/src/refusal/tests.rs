use crate::fixture::{EDGE, adapted, configuration, lab};

/// The beginning of a line of Envoy's log.
const LOG: &str = "[2026-11-25 02:51:19.536][10754][critical][main] [source/server/config_validation/server.cc:76] error \
                   initializing configuration '/out/tries/whole/bootstrap.json': ";

/// Replaces a piece of the text, which must occur in it.
fn with(text: &str, from: &str, to: &str) -> String {
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    changed
}

/// Asserts that the refusal names the lines with these texts, and no others.
fn names(text: &str, message: &str, lines: &[&str]) {
    let refusal = adapted(text).refusal(message, &[]);
    let line_of = |part: &&str| {
        let line = text.lines().position(|line| line.contains(*part)).unwrap_or_else(|| panic!("no {part}"));
        format!("envoy.yaml:{}", line + 1)
    };
    let mut expected: Vec<String> = lines.iter().map(line_of).collect();
    if expected.is_empty() {
        expected.push("envoy.yaml".to_owned());
    }
    let places: Vec<String> = refusal.places.iter().map(ToString::to_string).collect();
    assert_eq!(places, expected, "{message}");
    assert!(
        !refusal.to_string().contains("/out/tries") && !refusal.to_string().contains("offset"),
        "{refusal}"
    );
}

/// A path in the connection manager of the fixture.
const MANAGER: &str = "static_resources.listeners[0].filter_chains[0].filters[0].typed_config.<any>";

#[test]
fn an_unknown_field_is_named_by_its_path() {
    let unknown = |at: &str, of: &str| {
        format!(
            "{LOG}Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON  in   \
             envoy.config.bootstrap.v3.Bootstrap{at}   message {of},  near 300:25 (offset 9918):  no such field:   'oops') has \
             unknown fields\n"
        )
    };
    let root = format!(
        "{LOG}Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON in   \
         envoy.config.bootstrap.v3.Bootstrap, near   358:19  (offset  11430):  no such field:   'oops') has unknown fields"
    );
    names(&with(EDGE, "stats_config:", "oops:\n  block: 1\nstats_config:"), &root, &["oops:"]);
    let cluster = unknown("   @   static_resources.clusters[1]:", "envoy.config.cluster.v3.Cluster");
    names(&with(EDGE, "type: ORIGINAL_DST", "type: ORIGINAL_DST\n      oops: 1"), &cluster, &["oops"]);
    let filter = unknown(
        &format!(" @ {MANAGER}.http_filters[2].typed_config.<any>:"),
        "envoy.extensions.filters.http.cors.v3.Cors",
    );
    names(&with(EDGE, "http.cors.v3.Cors}", "http.cors.v3.Cors, oops: 1}"), &filter, &["oops"]);
    // Entries of mappings also have numbers.
    let of_route = unknown(
        &format!(" @ {MANAGER}.route_config.virtual_hosts[1].typed_per_filter_config[0].<any>:"),
        "envoy.extensions.filters.http.cors.v3.CorsPolicy",
    );
    names(&with(EDGE, "allow_origin_string_match", "oops"), &of_route, &["oops"]);
    // The adaptation removed an earlier item of the list.
    let text = with(
        EDGE,
        "      listener_filters:\n",
        "      listener_filters:\n        - {name: envoy.filters.listener.original_dst}\n",
    );
    let text = with(
        &text,
        "listener.tls_inspector.v3.TlsInspector}",
        "listener.tls_inspector.v3.TlsInspector, oops: 1}",
    );
    let of_listener = unknown(
        " @ static_resources.listeners[0].listener_filters[0].typed_config.<any>:",
        "envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
    );
    names(&text, &of_listener, &["oops"]);
}

#[test]
fn earlier_releases_write_the_path_of_an_unknown_field_otherwise() {
    let start = "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT:";
    let text = with(EDGE, "type: ORIGINAL_DST", "type: ORIGINAL_DST\n      hostz: []");
    let message =
        format!("{start}(static_resources.clusters[1]) hostz: Cannot find field.) has unknown fields");
    names(&text, &message, &["hostz"]);
    let text = with(EDGE, "stats_config:", "oops: 1\nstats_config:");
    names(&text, &format!("{start}oops: Cannot find field.) has unknown fields"), &["oops"]);
}

#[test]
fn a_value_that_the_field_cannot_have_is_named_without_the_document_behind_the_reason() {
    let enumeration = "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: unknown enum value: \
                       'V4_ONLYY') has unknown fields";
    names(&with(EDGE, "V4_ONLY", "V4_ONLYY\n      lb_policy: V4_ONLYY"), enumeration, &["lb_policy"]);
    let duration = format!(
        "{LOG}Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap  @ \
         static_resources.clusters[0].connect_timeout: message   google.protobuf.Duration, near  277:28  (offset 9365):   \
         duration must end with a   single 's'): {{\n  \"admin\": {{\n    \"address\": {{"
    );
    let text = with(EDGE, "dns_lookup_family: V4_ONLY", "connect_timeout: 5 sec");
    names(&text, &duration, &["5 sec"]);
    assert_eq!(
        adapted(&text).refusal(&duration, &[]).reason,
        "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ \
         static_resources.clusters[0].connect_timeout: message google.protobuf.Duration: duration must end with a single 's')"
    );
}

#[test]
fn a_constraint_is_named_by_its_messages() {
    let failed = |path: &str| format!("Proto constraint validation failed ({path})");
    let embedded = ": embedded message failed validation | caused by ";
    let of_cluster = failed(&format!(
        "BootstrapValidationError.StaticResources{embedded}StaticResourcesValidationError.Clusters[1]{embedded}\
         ClusterValidationError.Name: value length must be at least 1 characters"
    ));
    names(&with(EDGE, "- name: pages\n      type", "- type"), &of_cluster, &["- type: ORIGINAL_DST"]);
    let in_routes = format!(
        "HttpConnectionManagerValidationError.RouteConfig{embedded}RouteConfigurationValidationError.VirtualHosts[1]{embedded}\
         VirtualHostValidationError"
    );
    let domains = failed(&format!("{in_routes}.Domains: value must contain at least 1 item(s)"));
    names(&with(EDGE, "domains: [\"*.shop.example\"]", "domains: []"), &domains, &["domains: []"]);
    let action = failed(&format!("{in_routes}.Routes[2]{embedded}field: \"action\", reason: is required"));
    names(&with(EDGE, "          route: {cluster: pages}\n", ""), &action, &["- match: {prefix: /}"]);
}

#[test]
fn of_several_messages_of_a_type_those_are_named_that_can_break_the_constraint() {
    let manager = |prefix: &str| {
        format!(
            "    - name: l{prefix}
      filter_chains:
        - filters:
            - name: http
              typed_config:
                \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                {prefix}: x
"
        )
    };
    let text = format!(
        "static_resources:\n  listeners:\n{}{}{}",
        manager("stat_prefix"),
        manager("server_name"),
        manager("via")
    );
    let message = "Proto constraint validation failed (HttpConnectionManagerValidationError.StatPrefix: value length must be at \
                   least 1 characters)";
    let places = adapted(&text).refusal(message, &[]).to_string();
    assert!(
        places.starts_with("envoy.yaml:14 or envoy.yaml:21: Envoy refuses the configuration: Proto"),
        "{places}"
    );
    // Envoy before 1.14 does not number the items, and quotes the document.
    let message = "Proto constraint validation failed (BootstrapValidationError.StaticResources: [\"embedded message failed \
                   validation\"] | caused by StaticResourcesValidationError.Listeners[i]: [\"embedded message failed validation\"] \
                   | caused by ListenerValidationError.Address: [\"value is required\"]): static_resources {\n  listeners {";
    let refusal = adapted(&text).refusal(message, &[]);
    assert!(refusal.reason.ends_with("[\"value is required\"])"), "{refusal}");
}

#[test]
fn an_extension_that_envoy_lacks_is_named() {
    for message in [
        "Unable to parse JSON as proto (INVALID_ARGUMENT: could not find @type 'type.googleapis.com/a.v3.Private'): {\n  \"admin\"",
        "Didn't find a registered implementation for 'cors' with type URL: 'a.v3.Private'",
    ] {
        names(
            &with(EDGE, "envoy.extensions.filters.http.cors.v3.Cors}", "a.v3.Private}"),
            message,
            &["- name: cors"],
        );
    }
    let text = with(EDGE, "- name: cors\n", "- name: private\n                  - name: cors\n");
    let message = "Didn't find a registered implementation for 'private' with type URL: ''";
    names(&text, message, &["- name: private"]);
}

#[test]
fn resources_and_values_are_named_by_what_envoy_quotes() {
    let twice = format!("{EDGE}    - {{name: cart, type: STATIC}}\n");
    names(&twice, "cluster manager: duplicate cluster 'cart'", &["- name: cart", "{name: cart, "]);
    let unknown = with(EDGE, "route: {cluster: pages}", "route: {cluster: nowhere}");
    names(&unknown, "route: unknown cluster 'nowhere'", &["cluster: nowhere"]);
    let weighted =
        with(EDGE, "{cluster: pages}", "{weighted_clusters: {clusters: [{name: nowhere, weight: 1}]}}");
    names(&weighted, "route: unknown cluster 'nowhere'", &["nowhere"]);
    names(
        &with(EDGE, "domains: [\"*.shop.example\"]", "domains: [ assets.shop.example]"),
        "Only unique values for domains are permitted. Duplicate entry of domain assets.shop.example in route shop",
        &["domains: [assets.shop.example]", "domains: [ assets.shop.example]"],
    );
    names(EDGE, "error adding listener named 'edge': address is necessary", &["- name: edge"]);
    names(
        EDGE,
        "Error: non-terminal filter named cors of type envoy.filters.http.cors is the last filter in a http filter chain.",
        &["- name: cors"],
    );
    names(
        &with(
            EDGE,
            "path: /var/log/envoy/access.log",
            "path: /dev/stdout\n                      format: \"%NO_SUCH%\"",
        ),
        "Not supported field in StreamInfo: NO_SUCH",
        &["%NO_SUCH%"],
    );
    let text = with(
        EDGE,
        "typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}",
        "typed_config:\n                      inline_code: |\n                        function on_request(handle)\n                          x = = 1",
    );
    let message =
        "script load error: [string \"function on_request(handle)...\"]:2: unexpected symbol near '='";
    names(&text, message, &["inline_code"]);
    names(EDGE, "basic auth: invalid htpasswd format, username:password is expected", &["- name: users"]);
    names(EDGE, ":-prefixed or host headers may not be modified", &[]);
}

#[test]
fn of_the_expressions_with_the_part_that_envoy_names_the_invalid_ones_are_meant() {
    let text = with(EDGE, "match: {prefix: /health}", "match: {safe_regex: {regex: '/a([bc]+'}}");
    let text = with(
        &text,
        "match: {prefix: /}\n                          route",
        "match: {safe_regex: {regex: '/a([bc]+)'}}\n                          route",
    );
    names(&text, "missing ): /a([bc]+", &["'/a([bc]+'"]);
}

#[test]
fn many_places_are_counted_and_removed_nodes_are_none() {
    let clusters: String = (0..7).map(|_| "    - {name: a}\n").collect();
    let configuration = configuration(&format!("static_resources:\n  clusters:\n{clusters}")).unwrap();
    let adapted = configuration.adapt(&lab(), &|_| None).unwrap();
    let removed = ["/static_resources/clusters/0".to_owned()];
    let refusal = adapted.refusal("cluster manager: duplicate cluster 'a'", &removed).to_string();
    assert!(
        refusal.starts_with(
            "envoy.yaml:4, envoy.yaml:5, envoy.yaml:6, envoy.yaml:7 or 2 more places: Envoy refuses"
        ),
        "{refusal}"
    );
}
