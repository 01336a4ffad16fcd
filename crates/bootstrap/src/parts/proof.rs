//! Statistics of Envoy that move when a part acts on requests.
//!
//! `*` in a name is a wildcard. `{prefix}` is the `stat_prefix` of the connection manager, `{own}` that of the filter.

use serde_json::Value;

use crate::tree::{extension_type, text};

/// Types of HTTP filters without `envoy.extensions.filters.http.`, and their statistics.
const HTTP: [(&str, &[&str]); 26] = [
    ("adaptive_concurrency.", &["http.{prefix}.adaptive_concurrency.*"]),
    ("admission_control.", &["http.{prefix}.admission_control.rq_*"]),
    ("api_key_auth.", &["http.{prefix}.api_key_auth.*"]),
    ("bandwidth_limit.", &["{own}.http_bandwidth_limit.*"]),
    ("basic_auth.", &["http.{prefix}.basic_auth.*"]),
    ("compressor.", &["http.{prefix}.compressor.*.compressed"]),
    ("cors.", &["http.{prefix}.cors.*"]),
    ("csrf.", &["http.{prefix}.csrf.*"]),
    ("decompressor.", &["http.{prefix}.decompressor.*.decompressed"]),
    ("ext_authz.", &["cluster.*.ext_authz.*", "http.{prefix}.ext_authz.*"]),
    ("ext_proc.", &["http.{prefix}.ext_proc.*"]),
    ("fault.", &["http.{prefix}.fault.*_injected"]),
    ("grpc_http1_bridge.", &["cluster.*.grpc.*"]),
    ("grpc_json_transcoder.", &["cluster.*.grpc.*"]),
    ("grpc_stats.", &["cluster.*.grpc.*"]),
    ("grpc_web.", &["cluster.*.grpc.*"]),
    ("header_to_metadata.", &["http_filter_name.{own}.*"]),
    ("health_check.", &["http.{prefix}.health_check.*"]),
    ("ip_tagging.", &["http.{prefix}.ip_tagging.*"]),
    ("jwt_authn.", &["http.{prefix}.jwt_authn.*"]),
    ("local_ratelimit.", &["{own}.http_local_rate_limit.enabled"]),
    ("lua.", &["http.{prefix}.lua.*executions"]),
    ("oauth2.", &["http.{prefix}.*oauth_*"]),
    ("ratelimit.", &["cluster.*.ratelimit.*"]),
    ("rbac.", &["http.{prefix}.rbac.*"]),
    ("tap.", &["http.{prefix}.tap.rq_tapped"]),
];

/// Types of network filters without `envoy.extensions.filters.network.`, and their statistics.
const NETWORK: [(&str, &[&str]); 5] = [
    ("connection_limit.", &["connection_limit.{own}.active_connections"]),
    ("ext_authz.", &["ext_authz.{own}.*"]),
    ("local_ratelimit.", &["local_rate_limit.{own}.*"]),
    ("ratelimit.", &["ratelimit.{own}.*"]),
    ("rbac.", &["{own}rbac.*", "{own}.rbac.*"]),
];

/// Types of access logs without `envoy.extensions.access_loggers.`, and their statistics.
const ACCESS_LOGS: [(&str, &[&str]); 4] = [
    ("file.", &["filesystem.write_buffered"]),
    ("stream.", &["filesystem.write_buffered"]),
    ("grpc.", &["access_logs.grpc_access_log.logs_written"]),
    ("open_telemetry.", &["access_logs.open_telemetry_access_log.*logs_written"]),
];

/// The beginning of a type's name below its family, and the statistics of such extensions.
type Known = (&'static str, &'static [&'static str]);

/// Statistics of an extension; none if it has none of its own that are known.
pub(super) fn of_extension(extension: &Value, prefix: &str) -> Vec<String> {
    let tables: [(&str, &[Known]); 3] = [
        ("envoy.extensions.filters.http.", &HTTP),
        ("envoy.extensions.filters.network.", &NETWORK),
        ("envoy.extensions.access_loggers.", &ACCESS_LOGS),
    ];
    let of = extension_type(extension);
    let own = text(extension, "/typed_config/stat_prefix");
    let patterns = tables.iter().find_map(|(family, table)| {
        let of = of.strip_prefix(family)?;
        table.iter().find(|(known, _)| of.starts_with(known)).map(|(_, patterns)| *patterns)
    });
    let filled = |pattern: &&str| pattern.replace("{prefix}", prefix).replace("{own}", own);
    patterns.into_iter().flatten().map(filled).collect()
}

/// Statistics of the tracer of a connection manager.
pub(super) fn of_tracer(prefix: &str) -> Vec<String> {
    vec![
        format!("http.{prefix}.tracing.random_sampling"),
        format!("http.{prefix}.tracing.client_enabled"),
        format!("http.{prefix}.tracing.service_forced"),
    ]
}

/// Statistics of TLS with clients, and with a cluster.
pub(super) fn of_downstream_tls() -> Vec<String> {
    vec!["listener.*.ssl.handshake".to_owned()]
}

/// Statistics of TLS with the servers of clusters.
pub(super) fn of_upstream_tls(cluster: &str) -> Vec<String> {
    vec![format!("cluster.{cluster}.ssl.handshake")]
}
