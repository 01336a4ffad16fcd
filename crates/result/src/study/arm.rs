//! The results of one arm.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, BoundOf, Bounds, Cost, CostMeasure, GeneratorUse, PlannedNetwork, PlannedSubject, ResponseCost,
};
use crate::{Book, Capacity, Disturbance, Interval, Parts, Reasons, RoundNumbers};

/// The results of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmResult {
    /// Its id in the study, for example `route/path{routes=200}`.
    pub id: String,
    /// Its role in the study.
    pub kind: ArmKind,
    /// The catalogue function that it enables; absent for `direct`, the baselines, and an arm with several functions.
    pub function: Option<String>,
    /// The knobs of the function, as measured.
    pub knobs: BTreeMap<String, String>,
    /// A one-line description.
    pub summary: String,
    /// Its proxies and the connections between them, as planned; null in results of earlier versions.
    pub subject: Option<PlannedSubject>,
    /// The arm that its cost is the difference from; absent for a baseline.
    pub compared_with: Option<String>,
    /// SHA-256 of the inputs that its proxies were started with: their rendered configuration, the files and environment that its
    /// function adds, and their workers. Ports chosen by the kernel and the folder of the run are replaced by names
    /// first; certificates are not included. Null without a proxy, if rounds differ, and in results of earlier
    /// versions.
    pub configuration_sha256: Option<String>,
    /// SHA-256 of its requests by load: of protocol, method, target, headers and body, with a name instead of the
    /// address.
    #[serde(default)]
    pub requests_sha256: BTreeMap<String, String>,
    /// Rounds that its numbers are based on.
    pub rounds: u32,
    /// Slices measured.
    pub slices: Slices,
    /// Copies of the arm in a round, each with its own processes; its numbers are means over copies.
    pub copies: u32,
    /// CPU time of the proxy's whole process per request, background work included, us; the sum of several proxies. In the
    /// closed loop, or under the first load if there is none. Null without a proxy.
    pub cpu_us_per_request: Option<Interval>,
    /// Highest rate of the closed loop, requests per second. Null if limited by something other than the proxy.
    pub max_rate: Option<Interval>,
    /// Response time under the first open loop, us.
    pub response_us: ResponseCost,
    /// Difference from `compared_with`.
    pub cost: Cost,
    /// Bounds of numbers above that are null, under the usual load of their measure: a level of `cpu_us_per_request`, `max_rate` or
    /// `response_us`, or a cost. A number that is stated has no bound.
    #[serde(default, skip_serializing_if = "Bounds::is_empty")]
    pub bounds: Bounds,
    /// Requests answered under the first open loop, which the quantiles of response time are based on.
    pub responses: u64,
    /// Its cost, if known in advance.
    pub known_answer: Option<KnownAnswer>,
    /// The key exchange group of its TLS connections, by its name in the IANA registry; null if it has none.
    pub key_exchange_group: Option<String>,
    /// True if its function calls a companion.
    #[serde(default)]
    pub asks_companion: bool,
    /// CPU time per request of the companion that its function calls, us: part of the function's price, in addition to
    /// that of the proxy. Null if it calls none.
    pub companion_cpu_us_per_request: Option<Interval>,
    /// Statistics of the proxy that show that its function was not active, or not removed; the numbers then describe
    /// something else.
    pub unproven: Vec<String>,
    /// Its answer before the first round, if it has a configuration or a server of the user, or is compared with another arm that is no
    /// baseline.
    pub answer: Option<Answer>,
    /// Processor use of all proxies under the closed loop.
    pub proxy_use: Option<ProxyUse>,
    /// The rate that it can take, on the connections of the first load that needs one; null unless a load is a share of it, and in results
    /// of earlier versions. Loads that use connections otherwise have other capacities, which are not stated.
    pub capacity: Option<Capacity>,
    /// The results under each load, in the order of the plan, without loads that it was not measured under.
    pub loads: Vec<ArmLoad>,
    /// The results of each proxy, in the order in which a request passes them; empty without one.
    pub hops: Vec<HopUse>,
    /// Its CPU time by layer, which adds up to that of the rounds with a profile; empty without profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerUse>,
    /// Its CPU time by frame of its stacks, of all rounds with a profile: each frame comes after the one that calls it, and the first is
    /// around all. Empty without profiles, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameUse>,
    /// Top-down counters of its proxies; empty without profiles, and if the processor does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_down: Vec<TopDownPart>,
    /// CPU time per request that the profiler added to the proxies while it took samples, as a share of theirs without it. It is
    /// in no other number. Null without profiles.
    pub profiler_share: Option<Interval>,
    /// Accounts of its requests, all loads together.
    pub book: Book,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
}

impl ArmResult {
    /// The network between its callers and its proxies; none for the loopback interface.
    pub fn network(&self) -> Option<&PlannedNetwork> {
        self.subject.as_ref()?.network.as_ref()
    }

    /// Its results under a load; none if it was not measured under it.
    pub fn under(&self, load: &str) -> Option<&ArmLoad> {
        self.loads.iter().find(|one| one.load == load)
    }

    /// Its cost under a load, or without one that of the arm itself.
    pub fn cost_under(&self, load: Option<&str>) -> Option<&Cost> {
        load.map_or(Some(&self.cost), |load| Some(&self.under(load)?.cost))
    }

    /// Its bounds under a load, or without one those of the arm itself.
    pub fn bounds_under(&self, load: Option<&str>) -> Option<&Bounds> {
        load.map_or(Some(&self.bounds), |load| Some(&self.under(load)?.bounds))
    }

    /// Its level in the unit of a measure, from which a cost is the difference. Measures of rounds, such as memory, add up over several
    /// proxies, which may depend on each other in any way, unless they are measures of the first proxy. None if it is withheld or
    /// not measured, without a proxy, and if that of one of the proxies is not known.
    pub fn level(&self, measure: CostMeasure) -> Option<Interval> {
        match measure {
            CostMeasure::CpuUs | CostMeasure::CpuShare => self.cpu_us_per_request,
            CostMeasure::ResponseP50Us => self.response_us.p50,
            CostMeasure::ResponseP90Us => self.response_us.p90,
            CostMeasure::ResponseP99Us => self.response_us.p99,
            CostMeasure::ResponseQuietP99Us => self.response_us.quiet_p99,
            CostMeasure::MaxRate => self.max_rate,
            CostMeasure::OfRounds(measure) => {
                let of_first = measure.definition().is_of_first_proxy;
                let proxies = self.hops.iter().take(if of_first { 1 } else { usize::MAX });
                let numbers = proxies.map(|proxy| proxy.of_rounds.get(measure));
                Interval::sum_of_dependent(&numbers.collect::<Option<Vec<Interval>>>()?)
            }
        }
    }

    /// Its level in the measures of slices under a load, or without one [`Self::level`]. None also if it was not measured under the load.
    pub fn level_under(&self, load: Option<&str>, measure: CostMeasure) -> Option<Interval> {
        let Some(load) = load else { return self.level(measure) };
        let under = self.under(load)?;
        match measure {
            CostMeasure::CpuUs | CostMeasure::CpuShare => under.cpu_us_per_request,
            CostMeasure::ResponseP50Us => under.response_us.p50,
            CostMeasure::ResponseP90Us => under.response_us.p90,
            CostMeasure::ResponseP99Us => under.response_us.p99,
            CostMeasure::ResponseQuietP99Us => under.response_us.quiet_p99,
            CostMeasure::MaxRate => under.rate,
            CostMeasure::OfRounds(_) => None,
        }
    }

    /// The number that a bound may be about, if it is stated: its level or its cost, under a load or without one of the arm itself.
    pub fn stated(&self, of: BoundOf, load: Option<&str>, measure: CostMeasure) -> Option<Interval> {
        match of {
            BoundOf::Level => self.level_under(load, measure),
            BoundOf::Cost => measure.interval(self.cost_under(load)?),
        }
    }

    /// Removes that number, so that a bound can take its place, and its parts. No bound is about a level in a measure of rounds, so such a
    /// level stays.
    pub fn withdraw(&mut self, of: BoundOf, load: Option<&str>, measure: CostMeasure) {
        if matches!(measure, CostMeasure::CpuUs | CostMeasure::CpuShare) {
            self.withdraw_parts_of_cpu(of, load);
        }
        let (cost, cpu, responses, rate) = match load {
            None => (&mut self.cost, &mut self.cpu_us_per_request, &mut self.response_us, &mut self.max_rate),
            Some(load) => {
                let Some(under) = self.loads.iter_mut().find(|one| one.load == load) else { return };
                (&mut under.cost, &mut under.cpu_us_per_request, &mut under.response_us, &mut under.rate)
            }
        };
        match (of, measure) {
            (BoundOf::Cost, _) => {
                measure.set(cost, None);
                cost.shares.set(measure, None);
            }
            (BoundOf::Level, CostMeasure::CpuUs | CostMeasure::CpuShare) => *cpu = None,
            (BoundOf::Level, CostMeasure::ResponseP50Us) => responses.p50 = None,
            (BoundOf::Level, CostMeasure::ResponseP90Us) => responses.p90 = None,
            (BoundOf::Level, CostMeasure::ResponseP99Us) => responses.p99 = None,
            (BoundOf::Level, CostMeasure::ResponseQuietP99Us) => responses.quiet_p99 = None,
            (BoundOf::Level, CostMeasure::MaxRate) => *rate = None,
            (BoundOf::Level, CostMeasure::OfRounds(_)) => {}
        }
    }

    /// Removes the parts of a level or a cost in CPU time: the levels of the proxies, and the breakdown under a load.
    fn withdraw_parts_of_cpu(&mut self, of: BoundOf, load: Option<&str>) {
        let Some(load) = load else {
            if of == BoundOf::Level {
                self.hops.iter_mut().for_each(|hop| hop.cpu_us_per_request = None);
            }
            return;
        };
        let Some(under) = self.loads.iter_mut().find(|one| one.load == load) else { return };
        let parts = match of {
            BoundOf::Level => &mut under.parts,
            BoundOf::Cost => &mut under.added_parts,
        };
        parts.iter_mut().flat_map(Parts::all_mut).for_each(|part| *part = None);
    }

    /// True for an arm that checks the method by a known answer; its function is of no use in production.
    pub fn is_control(&self) -> bool {
        self.function.as_deref().is_some_and(|id| id.starts_with("control/"))
    }
}

/// CPU time of the proxies of an arm in one layer: a part of the kernel, a library, or a part of the proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerUse {
    /// The layer.
    pub layer: String,
    /// CPU time per request, us.
    pub cpu_us_per_request: Interval,
    /// Difference from `compared_with`, us; null without a profile of both.
    pub added_us_per_request: Option<Interval>,
}

/// A frame on the stacks of the proxies of an arm, within those that call it. It is computed from the stacks in the run folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameUse {
    /// Its name: that of a function in the code of a proxy, a library or the kernel.
    pub name: String,
    /// Number of frames around it.
    pub depth: u32,
    /// CPU time per request of its own, and of the frames that it calls and that are too small to be listed, by round, us. Empty if it
    /// has none in any round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_us: Vec<f64>,
    /// The same in the arm of `compared_with`, in the same rounds. Empty likewise, and without such an arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared_us: Vec<f64>,
}

/// A part of the issue slots of the processor while it ran the proxies of an arm, such as `retiring` or `frontend bound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopDownPart {
    /// The part, as perf names it.
    pub part: String,
    /// Its share of the issue slots.
    pub share: Interval,
}

/// The role of an arm in the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArmKind {
    /// No proxy: the generator connects to the origin.
    #[default]
    Direct,
    /// A plain proxy that others are compared with.
    Baseline,
    /// A second copy of the baseline: the A/A arm, whose true cost is zero.
    Same,
    /// A proxy with one function of the catalogue enabled.
    Function,
    /// Proxies at a position of their own, compared with no proxy; a function of a mesh in a cluster, compared with the mesh.
    Position,
    /// A server that already ran and is never restarted, so its intervals cover no restart.
    External,
}

/// The cost of an arm that is known in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownAnswer {
    /// Lower limit of the cost at the median of response time, us; null if not known.
    pub response_p50_low_us: Option<f64>,
    /// Upper limit of it; null if not known, as for several functions of which only some have a known cost.
    pub response_p50_high_us: Option<f64>,
    /// Cost in CPU time per request, us, in addition to that of an arm of the same function with `cpu_us` 0; null if
    /// not known.
    pub cpu_us: Option<f64>,
}

/// The results of an arm under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmLoad {
    /// The load.
    pub load: String,
    /// Planned requests per second in an open loop; null in a closed one.
    pub planned_rate: Option<f64>,
    /// Answered requests per second, whatever limited them.
    pub rate: Option<Interval>,
    /// Its rate divided by that of `compared_with`.
    pub rate_ratio: Option<Interval>,
    /// Connections opened per second, if the load reopens them; null if it keeps them.
    pub connections_per_second: Option<Interval>,
    /// Full TLS handshakes per second, with key exchange and certificates; null if there were none, and if connections
    /// are kept.
    pub full_handshakes_per_second: Option<Interval>,
    /// Resumed TLS handshakes per second; null likewise.
    pub resumed_handshakes_per_second: Option<Interval>,
    /// CPU time of the proxies as a share of the slice's time between the readings of counters (`wall_s`), summed over
    /// threads; null without a proxy.
    pub proxy_core_share: Option<f64>,
    /// Busy share of the proxies, 0 to 1: their CPU time as a share of the capacity of the processors that they may use, while requests are
    /// in flight. Of several proxies, it is the highest share: that of the one which limits the rate. Null without a proxy, if not known,
    /// and in results of earlier versions.
    pub proxy_busy_share: Option<f64>,
    /// Busy share of these processors by all processes of the study that run on them, 0 to 1. It is above `proxy_busy_share` where proxies
    /// share processors with the generator or the origin. Null likewise.
    pub proxy_processors_busy_share: Option<f64>,
    /// Use of the generator for this arm; null in results of earlier versions.
    pub generator: Option<GeneratorUse>,
    /// CPU time of all proxies per request, background work included, us. Null without a proxy.
    pub cpu_us_per_request: Option<Interval>,
    /// Breakdown of the CPU time of the proxies; null without a proxy, and if the kernel does not report it.
    pub parts: Option<Parts>,
    /// Difference of the breakdown from that of `compared_with`.
    pub added_parts: Option<Parts>,
    /// CPU time of the origin per request, us.
    pub origin_cpu_us_per_request: Option<Interval>,
    /// CPU time per request of the companion that the function calls, us; null if it calls none.
    pub companion_cpu_us_per_request: Option<Interval>,
    /// CPU time of proxies, origins and companion together per request, us.
    pub together_cpu_us_per_request: Option<Interval>,
    /// CPU time of generator, proxies, origins and companion together per request, us: the kernel does much of its work on a
    /// packet in the process that sends it. Null in a study without networks.
    pub all_cpu_us_per_request: Option<Interval>,
    /// Packets that arrived from callers where the proxies are, per request; null without a network.
    pub received_packets_per_request: Option<Interval>,
    /// Bytes on the link per request, both directions, including IP and TCP headers; null without a link.
    pub link_bytes_per_request: Option<Interval>,
    /// Response time, us.
    pub response_us: ResponseCost,
    /// Difference from `compared_with` under this load.
    #[serde(default)]
    pub cost: Cost,
    /// Bounds of numbers of this load that are null: a level of `cpu_us_per_request` or `response_us`, or a cost. A number that is stated
    /// has no bound.
    #[serde(default, skip_serializing_if = "Bounds::is_empty")]
    pub bounds: Bounds,
    /// Responses by status, if the load expects several.
    #[serde(default)]
    pub statuses: Vec<StatusResult>,
    /// Requests that a limit admitted, divided by those that it should have admitted; null without a limit.
    pub admitted_ratio: Option<Interval>,
    /// Share of the responses within 1 ms, 0 to 1, and share that took longer than 10 ms.
    pub within_1_ms_share: Option<f64>,
    /// See `within_1_ms_share`.
    pub over_10_ms_share: Option<f64>,
    /// Half-width that the interval of its cost in p99 has or, with too few responses for p99, would have, us: for a
    /// forecast of the rounds that p99 needs. Null without a cost, and in results of earlier versions.
    pub cost_p99_half_width_us: Option<f64>,
    /// The same of its cost in quiet p99. Null likewise, and where the rule of quiet slices does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_quiet_p99_half_width_us: Option<f64>,
    /// Share of `responses` that the quiet p99 rests on, 0 to 1: those in slices in which generator and proxies each waited for a
    /// processor for at most the share of `quiet_rule`. Null where that rule does not apply, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_share: Option<f64>,
    /// Effective number of responses in quiet slices, of which the quiet p99 needs 10,000: rounds weigh the same in it, so rounds of unequal
    /// size count as fewer responses than there are, `quiet_share` of `responses`. Null likewise, and of several sittings together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_effective_responses: Option<u64>,
    /// Requests answered, in slices that count.
    #[serde(default)]
    pub responses: u64,
    /// Accounts of its requests, in slices that count.
    #[serde(default)]
    pub book: Book,
    /// Failed requests by kind, in slices that count.
    #[serde(default)]
    pub failures: BTreeMap<String, u64>,
    /// First reasons of failed requests by kind, with their number of requests, where they are known.
    #[serde(default, skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl ArmLoad {
    /// Busy share of the proxies, 0 to 1. Results of earlier versions only have the CPU time as a share of one processor, which is the same
    /// for proxies that share one.
    pub fn busy_share(&self) -> Option<f64> {
        self.proxy_busy_share.or(self.proxy_core_share)
    }
}

/// Responses of one status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusResult {
    /// The status.
    pub status: u16,
    /// Number of responses.
    pub count: u64,
    /// Their share of all responses, 0 to 1.
    pub share: f64,
    /// Responses per second.
    pub per_second: Option<Interval>,
    /// Their response time, us.
    pub response_us: ResponseCost,
}

/// Numbers of slices of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// Slices that count for all measures.
    pub used: u64,
    /// Slices set aside because the host disturbed them; the CPU time of some of these counts.
    pub set_aside: u64,
    /// Slices set aside by disturbance; a slice may have several.
    #[serde(default)]
    pub set_aside_by: BTreeMap<Disturbance, u64>,
    /// Planned slices without a measurement that counts: the host disturbed them, and their repetitions if there was
    /// time for any.
    pub lost: u64,
    /// Planned slices of which only the CPU time counts, since the proxy waited for its processor in every measurement
    /// of them.
    #[serde(default)]
    pub delayed: u64,
}

/// Resource use of one proxy of an arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopUse {
    /// Its position: `client`, `server` (sidecars), `gateway` (a front proxy); or its name in the study file; or `external` for a
    /// server that already ran.
    pub name: String,
    /// Its CPU time per request, background work included, us.
    pub cpu_us_per_request: Option<Interval>,
    /// Its numbers in measures that are taken once per round.
    #[serde(flatten)]
    #[schemars(schema_with = "crate::measures::levels_schema")]
    pub of_rounds: RoundNumbers,
}

/// Processor use of the proxy under the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyUse {
    /// CPU time of the proxies under the closed loop as a share of the slice's time between the readings of counters
    /// (`wall_s`), summed over threads.
    pub core_share: f64,
    /// See `proxy_processors_busy_share` of a load.
    pub processors_busy_share: Option<f64>,
}

impl ProxyUse {
    /// Busy share of the processors that the proxies may use, 0 to 1; see [`ArmLoad::busy_share`] for results of earlier versions.
    pub fn processors_busy_share(&self) -> f64 {
        self.processors_busy_share.unwrap_or(self.core_share)
    }
}
