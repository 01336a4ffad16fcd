//! The knee of a latency curve: the rate with the highest power.

use crate::over_rounds::mean_over_rounds;

/// A point of a latency curve.
#[derive(Clone, Debug, PartialEq)]
pub struct TimesAtRate {
    /// Requests per second.
    pub rate: f64,
    /// The mean response time in each round, in any unit.
    pub mean_times: Vec<f64>,
}

/// The knee, as indices of points of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knee {
    /// The point with the highest power.
    pub best: usize,
    /// The lowest point that may have the highest power.
    pub first: usize,
    /// The highest point that may have the highest power.
    pub last: usize,
}

/// The knee of a curve: the rate at which power, the rate divided by the response time, is highest. Below it, 1 % more requests add
/// less than 1 % to the response time; above it, more. The rates of `curve` ascend; `confidence` is that of the range.
///
/// **Method.** The best point has the highest logarithm of power in the mean over rounds. A point may be the best if no other is
/// significantly better: each difference of logarithms, paired by round, has a one-sided test at an equal part of `1 - confidence`
/// (Bonferroni). The probability that any test rejects the true knee is at most `1 - confidence`, so the range from the first to the last
/// such point contains it with `confidence`.
///
/// **Sources.** L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications",
/// ICC 1979, for the knee; in an M/M/1 queue it is at half of the capacity. J. C. Hsu, "Constrained simultaneous
/// confidence intervals for multiple comparisons with the best", *Annals of Statistics* 12(3), 1984, for the set of points.
///
/// **Degenerate cases.** `None` with fewer than three points or two rounds, with different numbers of rounds, and for a rate or
/// time that is not positive. A knee at an end of the curve may lie beyond it.
pub fn knee(curve: &[TimesAtRate], confidence: f64) -> Option<Knee> {
    let rounds = curve.first()?.mean_times.len();
    let is_usable = |point: &TimesAtRate| {
        let times = &point.mean_times;
        point.rate > 0.0 && times.len() == rounds && times.iter().all(|time| *time > 0.0)
    };
    if curve.len() < 3 || !curve.iter().all(is_usable) {
        return None;
    }
    let power =
        |point: &TimesAtRate| point.mean_times.iter().map(|time| point.rate.ln() - time.ln()).collect();
    let powers: Vec<Vec<f64>> = curve.iter().map(power).collect();
    // A two-sided interval with this confidence has an equal part of the error on one side.
    let of_each = 1.0 - 2.0 * (1.0 - confidence) / (curve.len() - 1) as f64;
    let is_better = |one: &[f64], than: &[f64]| {
        let differences: Vec<f64> = one.iter().zip(than).map(|(one, than)| one - than).collect();
        mean_over_rounds(&differences, of_each).map(|interval| interval.low > 0.0)
    };
    let mut candidates = Vec::new();
    for (number, power) in powers.iter().enumerate() {
        let others = powers.iter().enumerate().filter(|(other, _)| *other != number);
        let beaten: Option<Vec<bool>> = others.map(|(_, other)| is_better(other, power)).collect();
        if !beaten?.contains(&true) {
            candidates.push(number);
        }
    }
    let sum = |number: &usize| powers.get(*number).map_or(f64::NEG_INFINITY, |power| power.iter().sum());
    let best = (0..powers.len()).max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    Some(Knee {
        best,
        first: candidates.first().map_or(best, |first| *first.min(&best)),
        last: candidates.last().map_or(best, |last| *last.max(&best)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An M/M/1 queue with a capacity of 1,000/s. The levels of rounds differ by up to `spread`.
    fn queue(rates: &[f64], spread: f64) -> Vec<TimesAtRate> {
        let level = |round: u32, rate: f64| {
            // Deterministic noise: fractions of a multiple of the golden ratio.
            let fraction = (f64::from(round + 1) * 0.618_034 * rate).fract();
            1.0 + spread * (fraction - 0.5)
        };
        let times = |rate: f64| (0..6).map(|round| level(round, rate) / (1_000.0 - rate)).collect();
        rates.iter().map(|rate| TimesAtRate { rate: *rate, mean_times: times(*rate) }).collect()
    }

    #[test]
    fn the_knee_of_a_queue_is_at_half_of_its_capacity() {
        let rates: Vec<f64> = (1..=9).map(|tenth| f64::from(tenth) * 100.0).collect();
        assert_eq!(knee(&queue(&rates, 0.0), 0.95), Some(Knee { best: 4, first: 4, last: 4 }));
        let noisy = knee(&queue(&rates, 0.2), 0.95).unwrap();
        assert!(noisy.first <= 4 && noisy.last >= 4 && noisy.first > 0 && noisy.last < 8, "{noisy:?}");
    }

    #[test]
    fn response_times_that_do_not_grow_have_their_knee_at_the_highest_rate() {
        let flat = [1.0, 2.0, 3.0].map(|rate| TimesAtRate { rate, mean_times: vec![1.0, 1.01, 0.99] });
        assert_eq!(knee(&flat, 0.95), Some(Knee { best: 2, first: 2, last: 2 }));
    }

    #[test]
    fn a_point_that_no_other_is_known_to_beat_is_in_the_range() {
        // Two rounds say little: of the best point and the next, neither is known to be better.
        let curve = [(1.0, vec![1.0, 1.0]), (2.0, vec![1.9, 2.4]), (3.0, vec![9.0, 9.1])];
        let curve = curve.map(|(rate, mean_times)| TimesAtRate { rate, mean_times });
        assert_eq!(knee(&curve, 0.95), Some(Knee { best: 0, first: 0, last: 1 }));
    }

    #[test]
    fn degenerate_curves_have_no_knee() {
        let of = |curve: &[(f64, &[f64])]| {
            let curve =
                curve.iter().map(|(rate, times)| TimesAtRate { rate: *rate, mean_times: times.to_vec() });
            knee(&curve.collect::<Vec<_>>(), 0.95)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1.0, &[1.0, 1.0]), (2.0, &[1.0, 1.0])]), None);
        assert_eq!(of(&[(1.0, &[1.0]), (2.0, &[1.0]), (3.0, &[1.0])]), None);
        assert_eq!(of(&[(1.0, &[1.0, 1.0]), (2.0, &[1.0]), (3.0, &[1.0, 1.0])]), None);
        assert_eq!(of(&[(0.0, &[1.0, 1.0]), (2.0, &[1.0, 1.0]), (3.0, &[1.0, 1.0])]), None);
        assert_eq!(of(&[(1.0, &[1.0, 0.0]), (2.0, &[1.0, 1.0]), (3.0, &[1.0, 1.0])]), None);
    }
}
