//! What one study found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Book, Environment, Finding, Loop, Verdict};

/// Everything that a study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyResult {
    /// Name and version of this format: `hoptax.study/1`.
    pub format: String,
    /// Name of the study.
    pub name: String,
    /// What it asks, in a sentence.
    pub summary: String,
    /// What the findings add up to.
    pub verdict: Verdict,
    /// Failed and warned checks.
    pub findings: Vec<Finding>,
    /// The machine.
    pub environment: Environment,
    /// What was planned, and how much of it was done.
    pub plan: StudyPlan,
    /// What the generator did, one entry per load.
    pub generator: Vec<GeneratorUse>,
    /// What the host took.
    pub host: HostUse,
    /// One entry per arm, in the order of the study file.
    pub arms: Vec<ArmResult>,
}

/// What was planned, and how much of it was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyPlan {
    /// Seed of every random order.
    pub seed: u64,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// Rounds planned.
    pub rounds_planned: u32,
    /// Rounds completed.
    pub rounds_completed: u32,
    /// Confidence of every interval, 0 to 1.
    pub confidence: f64,
    /// The rule by which slices were set aside, fixed beforehand, in a sentence.
    pub set_aside_rule: String,
    /// The link between callers and the rest; null without one.
    pub link: Option<LinkPlan>,
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// How long the study took, seconds.
    pub wall_seconds: f64,
    /// Why the study ended before its last round; absent when it did not.
    pub ended_early: Option<String>,
    /// After how many rounds the study was taken up again, each time.
    #[serde(default)]
    pub resumed_after_rounds: Vec<u32>,
    /// Share of requests without an answer that is tolerated.
    pub max_error_share: f64,
}

/// A link between callers and the rest, each way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// From departure to arrival, microseconds.
    pub delay_us: f64,
    /// By how much more or less that is for each packet, at most, microseconds.
    pub jitter_us: f64,
    /// Bits per second; null for no limit.
    pub rate_bits_per_second: Option<u64>,
    /// Share of packets that is lost, 0 to 1.
    pub loss_share: f64,
}

/// What the generator did under one load, over all arms and rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorUse {
    /// The load.
    pub load: String,
    /// How late the generator itself sent, 99th percentile, microseconds. Null in a closed loop.
    pub own_lag_p99_us: Option<f64>,
    /// Share of the wall time that the generator's thread was on a processor, 0 to 1.
    pub core_share: f64,
    /// Share of the wall time that the processors of generator and origin were busy, 0 to 1.
    pub processors_share: f64,
    /// Share of the wall time that the generator's thread waited for a processor, 0 to 1.
    pub run_delay_share: f64,
}

/// What the host took, over the whole study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostUse {
    /// Share of the processors' time that went to others while this machine had work, 0 to 1.
    pub steal_share: f64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the median of the
    /// slices that count. Null when they share a processor.
    pub handover_ns: Option<f64>,
    /// Time waited until the host had the two processors together again, seconds.
    pub waited_s: f64,
    /// Share of the proxies' slices that they waited for their processor, in the slices that were used, 0 to 1.
    pub proxy_run_delay_share: f64,
    /// The baseline's CPU time per request in the last third of the rounds over that in the first third, less
    /// one. Null with fewer than three rounds.
    pub drift_share: Option<f64>,
    /// How much of what the slices around it deviate in CPU time a slice deviates too, 0 to 1. Costs in CPU time are those
    /// at the machine's usual speed in the study, as the block and so much of these slices tell it. Null where nothing can be
    /// said, as with one round.
    pub neighbour_weight: Option<f64>,
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

/// What the response cost of an arm must be, because it is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownAnswer {
    /// Smallest cost at the median of response time, microseconds.
    pub response_p50_low_us: f64,
    /// Largest.
    pub response_p50_high_us: f64,
}

/// One load of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Its name in the study file.
    pub name: String,
    /// Open or closed.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// Requests per second; absent in a closed loop.
    pub rate: Option<f64>,
    /// How release times are drawn; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections to each arm.
    pub connections: u32,
    /// Requests after which a connection is closed and opened anew; null for as many as the other side takes.
    pub requests_per_connection: Option<u32>,
    /// Who calls: `hoptax` or `php`.
    pub caller: String,
    /// Slices that each arm gets in a round.
    pub blocks: u32,
    /// Length of a slice, seconds.
    pub slice_s: f64,
}

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
    /// Response time at the fixed rate, microseconds.
    pub response_us: ResponseCost,
    /// Difference from `compared_with`.
    pub cost: Cost,
    /// Requests answered at the fixed rate: what the quantiles of response time rest on.
    pub responses: u64,
    /// What its response cost must be, where that is known beforehand.
    pub known_answer: Option<KnownAnswer>,
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

/// What was found about an arm under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmLoad {
    /// The load.
    pub load: String,
    /// Answered requests per second, whatever set it.
    pub rate: Option<Interval>,
    /// The same over that of `compared_with`.
    pub rate_ratio: Option<Interval>,
    /// CPU time of all proxies per request, less their idle use, microseconds. Null without a proxy.
    pub cpu_us_per_request: Option<Interval>,
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
    /// Answers by status, where the load expects several.
    #[serde(default)]
    pub statuses: Vec<StatusResult>,
    /// What a limit let pass over what it should have; null where there is none.
    pub admitted_ratio: Option<Interval>,
    /// Share of the answers that came within 1 ms, and share that took longer than 10 ms, 0 to 1.
    pub within_1_ms_share: Option<f64>,
    /// See `within_1_ms_share`.
    pub over_10_ms_share: Option<f64>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// Slices that the numbers rest on.
    pub used: u64,
    /// Slices set aside because the host disturbed them.
    pub set_aside: u64,
    /// Planned slices of which no measurement counts: the host disturbed them, and again when there was time to measure them
    /// again.
    pub lost: u64,
}

/// An arm's difference from the arm it is compared with. Null where not measured or withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// CPU time of the proxy per request, microseconds.
    pub cpu_us_per_request: Option<Interval>,
    /// The same as a share of that arm's CPU time per request: 0.1 for a tenth more. A machine whose speed wanders
    /// changes this far less than microseconds.
    pub cpu_share: Option<Interval>,
    /// Response time at the fixed rate, microseconds.
    pub response_us: ResponseCost,
    /// Highest rate of the closed loop, requests per second: negative when the function lowers it.
    pub max_rate: Option<Interval>,
}

/// Quantiles of response time, or differences of them, microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseCost {
    /// At the median.
    pub p50: Option<Interval>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopUse {
    /// What it is: `client`, `server` (sidecars), `gateway` (a front proxy).
    pub name: String,
    /// Its CPU time per request, less its idle use, microseconds.
    pub cpu_us_per_request: Option<Interval>,
    /// Its resident memory at the end of a round, bytes.
    pub memory_bytes: Option<Interval>,
}

/// How busy the proxy was under the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyUse {
    /// Share of its pinned processors that the proxy used under the closed loop, 0 to 1.
    pub core_share: f64,
    /// CPU that the proxy used while no load was offered, microseconds per second.
    pub idle_us_per_second: f64,
}
