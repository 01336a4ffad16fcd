//! The generator of a study must have had power to spare, and have sent in time.

use hoptax_result::{Finding, GeneratorUse, StudyResult};

use crate::thresholds;
use crate::{Check, Measured, finding, severity_above};

/// The generator's own lateness at the fixed rate.
pub(super) const SEND_LAG: Check<StudyResult> = Check {
    id: "send-lag",
    protects_from: "a late generator whose delay is taken for the subject's",
    source: "Treadmill (ISCA 2016) and wrk2's admitted millisecond",
    judge: |result, limits| {
        each(result, |used| {
            let lag_us = used.own_lag_p99_us?;
            let (severity, threshold) = severity_above(
                lag_us,
                limits.of(&thresholds::OWN_LAG_US),
                limits.of(&thresholds::OWN_LAG_FAIL_US),
            )?;
            let message =
                format!("the generator took note of 1 request in 100 more than {lag_us:.0} us late");
            let advice = "differences between arms stand, their tails do not: lower the rate or free the generator's core";
            Some(finding("send-lag", severity, Measured::us(lag_us, threshold), message, advice))
        })
    },
    withhold: None,
};

/// A generator without power to spare sets the rate itself.
pub(super) const SATURATED: Check<StudyResult> = Check {
    id: "generator-saturated",
    protects_from: "the client's limit being taken for the proxy's",
    source: "method of RFC 9411 (headroom of the test equipment); Lancet",
    judge: |result, limits| {
        each(result, |used| {
            let (severity, threshold) = severity_above(
                used.core_share,
                limits.of(&thresholds::GENERATOR_BUSY),
                limits.of(&thresholds::GENERATOR_BUSY_FAIL),
            )?;
            let message =
                format!("the generator was on its core {:.0} % of the time", used.core_share * 100.0);
            let advice = "its core is the limit: use a machine with more cores";
            Some(finding(
                "generator-saturated",
                severity,
                Measured::percent(used.core_share, threshold),
                message,
                advice,
            ))
        })
    },
    withhold: None,
};

/// Generator and origin together must not hold the proxy back.
pub(super) const RUN_DELAY: Check<StudyResult> = Check {
    id: "run-delay",
    protects_from: "generator and origin crowding each other out on the cores that the proxy does not have",
    source: "kernel documentation, scheduler/sched-stats: time waiting on a run queue",
    judge: |result, limits| {
        each(result, |used| {
            let (severity, threshold) = severity_above(
                used.processors_share,
                limits.of(&thresholds::PROCESSORS_BUSY),
                f64::INFINITY,
            )?;
            let message = format!(
                "the cores of generator and origin were busy {:.0} % of the time and the generator waited {:.0} % of it: \
                 they, not the proxies, may set the rate",
                used.processors_share * 100.0,
                used.run_delay_share * 100.0
            );
            let advice = "costs in CPU time stand; take the maximum rates for lower bounds, or use a machine with more cores";
            Some(finding(
                "run-delay",
                severity,
                Measured::percent(used.processors_share, threshold),
                message,
                advice,
            ))
        })
    },
    withhold: None,
};

fn each(result: &StudyResult, judge: impl Fn(&GeneratorUse) -> Option<Finding>) -> Vec<Finding> {
    let found = result
        .generator
        .iter()
        .filter_map(|used| judge(used).map(|finding| Finding { load: Some(used.load.clone()), ..finding }));
    found.collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::Severity;

    use crate::study::tests::fired;

    #[test]
    fn a_late_generator_fires() {
        let late =
            |lag_us: f64| fired("send-lag", |result| result.generator[1].own_lag_p99_us = Some(lag_us));
        assert_eq!(late(40.0).0, None);
        assert_eq!(late(300.0).0, Some(Severity::Warn));
        let (severity, result) = late(3_000.0);
        assert_eq!(severity, Some(Severity::Fail));
        assert_eq!(result.findings[0].load.as_deref(), Some("fixed-rate"));
    }

    #[test]
    fn a_busy_generator_fires() {
        let busy =
            |share: f64| fired("generator-saturated", |result| result.generator[0].core_share = share).0;
        assert_eq!(busy(0.5), None);
        assert_eq!(busy(0.8), Some(Severity::Warn));
        assert_eq!(busy(0.99), Some(Severity::Fail));
    }

    #[test]
    fn crowded_cores_fire() {
        let crowded =
            |share: f64| fired("run-delay", |result| result.generator[0].processors_share = share).0;
        assert_eq!(crowded(0.9), None);
        assert_eq!(crowded(0.97), Some(Severity::Warn));
    }
}
