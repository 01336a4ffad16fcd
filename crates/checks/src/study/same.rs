//! The A/A arm: two copies of one configuration must not differ.

use hoptax_result::{ArmKind, Severity, StudyResult};

use crate::thresholds;
use crate::{Check, Measured, finding};

/// The A/A interval must contain zero.
pub(super) const SAME: Check<StudyResult> = Check {
    id: "same-differs",
    protects_from: "a rig that sees a difference where there is none",
    source: "A/A tests; Kohavi, Tang and Xu, Trustworthy Online Controlled Experiments (2020), chapter 19",
    judge: |result, limits| {
        let baseline = result.arms.iter().find(|arm| arm.id == result.plan.baseline);
        let baseline_us = baseline.and_then(|arm| arm.cpu_us_per_request).map(|interval| interval.estimate);
        let found = result.arms.iter().filter(|arm| arm.kind == ArmKind::Same).filter_map(|arm| {
            let cost = arm.cost.cpu_us_per_request?;
            if cost.contains(0.0) {
                return None;
            }
            let fail_us = baseline_us? * limits.of(&thresholds::SAME_COST_FAIL_SHARE);
            let severity = if cost.estimate.abs() > fail_us { Severity::Fail } else { Severity::Warn };
            let message = format!(
                "`{}` is a second copy of the baseline and yet seems to cost {:+.2} us [{:+.2}, {:+.2}]",
                arm.id, cost.estimate, cost.low, cost.high
            );
            let advice = if severity == Severity::Fail {
                "the machine changes what is measured: stop other work on it and run again"
            } else {
                "one sound study in twenty shows this; believe no cost that is as small"
            };
            Some(finding("same-differs", severity, Measured::us(cost.estimate, fail_us), message, advice))
        });
        found.collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, Verdict};

    use crate::study::tests::{fired, interval};

    #[test]
    fn a_difference_between_twins_fires() {
        let differ = |estimate: f64, half_width: f64| {
            fired("same-differs", |result| {
                result.arms[1].cost.cpu_us_per_request = Some(interval(estimate, half_width));
            })
        };
        assert_eq!(differ(0.3, 0.31).0, None);
        assert_eq!(differ(-0.3, 0.2).0, Some(Severity::Warn));
        let (severity, result) = differ(2.0, 0.5);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
    }
}
