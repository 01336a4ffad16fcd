//! Intervals of numbers that depend on the three times of a curve, by a jackknife over rounds.

use hoptax_result::Interval;

use super::Reach;
use super::curve::{ALL, Curve, product};
use crate::critical::two_sided_t;

/// Halvings of a range of sizes that exhaust the precision of a number.
const HALVINGS: u32 = 60;

/// The mean rates of all rounds, and those with each round left out.
pub(super) struct Rounds<'a> {
    pub(super) sizes: &'a [f64],
    /// The mean rate at each size.
    pub(super) means: Vec<f64>,
    /// The mean rates without a round, for each round.
    without: Vec<Vec<f64>>,
    /// Student's critical value.
    t: f64,
}

impl<'a> Rounds<'a> {
    /// Rounds with a rate at each of `sizes`; None if `confidence` is not between 0 and 1.
    pub(super) fn new(sizes: &'a [f64], rounds: &[Vec<f64>], confidence: f64) -> Option<Self> {
        let count = rounds.len() as f64;
        let mean_of = |size: usize| rounds.iter().filter_map(|rates| rates.get(size)).sum::<f64>() / count;
        let means: Vec<f64> = (0..sizes.len()).map(mean_of).collect();
        let without = rounds.iter().map(|rates| {
            means.iter().zip(rates).map(|(mean, rate)| (count * mean - rate) / (count - 1.0)).collect()
        });
        let without = without.collect();
        Some(Self { sizes, means, without, t: two_sided_t(count - 1.0, confidence)? })
    }

    /// Computes a value from the mean rates without a round, for each round; None if one of them has no result.
    pub(super) fn without_each<T>(&self, of: impl Fn(&[f64]) -> Option<T>) -> Option<Vec<T>> {
        self.without.iter().map(|means| of(means)).collect()
    }

    /// The half-width of the interval of a number whose values with each round left out are `values`: Student's critical value times the
    /// standard error of the jackknife.
    pub(super) fn half_width(&self, values: &[f64]) -> f64 {
        self.t * covariance(values, values).max(0.0).sqrt()
    }
}

/// The covariance of two numbers, from their values without each round.
fn covariance(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (mean_of_one, mean_of_other) = (mean(one), mean(other));
    let products = one.iter().zip(other).map(|(one, other)| (one - mean_of_one) * (other - mean_of_other));
    products.sum::<f64>() * (count - 1.0) / count
}

/// The curve whose times have any sign, with its values without each round.
pub(super) struct FreeCurve<'a> {
    rounds: &'a Rounds<'a>,
    curve: Curve,
    without_each: Vec<Curve>,
}

impl<'a> FreeCurve<'a> {
    /// None if the sizes are too close together to tell the three times apart.
    pub(super) fn new(rounds: &'a Rounds<'a>) -> Option<Self> {
        let fitted = |means: &[f64]| Curve::free(rounds.sizes, means, ALL);
        Some(Self { rounds, curve: fitted(&rounds.means)?, without_each: rounds.without_each(fitted)? })
    }

    fn values(&self, shares: [f64; 3]) -> Vec<f64> {
        self.without_each.iter().map(|curve| product(curve.times(), shares)).collect()
    }

    /// The sum of the three times, each multiplied by its share.
    fn sum(&self, shares: [f64; 3]) -> Interval {
        let estimate = product(self.curve.times(), shares);
        let half_width = self.rounds.half_width(&self.values(shares));
        Interval::around(estimate, half_width)
    }

    /// The rate whose seconds per request are this sum; None if its interval has no upper end.
    pub(super) fn rate(&self, shares: [f64; 3]) -> Option<[f64; 2]> {
        let seconds = self.sum(shares);
        (seconds.low > 0.0).then(|| [1.0 / seconds.high, 1.0 / seconds.low])
    }

    /// The interval of the ratio of two sums by Fieller's theorem; None if that of the denominator includes 0.
    pub(super) fn ratio(&self, numerator: [f64; 3], denominator: [f64; 3]) -> Option<[f64; 2]> {
        let [above, below] = [numerator, denominator].map(|shares| product(self.curve.times(), shares));
        let [varied, divisors] = [numerator, denominator].map(|shares| self.values(shares));
        let error = |one: &[f64], other: &[f64]| self.rounds.t.powi(2) * covariance(one, other);
        let square = below.powi(2) - error(&divisors, &divisors);
        let middle = above * below - error(&varied, &divisors);
        let constant = above.powi(2) - error(&varied, &varied);
        // The ratio itself is within the interval, so only rounding makes the root of a negative number.
        let root = (middle.powi(2) - square * constant).max(0.0).sqrt();
        (square > 0.0).then(|| [(middle - root) / square, (middle + root) / square])
    }

    /// The sizes within `reach` at which the rate may have its peak: from the size where the rate no longer surely rises, to the size where
    /// it surely falls. Either bound changes its sign at most once, because a standard error is a convex function of the squared size.
    pub(super) fn peak(&self, reach: Reach) -> [f64; 2] {
        let rise = |size: f64| self.sum([1.0, 0.0, -size.powi(2)]);
        [last(reach, |size| rise(size).low > 0.0), last(reach, |size| rise(size).high >= 0.0)]
    }

    /// The size within `reach` with the highest rate.
    pub(super) fn fastest(&self, reach: Reach) -> f64 {
        self.curve.fastest(reach)
    }
}

/// The largest size up to which `holds` is true; the smallest one if it is true nowhere.
fn last(reach: Reach, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(reach.most) {
        return reach.most;
    }
    let Reach { mut least, mut most } = reach;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if holds(middle) { least = middle } else { most = middle }
    }
    least
}
