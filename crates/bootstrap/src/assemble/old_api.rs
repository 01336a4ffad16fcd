//! Finds types, names and fields of API v2, which Envoy has not supported since 1.18, and states their equivalents in API v3.
//!
//! The packages of API v2 were moved by a few rules with exceptions (`tools/type_whisperer/api_type_db` in Envoy's repository before
//! 1.18, and <https://www.envoyproxy.io/docs/envoy/v1.17.0/api/api_supported_versions>).

use std::collections::BTreeSet;

use serde_json::Value;

use super::Configuration;
use crate::place::Problem;
use crate::tree::{self, join, last_name, last_step, message_type, text};

/// Name of API v2 in problems, with the release of Envoy that dropped it.
const REMOVED: &str = "API v2, which Envoy has not read since 1.18";

/// Packages that moved without a rule: the prefix of a type, and its replacement.
const MOVED: [(&str, &str); 60] = [
    ("envoy.api.v2.auth.", "envoy.extensions.transport_sockets.tls.v3."),
    ("envoy.api.v2.cluster.", "envoy.config.cluster.v3."),
    ("envoy.api.v2.core.", "envoy.config.core.v3."),
    ("envoy.api.v2.endpoint.", "envoy.config.endpoint.v3."),
    ("envoy.api.v2.listener.", "envoy.config.listener.v3."),
    ("envoy.api.v2.ratelimit.", "envoy.extensions.common.ratelimit.v3."),
    ("envoy.api.v2.route.", "envoy.config.route.v3."),
    ("envoy.api.v2.ClusterLoadAssignment", "envoy.config.endpoint.v3.ClusterLoadAssignment"),
    ("envoy.api.v2.Cluster", "envoy.config.cluster.v3.Cluster"),
    ("envoy.api.v2.LoadBalancingPolicy", "envoy.config.cluster.v3.LoadBalancingPolicy"),
    ("envoy.api.v2.UpstreamBindConfig", "envoy.config.cluster.v3.UpstreamBindConfig"),
    ("envoy.api.v2.UpstreamConnectionOptions", "envoy.config.cluster.v3.UpstreamConnectionOptions"),
    ("envoy.api.v2.Listener", "envoy.config.listener.v3.Listener"),
    ("envoy.api.v2.RouteConfiguration", "envoy.config.route.v3.RouteConfiguration"),
    ("envoy.api.v2.ScopedRouteConfiguration", "envoy.config.route.v3.ScopedRouteConfiguration"),
    ("envoy.api.v2.Vhds", "envoy.config.route.v3.Vhds"),
    ("envoy.api.v2.", "envoy.service.discovery.v3."),
    ("envoy.admin.v2alpha.", "envoy.admin.v3."),
    ("envoy.config.accesslog.v2.FileAccessLog", "envoy.extensions.access_loggers.file.v3.FileAccessLog"),
    (
        "envoy.config.accesslog.v2.HttpGrpcAccessLogConfig",
        "envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig",
    ),
    (
        "envoy.config.accesslog.v2.TcpGrpcAccessLogConfig",
        "envoy.extensions.access_loggers.grpc.v3.TcpGrpcAccessLogConfig",
    ),
    (
        "envoy.config.accesslog.v2.CommonGrpcAccessLogConfig",
        "envoy.extensions.access_loggers.grpc.v3.CommonGrpcAccessLogConfig",
    ),
    ("envoy.config.cluster.redis.", "envoy.extensions.clusters.redis.v3."),
    ("envoy.config.filter.accesslog.v2.", "envoy.config.accesslog.v3."),
    ("envoy.config.filter.dubbo.router.v2alpha1.", "envoy.extensions.filters.network.dubbo_proxy.router.v3."),
    ("envoy.config.filter.fault.v2.", "envoy.extensions.filters.common.fault.v3."),
    ("envoy.config.filter.http.gzip.v2.Gzip", "envoy.extensions.filters.http.compressor.v3.Compressor"),
    ("envoy.config.filter.http.ip_tagging.v2.", "envoy.extensions.filters.http.ip_tagging.v3."),
    ("envoy.config.filter.http.rate_limit.v2.", "envoy.extensions.filters.http.ratelimit.v3."),
    ("envoy.config.filter.http.transcoder.v2.", "envoy.extensions.filters.http.grpc_json_transcoder.v3."),
    (
        "envoy.config.filter.network.local_rate_limit.v2alpha.",
        "envoy.extensions.filters.network.local_ratelimit.v3.",
    ),
    ("envoy.config.filter.network.rate_limit.v2.", "envoy.extensions.filters.network.ratelimit.v3."),
    (
        "envoy.config.filter.thrift.rate_limit.v2alpha1.",
        "envoy.extensions.filters.network.thrift_proxy.filters.ratelimit.v3.",
    ),
    (
        "envoy.config.filter.thrift.router.v2alpha1.",
        "envoy.extensions.filters.network.thrift_proxy.router.v3.",
    ),
    ("envoy.config.health_checker.redis.v2.", "envoy.extensions.health_checkers.redis.v3."),
    ("envoy.config.retry.omit_canary_hosts.v2.", "envoy.extensions.retry.host.omit_canary_hosts.v3."),
    ("envoy.config.retry.omit_host_metadata.v2.", "envoy.extensions.retry.host.omit_host_metadata.v3."),
    ("envoy.config.retry.previous_hosts.v2.", "envoy.extensions.retry.host.previous_hosts.v3."),
    ("envoy.config.retry.previous_priorities.", "envoy.extensions.retry.priority.previous_priorities.v3."),
    ("envoy.config.wasm.v2alpha.", "envoy.extensions.wasm.v3."),
    (
        "envoy.config.common.dynamic_forward_proxy.v2alpha.",
        "envoy.extensions.common.dynamic_forward_proxy.v3.",
    ),
    ("envoy.config.common.tap.v2alpha.", "envoy.extensions.common.tap.v3."),
    ("envoy.config.cluster.aggregate.v2alpha.", "envoy.extensions.clusters.aggregate.v3."),
    (
        "envoy.config.cluster.dynamic_forward_proxy.v2alpha.",
        "envoy.extensions.clusters.dynamic_forward_proxy.v3.",
    ),
    (
        "envoy.config.resource_monitor.fixed_heap.v2alpha.",
        "envoy.extensions.resource_monitors.fixed_heap.v3.",
    ),
    (
        "envoy.config.resource_monitor.injected_resource.v2alpha.",
        "envoy.extensions.resource_monitors.injected_resource.v3.",
    ),
    ("envoy.config.transport_socket.alts.v2alpha.", "envoy.extensions.transport_sockets.alts.v3."),
    ("envoy.config.transport_socket.raw_buffer.v2.", "envoy.extensions.transport_sockets.raw_buffer.v3."),
    ("envoy.config.transport_socket.tap.v2alpha.", "envoy.extensions.transport_sockets.tap.v3."),
    ("envoy.type.matcher.v3.", ""),
    ("envoy.type.matcher.", "envoy.type.matcher.v3."),
    ("envoy.type.metadata.v2.", "envoy.type.metadata.v3."),
    ("envoy.type.tracing.v2.", "envoy.type.tracing.v3."),
    ("envoy.type.v3.", ""),
    ("envoy.type.http.v3.", ""),
    ("envoy.type.metadata.v3.", ""),
    ("envoy.type.tracing.v3.", ""),
    ("envoy.data.dns.v2alpha.", "envoy.data.dns.v3."),
    ("envoy.data.tap.v2alpha.", "envoy.data.tap.v3."),
    ("envoy.type.", "envoy.type.v3."),
];

/// Names of extensions in API v2 that do not show the kind of the extension, each with its type in API v3.
const NAMES: [(&str, &str); 40] = [
    ("envoy.http_connection_manager", "filters.network.http_connection_manager.v3.HttpConnectionManager"),
    ("envoy.tcp_proxy", "filters.network.tcp_proxy.v3.TcpProxy"),
    ("envoy.redis_proxy", "filters.network.redis_proxy.v3.RedisProxy"),
    ("envoy.mongo_proxy", "filters.network.mongo_proxy.v3.MongoProxy"),
    ("envoy.echo", "filters.network.echo.v3.Echo"),
    ("envoy.ratelimit", "filters.network.ratelimit.v3.RateLimit"),
    ("envoy.ext_authz", "filters.http.ext_authz.v3.ExtAuthz"),
    ("envoy.router", "filters.http.router.v3.Router"),
    ("envoy.buffer", "filters.http.buffer.v3.Buffer"),
    ("envoy.cors", "filters.http.cors.v3.Cors"),
    ("envoy.csrf", "filters.http.csrf.v3.CsrfPolicy"),
    ("envoy.fault", "filters.http.fault.v3.HTTPFault"),
    ("envoy.http_fault", "filters.http.fault.v3.HTTPFault"),
    ("envoy.grpc_http1_bridge", "filters.http.grpc_http1_bridge.v3.Config"),
    ("envoy.grpc_json_transcoder", "filters.http.grpc_json_transcoder.v3.GrpcJsonTranscoder"),
    ("envoy.grpc_web", "filters.http.grpc_web.v3.GrpcWeb"),
    ("envoy.gzip", "filters.http.compressor.v3.Compressor"),
    ("envoy.health_check", "filters.http.health_check.v3.HealthCheck"),
    ("envoy.ip_tagging", "filters.http.ip_tagging.v3.IPTagging"),
    ("envoy.lua", "filters.http.lua.v3.Lua"),
    ("envoy.rate_limit", "filters.http.ratelimit.v3.RateLimit"),
    ("envoy.rbac", "filters.http.rbac.v3.RBAC"),
    ("envoy.squash", "filters.http.squash.v3.Squash"),
    ("envoy.client_ssl_auth", "filters.network.client_ssl_auth.v3.ClientSSLAuth"),
    ("envoy.file_access_log", "access_loggers.file.v3.FileAccessLog"),
    ("envoy.http_grpc_access_log", "access_loggers.grpc.v3.HttpGrpcAccessLogConfig"),
    ("envoy.tcp_grpc_access_log", "access_loggers.grpc.v3.TcpGrpcAccessLogConfig"),
    ("envoy.listener.original_dst", "filters.listener.original_dst.v3.OriginalDst"),
    ("envoy.listener.original_src", "filters.listener.original_src.v3.OriginalSrc"),
    ("envoy.listener.proxy_protocol", "filters.listener.proxy_protocol.v3.ProxyProtocol"),
    ("envoy.listener.tls_inspector", "filters.listener.tls_inspector.v3.TlsInspector"),
    ("envoy.listener.http_inspector", "filters.listener.http_inspector.v3.HttpInspector"),
    ("envoy.zipkin", "config.trace.v3.ZipkinConfig"),
    ("envoy.lightstep", "config.trace.v3.LightstepConfig"),
    ("envoy.dynamic.ot", "config.trace.v3.DynamicOtConfig"),
    ("envoy.tracers.datadog", "config.trace.v3.DatadogConfig"),
    ("envoy.statsd", "config.metrics.v3.StatsdSink"),
    ("envoy.dog_statsd", "config.metrics.v3.DogStatsdSink"),
    ("envoy.metrics_service", "config.metrics.v3.MetricsServiceConfig"),
    ("envoy.transport_sockets.tls", "transport_sockets.tls.v3.UpstreamTlsContext"),
];

/// Fields that hold an extension or a list of extensions.
const EXTENSIONS: [&str; 13] = [
    "filters",
    "http_filters",
    "listener_filters",
    "access_log",
    "stats_sinks",
    "http",
    "provider",
    "transport_socket",
    "resource_monitors",
    "custom_health_check",
    "retry_host_predicate",
    "retry_priority",
    "cluster_type",
];

/// Fields with the API version of a service.
const VERSIONS: [&str; 2] = ["transport_api_version", "resource_api_version"];

/// Fields that API v3 lacks: the name, the field that contains its message, and the replacement.
const FIELDS: [(&str, &str, &str); 12] = [
    ("hosts", "clusters", "`load_assignment`, with an endpoint for each"),
    (
        "tls_context",
        "clusters",
        "`transport_socket` with the type envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    ),
    (
        "tls_context",
        "filter_chains",
        "`transport_socket` with the type envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    ),
    ("extension_protocol_options", "clusters", "`typed_extension_protocol_options`"),
    ("per_filter_config", "virtual_hosts", "`typed_per_filter_config`"),
    ("per_filter_config", "routes", "`typed_per_filter_config`"),
    ("regex", "match", "`safe_regex`"),
    ("regex_match", "headers", "`string_match` with `safe_regex`"),
    ("request_mirror_policy", "route", "`request_mirror_policies`, a list"),
    ("allow_origin", "cors", "`allow_origin_string_match`"),
    ("verify_subject_alt_name", "validation_context", "`match_typed_subject_alt_names`"),
    ("runtime", "", "`layered_runtime`"),
];

/// The API v3 type that replaces a type of API v2; none if it is not a type of API v2.
pub(super) fn of_type(of: &str) -> Option<String> {
    if let Some((before, now)) = MOVED.iter().find(|(before, _)| of.starts_with(before)) {
        let rest = of.get(before.len()..).unwrap_or_default();
        return (!now.is_empty()).then(|| format!("{now}{rest}"));
    }
    let mut steps: Vec<&str> = of.split('.').collect();
    let version = steps.iter().position(|step| is_old_version(step))?;
    // Extensions that are not in every build of Envoy still use `v3alpha`.
    let is_current = steps.get(1) == Some(&"extensions") && steps[version] == "v3alpha";
    if steps.first() != Some(&"envoy") || is_current {
        return None;
    }
    steps[version] = "v3";
    let now = steps.join(".");
    let filters = ["http", "listener", "network", "udp"];
    let filter = now
        .strip_prefix("envoy.config.filter.")
        .filter(|rest| filters.iter().any(|kind| rest.starts_with(kind)));
    Some(filter.map_or(now.clone(), |rest| format!("envoy.extensions.filters.{rest}")))
}

/// True if a step of a type is the version of an API before v3: `v2`, `v2alpha1`, `v1alpha1`, `v3alpha`.
fn is_old_version(step: &str) -> bool {
    let alpha = step.strip_suffix(|c: char| c.is_ascii_digit()).unwrap_or(step);
    step == "v2" || ["v1alpha", "v2alpha", "v3alpha"].iter().any(|old| step == *old || alpha == *old)
}

/// The type in API v3 of an extension with a name of API v2.
fn of_name(name: &str) -> Option<String> {
    let (_, now) = NAMES.iter().find(|(known, _)| *known == name)?;
    Some(if now.starts_with("config.") { format!("envoy.{now}") } else { format!("envoy.extensions.{now}") })
}

impl Configuration {
    /// Problems with everything that is of API v2.
    pub(super) fn of_api_v2(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut add = |pointer: &str, message: String| {
            found.push(Problem { place: self.place(pointer), message });
        };
        // Thousands of nodes share a few types, so each type is checked once.
        let mut current: BTreeSet<&str> = BTreeSet::new();
        tree::walk(&self.tree, "", &mut |pointer, node| {
            if !node.is_object() {
                if node == "V2" && VERSIONS.contains(&last_step(pointer)) {
                    let key = last_step(pointer);
                    add(
                        pointer,
                        format!(
                            "`{key}: V2` is from {REMOVED}: in API v3 it is `V3`, which the service must speak"
                        ),
                    );
                }
                return;
            }
            let of = message_type(node);
            if !current.contains(of) {
                match of_type(of) {
                    None => drop(current.insert(of)),
                    Some(now) => add(
                        &join(pointer, "@type"),
                        format!("`{of}` is from {REMOVED}: in API v3 it is `{now}`{}", changed(of)),
                    ),
                }
            }
            let inside = last_name(pointer);
            for (name, _, now) in FIELDS.iter().filter(|(_, of, _)| *of == inside) {
                // The fields of `regex` and others moved to other messages in API v3.
                if node.get(*name).is_some_and(|value| !value.is_null()) {
                    add(&join(pointer, name), format!("`{name}` is from {REMOVED}: in API v3 it is {now}"));
                }
            }
            if EXTENSIONS.contains(&inside) && last_step(pointer) != "typed_config" {
                extension(pointer, node, &mut add);
            }
        });
        found
    }

    /// Problems with the sections of a dump from an Envoy with API v2.
    pub(super) fn dump_of_api_v2(&self, dump: &Value) -> Vec<Problem> {
        let sections = dump.get("configs").and_then(Value::as_array).into_iter().flatten();
        let problem = |(index, section): (usize, &Value)| {
            let of = message_type(section);
            of_type(of).map(|_| Problem {
                place: self.place(&format!("/configs/{index}")),
                message: format!(
                    "`{of}` is from {REMOVED}: the dump is from an older Envoy; take one from Envoy 1.18 or later, or write the bootstrap in API v3"
                ),
            })
        };
        sections.enumerate().filter_map(problem).collect()
    }
}

/// An extension without a typed configuration, with settings or a name of API v2.
fn extension(pointer: &str, node: &Value, add: &mut dyn FnMut(&str, String)) {
    let name = text(node, "/name");
    let has = |key: &str| node.get(key).is_some_and(|value| !value.is_null());
    if name.is_empty() || has("typed_config") || has("config_discovery") {
        return;
    }
    // Each of two names refers to two extensions.
    let is_of_chain = pointer.contains("/filter_chains/");
    let is_of_network = last_name(pointer) == "filters";
    let now = of_name(name).map(|now| match name {
        "envoy.transport_sockets.tls" if is_of_chain => now.replace("UpstreamTls", "DownstreamTls"),
        "envoy.ext_authz" if is_of_network => now.replace(".http.", ".network."),
        _ => now,
    });
    let typed = match &now {
        Some(now) => format!("`typed_config` with `\"@type\": type.googleapis.com/{now}`"),
        None => "`typed_config` with the `@type` of its settings".to_owned(),
    };
    if has("config") {
        add(
            &join(pointer, "config"),
            format!("`config` of `{name}` is from {REMOVED}: in API v3 it is {typed}"),
        );
    } else if now.is_some() {
        add(pointer, format!("`{name}` is a name from {REMOVED}: in API v3 it has {typed}"));
    }
}

/// Returns a second change that came with the change of a type, as a text to append to the sentence about the type; empty if there is none.
fn changed(of: &str) -> &'static str {
    match of {
        "envoy.config.filter.http.gzip.v2.Gzip" => {
            ", whose `compressor_library` has the type envoy.extensions.compression.gzip.compressor.v3.Gzip"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::configuration;

    #[test]
    fn types_of_api_v2_have_those_of_api_v3() {
        for (old, new) in [
            (
                "envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager",
                "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            ),
            ("envoy.config.filter.http.router.v2.Router", "envoy.extensions.filters.http.router.v3.Router"),
            (
                "envoy.config.filter.http.jwt_authn.v2alpha.JwtAuthentication",
                "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
            ),
            (
                "envoy.config.filter.http.ext_authz.v3alpha.ExtAuthz",
                "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
            ),
            (
                "envoy.config.filter.http.rate_limit.v2.RateLimit",
                "envoy.extensions.filters.http.ratelimit.v3.RateLimit",
            ),
            (
                "envoy.config.filter.network.mysql_proxy.v1alpha1.MySQLProxy",
                "envoy.extensions.filters.network.mysql_proxy.v3.MySQLProxy",
            ),
            ("envoy.api.v2.Cluster", "envoy.config.cluster.v3.Cluster"),
            ("envoy.api.v2.ClusterLoadAssignment", "envoy.config.endpoint.v3.ClusterLoadAssignment"),
            (
                "envoy.api.v2.auth.DownstreamTlsContext",
                "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            ),
            ("envoy.api.v2.core.Node", "envoy.config.core.v3.Node"),
            (
                "envoy.config.accesslog.v2.FileAccessLog",
                "envoy.extensions.access_loggers.file.v3.FileAccessLog",
            ),
            ("envoy.config.trace.v2.ZipkinConfig", "envoy.config.trace.v3.ZipkinConfig"),
            ("envoy.config.bootstrap.v2.Bootstrap", "envoy.config.bootstrap.v3.Bootstrap"),
            ("envoy.config.metrics.v2.StatsdSink", "envoy.config.metrics.v3.StatsdSink"),
            ("envoy.config.rbac.v2.RBAC", "envoy.config.rbac.v3.RBAC"),
            ("envoy.type.matcher.StringMatcher", "envoy.type.matcher.v3.StringMatcher"),
            ("envoy.type.FractionalPercent", "envoy.type.v3.FractionalPercent"),
            ("envoy.service.auth.v2.CheckRequest", "envoy.service.auth.v3.CheckRequest"),
        ] {
            assert_eq!(of_type(old).as_deref(), Some(new));
            assert_eq!(of_type(new), None);
        }
        for other in [
            "corp.filter.v2.Own",
            // The type of an extension that is not in every build.
            "envoy.extensions.filters.http.golang.v3alpha.Config",
            "udpa.type.v1.TypedStruct",
            "xds.type.matcher.v3.Matcher",
            "envoy.type.matcher.v3.RegexMatcher",
            "",
        ] {
            assert_eq!(of_type(other), None, "{other}");
        }
    }

    #[test]
    fn all_that_is_of_api_v2_is_named_with_its_line() {
        let text = "static_resources:
  listeners:
  - name: l
    filter_chains:
    - tls_context: {}
      filters:
      - name: envoy.http_connection_manager
        config:
          http_filters:
          - name: envoy.router
  - name: m
    listener_filters:
    - name: envoy.listener.tls_inspector
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          '@type': type.googleapis.com/envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager
          route_config:
            virtual_hosts:
            - name: v
              cors:
                allow_origin: ['*']
              routes:
              - match:
                  regex: /a
                per_filter_config: {}
          http_filters:
          - name: envoy.filters.http.wasm
            typed_config: {config: {name: n, configuration: {hosts: [a]}}}
  clusters:
  - name: c
    hosts: [{socket_address: {address: a, port_value: 80}}]
    tls_context: {}
";
        let error = configuration(text).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().map(|line| line.split(": ").next().unwrap()).collect();
        let expected = [5, 8, 10, 13, 18, 23, 26, 27, 33, 34].map(|line| format!("envoy.yaml:{line}"));
        assert_eq!(lines, expected, "{error}");
        assert!(
            error.lines().all(|line| line.contains("since 1.18") && line.contains("in API v3")),
            "{error}"
        );
        for part in [
            "v3.HttpConnectionManager",
            "http.router.v3.Router",
            "`load_assignment`",
            "UpstreamTlsContext",
            "tls.v3.Downstream",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn fields_of_api_v3_with_the_same_names_are_none_of_api_v2() {
        let text = "static_resources:
  listeners:
  - name: l
    filter_chains:
    - filters:
      - name: own
        typed_config:
          http_filters: [{name: envoy.router, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
          route_config: {virtual_hosts: [{name: v, routes: [{match: {safe_regex: {regex: /a}, headers: [{name: a, string_match: {safe_regex: {regex: b}}}]}}]}]}
  clusters: [{name: c, metadata: {filter_metadata: {a: {hosts: [b], config: c}}}}]
";
        assert!(configuration(text).is_ok());
    }
}
