//! The bill of a proxy: the cost of its configuration, and the cost that each part adds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Bounds, CostMeasure, Decision, Environment, Interval, Report, ResponseCost, RoundNumbers, Verdict,
};

/// The bill of a given proxy configuration, from one study of the whole, the whole without each of its parts, and the whole
/// without all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillBody {
    /// The file of the configuration, as the user named it.
    pub configuration: String,
    /// Version of the proxy; null if unknown.
    pub proxy_version: Option<String>,
    /// The listener that takes the request.
    pub listener: String,
    /// The request.
    pub request: BilledRequest,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Rounds completed.
    pub rounds: u32,
    /// Requests per second that all numbers hold for; null if no round was completed.
    pub rate: Option<f64>,
    /// Spacing of these requests: `uniform` leaves no queue behind other callers. Null as `rate`.
    pub arrivals: Option<String>,
    /// Price of a core for an hour, in a currency of the user's choice; null if none was given.
    pub price_per_core_hour: Option<f64>,
    /// Hours of a month in `money_per_month`.
    pub hours_per_month: f64,
    /// The whole.
    pub whole: Charge,
    /// Its parts: those with a cost in CPU time first, the most expensive first.
    pub parts: Vec<BilledPart>,
    /// The cost without all measured parts: the proxy itself, and the parts that cannot be removed. Null if it was not measured.
    pub rest: Option<Charge>,
    /// The sum of the parts beside their cost together; null with fewer than two measured parts, and if one of the numbers is missing.
    pub sum: Option<BilledSum>,
    /// A second study of the sum and of pairs of parts. Null if none was made: the parts add up, the difference is undecided and within
    /// the margin, or there is no sum.
    pub second_study: Option<BilledSecondStudy>,
    /// The changes that were asked for, in their order.
    pub changes: Vec<BilledChange>,
    /// CPU time per request of a second copy of the whole less that of the whole, us: zero but for errors of the measurement.
    pub same_us: Option<Interval>,
    /// Extensions of the configuration that its Envoy lacks, so that no number contains them.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Nodes of the configuration that were replaced or removed so that it runs on this machine.
    pub replacements: Vec<BilledReplacement>,
}

/// Its report.
pub type BillResult = Report<BillBody>;

impl Body for BillBody {
    const FORMAT: &'static str = "hoptax.bill/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.configuration.clone()
    }
}

impl BillResult {
    /// The hours of a month: a twelfth of a year of 8,760 hours.
    pub const HOURS_PER_MONTH: f64 = 730.0;
    /// The arm with all parts.
    pub const WHOLE: &'static str = "whole";
    /// The second copy of the whole.
    pub const SAME: &'static str = "whole-again";
    /// The arm without any of the measured parts.
    pub const ALL_OFF: &'static str = "all-off";
    /// The folder of the second study, in the run folder.
    pub const SECOND_STUDY: &'static str = "second-study";
}

/// The request that a bill holds for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledRequest {
    /// Method.
    pub method: String,
    /// URL with the host that the request names.
    pub url: String,
    /// Names of its further headers. Values may be secret.
    pub headers: Vec<String>,
    /// Statuses of the responses to the whole when it was tried.
    pub statuses: Vec<u16>,
}

/// The cost of the whole, or the cost that a part adds to it. Null where not measured or withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// CPU time of the proxy's whole process per request, us.
    pub cpu_us_per_request: Option<Interval>,
    /// The same as a share of the whole: 0.1 for a tenth. Null for the whole.
    pub cpu_share: Option<Interval>,
    /// Response time, us.
    pub response_us: ResponseCost,
    /// Numbers in measures that are taken once per round.
    #[serde(flatten)]
    #[schemars(schema_with = "crate::measures::levels_schema")]
    pub of_rounds: RoundNumbers,
    /// The numbers whose sign is not supported once all parts are judged together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain_signs: Vec<CostMeasure>,
    /// Processor cores at `rate`: requests per second times CPU time per request.
    pub cores: Option<Interval>,
    /// These cores for `hours_per_month` at `price_per_core_hour`, in its currency.
    pub money_per_month: Option<Interval>,
    /// Bounds of the numbers that are withheld.
    #[serde(default, skip_serializing_if = "Bounds::is_empty")]
    pub bounds: Bounds,
}

impl Charge {
    /// Its number in a measure.
    pub fn number(&self, measure: CostMeasure) -> Option<Interval> {
        match measure {
            CostMeasure::CpuUs => self.cpu_us_per_request,
            CostMeasure::CpuShare => self.cpu_share,
            CostMeasure::ResponseP50Us => self.response_us.p50,
            CostMeasure::ResponseP90Us => self.response_us.p90,
            CostMeasure::ResponseP99Us => self.response_us.p99,
            CostMeasure::ResponseQuietP99Us => self.response_us.quiet_p99,
            CostMeasure::MaxRate => None,
            CostMeasure::OfRounds(measure) => self.of_rounds.get(measure),
        }
    }
}

/// A part of a configuration, and the cost that it adds to the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledPart {
    /// Its kind, for example `HTTP filter`.
    pub kind: String,
    /// Its name in the configuration.
    pub name: String,
    /// Its file and line, or its file and JSON pointer.
    pub place: String,
    /// The arm without it; null if it was not measured.
    pub arm: Option<String>,
    /// Reason why it was not measured; null if it was.
    pub not_measured: Option<String>,
    /// Evidence that it acted on the request.
    pub activity: Activity,
    /// The whole less the whole without the part. For a part that is not exercised, this is its cost when idle.
    pub cost: Charge,
}

/// Activity of a part on the requests, by the statistics of the proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", tag = "state", deny_unknown_fields)]
pub enum Activity {
    /// One of its statistics changed, more than it does without the part.
    Exercised {
        /// The statistic.
        statistic: String,
    },
    /// None of its statistics changed, or each as much as without the part: parts may share statistics.
    NotExercised {
        /// The statistics; `*` is a wildcard.
        statistics: Vec<String>,
        /// Kind of request that would exercise it; null if unknown.
        exercised_by: Option<String>,
    },
    /// It has no statistic of its own.
    Unknown {
        /// Kind of request that exercises it; null if unknown.
        exercised_by: Option<String>,
    },
}

/// A change of the configuration that was measured beside the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledChange {
    /// The change as the user stated it: `FROM -> TO`.
    pub change: String,
    /// The arm with it; null if it was not measured.
    pub arm: Option<String>,
    /// Reason why it was not measured; null if it was.
    pub not_measured: Option<String>,
    /// Differences between its answer and that of the whole, one sentence each. If there are any, the difference in cost is that of
    /// different work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer_differences: Vec<String>,
    /// Activity of the replacement on the request.
    pub activity: Activity,
    /// The changed proxy less the whole: below zero if the change saves.
    pub difference: Charge,
}

/// A node of the configuration that was replaced or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledReplacement {
    /// Its file and line, or its file and JSON pointer.
    pub place: String,
    /// The original node in words. Secrets are described, never quoted.
    pub node: String,
    /// Its replacement, or `removed` with the reason.
    pub with: String,
    /// True for an extension that was left out because it cannot run on this machine: no number contains it.
    #[serde(default)]
    pub is_left_out: bool,
}

/// The second study of a bill, after the first one had found that the parts do not add up, or may not: all parts again, and pairs of
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledSecondStudy {
    /// Verdict of the second study.
    pub verdict: Verdict,
    /// Its completed rounds.
    pub rounds: u32,
    /// The sum of the parts in this study, whose numbers were not selected by the first one. Null if one of the numbers is missing.
    pub sum: Option<BilledSum>,
    /// The pairs of the most expensive parts, those that act on the request first; empty with fewer than three measured parts.
    pub pairs: Vec<BilledPair>,
    /// Sum of the interactions of the pairs that were measured together, us of CPU time per request; null if there are none, and if
    /// a number of one is withheld. It is all of [`BilledSum::interaction_us`] if no other parts interact and no three parts do.
    pub pairs_us: Option<Interval>,
}

/// Two parts, one by one and together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledPair {
    /// Names of the two parts, each with its kind.
    pub parts: [String; 2],
    /// Their costs, one by one and together; null if not measured or withheld.
    pub sum: Option<BilledSum>,
    /// Reason why it was not measured; null if it was.
    pub not_measured: Option<String>,
}

/// The costs of several parts together, us of CPU time per request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BilledSum {
    /// The sum of the costs of the parts, each removed alone.
    pub parts_us: Interval,
    /// Cost of all of them, removed together: the whole less the rest.
    pub together_us: Interval,
    /// The sum less the cost together: above zero if parts make each other more expensive, since removing one of two then
    /// saves the extra cost, and below zero if they share work, since removing one leaves it to the other. Its interval
    /// is that of this difference over rounds, not the sum of the others.
    pub interaction_us: Interval,
    /// The same as a share of the whole, formed within rounds.
    pub interaction_share: Interval,
    /// `equivalent` if the parts add up within [`BilledSum::MARGIN_SHARE`] of the whole, `different` if the interaction is
    /// certain, `undecided` if more rounds are needed to say.
    pub decision: Decision,
    /// Total number of rounds after which it is probably decided; null if it is decided, or out of reach.
    pub rounds_until_decided: Option<u32>,
}

impl BilledSum {
    /// Largest interaction that does not matter, as a share of the whole.
    pub const MARGIN_SHARE: f64 = 0.05;
}
