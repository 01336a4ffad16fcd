//! The study file: what a user writes to say what is to be measured.
//!
//! Its schema is generated from [`StudyFile`]; a file is checked against that schema and then turned into a plan,
//! and what is wrong with it is reported all at once, each problem with its line and column.

mod arm;
mod conditions;
mod link;
mod nodes;
mod problem;
mod subject;
mod syntax;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arm::{ArmEntry, FunctionEntry, UnloadedEntry};
pub use conditions::{ConditionsSection, OneOrMore, TlsWord};
pub use link::LinkSection;
pub use problem::{Problem, Problems};
pub use subject::{Position, Protocol, ProxyWord, SubjectEntry, SubjectSection};
pub use syntax::{Positions, read};

/// A study: which arms are measured under which loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hoptax study file")]
pub struct StudyFile {
    /// Its name, as results and reports show it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it asks, in a sentence.
    #[serde(default)]
    pub summary: String,
    /// Seed of every random order and of random release times.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// How often all processes are started afresh. Intervals are taken over rounds: two is the least, ten is good. If not given,
    /// from 10 to 24, by what the machine is like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1000))]
    pub rounds: Option<u32>,
    /// What is compared: `direct` (no proxy), `baseline` (a plain proxy), `same` (a second copy of it), a function of the
    /// catalogue, for example `lua` or `route/path{routes=200}`, or where proxies stand and what is spoken:
    /// `subject: {position: both, mtls: true, protocol: grpc}`. `unloaded: lua` is a proxy from which `lua` was taken away again.
    /// `{function: compress/gzip, at: {response_bytes: [1024, 65536]}}` is a function under conditions of its own.
    #[schemars(length(min = 2))]
    pub arms: Vec<ArmEntry>,
    /// What all arms are measured under. Each may be a list: then every arm but the subjects is measured at each of them, or, of
    /// several lists, at each combination. Whatever the conditions, an arm is compared with a baseline under the same. What a
    /// function brings itself (the body or the size of answer that it works on, a number of connections or workers, TLS) goes
    /// before what stands here, and what the arm says under `at` before both.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub conditions: ConditionsSection,
    /// Whether each function is measured beside its defaults at the points that its file names: what its cost grows with, one
    /// thing at a time. `hoptax study --dry-run` shows them.
    #[serde(default)]
    pub points: bool,
    /// A link between the callers and the rest, each way. It needs root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSection>,
    /// What answers behind the proxies: `origin`, or `go`, a service in Go (`make limiter` builds it), which functions may tell
    /// to limit requests itself.
    #[serde(default)]
    pub application: Application,
    /// The traffic offered. Costs in CPU time and the maximum rate are those under the first closed loop, costs in response time
    /// those under the first open one; results have the others beside them.
    #[schemars(length(min = 1, max = 8))]
    pub loads: Vec<LoadSection>,
}

/// One load of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSection {
    /// Its name, as results show it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// `closed`: a connection sends again when it is answered, which finds CPU time per request and the maximum
    /// rate. `open`: requests leave when planned, which finds response time.
    #[serde(rename = "loop")]
    pub loop_: LoopWord,
    /// Requests per second of an open loop, as a share of what each arm can take by itself: `30%`. In place of `rate`. What an
    /// arm can take is measured before the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?%$"))]
    pub utilisation: Option<String>,
    /// Requests per second of an open loop. If neither this nor `utilisation` is given, a share of what the slowest arm can take,
    /// the same rate for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rate: Option<f64>,
    /// How the release times of an open loop are drawn: `uniform` (evenly), `poisson` (with exponential gaps, as
    /// independent users do), `jitter=10%` (evenly, each moved by up to that share of a gap) or `burst=8` (so many at
    /// once).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(uniform|poisson|jitter=[0-9.]+%|burst=[0-9]+)$"))]
    pub arrivals: Option<String>,
    /// Connections to each arm.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 10_000))]
    pub connections: u32,
    /// Requests after which a connection is closed and opened anew: 1 for callers that keep none. As many as the other side
    /// takes if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u32>,
    /// Whether a new connection over TLS takes up an earlier session, which spares the proxy the greater part of the handshake. If
    /// not given, it does unless a load of the study has `requests_per_connection`: callers that keep no connection keep no
    /// session either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<bool>,
    /// The statuses of answers that are expected, for example `[200, 429]`; all below 400 if not given. With several, results
    /// have each apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub expect: Vec<u16>,
    /// Who calls: `hoptax`, or `php`, as many processes of PHP with curl as there are connections, which keep nothing from one
    /// call to the next. Those need the packages php-cli and php-curl, and a closed loop.
    #[serde(default)]
    pub caller: Caller,
    /// Slices that each arm gets in a round.
    #[serde(default = "default_blocks")]
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: u32,
    /// Length of a slice: `200ms`. Between 50 ms and 10 s; 100 to 250 ms serve best. If not given, 200 ms, or shorter where the
    /// host takes time from the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
}

/// What answers behind the proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Application {
    /// This program's test server.
    #[default]
    Origin,
    /// A service in Go.
    Go,
}

/// Who calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Caller {
    /// This load generator.
    #[default]
    Hoptax,
    /// PHP with curl.
    Php,
}

/// The loop of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LoopWord {
    /// Requests leave when planned.
    Open,
    /// A connection sends again when it is answered.
    Closed,
}

fn default_seed() -> u64 {
    1
}

fn default_connections() -> u32 {
    16
}

fn default_blocks() -> u32 {
    5
}

/// The JSON schema of a study file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(StudyFile).to_value()
}
