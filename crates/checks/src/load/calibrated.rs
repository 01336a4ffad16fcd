//! What the generator can do on this machine, by its calibration, against what was asked of it.

use hoptax_result::{LoadResult, Severity};

use crate::thresholds;
use crate::{Check, Measured, finding, severity_above};

/// The offered rate needs headroom below the largest that was ever offered on time.
pub(super) const CEILING: Check<LoadResult> = Check {
    id: "ceiling",
    protects_from: "the limit of tool or loopback being taken for the server's",
    source: "RFC 9411 (headroom of the test equipment), with a third instead of its tenth",
    judge: |result, limits| {
        let (Some(target), Some(calibration)) = (result.rate.target, &result.environment.calibration) else {
            return Vec::new();
        };
        let most = limits.of(&thresholds::CEILING_SHARE);
        // One worker was calibrated; more of them than processors can do no more.
        let workers = result.plan.workers.min(result.environment.cpus.max(1));
        let ceiling = calibration.ceiling.unwrap_or_default() * f64::from(workers);
        let share = if ceiling > 0.0 { target / ceiling } else { f64::INFINITY };
        if share <= most {
            return Vec::new();
        }
        vec![finding(
            "ceiling",
            Severity::Warn,
            Measured::percent(share, most),
            format!(
                "{target:.0} requests/s is close to or above {ceiling:.0}/s, the largest rate that the generator was seen \
                 to offer on time here"
            ),
            "use more workers on more cores, or lower the rate; `hoptax calibrate` measures the ceiling",
        )]
    },
    withhold: None,
};

/// How much of the number is floor.
pub(super) const FLOOR: Check<LoadResult> = Check {
    id: "floor",
    protects_from: "the generator's and the kernel's own microseconds being taken for the subject's",
    source: "our own: response time of an origin that answers at once",
    judge: |result, limits| {
        let (Some(p50_us), Some(calibration)) =
            (result.latency.response.p50_us, &result.environment.calibration)
        else {
            return Vec::new();
        };
        let share = calibration.floor_p50_us / p50_us;
        let found = severity_above(
            share,
            limits.of(&thresholds::FLOOR_SHARE),
            limits.of(&thresholds::FLOOR_WARN_SHARE),
        );
        found
            .map(|(severity, threshold)| {
                let severity = if severity == Severity::Fail { Severity::Warn } else { Severity::Info };
                finding(
                    "floor",
                    severity,
                    Measured::percent(share, threshold),
                    format!(
                        "an origin that answers at once takes {:.0} us here: {:.0} % of the median is generator, kernel and \
                         that origin",
                        calibration.floor_p50_us,
                        share * 100.0
                    ),
                    "compare with a direct run rather than reading the number alone",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Calibrated, LoadResult, Severity};

    use crate::load::tests::fired;

    fn calibrated(result: &mut LoadResult, floor_p50_us: f64, ceiling: Option<f64>) {
        let measured_at = String::new();
        result.environment.calibration =
            Some(Calibrated { measured_at, floor_p50_us, floor_p99_us: 0.0, ceiling });
    }

    #[test]
    fn a_rate_without_headroom_fires() {
        let ceiling = |ceiling| fired("ceiling", |result| calibrated(result, 1.0, ceiling)).0;
        assert_eq!(ceiling(Some(40_000.0)), None);
        assert_eq!(ceiling(Some(25_000.0)), Some(Severity::Warn));
        assert_eq!(ceiling(None), Some(Severity::Warn));
    }

    #[test]
    fn a_number_that_is_mostly_floor_fires() {
        let floor = |us| fired("floor", |result| calibrated(result, us, Some(1e6))).0;
        assert_eq!(
            (floor(9.0), floor(20.0), floor(60.0)),
            (None, Some(Severity::Info), Some(Severity::Warn))
        );
    }
}
