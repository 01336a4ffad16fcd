//! Statistics of Envoy that change when a part acts on requests.
//!
//! The names are those that Envoy 1.40 shows in `/stats`. For a type without statistics here, Envoy counts nothing, or only refusals.
//!
//! `*` in a name is a wildcard. `{scope}` is the beginning of the names of the connection manager, `{own}` the `stat_prefix` of
//! the filter.

use serde_json::Value;

use crate::tree::{extension_type, message, text};

/// The prefix of a type's name below its family, the statistics of such extensions, and the requests or events that exercise them.
type Known = (&'static str, &'static [&'static str], &'static str);

/// The filter whose configuration states the responses that it acts on.
const COMPRESSOR: &str = "compressor.";
/// Default minimum length of a body to compress, bytes, and default content types.
const COMPRESSED_BYTES: u64 = 30;
const COMPRESSED_TYPES: &str = "text/html, application/json or another text format";

/// Types of HTTP filters without `envoy.extensions.filters.http.`.
const HTTP: [Known; 35] = [
    ("adaptive_concurrency.", &["{scope}adaptive_concurrency.*"], "any request"),
    ("admission_control.", &["{scope}admission_control.rq_*"], "any request"),
    ("api_key_auth.", &["{scope}api_key_auth.*"], "a request with a key"),
    ("bandwidth_limit.", &["{own}.http_bandwidth_limit.*"], "a request or a response with a body"),
    ("basic_auth.", &["{scope}basic_auth.*"], "a request with user and password"),
    ("buffer.", &[], "a request with a body"),
    ("cdn_loop.", &[], "any request"),
    (COMPRESSOR, &["{scope}compressor.*.compressed"], "a request that accepts its encoding, with a response"),
    ("cors.", &["{scope}cors.*"], "a request with an `origin` that a policy of its route allows"),
    ("csrf.", &["{scope}csrf.*"], "a request that changes state, such as POST, with an `origin`"),
    ("decompressor.", &["{scope}decompressor.*.decompressed"], "a compressed body"),
    ("dynamic_modules.", &[], "any request that the code in its module acts on"),
    (
        "ext_authz.",
        &["cluster.*.ext_authz.*", "{scope}ext_authz.*"],
        "a request to a route on which it is enabled",
    ),
    ("ext_proc.", &["{scope}ext_proc.*"], "a request to a route on which it is enabled"),
    (
        "fault.",
        &["{scope}fault.*_injected"],
        "a request that a fault applies to, by its percentage and headers",
    ),
    ("grpc_http1_bridge.", &["cluster.*.grpc.*"], "a gRPC call"),
    ("grpc_json_transcoder.", &["cluster.*.grpc.*"], "a request for a path of its services"),
    ("grpc_stats.", &["cluster.*.grpc.*"], "a gRPC call"),
    ("grpc_web.", &["cluster.*.grpc.*"], "a gRPC-Web call"),
    ("header_mutation.", &[], "any request"),
    ("header_to_metadata.", &["http_filter_name.{own}.*"], "a request with a header of its rules"),
    ("health_check.", &["{scope}health_check.*"], "a request for the path of its health check"),
    ("ip_tagging.", &["{scope}ip_tagging.*"], "a client with an address of its lists"),
    (
        "json_to_metadata.",
        &["json_to_metadata.rq.success", "json_to_metadata.resp.success"],
        "a request with a JSON body, or a response with one if it has rules for responses",
    ),
    ("jwt_authn.", &["{scope}jwt_authn.*"], "a request that one of its rules matches"),
    ("local_ratelimit.", &["{own}.http_local_rate_limit.enabled"], "a route on which it is enabled"),
    ("lua.", &["{scope}lua.*executions"], "a script with `envoy_on_request` or `envoy_on_response`"),
    ("oauth2.", &["{scope}*oauth_*"], "a request with or without a session"),
    ("ratelimit.", &["cluster.*.ratelimit.*"], "a request to a route with rate limit actions"),
    ("rbac.", &["{scope}rbac.*"], "a request to a route on which it has rules"),
    ("set_filter_state.", &[], "any request"),
    ("set_metadata.", &[], "any request"),
    (
        "stateful_session.",
        &["{scope}stateful_session.{own}.*"],
        "a request to a route on which it is enabled; Envoy counts it if the filter has a `stat_prefix`",
    ),
    ("tap.", &["{scope}tap.rq_tapped"], "a request that its configuration matches"),
    ("wasm.", &[], "any request that its code acts on"),
];

/// Types of listener filters without `envoy.extensions.filters.listener.`.
const LISTENER: [Known; 4] = [
    ("http_inspector.", &["http_inspector.*"], "a new connection without TLS"),
    ("local_ratelimit.", &[], "a new connection"),
    ("proxy_protocol.", &["proxy_proto.*"], "a new connection"),
    ("tls_inspector.", &["tls_inspector.*"], "a new connection"),
];

/// Trigger of a statistics sink: the flushes of all statistics, not requests.
const FLUSH: &str = "each flush of the statistics (`stats_flush_interval`), independent of requests";

/// Types of statistics sinks of the core without `envoy.config.metrics.v3.`.
const CORE_SINKS: [Known; 4] = [
    ("DogStatsdSink", &[], FLUSH),
    ("HystrixSink", &[], FLUSH),
    ("MetricsServiceConfig", &[], FLUSH),
    ("StatsdSink", &[], FLUSH),
];

/// Types of other statistics sinks without `envoy.extensions.stat_sinks.`: all of them.
const OTHER_SINKS: [Known; 1] = [("", &[], FLUSH)];

/// Types of network filters without `envoy.extensions.filters.network.`.
const NETWORK: [Known; 5] = [
    ("connection_limit.", &["connection_limit.{own}.active_connections"], "any request"),
    ("ext_authz.", &["ext_authz.{own}.*"], "a request to a route on which it is enabled"),
    ("local_ratelimit.", &["local_rate_limit.{own}.*"], "a route on which it is enabled"),
    ("ratelimit.", &["ratelimit.{own}.*"], "a request to a route with rate limit actions"),
    ("rbac.", &["{own}rbac.*", "{own}.rbac.*"], "a request to a route on which it has rules"),
];

/// Types of access logs without `envoy.extensions.access_loggers.`.
const ACCESS_LOGS: [Known; 4] = [
    ("file.", &["filesystem.write_buffered"], "a request that its filter logs"),
    ("stream.", &["filesystem.write_buffered"], "a request that its filter logs"),
    ("grpc.", &["access_logs.grpc_access_log.logs_written"], "a request that its filter logs"),
    (
        "open_telemetry.",
        &["access_logs.open_telemetry_access_log.*logs_written"],
        "a request that its filter logs",
    ),
];

/// How to show that a part acts.
#[derive(Clone, Debug, Default)]
pub(super) struct Proof {
    /// Statistics of which at least one changes; empty if no statistic of its own is known.
    pub(super) statistics: Vec<String>,
    /// Kind of request or event that makes it act, as an object of `exercised by`; None if unknown.
    pub(super) exercised_by: Option<String>,
    /// True if the request is not known to make it act.
    pub(super) is_unmet: bool,
}

impl Proof {
    fn new(statistics: Vec<String>, exercised_by: &str) -> Self {
        Self { statistics, exercised_by: Some(exercised_by.to_owned()), is_unmet: false }
    }
}

/// The beginning of the names of statistics of filters in a connection manager.
pub(super) fn scope_of_manager(stat_prefix: &str) -> String {
    format!("http.{stat_prefix}.")
}

/// The beginning of the names of statistics of upstream HTTP filters. Envoy writes no prefix, or the cluster's name in several forms.
pub(super) const SCOPE_OF_UPSTREAM: &str = "*";

/// The proof of an extension. `scope` is the beginning of the names of its statistics, if they depend on where it is.
pub(super) fn of_extension(extension: &Value, scope: &str) -> Proof {
    let tables: [(&str, &[Known]); 6] = [
        ("envoy.extensions.filters.http.", &HTTP),
        ("envoy.extensions.filters.network.", &NETWORK),
        ("envoy.extensions.access_loggers.", &ACCESS_LOGS),
        ("envoy.extensions.filters.listener.", &LISTENER),
        ("envoy.config.metrics.v3.", &CORE_SINKS),
        ("envoy.extensions.stat_sinks.", &OTHER_SINKS),
    ];
    let of = extension_type(extension);
    let settings = extension.get("typed_config").map_or(&Value::Null, |held| message(held).fields);
    let own = text(settings, "/stat_prefix");
    let known = tables.iter().find_map(|(family, table)| {
        let of = of.strip_prefix(family)?;
        table.iter().find(|(known, ..)| of.starts_with(known))
    });
    let Some((known, patterns, exercised_by)) = known else { return Proof::default() };
    // Without its own `stat_prefix`, a filter has no such statistics.
    let exists = |pattern: &&&str| !(own.is_empty() && pattern.contains("{own}"));
    let filled = |pattern: &&str| pattern.replace("{scope}", scope).replace("{own}", own);
    let statistics = patterns.iter().filter(exists).map(filled).collect();
    let compressed = if *known == COMPRESSOR { compressed(settings) } else { String::new() };
    Proof::new(statistics, &format!("{exercised_by}{compressed}"))
}

/// The length and the types of responses that a compressor compresses, to continue a sentence.
fn compressed(compressor: &Value) -> String {
    let common = compressor.pointer("/response_direction_config/common_config");
    // The older location of both settings.
    let stated =
        |key: &str, old: &str| common.and_then(|common| common.get(key)).or(compressor.get(old)).cloned();
    let bytes = stated("min_content_length", "content_length").and_then(|bytes| bytes.as_u64());
    let types = stated("content_type", "content_type").unwrap_or_default();
    let types: Vec<&str> = types.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let types = if types.is_empty() { COMPRESSED_TYPES.to_owned() } else { types.join(" or ") };
    format!(" of at least {} bytes of type {types}", bytes.unwrap_or(COMPRESSED_BYTES))
}

/// The proof of the tracer of a connection manager.
pub(super) fn of_tracer(scope: &str) -> Proof {
    let statistics = ["random_sampling", "client_enabled", "service_forced"];
    let statistics = statistics.map(|name| format!("{scope}tracing.{name}"));
    Proof::new(statistics.into(), "a request that is sampled")
}

/// The proof of routes that the request does not take. They have no statistics.
pub(super) fn of_other_routes() -> Proof {
    Proof::new(Vec::new(), "any request that Envoy compares with them before it reaches its own route")
}

/// The proof of tags of statistics. They have no statistics.
pub(super) fn of_statistics_tags() -> Proof {
    Proof::new(Vec::new(), "the creation of statistics, such as those of a new cluster or status")
}

/// The proof of TLS with clients.
pub(super) fn of_downstream_tls() -> Proof {
    Proof::new(vec!["listener.*.ssl.handshake".to_owned()], "a connection with TLS")
}

/// The proof of TLS with the servers of a cluster.
pub(super) fn of_upstream_tls(cluster: &str) -> Proof {
    let statistics = vec![format!("cluster.{cluster}.ssl.handshake")];
    Proof::new(statistics, "a request that is forwarded to the cluster")
}
