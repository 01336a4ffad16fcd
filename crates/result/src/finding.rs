//! Findings: what a validity check says about a result, and the verdict that they add up to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Measure;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; changes no verdict.
    Info,
    /// The numbers stand, with a caution beside them.
    Warn,
    /// The numbers in its scope are not supported by their evidence and are withheld.
    Fail,
}

/// What the findings of a result add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No check of weight has fired.
    Sound,
    /// The numbers stand, but read the findings before using them.
    Caution,
    /// The numbers are withheld.
    Void,
}

/// One failed or warned validity check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Which check fired, for example `send-lag`.
    pub id: String,
    /// How much it weighs.
    pub severity: Severity,
    /// The arm that it concerns; absent when it concerns the whole result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The load that it concerns; absent when it concerns all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// What it concerns of a study's numbers; empty when it concerns all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
    /// Whether the numbers in its scope (arm, load and measures), and differences from them, are withheld.
    #[serde(default)]
    pub withholds: bool,
    /// Whether only differences are in its scope, and the arm's own level stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub costs_alone: bool,
    /// What was seen, in a sentence.
    pub message: String,
    /// The measured value that crossed the threshold.
    pub value: f64,
    /// The threshold that it crossed.
    pub threshold: f64,
    /// The unit of `value` and `threshold`, for example `us` or `%`.
    pub unit: String,
    /// What to do about it.
    pub advice: String,
}

impl Verdict {
    /// What the findings add up to. `is_void` says whether nothing is left of what was asked: a failure that takes away less
    /// is a caution.
    pub fn of(findings: &[Finding], is_void: bool) -> Self {
        let weighs = |finding: &Finding| finding.severity > Severity::Info;
        if is_void {
            Self::Void
        } else if findings.iter().any(weighs) {
            Self::Caution
        } else {
            Self::Sound
        }
    }

    /// The word for it, as printed and serialised.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Caution => "caution",
            Self::Void => "void",
        }
    }
}

impl Severity {
    /// The word for it, as printed and serialised.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            id: "test".to_owned(),
            severity,
            arm: None,
            load: None,
            measures: Vec::new(),
            withholds: false,
            costs_alone: false,
            message: String::new(),
            value: 0.0,
            threshold: 0.0,
            unit: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn a_finding_of_weight_is_a_caution_and_only_what_leaves_nothing_is_void() {
        assert_eq!(Verdict::of(&[], false), Verdict::Sound);
        assert_eq!(Verdict::of(&[finding(Severity::Info)], false), Verdict::Sound);
        for severity in [Severity::Warn, Severity::Fail] {
            assert_eq!(Verdict::of(&[finding(severity)], false), Verdict::Caution);
        }
        assert_eq!(Verdict::of(&[finding(Severity::Fail)], true), Verdict::Void);
    }
}
