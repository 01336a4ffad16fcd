//! The share of events among independent trials, with an exact interval.

use hoptax_result::Interval;
use statrs::function::beta::beta_reg;

/// Steps of the bisection for an end. Each halves the range, so 60 exhaust the precision.
const BISECTIONS: usize = 60;

/// The share of events among trials with its `confidence` interval.
///
/// **Method.** The exact interval of a binomial proportion: at the lower end, this many events or more have the probability
/// `(1 - confidence) / 2`; at the upper end, this many or fewer have it (C. J. Clopper and E. S. Pearson, "The use of confidence or
/// fiducial limits illustrated in the case of the binomial", *Biometrika* 26, 1934). It covers the true share at least as often as it
/// states, and is conservative with few events. Trials must be independent; for events in rounds use [`crate::event_share()`].
///
/// **Degenerate cases.** `None` without trials, with more events than trials, and when `confidence` is not strictly between 0 and 1. The
/// lower end is 0 if no trial is an event, and the upper end is 1 if every trial is one.
pub fn exact_share(events: u64, trials: u64, confidence: f64) -> Option<Interval> {
    // NaN is rejected too.
    if trials == 0 || events > trials || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let (count, all) = (events as f64, trials as f64);
    let tail = (1.0 - confidence) / 2.0;
    // The probability of at least, and of at most, this many events at a given share.
    let at_least = |share: f64| beta_reg(count, all - count + 1.0, share);
    let at_most = |share: f64| 1.0 - beta_reg(count + 1.0, all - count, share);
    let low = if events == 0 { 0.0 } else { crossing(|share| at_least(share) > tail) };
    let high = if events == trials { 1.0 } else { crossing(|share| at_most(share) < tail) };
    Some(Interval::new(count / all, low, high))
}

/// The share at which a condition begins to hold: `holds` is false below it and true above it.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_tables() {
        // Clopper and Pearson at 95 %.
        for (events, trials, low, high) in [
            (0, 10, 0.0, 0.308_5),
            (1, 10, 0.002_5, 0.445_0),
            (10, 100, 0.049_0, 0.176_2),
            (10, 10, 0.691_5, 1.0),
        ] {
            let interval = exact_share(events, trials, 0.95).unwrap();
            assert!(
                (interval.low - low).abs() < 1e-4 && (interval.high - high).abs() < 1e-4,
                "{events} of {trials}: {interval:?}"
            );
        }
    }

    #[test]
    fn the_interval_covers_every_share_at_least_as_often_as_it_states() {
        // The chance of each number of events of 30, exactly.
        for percent in [1, 5, 20, 50, 90] {
            let share = f64::from(percent) / 100.0;
            let mut chance = (1.0 - share).powi(30);
            let mut covered = 0.0;
            for events in 0..=30_u64 {
                if exact_share(events, 30, 0.9).unwrap().contains(share) {
                    covered += chance;
                }
                chance *= (30 - events) as f64 / (events + 1) as f64 * share / (1.0 - share);
            }
            assert!(covered >= 0.9, "{percent} %: {covered}");
        }
    }

    #[test]
    fn degenerate_input_has_no_interval() {
        assert_eq!(exact_share(0, 0, 0.95), None);
        assert_eq!(exact_share(2, 1, 0.95), None);
        assert!([0.0, 1.0, f64::NAN].iter().all(|confidence| exact_share(1, 2, *confidence).is_none()));
    }
}
