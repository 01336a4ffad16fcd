//! Decisions about subjects that a study measured side by side.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Bound, BoundShare, CostMeasure, Environment, Interval, LoadSpec, Report};

/// The comparison of the arms of one study with a reference among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonBody {
    /// Name of the study.
    pub study: String,
    /// The subject that the others are compared with.
    pub reference: SubjectName,
    /// Equivalence margin, as a share of the reference: 0.02 for 2 %.
    pub margin_share: f64,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Rounds completed.
    pub rounds: u32,
    /// Duration of the study, seconds.
    pub wall_seconds: f64,
    /// The loads of the study; empty in results of earlier versions.
    #[serde(default)]
    pub loads: Vec<LoadSpec>,
    /// The other subjects, in the order of the study.
    pub subjects: Vec<ComparedSubject>,
}

/// Its report.
pub type ComparisonResult = Report<ComparisonBody>;

impl ComparisonBody {
    /// Equivalence margin, as a share of the reference, unless the user states another.
    pub const USUAL_MARGIN_SHARE: f64 = 0.02;
}

impl Body for ComparisonBody {
    const FORMAT: &'static str = "hoptax.comparison/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        let others = self.subjects.iter().filter(|one| !one.is_same).map(|one| &one.subject);
        let given: Vec<&str> =
            std::iter::once(&self.reference).chain(others).map(|name| name.given.as_str()).collect();
        given.join(" and ")
    }

    fn duration_s(&self) -> Option<f64> {
        Some(self.wall_seconds)
    }
}

/// The arms of several study files, each compared with an arm of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudiesComparisonBody {
    /// The study files, as the user gave them.
    pub studies: Vec<String>,
    /// The arms of the first study that are compared, once for each combination of their conditions.
    pub arms: Vec<ComparedArms>,
    /// The arms that were not measured.
    pub left_out: Vec<ArmLeftOut>,
}

/// Its report.
pub type StudiesComparison = Report<StudiesComparisonBody>;

impl Body for StudiesComparisonBody {
    const FORMAT: &'static str = "hoptax.studies-comparison/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.studies.join(" and ")
    }
}

/// An arm of the first study in comparison with those of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedArms {
    /// The arm, as the first study names it.
    pub arm: String,
    /// The comparison.
    pub comparison: ComparisonBody,
}

/// A key of a study file whose values differ between two subjects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyDifference {
    /// Its path in the entry of an arm, for example `hops[0].functions`; without `hops[0]` for a subject with one proxy.
    pub key: String,
    /// The value of the reference; null if it states none. Nodes of configurations, and variables and headers whose names
    /// look like those of secrets, have no values here.
    pub reference: Option<String>,
    /// The value of the other subject.
    pub value: Option<String>,
}

/// An arm of a study file that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmLeftOut {
    /// The arm, as its study names it.
    pub arm: String,
    /// Reason why it was not measured.
    pub reason: String,
}

impl ArmLeftOut {
    /// An arm that is left out for this reason.
    pub fn new(arm: &str, reason: String) -> Self {
        Self { arm: arm.to_owned(), reason }
    }
}

impl fmt::Display for ArmLeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.arm, self.reason)
    }
}

/// The names of a compared subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectName {
    /// Id of its arm in the study.
    pub arm: String,
    /// Its short name, as tables have it.
    pub name: String,
    /// The subject as the user gave it.
    pub given: String,
}

impl SubjectName {
    /// An arm that is called by its id.
    pub fn of_arm(id: &str) -> Self {
        Self { arm: id.to_owned(), name: id.to_owned(), given: id.to_owned() }
    }
}

/// A subject in comparison with the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedSubject {
    /// Its names.
    pub subject: SubjectName,
    /// True if it is identical to the reference: the A/A arm.
    pub is_same: bool,
    /// Differences between the reference and this subject, by keys of study files: functions, release, flags and so on.
    pub keys: Vec<KeyDifference>,
    /// Differences between the configurations of the reference and of this subject; null unless both are files whose routes give a
    /// request.
    pub differences: Option<ConfigurationDifferences>,
    /// Differences between its answer and that of the reference, one sentence each. If there are any, the measures are of different
    /// work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer_differences: Vec<String>,
    /// The measures that both have.
    pub measures: Vec<ComparedMeasure>,
    /// Bounds of the differences in other measures. They are undecided, whatever the bounds: not every bound has the confidence of an
    /// interval (one that a disturbance leaves may be a measured value), and nothing says how many rounds narrow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// The same bounds as shares of the reference, whose level is itself known by an interval or bounds. Without those of a level that
    /// may be zero.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound_shares: Vec<BoundShare>,
}

impl ComparedSubject {
    /// The measures in which its difference from the reference is known, by an interval or by bounds.
    pub fn known_measures(&self) -> impl Iterator<Item = CostMeasure> {
        let bounds = self.bounds.iter().map(|bound| bound.measure);
        self.measures.iter().map(|one| one.measure).chain(bounds)
    }

    /// The bounds of its difference in a measure as shares of the reference; none if nothing bounds them.
    pub fn bound_share(&self, measure: CostMeasure) -> Option<&BoundShare> {
        self.bound_shares.iter().find(|share| share.measure == measure)
    }
}

/// Differences between two configurations, without values, which may be secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationDifferences {
    /// Parts that a request passes and that only one configuration has, or that differ: those of the reference in the order in
    /// which a request meets them, then those that only the other has.
    pub parts: Vec<PartDifference>,
    /// True if a request meets the parts that both have in another order.
    pub is_order_different: bool,
    /// Paths of all other fields that differ: in listeners, routes, clusters and so on.
    pub rest: Vec<String>,
}

/// A part that only one of two configurations has, or that differs between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartDifference {
    /// Its kind, for example `HTTP filter`.
    pub kind: String,
    /// Its name in the configuration.
    pub name: String,
    /// Its file and line, or its file and JSON pointer, in the reference; null if only the other has it.
    pub reference_place: Option<String>,
    /// The same in the other; null if only the reference has it.
    pub place: Option<String>,
    /// Paths of its fields that differ, if both have it.
    pub fields: Vec<String>,
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
    /// The difference as a share of the reference, formed within rounds: 0.03 for 3 % more.
    pub difference_share: Interval,
    /// Number of rounds that the intervals are over: those in which both arms have slices that count.
    pub rounds: u32,
    /// Degrees of freedom of the interval of the share: one less than rounds, or more if its variance borrows from other costs.
    pub degrees_of_freedom: f64,
    /// The decision.
    pub decision: Decision,
    /// Total number of rounds after which it is probably decided; null if it is decided, or out of reach.
    pub rounds_until_decided: Option<u32>,
}

/// Decision about the difference between two subjects.
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
