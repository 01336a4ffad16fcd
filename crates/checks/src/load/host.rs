//! The machine must have been there, and the same, all the time.

use hoptax_result::{LoadResult, Severity};

use crate::thresholds::{DRIFT_SHARE, STEAL_FAIL, STEAL_WARN};
use crate::{Check, Measured, finding, severity_above};

/// Time that the host gave to others.
pub(super) const STEAL: Check<LoadResult> = Check {
    id: "steal",
    protects_from: "a virtual machine that was stopped while the clock ran",
    source: "proc(5), /proc/stat, eighth field",
    judge: |result| {
        let share = result.generator.steal_share;
        severity_above(share, STEAL_WARN, STEAL_FAIL)
            .map(|(severity, threshold)| {
                finding(
                    "steal",
                    severity,
                    Measured::percent(share, threshold),
                    format!("the host took {:.2} % of the processors' time", share * 100.0),
                    "run again when the host is quieter, or on a machine of your own",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

/// First against last third.
pub(super) const DRIFT: Check<LoadResult> = Check {
    id: "drift",
    protects_from: "one number for a subject that was changing (warming up, filling, throttled)",
    source: "our own; a coarse form of the steady-state tests of Barrett and others (OOPSLA 2017)",
    judge: |result| {
        let Some(drift) = result.drift.filter(|drift| drift.first_third_p50_us > 0.0) else {
            return Vec::new();
        };
        let change = drift.last_third_p50_us / drift.first_third_p50_us - 1.0;
        if change.abs() <= DRIFT_SHARE {
            return Vec::new();
        }
        vec![finding(
            "drift",
            Severity::Warn,
            Measured::percent(change, DRIFT_SHARE),
            format!(
                "the median response time went from {:.0} us in the first third to {:.0} us in the last ({:+.1} %)",
                drift.first_third_p50_us,
                drift.last_third_p50_us,
                change * 100.0
            ),
            "lengthen the warm-up; if the drift stays, the subject has no steady state at this load",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Drift, Severity};

    use crate::load::tests::fired;

    #[test]
    fn steal_fires() {
        let steal = |share: f64| fired("steal", |result| result.generator.steal_share = share).0;
        assert_eq!(steal(0.004), None);
        assert_eq!(steal(0.01), Some(Severity::Warn));
        assert_eq!(steal(0.06), Some(Severity::Fail));
    }

    #[test]
    fn drift_fires_both_ways() {
        for last_third_p50_us in [94.0, 106.0] {
            let (severity, _) = fired("drift", |result| {
                result.drift = Some(Drift { first_third_p50_us: 100.0, last_third_p50_us });
            });
            assert_eq!(severity, Some(Severity::Warn));
        }
    }
}
