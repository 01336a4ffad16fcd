//! The study file, a YAML file that states what to measure.
//!
//! Its schema is generated from [`StudyFile`]. A file is validated against that schema and then turned into a plan. All
//! problems are reported at once, each with its line and column. Commands make a [`StudyFile`] as a value; [`write()`] is its text.

mod application;
mod arm;
mod caller;
mod conditions;
mod external;
mod hop;
mod link;
mod network;
mod positions;
mod problem;
mod proxy;
mod request;
mod subject;
mod syntax;
#[cfg(test)]
mod tests;
mod timeline;
mod word;

use hoptax_result::PublishedNumber;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use application::ORIGIN;
pub use application::{ApplicationEntry, ApplicationSection};
pub use arm::{ArmEntry, ChainEntry, FunctionEntry, UnloadedEntry};
pub use caller::{CallerEntry, CallerSection};
pub use conditions::{ConditionsSection, MAX_RESPONSE_BYTES, OneOrMore, TlsWord};
pub use external::ExternalEntry;
pub use hop::{HopEntry, HopSection, HopTls};
pub use link::LinkSection;
pub(crate) use network::LabelledNetwork;
pub use network::{NatWord, NetworkSection};
pub use positions::Positions;
pub use problem::{Problem, Problems};
pub use proxy::ProxyWord;
pub use request::RequestSection;
pub use subject::{Position, Protocol, SubjectEntry, SubjectSection};
pub use syntax::{Format, is_study, read, templated, unparsed, write, write_known_as};
pub use timeline::{EventSection, Observe, RestartWord};

/// A study: the arms to measure, and the loads to measure them under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hoptax study file")]
pub struct StudyFile {
    /// Its name, as results and reports show it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The question that it answers, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// Seed of all random orders and random release times.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Number of rounds. Each round restarts all processes. Intervals are taken over rounds: two is the minimum, ten is
    /// good. Default: 10 to 24, depending on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1000))]
    pub rounds: Option<u32>,
    /// The configurations to compare: `direct` (no proxy), `baseline` (a plain proxy), `same` (a second copy of it), a
    /// function of the catalogue, for example `lua` or `route/path{routes=200}`, or proxy positions and a protocol:
    /// `subject: {position: both, mtls: true, protocol: grpc}`. `unloaded: lua` is a proxy from which `lua` was removed
    /// again. `{function: compress/gzip, at: {response_bytes: [1024, 65536]}}` is a function under its own conditions.
    /// `{name: our-edge, functions: [jwt, lua]}` is a proxy with several functions, `{name: previous, envoy: 1.39.3}` one of
    /// another release, and `{name: mesh, hops: [client, {name: server, functions: [jwt]}]}` a chain of proxies.
    /// `{name: in-container, network: {servers: container, nat: nftables}}` is a proxy behind a network of its own.
    /// `protocol: http2` and `application: go` at an arm are its own protocol and its own application.
    /// `{name: ours, hops: [{config: envoy.yaml}]}` is an Envoy with a configuration of your own, and
    /// `{name: on-mesh, url: "http://127.0.0.1:15001/", account: {unit: envoy.service}}` a server that already runs.
    #[schemars(length(min = 1))]
    pub arms: Vec<ArmEntry>,
    /// Conditions of all arms. Each may be a list: every arm but the subjects is then measured at each value, or, with
    /// several lists, at each combination. An arm is always compared with a baseline under the same conditions. A function may set
    /// a condition itself (the request body or response size that it works on, a number of connections or workers, TLS). Its value
    /// overrides the one here, and `at` of an arm overrides both.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub conditions: ConditionsSection,
    /// Also measure each function at the points listed in its file, which vary the quantities that its cost grows with, one at a time.
    /// `hoptax study --dry-run` lists them.
    #[serde(default)]
    pub points: bool,
    /// A simulated network link between the callers and everything else, in each direction. Requires root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSection>,
    /// Profile the proxies of each arm in each round, after all slices, to state their CPU time by layer: by
    /// perf, of the package linux-perf, or by hoptax itself. Requires root, or `sysctl kernel.perf_event_paranoid=1
    /// kernel.kptr_restrict=0`.
    #[serde(default)]
    pub profile: bool,
    /// The application behind the proxies of all arms that name no other: `origin`, `go`, a service in Go (built by `make limiter`) that functions may
    /// configure to limit requests itself, `image-registry`, a service in Rust with storage (built by `make registry-program`) that
    /// functions may configure to enforce plans itself, or a command of yours:
    /// `{command: [./server, --port, "{port}"], ready: /health}`. All but `origin` are called over plain HTTP/1.1.
    #[serde(default)]
    pub application: ApplicationEntry,
    /// Object of the study: `costs`, or `timeline`, the responses that callers see over time: each arm runs alone, with processes of its
    /// own, for one slice per round and load. Its loads are open, with a `rate`. No arm is compared with another.
    #[serde(default)]
    pub observe: Observe,
    /// Length of the intervals of a timeline, for example `1s`: between 50 ms and 1 min. Default: 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// The response time that callers accept in a timeline, for example `100ms`. Later responses are late. Default: no response is late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Statistics of the proxies whose spread a timeline shows, for example `listener.*.worker_*.downstream_cx_active`: `*` matches any
    /// text. They are read at the end of each interval. Statistics whose names do not end in `_active` are counters, of which the growth
    /// counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Za-z0-9._*-]+$"))]
    pub spread: Option<String>,
    /// Events in each slice of a timeline, for example `[{at: 20s, origin: 2, slow: 500ms}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSection>,
    /// The offered loads. Costs in CPU time come from the first open loop without `utilisation`, or else from the first closed one.
    /// Costs in response time come from the first open loop, the maximum rate from the first closed one; of the loads with `only` or
    /// `except`, from the first that the arm takes part in. Results list the others beside them.
    #[schemars(length(min = 1, max = 8))]
    pub loads: Vec<LoadSection>,
    /// Numbers that others published, which the result shows beside its own: `[{arm: lua, load: saturation, measure: rate, value: 4400,
    /// source: "A. Author, A Conference 2020"}]`. They change no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedNumber>,
}

impl StudyFile {
    /// A study of these arms under these loads, with the defaults of all else.
    pub fn new(name: &str, arms: Vec<ArmEntry>, loads: Vec<LoadSection>) -> Self {
        Self {
            name: name.to_owned(),
            summary: String::new(),
            seed: default_seed(),
            rounds: None,
            arms,
            conditions: ConditionsSection::default(),
            points: false,
            link: None,
            profile: false,
            application: ApplicationEntry::default(),
            observe: Observe::default(),
            interval: None,
            objective: None,
            spread: None,
            events: Vec::new(),
            loads,
            published: Vec::new(),
        }
    }

    /// The name of the first load that is for some arms only; none if all are for all arms. Such a file cannot give its arms other names.
    pub fn load_with_arms(&self) -> Option<&str> {
        let load = self.loads.iter().find(|load| load.except.is_some() || !load.only.is_empty())?;
        Some(&load.name)
    }
}

/// One load of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSection {
    /// Its name, as results show it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// `closed`: a connection sends its next request when it is answered; measures the maximum rate. `open`: requests are sent at
    /// planned times; measures CPU time per request and response time.
    #[serde(rename = "loop")]
    pub loop_: LoopWord,
    /// Request rate of an open loop as a share of each arm's own capacity, instead of `rate`: `30%`. Capacities are
    /// measured before the first round: the rate at which the proxies would be as busy as in a closed loop, with the CPU
    /// time per request of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?%$"))]
    pub utilisation: Option<String>,
    /// Requests per second of an open loop. Without `rate` and `utilisation`, a share of the capacity of the slowest
    /// arm under this load, the same rate for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rate: Option<f64>,
    /// Spacing of the release times of an open loop: `uniform` (evenly), `poisson` (exponential gaps, as of
    /// independent users), `jitter=10%` (evenly, each moved by up to that share of a gap) or `burst=8` (that many at
    /// once).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(uniform|poisson|jitter=[0-9.]+%|burst=[0-9]+)$"))]
    pub arrivals: Option<String>,
    /// The arms that the load applies to, by their ids, which `hoptax study --dry-run` lists: `[compress/brotli, 'rbac{rules=50}']`.
    /// Default: all. The arms that they are compared with take part too, and so do A/A arms of these and, for a known cost in CPU time, the
    /// arm that the cost is measured against. If a heavy arm has its own load, the others keep their higher rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub only: Vec<String>,
    /// Another load of the file: the arms in its `only` take no part in this load, unless other arms are compared with them. Because it
    /// names a load instead of arms, each arm is listed once, and a new arm takes part in this load without an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<String>,
    /// Connections to each arm. More than 500 are opened for each slice; fewer stay open over all slices of a round.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 10_000))]
    pub connections: u32,
    /// Requests after which a connection is closed and reopened: 1 for callers without keep-alive. Default: as many as
    /// the peer allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u32>,
    /// Resume earlier sessions on new TLS connections, which saves the proxy most of the handshake. Default: true
    /// unless a load of the study has `requests_per_connection`, since callers that keep no connections keep no
    /// sessions either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<bool>,
    /// Expected statuses of responses, for example `[200, 429]`. Default: all below 400. With several, results report
    /// each separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub expect: Vec<u16>,
    /// The caller: `hoptax`, `php` (one PHP process with curl per connection, without state between calls), or a command of yours:
    /// `{command: [./call, "{url}", "{seconds}", "{processes}"]}`. All but `hoptax` need a closed loop. They send GET requests over
    /// HTTP/1.1, without headers of their own, and accept every status below 400.
    #[serde(default)]
    pub caller: CallerEntry,
    /// Slices of each arm per round. Default: 16; in a timeline always 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: Option<u32>,
    /// Length of a slice, for example `200ms`. Between 50 ms and 10 s. Default: 50 ms, or as long as 100 requests at a stated `rate`
    /// take, at most 500 ms. In a timeline up to 10 min, and without a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
}

impl LoadSection {
    /// A load with the defaults of all but its name and its loop.
    pub fn new(name: &str, loop_: LoopWord) -> Self {
        Self {
            name: name.to_owned(),
            loop_,
            utilisation: None,
            rate: None,
            arrivals: None,
            only: Vec::new(),
            except: None,
            connections: default_connections(),
            requests_per_connection: None,
            resumption: None,
            expect: Vec::new(),
            caller: CallerEntry::default(),
            blocks: None,
            slice: None,
        }
    }
}

/// The loop of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LoopWord {
    /// Requests are sent at planned times.
    Open,
    /// A connection sends its next request when it is answered.
    Closed,
}

fn default_seed() -> u64 {
    1
}

fn default_connections() -> u32 {
    16
}

/// The JSON schema of a study file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(StudyFile).to_value()
}
