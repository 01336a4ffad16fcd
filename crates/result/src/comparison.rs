//! Decisions about subjects that a study measured side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CostMeasure, Interval, Verdict};

/// The comparison of the arms of one study with a reference among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonResult {
    /// Version of this format.
    pub format: String,
    /// Name of the study.
    pub study: String,
    /// Verdict of the study.
    pub verdict: Verdict,
    /// The arm that the others are compared with.
    pub reference: String,
    /// Largest difference that does not matter, as a share of the reference: 0.02 for 2 %.
    pub margin_share: f64,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Rounds completed.
    pub rounds: u32,
    /// The other arms, in the order of the study.
    pub subjects: Vec<ComparedSubject>,
}

impl ComparisonResult {
    /// The current format.
    pub const FORMAT: &'static str = "hoptax.comparison/1";
}

/// An arm in comparison with the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedSubject {
    /// Its id.
    pub arm: String,
    /// Whether it is identical to the reference: the A/A arm.
    pub is_same: bool,
    /// The measures that both have.
    pub measures: Vec<ComparedMeasure>,
}

/// One measure of an arm in comparison with the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedMeasure {
    /// The measure.
    pub measure: CostMeasure,
    /// The reference, in the unit of the measure.
    pub reference: f64,
    /// The difference from the reference, in the unit of the measure.
    pub difference: Interval,
    /// The difference as a share of the reference: 0.03 for 3 % more.
    pub difference_share: Interval,
    /// The decision.
    pub decision: Decision,
    /// Total number of rounds after which it is probably decided; null if it is decided, or out of reach.
    pub rounds_until_decided: Option<u32>,
}

/// Whether two subjects differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Different: the interval of the difference excludes zero, and the difference may exceed the margin.
    Different,
    /// Equivalent: the difference is smaller than the margin.
    Equivalent,
    /// The interval is too wide to say.
    Undecided,
}

impl Decision {
    /// Its name in outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}
