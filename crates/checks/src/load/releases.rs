//! Release times must match the requested arrivals.

use hoptax_result::{Finding, LoadResult, Measured, Severity, grouped};

use crate::check::Check;
use crate::thresholds;

/// Poisson arrivals, merged over all workers, must be Poisson.
pub(super) const ARRIVALS: Check<LoadResult> = Check {
    id: "arrivals",
    protects_from: "arrivals that should be random but are synchronised, for example in workers with the same seed",
    source: "Lancet (ATC 2019), on a fault of Treadmill; Kolmogorov-Smirnov distance 0.02, or 1.63 / sqrt(n) with few gaps",
    judge: |result, limits| {
        let Some(pacing) = &result.pacing else { return Vec::new() };
        let Some(distance) = pacing.exponential_distance else { return Vec::new() };
        let max = limits.value(&thresholds::ARRIVALS_DISTANCE).max(1.63 / (pacing.gaps.max(1) as f64).sqrt());
        if distance <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "arrivals",
            Severity::Warn,
            Measured::count(distance, max, ""),
            format!(
                "arrivals are not Poisson: the distance of the gaps from an exponential distribution is {distance}",
                distance = grouped(distance, 3)
            ),
            "the generator was late or connections were busy: see send-lag and connections-busy",
        )]
    },
    withhold: None,
};

/// Requests in flight, observed and computed by Little's law.
pub(super) const LITTLE: Check<LoadResult> = Check {
    id: "in-flight",
    protects_from: "requests that the engine loses or counts twice",
    source: "Little (1961); samples at Poisson times see time averages (Wolff 1982)",
    judge: |result, limits| {
        let Some(in_flight) = &result.in_flight else { return Vec::new() };
        let scale = in_flight.seen.max(in_flight.computed);
        let difference = (in_flight.seen - in_flight.computed).abs();
        // An observed count varies by about its square root. Observations within one busy period are not independent,
        // hence four standard deviations.
        let chance = 4.0 * (scale / (in_flight.looks.max(1)) as f64).sqrt();
        let share = (difference - chance).max(0.0) / scale.max(f64::MIN_POSITIVE);
        let max = limits.value(&thresholds::LITTLE_SHARE);
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "in-flight",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "the mean number of requests in flight was {} as sampled and {} as computed by Little's law",
                grouped(in_flight.seen, 3),
                grouped(in_flight.computed, 3)
            ),
            "the engine lost requests or counted some twice: report it with the result file",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{InFlight, Severity};

    use crate::load::tests::fired;

    #[test]
    fn arrivals_that_are_not_poisson_fire() {
        let arrivals = |distance: f64, gaps: u64| {
            let (severity, _) = fired("arrivals", |result| {
                let pacing = result.pacing.as_mut().unwrap();
                (pacing.exponential_distance, pacing.gaps) = (Some(distance), gaps);
            });
            severity
        };
        assert_eq!(arrivals(0.019, 16_000), None);
        assert_eq!(arrivals(0.021, 16_000), Some(Severity::Warn));
        assert_eq!(arrivals(0.1, 100), None, "within chance");
    }

    #[test]
    fn requests_counted_twice_fire() {
        let seen = |seen: f64| {
            fired("in-flight", |result| {
                result.in_flight = Some(InFlight { seen, looks: 40_000, computed: 8.0 });
            })
            .0
        };
        assert_eq!(seen(8.1), None);
        assert_eq!(seen(9.0), Some(Severity::Warn));
    }
}
