//! Findings of validity checks, and the verdict that follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Measure, Place};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Informational; does not affect the verdict.
    Info,
    /// The numbers are reported with a caution.
    Warn,
    /// The numbers in its scope are not supported by the evidence: they are withheld, or only bounds of them are given.
    Fail,
}

/// The overall judgement of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No check warned or failed.
    Sound,
    /// The numbers are reported, but read the findings before using them.
    Caution,
    /// The numbers are withheld.
    Void,
}

/// A finding of a validity check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The id of the check, for example `send-lag`.
    pub id: String,
    /// Its severity.
    pub severity: Severity,
    /// The arm in its scope; absent if it concerns the whole result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The load in its scope; absent if it concerns all loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// The measures of a study in its scope; empty if it concerns all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
    /// True if the numbers in its scope (arm, load and measures), and differences from them, are withheld.
    #[serde(default)]
    pub withholds: bool,
    /// True if this check leaves only bounds of the numbers in its scope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bounds: bool,
    /// In a load, the numbers in its scope: `rates`, `times`, or single quantiles, as `p99`. Empty if it withholds all, or if it concerns no
    /// particular number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<String>,
    /// True if only differences of the arm from another are in its scope: its own level is kept, and so are differences of other arms from
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub costs_alone: bool,
    /// In the result of several sittings: the sitting whose check fired, numbered from 1 in chronological order. It
    /// withholds numbers of that sitting only. Absent for a check of the combined numbers, and in any other result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitting: Option<u32>,
    /// The observation, in one sentence.
    pub message: String,
    /// The measured value that crossed the threshold.
    pub value: f64,
    /// The threshold that it crossed.
    pub threshold: f64,
    /// The unit of `value` and `threshold`, for example `us` or `%`.
    pub unit: String,
    /// Advice to the user.
    pub advice: String,
}

/// A measured value and the threshold that it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// The threshold.
    pub threshold: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl Measured {
    /// Times in us.
    pub fn us(value: f64, threshold: f64) -> Self {
        Self { value, threshold, unit: "us" }
    }

    /// Shares from 0 to 1, reported in percent.
    pub fn percent(value: f64, threshold: f64) -> Self {
        Self { value: value * 100.0, threshold: threshold * 100.0, unit: "%" }
    }

    /// Counts of a thing that `unit` names.
    pub fn count(value: f64, threshold: f64, unit: &'static str) -> Self {
        Self { value, threshold, unit }
    }
}

impl Finding {
    /// A finding about a whole result. A failure withholds everything in its scope: all numbers, unless arm, load or
    /// measures are set.
    pub fn new(id: &str, severity: Severity, measured: Measured, message: String, advice: &str) -> Self {
        Self {
            id: id.to_owned(),
            severity,
            arm: None,
            load: None,
            measures: Vec::new(),
            withholds: severity == Severity::Fail,
            bounds: false,
            numbers: Vec::new(),
            costs_alone: false,
            sitting: None,
            message,
            value: measured.value,
            threshold: measured.threshold,
            unit: measured.unit.to_owned(),
            advice: advice.to_owned(),
        }
    }
}

impl Finding {
    /// This finding of a load, if nothing but these numbers is in its scope.
    #[must_use]
    pub fn about(self, numbers: &[&str]) -> Self {
        Self { numbers: numbers.iter().map(ToString::to_string).collect(), ..self }
    }

    /// This finding, if it withholds nothing although it is a failure.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { withholds: false, ..self }
    }

    /// This finding of a load, if it leaves only bounds of these numbers.
    #[must_use]
    pub fn bounding(self, numbers: &[&str]) -> Self {
        Self { bounds: true, withholds: false, ..self.about(numbers) }
    }
}

impl Finding {
    /// The id of the check that withholds levels alone: their intervals are too wide, and the costs that are compared with them stay.
    /// So its findings do not have `withholds`, which is about costs, too.
    pub const VAGUE_LEVEL: &'static str = "vague-level";

    /// The id of the note that a newer hoptax wrote a result, and that this one left out what it does not know of it. It is made when a
    /// file is read, and by no check.
    pub const NEWER_FILE: &'static str = "newer-file";

    /// The id of the finding that a result is computed from another one whose verdict is not sound.
    pub const SOURCE_VERDICT: &'static str = "source-verdict";

    /// True if the finding withholds the number at `place`: one in its scope, or a difference from one in its scope.
    pub fn withholds_number(&self, place: &Place<'_>) -> bool {
        self.withholds && self.concerns(place)
    }

    /// True if the number at `place` is missing because of the finding: it is withheld ([`Self::withholds_number`]), or it is a level, no
    /// difference, and too vague ([`Self::VAGUE_LEVEL`]).
    pub fn withholds_number_or_vague_level(&self, place: &Place<'_>) -> bool {
        let is_of_vague_level = self.id == Self::VAGUE_LEVEL && place.compared_with.is_none();
        self.withholds_number(place) || (is_of_vague_level && self.concerns(place))
    }

    /// True if the number at `place`, or one that it is a difference from, is in the scope of the finding. A finding about costs alone does
    /// not concern differences from its arm. All loads contribute to a measure of rounds, so a finding about everything under one of
    /// them concerns it too.
    pub fn concerns(&self, place: &Place<'_>) -> bool {
        let is_reference = |arm: &String| !self.costs_alone && Some(arm.as_str()) == place.compared_with;
        let is_arm = |arm: &String| arm == place.arm || is_reference(arm);
        let is_of_all_loads = place.load.is_none() && matches!(place.measure, Measure::OfRounds(_));
        let is_load = |load: &String| {
            Some(load.as_str()) == place.load || (is_of_all_loads && self.measures.is_empty())
        };
        (place.compared_with.is_some() || !self.costs_alone)
            && (self.measures.is_empty() || self.measures.contains(&place.measure))
            && self.arm.as_ref().is_none_or(is_arm)
            && self.load.as_ref().is_none_or(is_load)
    }
}

impl Verdict {
    /// The verdict that follows from the findings. `is_void` is true if nothing of the main question is left; a
    /// failure that withholds less is a caution.
    pub fn from_findings(findings: &[Finding], is_void: bool) -> Self {
        let weighs = |finding: &Finding| finding.severity > Severity::Info;
        if is_void {
            Self::Void
        } else if findings.iter().any(weighs) {
            Self::Caution
        } else {
            Self::Sound
        }
    }

    /// Its name, as printed and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Caution => "caution",
            Self::Void => "void",
        }
    }
}

impl Severity {
    /// Its name, as printed and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}
