//! The result of a gate: the changes that a candidate makes, judged by limits, side by side with its reference or against stored runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, CostMeasure, Environment, Interval, LoadSpec, Report};

/// The result of a gate: each limit for each arm of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateBody {
    /// Name of the study.
    pub study: String,
    /// The candidate as the user gave it, for example `envoy=1.41.0`; against a stored reference, the version of the proxy.
    pub candidate: String,
    /// The stored runs that the candidate is compared with; null if both were measured side by side.
    pub stored_reference: Option<StoredReference>,
    /// Confidence that all intervals hold together, 0 to 1.
    pub confidence: f64,
    /// Rounds completed.
    pub rounds: u32,
    /// Duration of the study, seconds.
    pub wall_seconds: f64,
    /// The loads of the study; empty in results of earlier versions.
    #[serde(default)]
    pub loads: Vec<LoadSpec>,
    /// Each limit for each arm, arm by arm.
    pub limits: Vec<GateLimit>,
    /// The same for the A/A arm, a second copy of the first arm: its true change is zero. It decides nothing.
    pub same: Vec<GateLimit>,
    /// Arms of the study that the candidate does not change, and which are therefore not measured.
    pub unchanged: Vec<String>,
    /// Arms in which the candidate does not answer as the reference does. It does other work there, so all limits failed.
    #[serde(default)]
    pub answer_differences: Vec<AnswerDifference>,
}

/// Its report.
pub type GateResult = Report<GateBody>;

impl Body for GateBody {
    const FORMAT: &'static str = "hoptax.gate/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }

    fn duration_s(&self) -> Option<f64> {
        Some(self.wall_seconds)
    }
}

/// Differences between the answers of a candidate and of the reference in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerDifference {
    /// The arm, as the study names it.
    pub arm: String,
    /// A sentence for each difference.
    pub differences: Vec<String>,
}

impl GateResult {
    /// Suffix of the name of an arm as it is, in the study of a gate.
    pub const REFERENCE: &'static str = ".reference";
    /// Suffix of the name of an arm with the candidate.
    pub const CANDIDATE: &'static str = ".candidate";
    /// Suffix of the name of a second copy of an arm as it is: the A/A arm.
    pub const AGAIN: &'static str = ".again";

    /// True if a limit is exceeded, or the candidate does other work than the reference.
    pub fn has_failed(&self) -> bool {
        self.limits.iter().any(|limit| limit.outcome == GateOutcome::Failed)
    }

    /// True if the candidate does other work than the reference in an arm.
    pub fn does_other_work(&self, arm: &str) -> bool {
        self.answer_differences.iter().any(|answer| answer.arm == arm)
    }

    /// True if no limit could be judged.
    pub fn is_unknown(&self) -> bool {
        self.limits.iter().all(|limit| limit.outcome == GateOutcome::Unknown)
    }

    /// True if neither limits nor answers judge the candidate.
    pub fn is_unjudged(&self) -> bool {
        self.answer_differences.is_empty() && self.is_unknown()
    }
}

/// The stored runs that a candidate is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredReference {
    /// Their label.
    pub label: String,
    /// The runs, in chronological order.
    pub runs: Vec<ReferenceRun>,
    /// Runs with the label that were not used, and why.
    pub left_out: Vec<String>,
    /// The shortest time between the starts of two runs, seconds; null if a start cannot be read.
    pub shortest_gap_seconds: Option<f64>,
}

/// A stored run of the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceRun {
    /// Its number in the store.
    pub run: i64,
    /// Its begin, RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the proxy; null without one.
    pub proxy_version: Option<String>,
}

/// A limit for one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateLimit {
    /// The arm, as the study names it.
    pub arm: String,
    /// The limit as the user gave it, for example `cpu>+3%`.
    pub limit: String,
    /// The measure that it limits.
    pub measure: CostMeasure,
    /// The limit as a share of the reference: 0.03 for +3 %.
    pub limit_share: f64,
    /// The measure of the reference, in its unit; null if it is withheld.
    pub reference: Option<f64>,
    /// The change as a share of the reference, with the interval that decides: those of all limits hold together; null if it
    /// is withheld.
    pub change_share: Option<Interval>,
    /// Standard deviation of the measure between sittings of the stored reference, as a share; null if both were measured side by
    /// side.
    pub between_sittings_share: Option<f64>,
    /// The outcome.
    pub outcome: GateOutcome,
    /// Reason why the change is not known, where no finding gives it; null otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_because: Option<String>,
    /// Total number of rounds after which it is probably decided; null if it is decided, or out of reach.
    pub rounds_until_decided: Option<u32>,
}

/// Outcome of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// The whole interval lies beyond the limit, or the candidate does not answer as the reference does.
    Failed,
    /// The whole interval lies within the limit.
    Passed,
    /// The limit lies within the interval.
    Undecided,
    /// The number is withheld or was not measured.
    Unknown,
}

impl GateOutcome {
    /// Its name in outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::Undecided => "undecided",
            Self::Unknown => "unknown",
        }
    }
}
