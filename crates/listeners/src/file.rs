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
    /// The services that listeners name, by name. `--services FILE` adds those of a file.
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
    /// The most connections from clients, over all listeners. Default: 50,000.
    #[schemars(range(min = 1))]
    pub(crate) connection_limit: Option<u32>,
    /// The collector of OpenTelemetry that gets spans over gRPC. Default: no tracing.
    pub(crate) tracing: Option<TracingSection>,
    /// The service that decides about `ratelimit` of listeners, over gRPC.
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
    /// The address that it listens on, or several. Default: `127.0.0.1`.
    pub(crate) listen: Option<OneOrMore>,
    /// The time for a request, all tries together.
    pub(crate) timeout: Duration,
    /// The time without a byte after which a request ends. Default: 5 min, or `timeout` if that is longer.
    pub(crate) idle_timeout: Option<Duration>,
    /// Requests for some hosts or paths that go elsewhere; the first that matches counts.
    #[serde(default)]
    pub(crate) routes: Vec<RouteSection>,
    /// A part of the requests that goes elsewhere.
    pub(crate) split: Option<SplitSection>,
    /// Requests for some hosts that go elsewhere, by regular expressions.
    #[serde(default)]
    pub(crate) splits: Vec<HostSplitSection>,
    /// The target of the other requests.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
    /// TLS of clients. Default: plain HTTP.
    pub(crate) tls: Option<TlsSection>,
    /// The Host header of requests to the upstream. Default: that of the client.
    pub(crate) http_host: Option<Host>,
    /// The x-forwarded-proto header of requests to the upstream. Default: `http`, or `https` with `tls`.
    pub(crate) xfp: Option<Scheme>,
    /// Conditions and number of retries of a request.
    pub(crate) retry: Option<RetrySection>,
    /// Another name of `retry`.
    pub(crate) retry_policy: Option<RetrySection>,
    /// The limit of requests that `ratelimit_service` decides about.
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
    /// The service, by its name in `services`: it says the port, the host and whether connections are encrypted.
    pub(crate) service: Option<String>,
    /// The host, instead of that of the service; or `{address: HOST, port: PORT, encryption: true}` without a service.
    pub(crate) upstream: Option<UpstreamEntry>,
    /// A name of its own for the connections. Without one, listeners with the same upstream share connections.
    pub(crate) cluster: Option<Name>,
    /// Send requests to the upstream in HTTP/2, which services of gRPC need. Default: false, in HTTP/1.1.
    pub(crate) http2: Option<bool>,
    /// The time after which an idle connection to the upstream is closed, less than the upstream waits. Default: 4.5 s.
    pub(crate) keepalive: Option<Duration>,
    /// The time to open a connection to the upstream. Default: 250 ms.
    pub(crate) connect_timeout: Option<Duration>,
    /// The most requests of a connection to the upstream. Default: 1,000.
    #[schemars(range(min = 1))]
    pub(crate) max_requests_per_connection: Option<u32>,
    /// Name the host in the handshake (SNI), and the Host header too. Needs encryption. Default: false.
    pub(crate) sets_sni: Option<bool>,
    /// With `sets_sni`, whether the Host header is that of the upstream. Default: true.
    pub(crate) sni_rewrites_host_header: Option<bool>,
    /// The names of which the certificate of the upstream must have one. Needs encryption. Default: the host.
    #[schemars(length(min = 1))]
    pub(crate) san: Option<Vec<Host>>,
    /// Probes of the kernel on idle connections. Default: none.
    pub(crate) tcp_keepalive: Option<TcpKeepaliveSection>,
    /// Limits of what is under way to the upstream. Default: 1,024 connections, requests, and requests that wait.
    pub(crate) circuit_breakers: Option<BreakersSection>,
    /// Share of the requests under way that may be retries. Default, with `retry`: 20 %, and 3 in any case.
    pub(crate) retry_budget: Option<BudgetSection>,
    /// Ejection of a server that fails, for a while. Default: never.
    pub(crate) outlier_detection: Option<OutlierSection>,
}

/// A host, or a host with its port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UpstreamEntry {
    /// The host; its port is that of the service.
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

/// A service that listeners name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ServiceSection {
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
    /// Encrypt connections, and check the certificate. Default: false.
    #[serde(default)]
    pub(crate) encryption: bool,
    /// Its host. Default: its name in `domain`.
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

/// Requests that go elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RouteSection {
    /// The hosts that it is for, such as `www.example.org` or `*.example.org`. Default: all.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    /// The beginning of the paths that it is for. Default: `/`.
    #[schemars(regex(pattern = "^/"))]
    pub(crate) prefix: Option<String>,
    /// The time for a request. Default: that of the listener.
    pub(crate) timeout: Option<Duration>,
    /// Their target.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
}

/// A part of the requests that goes elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct SplitSection {
    /// The part in percent. The runtime key `routing.traffic_shift.NAME` changes it while Envoy runs.
    #[schemars(range(min = 0, max = 100))]
    pub(crate) percentage: u8,
    /// Their target.
    #[serde(flatten)]
    pub(crate) target: TargetSection,
}

/// Requests for some hosts that go elsewhere.
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
    /// The certificate with those between it and its authority, a file in PEM.
    pub(crate) certificate: FilePath,
    /// Its key, a file in PEM.
    pub(crate) key: FilePath,
    /// The authorities of clients, a file in PEM: clients then need a certificate of theirs. Default: clients need none.
    pub(crate) client_ca: Option<FilePath>,
}

/// Conditions and number of retries of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RetrySection {
    /// The conditions, such as `connect-failure,reset`, separated by commas.
    pub(crate) retry_on: Option<String>,
    /// The most tries after the first. Default: 1.
    #[schemars(range(min = 0, max = 20))]
    pub(crate) num_retries: Option<u32>,
    /// The time for each try. Default: `timeout` divided by the number of tries.
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
    /// The time before the first retry on average is half of it.
    pub(crate) base_interval: Duration,
    /// The longest time. Default: ten times `base_interval`.
    pub(crate) max_interval: Option<Duration>,
}

/// Probes of the kernel on idle connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct TcpKeepaliveSection {
    /// The idle time before the first probe, seconds.
    #[schemars(range(min = 1))]
    pub(crate) keepalive_time: Option<u32>,
    /// The probes without an answer after which a connection is dead.
    #[schemars(range(min = 1))]
    pub(crate) probes: Option<u32>,
    /// The time between probes, seconds.
    #[schemars(range(min = 1))]
    pub(crate) interval: Option<u32>,
}

/// Limits of what is under way to an upstream.
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

/// Share of the requests under way that may be retries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct BudgetSection {
    /// The share, percent.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) budget_percent: u8,
    /// The retries at a time that are admitted in any case.
    pub(crate) min_retry_concurrency: u32,
}

impl Default for BudgetSection {
    fn default() -> Self {
        Self { budget_percent: 20, min_retry_concurrency: 3 }
    }
}

/// Ejection of a server that fails, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct OutlierSection {
    /// The failures in a row after which a server is left out.
    #[schemars(range(min = 1))]
    pub(crate) consecutive_5xx: u32,
    /// The time between checks.
    pub(crate) interval: Duration,
    /// The time for which a server is left out at first.
    pub(crate) base_ejection_time: Duration,
    /// The most servers left out, percent; one may be in any case.
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

/// A limit of requests that a service decides about.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RateLimitSection {
    /// The domain of the limits.
    #[schemars(length(min = 1))]
    pub(crate) domain: String,
    /// Requests that are counted apart.
    pub(crate) by: RateLimitKey,
}

/// Requests that a limit counts apart.
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
    /// The least status of the requests that are logged; 0 logs all.
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
    /// The time during which the process before asks its clients to connect again.
    pub(crate) drain: Duration,
    /// The time after which it ends, with the requests that it still has. Default: half as long again as `drain`.
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

/// A server of gRPC.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ServerSection {
    /// Its host.
    pub(crate) address: Host,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: u16,
}
