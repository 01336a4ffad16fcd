//! Compares the load with the generator's calibration on this machine.

use hoptax_result::{Calibrated, Finding, LoadResult, Measured, Severity, grouped, percent};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// The offered rate must leave headroom below the highest calibrated rate that was sent on time.
pub(super) const CEILING: Check<LoadResult> = Check {
    id: "ceiling",
    protects_from: "a limit of the generator or of loopback reported as the server's",
    source: "RFC 9411 (headroom of the test equipment), with one third instead of one tenth",
    judge: |result, limits| {
        let (Some(target), Some(calibration)) = (result.rate.target, &result.environment.calibration) else {
            return Vec::new();
        };
        let max = limits.value(&thresholds::CEILING_SHARE);
        // One worker was calibrated; more workers than processors do not raise the ceiling.
        let workers = result.plan.workers.min(result.environment.cpus.max(1));
        let Some(ceiling) = calibration.ceiling.map(|rate| rate * f64::from(workers)) else {
            return vec![no_ceiling(calibration)];
        };
        let share = target / ceiling;
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "ceiling",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "{target} requests/s is {} of {ceiling}/s, the highest calibrated rate that was sent on time",
                percent(share, 0),
                target = grouped(target, 0),
                ceiling = grouped(ceiling, 0)
            ),
            "use more `--workers` on more cores, or lower the rate; `hoptax trust calibrate` measures the ceiling again",
        )]
    },
    withhold: None,
};

/// The finding if no calibrated rate was sent on time: there is no ceiling to compare with.
fn no_ceiling(calibration: &Calibrated) -> Finding {
    let lag_us = calibration.tried.iter().filter_map(|one| one.send_lag_p99_us).reduce(f64::min);
    let rates = calibration.tried.iter().map(|one| one.rate);
    let tried = match (lag_us, rates.clone().reduce(f64::min), rates.reduce(f64::max)) {
        (Some(lag_us), Some(lowest), Some(highest)) => {
            format!(
                "at {lowest} to {highest}/s, send lag p99 was {lag_us} us or more",
                lowest = grouped(lowest, 0),
                highest = grouped(highest, 0),
                lag_us = grouped(lag_us, 0)
            )
        }
        _ => "it lists no rates".to_owned(),
    };
    Finding::new(
        "ceiling",
        Severity::Warn,
        Measured::count(0.0, 1.0, "rates on time"),
        format!("the calibration found no rate that the generator sends on time: {tried}"),
        "stop other work on the machine or keep its processors from halting, then run `hoptax trust calibrate` again",
    )
}

/// The share of the response time that is the generator's own floor, at the offered rate, since processors that
/// sleep between requests respond later than busy ones. Closed loops are not checked: their response time depends on
/// how many connections wait for each other, and the floor was measured without waiting.
pub(super) const FLOOR: Check<LoadResult> = Check {
    id: "floor",
    protects_from: "latency of generator and kernel reported as the subject's",
    source: "own: response time of an origin that responds immediately",
    judge: |result, limits| {
        let (Some(rate), Some(p50_us), Some(calibration)) =
            (result.rate.target, result.latency.response.p50_us, &result.environment.calibration)
        else {
            return Vec::new();
        };
        let Some(floor_us) = calibration.floor_p50_us_at(rate) else { return Vec::new() };
        let share = floor_us / p50_us;
        let found = severity_above(
            share,
            limits.value(&thresholds::FLOOR_SHARE),
            limits.value(&thresholds::FLOOR_WARN_SHARE),
        );
        found
            .map(|(severity, threshold)| {
                let severity = if severity == Severity::Fail { Severity::Warn } else { Severity::Info };
                Finding::new(
                    "floor",
                    severity,
                    Measured::percent(share, threshold),
                    format!(
                        "an origin that responds immediately takes {floor_us} us at {rate}/s, which is {} of the response \
                         time p50",
                        percent(share, 0),
                        floor_us = grouped(floor_us, 0),
                        rate = grouped(rate, 0)
                    ),
                    "compare with a run without the subject; do not use the absolute time",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Calibrated, FloorAt, LoadResult, RateTried, Severity};

    use crate::load::tests::fired;

    fn calibrated(result: &mut LoadResult, floors: &[(f64, f64)], ceiling: Option<f64>) {
        let floor = |&(rate, p50_us)| FloorAt { rate, connections: 64, p50_us, p99_us: p50_us };
        let tried = |rate| RateTried { rate, sent_share: 1.0, send_lag_p99_us: Some(rate / 50.0) };
        result.environment.calibration = Some(Calibrated {
            measured_at: String::new(),
            floor_p50_us: 1_000.0,
            floor_p99_us: 1_000.0,
            floors: floors.iter().map(floor).collect(),
            ceiling,
            tried: vec![tried(5_000.0), tried(10_000.0)],
        });
    }

    #[test]
    fn a_rate_without_headroom_fires() {
        let ceiling = |ceiling| fired("ceiling", |result| calibrated(result, &[], ceiling)).0;
        assert_eq!(ceiling(Some(40_000.0)), None);
        assert_eq!(ceiling(Some(25_000.0)), Some(Severity::Warn));
    }

    #[test]
    fn a_missing_ceiling_is_reported_with_the_rates_tried() {
        let (severity, result) = fired("ceiling", |result| calibrated(result, &[], None));
        assert_eq!(severity, Some(Severity::Warn));
        let found = result.findings.iter().find(|finding| finding.id == "ceiling").unwrap();
        assert!(found.message.contains("5,000 to 10,000/s") && found.message.contains("100 us"), "{found:?}");
        assert!(found.value.is_finite() && found.threshold.is_finite(), "{found:?}");
    }

    #[test]
    fn a_number_that_is_mostly_floor_fires() {
        // The load offers 20,000/s.
        let floor = |us| fired("floor", |result| calibrated(result, &[(20_000.0, us)], Some(1e6))).0;
        assert_eq!(
            (floor(9.0), floor(20.0), floor(60.0)),
            (None, Some(Severity::Info), Some(Severity::Warn))
        );
    }

    #[test]
    fn the_floor_of_another_rate_does_not_count() {
        let floors = [(1_000.0, 60.0), (20_000.0, 9.0)];
        assert_eq!(fired("floor", |result| calibrated(result, &floors, Some(1e6))).0, None);
        // A closed loop has no floor to compare with.
        let closed = fired("floor", |result| {
            calibrated(result, &[(20_000.0, 60.0)], Some(1e6));
            result.rate.target = None;
        });
        assert_eq!(closed.0, None);
    }
}
