//! The cost of an arm: its differences from the arm that it is compared with, by measure.

mod share;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::{Interval, Measure, RoundMeasure, RoundNumbers};

pub use share::{CostShare, CostShares};

/// The difference between an arm and the arm that it is compared with. Null where not measured or withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// CPU time of the proxy per request, us.
    pub cpu_us_per_request: Option<Interval>,
    /// The same as a share of the CPU time per request of that arm: 0.1 for a tenth more.
    pub cpu_share: Option<Interval>,
    /// Response time, us.
    pub response_us: ResponseCost,
    /// Share of the responses that took longer than 1 ms, 0 to 1.
    pub over_1_ms_share: Option<Interval>,
    /// Highest rate of the closed loop, requests per second; negative when the function lowers it.
    pub max_rate: Option<Interval>,
    /// The costs in other measures than CPU time as shares of the levels of that arm. Empty in results of earlier versions.
    #[serde(default, skip_serializing_if = "CostShares::is_empty")]
    pub shares: CostShares,
    /// The costs whose sign is not supported: their intervals contain zero once they are as wide as they must be so that those of
    /// all arms hold together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain_signs: Vec<CostMeasure>,
    /// Costs in measures that are taken once per round. Not measured by load: none for a single load.
    #[serde(flatten)]
    #[schemars(schema_with = "crate::measures::costs_schema")]
    pub of_rounds: RoundNumbers,
}

impl Cost {
    /// A cost as a share of the level of the arm that it is a difference from, formed within rounds: 0.1 for a tenth more. None if it is
    /// not known, as in results of earlier versions: see [`crate::StudyBody::share_of_reference`].
    pub fn share(&self, measure: CostMeasure) -> Option<Interval> {
        match measure {
            CostMeasure::CpuUs | CostMeasure::CpuShare => self.cpu_share,
            other => self.shares.get(other).map(|one| one.share),
        }
    }
}

/// Quantiles of response time, or differences of them, us.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseCost {
    /// Median.
    pub p50: Option<Interval>,
    /// 90th percentile.
    pub p90: Option<Interval>,
    /// 99th percentile of all responses.
    pub p99: Option<Interval>,
    /// 99th percentile of the responses in quiet slices: while generator and proxies each waited for a processor for at most a small share
    /// of the time (`quiet_rule` of the plan). Null where the rule does not apply, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_p99: Option<Interval>,
}

/// A cost for which sittings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = with_measures_of_rounds)]
pub enum CostMeasure {
    /// CPU time of the proxies per request, us.
    CpuUs,
    /// The same as a share of the CPU time of the arm compared with: 0.1 for a tenth more.
    CpuShare,
    /// Median response time, us.
    ResponseP50Us,
    /// 90th percentile of response time, us.
    ResponseP90Us,
    /// 99th percentile of response time, us.
    ResponseP99Us,
    /// 99th percentile of response time in quiet slices, us.
    ResponseQuietP99Us,
    /// Highest rate of the closed loop, requests per second.
    MaxRate,
    /// A measure that an arm has once per round, by its name in results.
    #[serde(untagged)]
    #[schemars(skip)]
    OfRounds(#[serde(with = "crate::measures::by_field")] RoundMeasure),
}

fn with_measures_of_rounds(schema: &mut Schema) {
    let described = RoundMeasure::compared().map(RoundMeasure::definition);
    RoundMeasure::insert_into(schema, None, described.map(|measure| (measure.field, measure.cost)));
}

impl CostMeasure {
    /// All cost measures, in the order of results.
    pub fn all() -> Vec<Self> {
        let of_slices = Self::BY_LOAD.into_iter().chain([Self::MaxRate]);
        of_slices.chain(Self::of_rounds()).collect()
    }

    /// Measures that an arm has once per round.
    pub fn of_rounds() -> impl DoubleEndedIterator<Item = Self> {
        RoundMeasure::compared().map(Self::OfRounds)
    }

    /// The measures of slices that arms are compared in, with CPU time once: in us.
    pub const OF_SLICES: [Self; 6] = [
        Self::CpuUs,
        Self::MaxRate,
        Self::ResponseP50Us,
        Self::ResponseP90Us,
        Self::ResponseP99Us,
        Self::ResponseQuietP99Us,
    ];

    /// The measures that results have for each load as well.
    pub const BY_LOAD: [Self; 6] = [
        Self::CpuUs,
        Self::CpuShare,
        Self::ResponseP50Us,
        Self::ResponseP90Us,
        Self::ResponseP99Us,
        Self::ResponseQuietP99Us,
    ];

    /// Returns true if it is a quantile of response time.
    pub fn is_quantile(self) -> bool {
        Measure::RESPONSES.contains(&self.measure())
    }

    /// This measure of a cost.
    pub fn interval(self, cost: &Cost) -> Option<Interval> {
        match self {
            Self::CpuUs => cost.cpu_us_per_request,
            Self::CpuShare => cost.cpu_share,
            Self::ResponseP50Us => cost.response_us.p50,
            Self::ResponseP90Us => cost.response_us.p90,
            Self::ResponseP99Us => cost.response_us.p99,
            Self::ResponseQuietP99Us => cost.response_us.quiet_p99,
            Self::MaxRate => cost.max_rate,
            Self::OfRounds(measure) => cost.of_rounds.get(measure),
        }
    }

    /// Sets this measure of a cost.
    pub fn set(self, cost: &mut Cost, number: Option<Interval>) {
        match self {
            Self::CpuUs => cost.cpu_us_per_request = number,
            Self::CpuShare => cost.cpu_share = number,
            Self::ResponseP50Us => cost.response_us.p50 = number,
            Self::ResponseP90Us => cost.response_us.p90 = number,
            Self::ResponseP99Us => cost.response_us.p99 = number,
            Self::ResponseQuietP99Us => cost.response_us.quiet_p99 = number,
            Self::MaxRate => cost.max_rate = number,
            Self::OfRounds(measure) => cost.of_rounds.set(measure, number),
        }
    }

    /// The measure of a finding that concerns this cost.
    pub fn measure(self) -> Measure {
        match self {
            Self::CpuUs | Self::CpuShare => Measure::Cpu,
            Self::ResponseP50Us => Measure::ResponseP50,
            Self::ResponseP90Us => Measure::ResponseP90,
            Self::ResponseP99Us => Measure::ResponseP99,
            Self::ResponseQuietP99Us => Measure::ResponseQuietP99,
            Self::MaxRate => Measure::MaxRate,
            Self::OfRounds(measure) => Measure::OfRounds(measure),
        }
    }

    /// Its name in words.
    pub fn name(self) -> &'static str {
        self.words().split(',').next().unwrap_or_default()
    }

    /// Its name with the unit of tables, as in their headings. Tables show a share in percent and bytes in MiB or kB.
    pub fn words(self) -> &'static str {
        match self {
            Self::CpuUs => "CPU time per request, us",
            Self::CpuShare => "CPU time per request, % of the arm compared with",
            Self::ResponseP50Us => "p50 of response time, us",
            Self::ResponseP90Us => "p90 of response time, us",
            Self::ResponseP99Us => "p99 of response time, us",
            Self::ResponseQuietP99Us => "p99 of response time in quiet slices, us",
            Self::MaxRate => "max rate, requests/s",
            Self::OfRounds(measure) => measure.definition().heading,
        }
    }
}
