//! Findings: what a validity check says about a result, and the verdict that they add up to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Adds up findings that concern a whole result. A failure whose scope is one arm voids that arm's
    /// numbers, not the result: it counts as a caution here.
    pub fn of(findings: &[Finding]) -> Self {
        findings
            .iter()
            .map(|finding| match finding.severity {
                Severity::Info => Self::Sound,
                Severity::Fail if finding.arm.is_none() => Self::Void,
                Severity::Warn | Severity::Fail => Self::Caution,
            })
            .max()
            .unwrap_or(Self::Sound)
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

    fn finding(severity: Severity, arm: Option<&str>) -> Finding {
        Finding {
            id: "test".to_owned(),
            severity,
            arm: arm.map(str::to_owned),
            load: None,
            message: String::new(),
            value: 0.0,
            threshold: 0.0,
            unit: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn a_verdict_is_the_worst_finding() {
        assert_eq!(Verdict::of(&[]), Verdict::Sound);
        assert_eq!(Verdict::of(&[finding(Severity::Info, None)]), Verdict::Sound);
        let warn = finding(Severity::Warn, None);
        assert_eq!(Verdict::of(std::slice::from_ref(&warn)), Verdict::Caution);
        assert_eq!(Verdict::of(&[warn, finding(Severity::Fail, None)]), Verdict::Void);
    }

    #[test]
    fn a_failed_arm_does_not_void_the_others() {
        assert_eq!(Verdict::of(&[finding(Severity::Fail, Some("lua"))]), Verdict::Caution);
    }
}
