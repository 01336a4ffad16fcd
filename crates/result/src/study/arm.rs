//! What was found about one arm.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Book;

use super::{Disturbance, Parts};

/// What was found about one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmResult {
    /// Its id in the study, for example `route/path{routes=200}`.
    pub id: String,
    /// What it is in the study.
    pub kind: ArmKind,
    /// The catalogue function that it turns on; absent for `direct` and the baselines.
    pub function: Option<String>,
    /// The knobs of the function, as measured.
    pub knobs: BTreeMap<String, String>,
    /// What it is, in a line.
    pub summary: String,
    /// The arm that its cost is the difference from; absent for a baseline.
    pub compared_with: Option<String>,
    /// SHA-256 of what its proxies were started with: their configuration as it was rendered, the files and the environment that
    /// its function brings, and their workers. Ports that the kernel chose and the folder of the run are replaced by names
    /// before; certificates are no part of it. Null without a proxy, where rounds differ, and in results of earlier versions.
    #[serde(default)]
    pub configuration_sha256: Option<String>,
    /// SHA-256 of its requests by load: of protocol, method, target, headers and body, with a name in place of the address.
    #[serde(default)]
    pub requests_sha256: BTreeMap<String, String>,
    /// Rounds that its numbers rest on.
    pub rounds: u32,
    /// Slices measured.
    pub slices: Slices,
    /// Copies of the arm that are alive in a round, each with processes of its own; its numbers are the mean of theirs.
    pub copies: u32,
    /// CPU time of the proxy's whole process per request, less its idle use, microseconds; of several proxies, of all
    /// together. In the closed loop, or under the first load where there is none. Null without a proxy.
    pub cpu_us_per_request: Option<Interval>,
    /// Highest rate of the closed loop, requests per second. Null when something else than the proxy set it.
    pub max_rate: Option<Interval>,
    /// Response time under the first open loop, microseconds.
    pub response_us: ResponseCost,
    /// Difference from `compared_with`.
    pub cost: Cost,
    /// Requests answered under the first open loop: what the quantiles of response time rest on.
    pub responses: u64,
    /// What its cost must be, where that is known beforehand.
    pub known_answer: Option<KnownAnswer>,
    /// The group that keys are exchanged on where its connections are secured, by its name in the registry of IANA; null where
    /// none of them is.
    #[serde(default)]
    pub key_exchange_group: Option<String>,
    /// Whether its function asks a companion.
    #[serde(default)]
    pub asks_companion: bool,
    /// CPU time of the companion that its function asks, per request, microseconds: part of the function's price, beside that
    /// of the proxy. Null where it asks none.
    pub companion_cpu_us_per_request: Option<Interval>,
    /// What the proxy's statistics say against its function having been at work, or gone where it was taken away: the numbers
    /// are of something else then.
    pub unproven: Vec<String>,
    /// How busy the proxies were under the closed loop, all together.
    pub proxy_use: Option<ProxyUse>,
    /// Under each load by itself, in the order of the plan; those that it was not measured under are left out.
    pub loads: Vec<ArmLoad>,
    /// Each proxy by itself, in the order in which a request meets them; empty without one.
    pub hops: Vec<HopUse>,
    /// Where its requests went, all loads together.
    pub book: Book,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
}

/// What an arm is in the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArmKind {
    /// No proxy: the generator speaks to the origin.
    #[default]
    Direct,
    /// A plain proxy that others are compared with.
    Baseline,
    /// A second copy of the baseline: the A/A arm, whose true cost is zero.
    Same,
    /// A proxy with one function of the catalogue turned on.
    Function,
    /// Proxies in a position of their own, compared with none.
    Position,
}

/// What the cost of an arm must be, because it is known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownAnswer {
    /// Smallest cost at the median of response time, microseconds; null where none is known.
    pub response_p50_low_us: Option<f64>,
    /// Largest.
    pub response_p50_high_us: Option<f64>,
    /// Cost in CPU time per request, microseconds, beyond an arm of the same function whose `cpu_us` is 0; null where none is
    /// known.
    #[serde(default)]
    pub cpu_us: Option<f64>,
}

/// What was found about an arm under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmLoad {
    /// The load.
    pub load: String,
    /// Requests per second that were planned in an open loop; null in a closed one.
    #[serde(default)]
    pub planned_rate: Option<f64>,
    /// Answered requests per second, whatever set it.
    pub rate: Option<Interval>,
    /// The same over that of `compared_with`.
    pub rate_ratio: Option<Interval>,
    /// Connections that the generator opened in a second, where the load has it open them anew; null where it keeps them.
    #[serde(default)]
    pub connections_per_second: Option<Interval>,
    /// Handshakes of TLS in a second in which keys were exchanged and certificates shown; null where there were none, and where
    /// connections are kept.
    #[serde(default)]
    pub full_handshakes_per_second: Option<Interval>,
    /// The same of handshakes that took up an earlier session.
    #[serde(default)]
    pub resumed_handshakes_per_second: Option<Interval>,
    /// Share of its processors that the proxy used, 0 to 1; null without a proxy.
    #[serde(default)]
    pub proxy_core_share: Option<f64>,
    /// CPU time of all proxies per request, less their idle use, microseconds. Null without a proxy.
    pub cpu_us_per_request: Option<Interval>,
    /// What the CPU time of the proxies went into; null without a proxy, and where the kernel did not tell.
    #[serde(default)]
    pub parts: Option<Parts>,
    /// The same beyond the parts of `compared_with`.
    #[serde(default)]
    pub added_parts: Option<Parts>,
    /// CPU time of the origin per request, microseconds.
    pub origin_cpu_us_per_request: Option<Interval>,
    /// CPU time of the companion that the function asks, per request, microseconds; null where it asks none.
    pub companion_cpu_us_per_request: Option<Interval>,
    /// CPU time of proxies, origins and companion together per request, microseconds.
    pub together_cpu_us_per_request: Option<Interval>,
    /// Bytes that the link carried per request, both ways, IP and TCP headers included; null without a link.
    pub link_bytes_per_request: Option<Interval>,
    /// Response time, microseconds.
    pub response_us: ResponseCost,
    /// Difference from `compared_with` under this load.
    #[serde(default)]
    pub cost: Cost,
    /// Answers by status, where the load expects several.
    #[serde(default)]
    pub statuses: Vec<StatusResult>,
    /// What a limit let pass over what it should have; null where there is none.
    pub admitted_ratio: Option<Interval>,
    /// Share of the answers that came within 1 ms, and share that took longer than 10 ms, 0 to 1.
    pub within_1_ms_share: Option<f64>,
    /// See `within_1_ms_share`.
    pub over_10_ms_share: Option<f64>,
    /// Requests answered, in slices that count.
    #[serde(default)]
    pub responses: u64,
    /// Where its requests went, in slices that count.
    #[serde(default)]
    pub book: Book,
    /// Failed requests by kind, in slices that count.
    #[serde(default)]
    pub failures: BTreeMap<String, u64>,
}

/// Answers of one status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusResult {
    /// The status.
    pub status: u16,
    /// How many there were.
    pub count: u64,
    /// Their share of all answers, 0 to 1.
    pub share: f64,
    /// How many there were in a second.
    pub per_second: Option<Interval>,
    /// Their response time, microseconds.
    pub response_us: ResponseCost,
}

/// Slices of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// Slices that every number may rest on.
    pub used: u64,
    /// Slices set aside because the host disturbed them; of some of these the CPU time counts.
    pub set_aside: u64,
    /// The same by what disturbed them; one slice may be under several.
    #[serde(default)]
    pub set_aside_by: BTreeMap<Disturbance, u64>,
    /// Planned slices of which no measurement counts: the host disturbed them, and again when there was time to measure them
    /// again.
    pub lost: u64,
    /// Planned slices of which only the CPU time counts: whenever they were measured the proxy waited for its processor.
    #[serde(default)]
    pub delayed: u64,
}

/// An arm's difference from the arm it is compared with. Null where not measured or withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// CPU time of the proxy per request, microseconds.
    pub cpu_us_per_request: Option<Interval>,
    /// The same as a share of that arm's CPU time per request: 0.1 for a tenth more.
    pub cpu_share: Option<Interval>,
    /// Response time, microseconds.
    pub response_us: ResponseCost,
    /// Share of the answers that took longer than 1 ms, 0 to 1.
    #[serde(default)]
    pub over_1_ms_share: Option<Interval>,
    /// Highest rate of the closed loop, requests per second: negative when the function lowers it.
    pub max_rate: Option<Interval>,
    /// Resident memory of all proxies of one copy at the end of a round, bytes. It belongs to no load: of a load it is null.
    #[serde(default)]
    pub memory_bytes: Option<Interval>,
    /// Resident memory for each connection that the generator opens to the first proxy, bytes. It belongs to no load, either.
    #[serde(default)]
    pub memory_per_connection_bytes: Option<Interval>,
}

/// Quantiles of response time, or differences of them, microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseCost {
    /// At the median.
    pub p50: Option<Interval>,
    /// At the 90th percentile.
    #[serde(default)]
    pub p90: Option<Interval>,
    /// At the 99th percentile.
    pub p99: Option<Interval>,
}

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What one proxy of an arm used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopUse {
    /// What it is: `client`, `server` (sidecars), `gateway` (a front proxy).
    pub name: String,
    /// Its CPU time per request, less its idle use, microseconds.
    pub cpu_us_per_request: Option<Interval>,
    /// Its resident memory at the end of a round, bytes.
    pub memory_bytes: Option<Interval>,
    /// By how much its resident memory grows when the generator opens connections to it, for each of them, bytes: they are idle,
    /// and nothing was asked on them yet. Null where none are opened to it.
    #[serde(default)]
    pub memory_per_connection_bytes: Option<Interval>,
}

/// How busy the proxy was under the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyUse {
    /// Share of its pinned processors that the proxy used under the closed loop, 0 to 1.
    pub core_share: f64,
    /// CPU that the proxy used while no load was offered, microseconds per second. In results of `hoptax.study/1` alone: since
    /// then proxies stand still between slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_us_per_second: Option<f64>,
}
