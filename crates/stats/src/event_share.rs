//! The share of requests with a rare event, with an interval over rounds.

use hoptax_result::Interval;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::mean_over_rounds;

/// Counts of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCount {
    /// Trials with the event.
    pub events: u64,
    /// All trials.
    pub trials: u64,
}

/// The share of events among trials with its `confidence` interval.
///
/// **Method.** The share of all rounds together. Each end of the interval is the wider one of two intervals: the exact one of a Poisson
/// count for the number of all events (F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936, 437-442), and
/// [`mean_over_rounds`] of the shares of the rounds. It is cut at 0 and 1.
///
/// **Why both.** With a few events in all rounds together, the shares of rounds take few distinct values; without any event, Student's
/// interval has no width, and the exact one still states how many events could have been missed. If rounds differ by more than chance,
/// because a restarted process behaves differently, the exact one is too narrow. `tests/timeline_coverage.rs` simulates both: the 95 %
/// interval covers the true share in at least 94 % of studies.
///
/// **Degenerate cases.** Rounds without trials are left out. `None` when fewer than two rounds are left, and when `confidence` is not
/// strictly between 0 and 1.
pub fn event_share(rounds: &[EventCount], confidence: f64) -> Option<Interval> {
    let tried = || rounds.iter().filter(|round| round.trials > 0);
    let shares: Vec<f64> = tried().map(|round| round.events as f64 / round.trials as f64).collect();
    let between = mean_over_rounds(&shares, confidence)?;
    let sum = |of: fn(&EventCount) -> u64| tried().map(of).sum::<u64>() as f64;
    let (events, trials) = (sum(|round| round.events), sum(|round| round.trials));
    let estimate = events / trials;
    let (low, high) = poisson_limits(events, confidence)?;
    let half_width = between.half_width();
    Some(Interval::new(
        estimate,
        (low / trials).min(estimate - half_width).max(0.0),
        (high / trials).max(estimate + half_width).min(1.0).max(estimate),
    ))
}

/// The exact limits of the mean of a Poisson variable that was observed once.
fn poisson_limits(count: f64, confidence: f64) -> Option<(f64, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    let quantile = |freedom: f64, share: f64| Some(ChiSquared::new(freedom).ok()?.inverse_cdf(share) / 2.0);
    let low = if count > 0.0 { quantile(2.0 * count, tail)? } else { 0.0 };
    Some((low, quantile(2.0 * count + 2.0, 1.0 - tail)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<const N: usize>(rounds: [(u64, u64); N]) -> [EventCount; N] {
        rounds.map(|(events, trials)| EventCount { events, trials })
    }

    #[test]
    fn the_limits_of_a_count_are_those_of_the_tables() {
        // Garwood's table: 0 and 10 events at 95 %.
        for (count, low, high) in [(0.0, 0.0, 3.689), (1.0, 0.0253, 5.572), (10.0, 4.795, 18.390)] {
            let limits = poisson_limits(count, 0.95).unwrap();
            assert!((limits.0 - low).abs() < 1e-3 && (limits.1 - high).abs() < 1e-3, "{count}: {limits:?}");
        }
    }

    #[test]
    fn no_event_leaves_room_for_those_that_were_missed() {
        let interval = event_share(&counts([(0, 5_000); 2]), 0.95).unwrap();
        assert_eq!((interval.estimate, interval.low), (0.0, 0.0));
        assert!((interval.high * 10_000.0 - 3.689).abs() < 1e-3, "{interval:?}");
    }

    #[test]
    fn rounds_that_differ_by_more_than_chance_widen_the_interval() {
        let alike = event_share(&counts([(100, 1_000); 5]), 0.95).unwrap();
        let unlike = counts([(0, 1_000), (200, 1_000), (50, 1_000), (150, 1_000), (100, 1_000)]);
        let unlike = event_share(&unlike, 0.95).unwrap();
        assert!((alike.estimate - 0.1).abs() < 1e-12 && (unlike.estimate - 0.1).abs() < 1e-12);
        assert!(unlike.half_width() > 3.0 * alike.half_width(), "{alike:?} {unlike:?}");
    }

    #[test]
    fn everything_is_a_share_of_one() {
        let interval = event_share(&counts([(10, 10); 2]), 0.95).unwrap();
        assert_eq!((interval.estimate, interval.high), (1.0, 1.0));
        assert!(interval.low < 1.0);
    }

    #[test]
    fn degenerate_input_has_no_result() {
        assert_eq!(event_share(&counts([(1, 10), (0, 0)]), 0.95), None, "one round is left");
        assert_eq!(event_share(&counts([(1, 10); 2]), 1.0), None);
    }
}
