//! The listeners file: its keys and their types. The schema for editors is generated from these types, and the reader validates texts
//! against it.

mod words;

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use words::{Duration, FilePath, Host, Name, check_of};

/// The JSON Schema of the file.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(ListenersFile).to_value();
    close(&mut schema);
    schema
}

/// Marks mappings with known keys as closed: serde cannot deny unknown keys in structs with flattened fields.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.contains_key("properties") {
                keys.insert("additionalProperties".to_owned(), false.into());
            }
            keys.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A list of listeners, which hoptax turns into an Envoy configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(title = "hoptax listeners file")]
pub(crate) struct ListenersFile {
    /// The listeners.
    #[schemars(length(min = 1))]
    pub(crate) listeners: Vec<ListenerSection>,
    /// The services that listeners refer to, by name. `--services FILE` adds the services of another file.
    #[serde(default)]
    pub(crate) services: BTreeMap<String, ServiceSection>,
    /// The domain of services without an `upstream`: the host of service `search` is `search.DOMAIN`.
    pub(crate) domain: Option<Host>,
    /// The admin interface, which is reachable from this machine only.
    #[serde(default)]
    pub(crate) admin: AdminSection,
    /// The log of requests. Default: requests that failed, as JSON lines on standard output.
    #[serde(default)]
    pub(crate) access_log: AccessLogSection,
    /// The authorities whose certificates are trusted, a file in PEM. Default: `/etc/ssl/certs/ca-certificates.crt`.
    pub(crate) ca: Option<FilePath>,
    /// The maximum number of client connections, over all listeners. Default: 50,000.
    #[schemars(range(min = 1))]
    pub(crate) connection_limit: Option<u32>,
    /// The OpenTelemetry collector that receives spans over gRPC. Default: no tracing.
    pub(crate) tracing: Option<TracingSection>,
    /// The rate limit service that decides about `ratelimit` of listeners, over gRPC.
    pub(crate) ratelimit_service: Option<ServerSection>,
    /// The times of a hot restart by `hoptax listeners run`.
    #[serde(default)]
    pub(crate) restart: RestartSection,
}

/// A listener: where requests arrive, and where they go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ListenerSection {
    /// Its name, in statistics and logs.
    pub(crate) name: Name,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
    /// The address or addresses that it listens on. Default: `127.0.0.1`.
    pub(crate) listen: Option<OneOrMore>,
    /// The time limit of a request, including all its tries.
    pub(crate) timeout: Duration,
    /// The time without a byte after which a request ends. Default: 5 min, or `timeout` if that is longer.
    pub(crate) idle_timeout: Option<Duration>,
    /// Routes for some hosts or paths to other targets; the first match wins.
    #[serde(default)]
    pub(crate) routes: Vec<RouteSection>,
    /// A share of the requests that goes to another target.
    pub(crate) split: Option<SplitSection>,
    /// Other targets for hosts that match regular expressions.
    #[serde(default)]
    pub(crate) splits: Vec<HostSplitSection>,
    /// The target of the other requests.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
    /// TLS of clients. Default: plain HTTP.
    pub(crate) tls: Option<TlsSection>,
    /// The Host header of requests to the upstream. Default: the header of the client.
    pub(crate) http_host: Option<Host>,
    /// The x-forwarded-proto header of requests to the upstream. Default: `http`, or `https` with `tls`.
    pub(crate) xfp: Option<Scheme>,
    /// Conditions and number of retries of a request.
    pub(crate) retry: Option<RetrySection>,
    /// Another name of `retry`.
    pub(crate) retry_policy: Option<RetrySection>,
    /// The rate limit, about which `ratelimit_service` decides.
    pub(crate) ratelimit: Option<RateLimitSection>,
    /// Send spans to `tracing`. Default: true.
    pub(crate) tracing_enabled: Option<bool>,
    /// Functions of the catalogue by id, such as `rate-limit/local{per_second=100}`; `hoptax functions` lists them.
    #[serde(default)]
    pub(crate) functions: Vec<String>,
}

/// Target of requests, and the connections to it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct TargetSection {
    /// The name of the service in `services`, which states the port, the host and the encryption of connections.
    pub(crate) service: Option<String>,
    /// The host, which replaces the host of the service; or, without a service, `{address: HOST, port: PORT, encryption: true}`.
    pub(crate) upstream: Option<UpstreamEntry>,
    /// A name for the connections. Without it, listeners with the same upstream share connections.
    pub(crate) cluster: Option<Name>,
    /// Use HTTP/2 to the upstream, which gRPC services need. Default: false, which means HTTP/1.1.
    pub(crate) http2: Option<bool>,
    /// The idle timeout of connections to the upstream, less than the idle timeout of the upstream itself. Default: 4.5 s.
    pub(crate) keepalive: Option<Duration>,
    /// The time limit to open a connection to the upstream. Default: 250 ms.
    pub(crate) connect_timeout: Option<Duration>,
    /// The maximum number of requests on a connection to the upstream. Default: 1,000.
    #[schemars(range(min = 1))]
    pub(crate) max_requests_per_connection: Option<u32>,
    /// Send the host as the server name in the TLS handshake (SNI), and in the Host header. Needs encryption. Default: false.
    pub(crate) sets_sni: Option<bool>,
    /// With `sets_sni`, set the Host header to the host of the upstream. Default: true.
    pub(crate) sni_rewrites_host_header: Option<bool>,
    /// The accepted names: the certificate of the upstream must have one of them. Needs encryption. Default: the host.
    #[schemars(length(min = 1))]
    pub(crate) san: Option<Vec<Host>>,
    /// TCP keepalive probes of the kernel on idle connections. Default: none.
    pub(crate) tcp_keepalive: Option<TcpKeepaliveSection>,
    /// Limits of connections and requests to the upstream. Default: 1,024 connections, requests, and waiting requests.
    pub(crate) circuit_breakers: Option<BreakersSection>,
    /// The share of requests in flight that may be retries. Default with `retry`: 20 %, but at least 3.
    pub(crate) retry_budget: Option<BudgetSection>,
    /// Temporary ejection of a server that fails. Default: never.
    pub(crate) outlier_detection: Option<OutlierSection>,
}

/// A host, or a host with its port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UpstreamEntry {
    /// The host; the service states the port.
    Host(Host),
    /// A host with its port.
    Section(UpstreamSection),
}

/// A host with its port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct UpstreamSection {
    /// The host.
    pub(crate) address: Host,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
    /// Encrypt connections, and check the certificate. Default: false.
    #[serde(default)]
    pub(crate) encryption: bool,
}

/// A service that listeners refer to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ServiceSection {
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
    /// Encrypt connections, and check the certificate. Default: false.
    #[serde(default)]
    pub(crate) encryption: bool,
    /// Its host. Default: its name, followed by `domain`.
    pub(crate) upstream: Option<Host>,
}

/// One address or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    /// One address.
    One(IpAddr),
    /// Several addresses; an empty list is a problem.
    More(Vec<IpAddr>),
}

/// A route to another target.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RouteSection {
    /// The hosts that it applies to, such as `www.example.org` or `*.example.org`. Default: all.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    /// The path prefix that it applies to. Default: `/`.
    #[schemars(regex(pattern = "^/"))]
    pub(crate) prefix: Option<String>,
    /// The time limit of a request. Default: the `timeout` of the listener.
    pub(crate) timeout: Option<Duration>,
    /// Their target.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
}

/// A share of the requests that goes to another target.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct SplitSection {
    /// The share, percent. The runtime key `routing.traffic_shift.NAME` changes it while Envoy runs.
    #[schemars(range(min = 0, max = 100))]
    pub(crate) percentage: u8,
    /// Their target.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
}

/// Another target for some hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct HostSplitSection {
    /// Its name.
    pub(crate) name: Name,
    /// A regular expression that the whole Host header matches.
    #[schemars(length(min = 1))]
    pub(crate) host_regex: String,
    /// Their target.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
}

/// A scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// TLS of clients.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct TlsSection {
    /// The certificate with its intermediate certificates, a file in PEM.
    pub(crate) certificate: FilePath,
    /// Its key, a file in PEM.
    pub(crate) key: FilePath,
    /// The authorities of clients, a file in PEM: clients then need a certificate from one of them. Default: clients need none.
    pub(crate) client_ca: Option<FilePath>,
}

/// Conditions and number of retries of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RetrySection {
    /// The conditions, such as `connect-failure,reset`, separated by commas.
    pub(crate) retry_on: Option<String>,
    /// The maximum number of retries. Default: 1.
    #[schemars(range(min = 0, max = 20))]
    pub(crate) num_retries: Option<u32>,
    /// The time limit of each try. Default: `timeout` divided by the number of tries.
    pub(crate) per_try_timeout: Option<Duration>,
    /// The statuses of `retriable-status-codes`.
    #[serde(default)]
    pub(crate) retriable_status_codes: Vec<StatusCode>,
    /// The time between tries. Default: 25 ms, growing to 250 ms.
    pub(crate) retry_back_off: Option<BackOffSection>,
}

/// A status of a response.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StatusCode(#[schemars(range(min = 100, max = 599))] pub(crate) u16);

/// The time between tries.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct BackOffSection {
    /// Twice the average time before the first retry.
    pub(crate) base_interval: Duration,
    /// The longest time. Default: ten times `base_interval`.
    pub(crate) max_interval: Option<Duration>,
}

/// TCP keepalive probes of the kernel on idle connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct TcpKeepaliveSection {
    /// The idle time before the first probe, seconds.
    #[schemars(range(min = 1))]
    pub(crate) keepalive_time: Option<u32>,
    /// The number of unanswered probes after which a connection counts as dead.
    #[schemars(range(min = 1))]
    pub(crate) probes: Option<u32>,
    /// The time between probes, seconds.
    #[schemars(range(min = 1))]
    pub(crate) interval: Option<u32>,
}

/// Limits of connections and requests to an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "the names are those of Envoy")]
pub(crate) struct BreakersSection {
    /// Connections.
    pub(crate) max_connections: u32,
    /// Requests that wait for a connection.
    pub(crate) max_pending_requests: u32,
    /// Requests.
    pub(crate) max_requests: u32,
}

impl Default for BreakersSection {
    fn default() -> Self {
        Self { max_connections: 1024, max_pending_requests: 1024, max_requests: 1024 }
    }
}

/// The share of requests in flight that may be retries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct BudgetSection {
    /// The share, percent.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) budget_percent: u8,
    /// The number of concurrent retries that are always admitted.
    pub(crate) min_retry_concurrency: u32,
}

impl Default for BudgetSection {
    fn default() -> Self {
        Self { budget_percent: 20, min_retry_concurrency: 3 }
    }
}

/// Temporary ejection of a server that fails.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct OutlierSection {
    /// The number of consecutive failures after which a server is ejected.
    #[schemars(range(min = 1))]
    pub(crate) consecutive_5xx: u32,
    /// The time between checks.
    pub(crate) interval: Duration,
    /// The duration of the first ejection of a server.
    pub(crate) base_ejection_time: Duration,
    /// The maximum share of ejected servers, percent; one server may always be ejected.
    #[schemars(range(min = 0, max = 100))]
    pub(crate) max_ejection_percent: u8,
}

impl Default for OutlierSection {
    fn default() -> Self {
        Self {
            consecutive_5xx: 5,
            interval: Duration::from_ms(10_000),
            base_ejection_time: Duration::from_ms(30_000),
            max_ejection_percent: 10,
        }
    }
}

/// A rate limit about which a service decides.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RateLimitSection {
    /// The domain of the limits.
    #[schemars(length(min = 1))]
    pub(crate) domain: String,
    /// The property by which requests are counted separately.
    pub(crate) by: RateLimitKey,
}

/// The property by which a limit counts requests separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RateLimitKey {
    UserAgent,
}

/// The admin interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AdminSection {
    /// Its port on 127.0.0.1.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
}

impl Default for AdminSection {
    fn default() -> Self {
        Self { port: 9901 }
    }
}

/// The log of requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AccessLogSection {
    /// The file.
    pub(crate) path: FilePath,
    /// The lowest status that is logged; 0 logs all requests.
    #[schemars(range(min = 0, max = 599))]
    pub(crate) min_status: u16,
}

impl Default for AccessLogSection {
    fn default() -> Self {
        Self { path: FilePath("/dev/stdout".to_owned()), min_status: 500 }
    }
}

/// The times of a hot restart, whole seconds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RestartSection {
    /// The time during which the replaced process asks its clients to connect again.
    pub(crate) drain: Duration,
    /// The time after which the replaced process ends, even if it still has requests. Default: 1.5 times `drain`.
    pub(crate) shutdown: Option<Duration>,
}

impl Default for RestartSection {
    fn default() -> Self {
        Self { drain: Duration::from_ms(60_000), shutdown: None }
    }
}

/// A collector of spans.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct TracingSection {
    /// Its host.
    pub(crate) address: Host,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
    /// The share of requests that are traced if no caller decided, percent. Default: 1.
    #[schemars(range(min = 0, max = 100))]
    pub(crate) sampling_percent: Option<u8>,
    /// The name of this proxy in spans. Default: `envoy`.
    pub(crate) service_name: Option<Name>,
}

/// A gRPC server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ServerSection {
    /// Its host.
    pub(crate) address: Host,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
}
