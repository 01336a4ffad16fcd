//! The result of a search: the highest rate at which a server holds objectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Environment, Finding, Interval, LoadPlan, Measured, Mode, ProcessAccount, Report, Severity,
};

/// Reason for the end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindEnd {
    /// Every goal has its result.
    Complete,
    /// The next trial did not fit into the budget.
    Budget,
    /// It was interrupted.
    Interrupt,
    /// A trial could not run: the server ended, for example.
    Failure,
}

/// State of a search for a goal at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindState {
    /// The interval is as narrow as requested.
    Found,
    /// The search ended before that: the interval is wider.
    Bounded,
    /// The objectives hold at the highest rate of the search: the server may carry more.
    MaximumHeld,
    /// The objectives do not hold at the lowest rate of the search.
    MinimumFailed,
    /// Trials at the upper rate do not count, usually because the generator cannot produce it: the server may carry more than the
    /// lower one.
    GeneratorLimited,
    /// The search ended before it knew both a rate that holds and one that fails.
    Unfinished,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindBody {
    /// Reason for its end: `complete`, `budget`, `interrupt` or `failure`.
    pub ended_by: FindEnd,
    /// The fastest mode of the response times; null unless the goal was to keep it.
    pub fastest_mode: Option<FastestMode>,
    /// The goals, each with its result: one for all objectives, or one for each of them with `--each`. None if the goal was to keep a
    /// fastest mode and there is no such mode, or it is not known.
    pub goals: Vec<FoundGoal>,
    /// Requested width of the interval of a rate.
    pub evidence: FindEvidence,
    /// Arrival process of all trials.
    pub arrivals: String,
    /// The lowest rate of the search, requests per second.
    pub min_rate: f64,
    /// The highest rate of the search, requests per second.
    pub max_rate: f64,
    /// Responses per second of a closed loop before the search, where it began.
    pub closed_loop_rate: f64,
    /// Time limit of the search, seconds.
    pub budget_s: f64,
    /// For a search that ended undecided: a time limit that suffices to show that its next rate holds, if no request is late or lost there,
    /// seconds. Null for other searches, and in results of earlier versions.
    pub deciding_budget_s: Option<f64>,
    /// Time that it took, seconds.
    pub took_s: f64,
    /// The trials, in order.
    pub trials: Vec<FindTrial>,
    /// Response times at rates up to the highest that was found; null without `--sweep`.
    pub sweep: Option<Sweep>,
    /// The closed loop. All trials have its requests and connections.
    pub plan: LoadPlan,
}

/// Its report.
pub type FindResult = Report<FindBody>;

impl Body for FindBody {
    const FORMAT: &'static str = "hoptax.find/3";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.plan.url.clone()
    }

    fn duration_s(&self) -> Option<f64> {
        Some(self.took_s)
    }

    /// Those about goals that are not settled, and about a fastest mode that is not known.
    fn own_findings(&self) -> Vec<Finding> {
        let unknown = self.fastest_mode.as_ref().and_then(FastestMode::unknown).map(|why| {
            let message = format!("the fastest mode is not known: {why}");
            let advice = "stop other work, or send from a machine with more processors";
            Finding::new("unknown-mode", Severity::Warn, Measured::count(0.0, 0.0, ""), message, advice)
        });
        self.goals.iter().filter_map(FoundGoal::unsettled).chain(unknown).collect()
    }

    /// Void if no goal has a rate because something other than the server limited the search.
    fn is_void(&self) -> bool {
        self.goals.iter().all(|goal| goal.rate.is_none()) && !self.own_findings().is_empty()
    }
}

/// The fastest mode of the response times of a server that is slower when it is crowded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastestMode {
    /// The mode; null if response times have a single mode, or if a load that would show it does not count.
    pub mode: Option<Mode>,
    /// Response times up to here belong to it, us.
    pub limit_us: Option<f64>,
    /// The loads that show it: a closed loop and, if that has only one mode, one at a low rate.
    pub loads: Vec<ModesOfLoad>,
}

impl FastestMode {
    /// Returns the reason why it is not known; None if it is, or if there is none.
    pub fn unknown(&self) -> Option<&str> {
        let mut reasons = self.loads.iter().flat_map(|load| &load.does_not_count).map(String::as_str);
        reasons.next().filter(|_| self.mode.is_none())
    }
}

/// The modes of the response times under a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModesOfLoad {
    /// Requested requests per second; null for a closed loop.
    pub rate: Option<f64>,
    /// Responses per second.
    pub answered_rate: f64,
    /// The modes, the fastest first; empty if the load does not count.
    pub modes: Vec<Mode>,
    /// Reasons why the load says nothing about modes: failed checks of the generator and its machine, or those that leave only bounds of
    /// its times. Empty if it counts.
    pub does_not_count: Vec<String>,
}

/// Requested width of the interval of a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindEvidence {
    /// The preset: `quick` or `careful`.
    pub preset: String,
    /// Requested width of the interval, as a share of its upper end.
    pub width: f64,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// The result for a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundGoal {
    /// The objectives that must hold together, as they were given.
    pub objectives: Vec<String>,
    /// State of the search at its end.
    pub state: FindState,
    /// Rate at which the objectives most likely begin to fail, requests per second; null unless both ends of the interval are known.
    pub estimate: Option<f64>,
    /// Lower end of the interval: the objectives hold up to here, requests per second.
    pub rate: Option<f64>,
    /// Upper end: they fail from here on; with `generator-limited`, the rate at which the generator is the limit.
    pub upper_rate: Option<f64>,
    /// The objectives that begin to fail there; the others still hold.
    pub limited_by: Vec<String>,
}

impl FoundGoal {
    /// The finding that its search found no bound of the server's rate that holds, because the generator or an early end prevented it; none
    /// if it did.
    pub(crate) fn unsettled(&self) -> Option<Finding> {
        let (why, advice) = match self.state {
            FindState::Found | FindState::Bounded | FindState::MaximumHeld | FindState::MinimumFailed => {
                return None;
            }
            FindState::GeneratorLimited => (
                "trials at the upper rate do not count, usually because the generator cannot produce it",
                "stop other work, or send from a machine with more processors",
            ),
            FindState::Unfinished => (
                "the search ended before it knew both a rate that holds and one that fails",
                "give it more time: `--budget`",
            ),
        };
        let severity = if self.rate.is_some() { Severity::Warn } else { Severity::Fail };
        let message = format!("{}: {why}", self.objectives.join(" and "));
        let finding = Finding::new("unsettled", severity, Measured::count(0.0, 0.0, ""), message, advice);
        // It withholds nothing: the rate is not known, or one end of its interval.
        Some(finding.keeping())
    }

    /// The upper end of the rate of the server, requests per second. None if the server may carry more than the trials: they held up to the
    /// highest rate, or the generator was their limit.
    pub fn upper_end(&self) -> Option<f64> {
        match self.state {
            FindState::Found | FindState::Bounded | FindState::MinimumFailed | FindState::Unfinished => {
                self.upper_rate
            }
            FindState::MaximumHeld | FindState::GeneratorLimited => None,
        }
    }
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindTrial {
    /// Requested requests per second.
    pub rate: f64,
    /// Time before the record, in which the queue settles, seconds.
    pub warmup_s: f64,
    /// Recorded time, seconds.
    pub duration_s: f64,
    /// Time with connecting, warm-up and the last responses, seconds.
    pub took_s: f64,
    /// Requests that were scheduled.
    pub planned: u64,
    /// Planned requests that were answered in full and as expected.
    pub answered: u64,
    /// Responses per second.
    pub answered_rate: f64,
    /// Each objective.
    pub objectives: Vec<TriedObjective>,
    /// Reasons why the trial says nothing about the server: failed checks of the generator and its machine, or processes whose use is not
    /// known; empty for a trial that counts.
    pub generator_limits: Vec<String>,
    /// CPU time and memory of the processes of the server; null without `--account`.
    pub account: Option<ProcessAccount>,
}

/// An objective in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriedObjective {
    /// The objective, as it was given.
    pub objective: String,
    /// True if it held.
    pub holds: bool,
    /// The value that it limits; null if not known. Percentiles are those of the responses; the objective also counts requests
    /// without one.
    pub value: Option<f64>,
    /// Unit of the value and of its limit: `us`, `%`, `requests` or `bytes`.
    pub unit: String,
    /// The limit of the value; null in results of earlier versions.
    pub limit: Option<f64>,
    /// Share of the scheduled requests that failed, were never sent, or were answered later than the objective permits.
    pub loss_ratio: f64,
}

/// Response times at several rates, which took turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Planned number of blocks: in each, every rate has one trial. An interrupt leaves fewer.
    pub blocks: u32,
    /// Duration of a trial, seconds.
    pub trial_s: f64,
    /// Confidence of all intervals and of the knee.
    pub confidence: f64,
    /// The rates, ascending.
    pub points: Vec<SweepPoint>,
    /// Null if fewer than two blocks have a trial that counts at every rate.
    pub knee: Option<SweepKnee>,
}

/// One rate of a sweep. Intervals are over the trials that count; a number is null if one of them does not support it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// Requested requests per second.
    pub rate: f64,
    /// Trials that count.
    pub trials: u32,
    /// Trials that do not, since the generator or its machine was the limit.
    pub excluded: u32,
    /// Responses per second.
    pub answered_rate: Option<Interval>,
    /// Mean response time, us.
    pub mean_us: Option<Interval>,
    /// Median response time, us.
    pub p50_us: Option<Interval>,
    /// 90th percentile of response time, us.
    pub p90_us: Option<Interval>,
    /// 99th percentile of response time, us.
    pub p99_us: Option<Interval>,
    /// CPU time of the processes that `--account` names, as a share of the processors that they may use, 0 to 1.
    pub cpu_share: Option<Interval>,
    /// Their CPU time for each response, us.
    pub cpu_us: Option<Interval>,
    /// Their resident memory, bytes.
    pub memory_bytes: Option<Interval>,
}

/// The rate at which the rate divided by the mean response time is highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepKnee {
    /// The rate of the sweep where it is highest, requests per second.
    pub rate: f64,
    /// The lowest rate of the sweep where it may be highest.
    pub low_rate: f64,
    /// The highest rate of the sweep where it may be highest.
    pub high_rate: f64,
}
