//! How a rate grows with a size, such as a number of connections: the Universal Scalability Law, fitted to measured rates.

use hoptax_result::{Interval, PeakPlace, ScaleFit, ScalePeak};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};
use thiserror::Error;

use crate::critical::two_sided_t;

/// Different sizes that a fit needs: one more than the law has numbers.
pub const MIN_SIZES: usize = 4;
/// Rounds that the intervals need. Resampling never leaves the range of the rounds, and the range of four contains their
/// true median with a probability of only 1 - 2 / 2^4 = 87.5 %.
pub const MIN_ROUNDS: usize = 5;
/// Nothing is stated at larger sizes than this multiple of the largest one measured.
const REACH: f64 = 2.0;
/// Number of resamples.
const RESAMPLES: usize = 4_000;
/// Seed of the resampling, so that equal rates have equal intervals.
const SEED: u64 = 1;

/// A size, and the rate at it in each round; None in a round without one.
pub type SizedRates = (f64, Vec<Option<f64>>);

/// The law as fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalability {
    /// Its numbers and its peak.
    pub fit: ScaleFit,
    /// Each size, in the order given.
    pub points: Vec<FittedPoint>,
}

/// The law at a measured size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedPoint {
    /// The rate of the law.
    pub rate: Interval,
    /// The deviation of the measured rate from it, as a share of it. An interval without 0 speaks against the law.
    pub deviation_share: Interval,
}

/// Why the law cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoScalability {
    /// This number of different sizes is too small.
    #[error("{0} different sizes are too few for a law with three numbers: it needs {least}", least = MIN_SIZES)]
    TooFewSizes(usize),
    /// This number of rounds with a rate at every size is too small.
    #[error("{0} rounds with a rate at every size are too few for intervals: they need {least}", least = MIN_ROUNDS)]
    TooFewRounds(usize),
    /// A size is below 1, a rate is not positive, or the confidence is not between 0 and 1.
    #[error("a size, a rate or the confidence is out of range")]
    OutOfRange,
}

/// Fits the Universal Scalability Law to `points`, with `confidence` intervals:
/// `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`, with `lambda > 0`, `0 <= sigma <= 1` and `kappa >= 0`.
///
/// **Method.** The time per request and unit of size, `N / X(N) = parallel + serial N + crosstalk N (N - 1)`, is linear in
/// three times that are not negative: `lambda = 1 / (parallel + serial)`, and `sigma` and `kappa` are `serial` and `crosstalk`
/// divided by `parallel + serial`. The rate at a size is the mean over rounds. The fit minimises the sum of squares of its
/// relative deviation, `rate / X(N) - 1`, because the error of a rate is proportional to it. This is a convex problem with a
/// single solution, which is found exactly: that of the best of all choices of times that are not zero.
///
/// Intervals are those of the bootstrap over rounds. Whole rounds are drawn, with replacement, because the rates of a round
/// share the level of its processes and the speed of the machine. With few rounds, quantiles of the resamples are too narrow,
/// so the quantiles are those that a Student interval of a mean corresponds to. The peak is searched from the smallest size to
/// twice the largest one; beyond that, nothing is stated.
///
/// **Source.** N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6, for the law and for least
/// squares. B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993, section 13.3. T. C. Hesterberg, "What
/// Teachers Should Know About the Bootstrap", *The American Statistician* 69(4), 2015, 371-386, for the expanded quantiles.
/// `tests/scalability_coverage.rs` simulates studies with levels that live as long as a round.
///
/// **Degenerate cases.** Rounds without a rate at one of the sizes are left out. A number at the edge of its range, such as
/// `kappa` 0, has an interval that ends there. If no size near 1 was measured, `lambda` is an extrapolation, and its interval
/// is wide. Rates that fall as fast as `1 / N` have no finite rate at size 1, and no law is near them: the deviations
/// show that. [`NoScalability`] lists when there is no fit.
///
/// # Errors
/// With fewer than [`MIN_SIZES`] different sizes or [`MIN_ROUNDS`] rounds, or with values out of range.
pub fn scalability(points: &[SizedRates], confidence: f64) -> Result<Scalability, NoScalability> {
    let sizes: Vec<f64> = points.iter().map(|(size, _)| *size).collect();
    if !sizes.iter().all(|size| size.is_finite() && *size >= 1.0) {
        return Err(NoScalability::OutOfRange);
    }
    let different = different(&sizes);
    if different < MIN_SIZES {
        return Err(NoScalability::TooFewSizes(different));
    }
    let rounds = complete_rounds(points);
    if rounds.len() < MIN_ROUNDS {
        return Err(NoScalability::TooFewRounds(rounds.len()));
    }
    if !rounds.iter().flatten().all(|rate| rate.is_finite() && *rate > 0.0) {
        return Err(NoScalability::OutOfRange);
    }
    let tail = tail(rounds.len(), confidence).ok_or(NoScalability::OutOfRange)?;
    let means = mean(rounds.iter(), sizes.len());
    let curve = Curve::fit(&sizes, &means).ok_or(NoScalability::OutOfRange)?;
    let reach = Reach::of(&sizes);
    let resampled = resampled(&sizes, &rounds, reach);
    let mut intervals =
        curve.numbers(&sizes, &means, reach).into_iter().zip(resampled).map(|(estimate, values)| {
            let [low, high] = ends(values, tail);
            // The estimate of a bounded number can lie at the very end of its resamples.
            Interval { estimate, low: low.min(estimate), high: high.max(estimate) }
        });
    let mut next = || intervals.next().ok_or(NoScalability::OutOfRange);
    let fit = ScaleFit {
        lambda: next()?,
        sigma: next()?,
        kappa: next()?,
        peak: ScalePeak { place: reach.place(curve.turn()), size: next()?, rate: next()? },
        rounds: rounds.len() as u32,
    };
    let mut points = Vec::new();
    while let Some((rate, deviation_share)) = intervals.next().zip(intervals.next()) {
        points.push(FittedPoint { rate, deviation_share });
    }
    Ok(Scalability { fit, points })
}

/// Number of different sizes.
fn different(sizes: &[f64]) -> usize {
    let mut sizes = sizes.to_vec();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    sizes.len()
}

/// The rates of each round that has one at every size.
fn complete_rounds(points: &[SizedRates]) -> Vec<Vec<f64>> {
    let rounds = points.iter().map(|(_, rates)| rates.len()).max().unwrap_or(0);
    let of_round = |round: usize| -> Option<Vec<f64>> {
        points.iter().map(|(_, rates)| rates.get(round).copied().flatten()).collect()
    };
    (0..rounds).filter_map(of_round).collect()
}

/// The mean rate at each size.
fn mean<'a>(rounds: impl ExactSizeIterator<Item = &'a Vec<f64>>, sizes: usize) -> Vec<f64> {
    let count = rounds.len() as f64;
    let mut means = vec![0.0; sizes];
    for rates in rounds {
        for (mean, rate) in means.iter_mut().zip(rates) {
            *mean += rate / count;
        }
    }
    means
}

/// The share of resamples beyond either end of an interval.
fn tail(rounds: usize, confidence: f64) -> Option<f64> {
    let count = rounds as f64;
    let t = two_sided_t(count - 1.0, confidence)?;
    Some(Normal::standard().cdf(-t * (count / (count - 1.0)).sqrt()))
}

/// The numbers of curves that are fitted to resampled rounds: for each number, its values.
fn resampled(sizes: &[f64], rounds: &[Vec<f64>], reach: Reach) -> Vec<Vec<f64>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut values: Vec<Vec<f64>> = Vec::new();
    for _ in 0..RESAMPLES {
        let drawn: Vec<&Vec<f64>> =
            (0..rounds.len()).filter_map(|_| rounds.get(random.random_range(0..rounds.len()))).collect();
        let means = mean(drawn.into_iter(), sizes.len());
        let Some(curve) = Curve::fit(sizes, &means) else { continue };
        let numbers = curve.numbers(sizes, &means, reach);
        values.resize(numbers.len(), Vec::new());
        for (values, number) in values.iter_mut().zip(numbers) {
            values.push(number);
        }
    }
    values
}

/// The ends of the interval between two quantiles.
fn ends(mut values: Vec<f64>, tail: f64) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let place = ((tail * values.len() as f64) as usize).min(last);
    [place, last - place].map(|place| values.get(place).copied().unwrap_or(f64::NAN))
}

/// The sizes at which rates are stated.
#[derive(Clone, Copy, Debug)]
struct Reach {
    least: f64,
    most: f64,
}

impl Reach {
    fn of(sizes: &[f64]) -> Self {
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        Self { least, most: REACH * sizes.iter().copied().fold(0.0, f64::max) }
    }

    fn place(self, size: f64) -> PeakPlace {
        if size <= self.least {
            PeakPlace::Below
        } else if size >= self.most {
            PeakPlace::Beyond
        } else {
            PeakPlace::Within
        }
    }
}

/// The law as times in seconds: `N / X(N) = parallel + serial N + crosstalk N (N - 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Curve {
    parallel: f64,
    serial: f64,
    crosstalk: f64,
}

/// Choices of times that are not zero, by their index. Crosstalk alone has no finite rate at size 1.
const SUPPORTS: [[bool; 3]; 6] = [
    [true, false, false],
    [false, true, false],
    [true, true, false],
    [true, false, true],
    [false, true, true],
    [true, true, true],
];

impl Curve {
    /// The curve with the least sum of squares of relative deviations; None if a sum overflows.
    fn fit(sizes: &[f64], rates: &[f64]) -> Option<Self> {
        let mut products = [[0.0; 3]; 3];
        let mut sums = [0.0; 3];
        for (size, rate) in sizes.iter().zip(rates) {
            // A relative deviation is the sum of these, each times its time in seconds, less one.
            let factors = [rate / size, *rate, rate * (size - 1.0)];
            for ((products, sum), factor) in products.iter_mut().zip(&mut sums).zip(factors) {
                *sum += factor;
                products.iter_mut().zip(factors).for_each(|(product, other)| *product += factor * other);
            }
        }
        // On equal scales, one limit tells for all sizes whether two columns are alike.
        let scales: [f64; 3] = std::array::from_fn(|index| products[index][index].sqrt());
        let products: [[f64; 3]; 3] = std::array::from_fn(|row| {
            std::array::from_fn(|column| products[row][column] / scales[row] / scales[column])
        });
        let sums: [f64; 3] = std::array::from_fn(|index| sums[index] / scales[index]);
        let of_support = |support: &[bool; 3]| {
            let times = solve(&products, &sums, *support)?;
            let is_valid = times.iter().zip(support).all(|(time, is_in)| !is_in || *time > 0.0);
            let explained: f64 = times.iter().zip(sums).map(|(time, sum)| time * sum).sum();
            is_valid.then_some((times, explained))
        };
        let best = SUPPORTS.iter().filter_map(of_support).max_by(|one, other| one.1.total_cmp(&other.1));
        let (times, _) = best.filter(|(_, explained)| explained.is_finite())?;
        let [parallel, serial, crosstalk] = std::array::from_fn(|index| times[index] / scales[index]);
        Some(Self { parallel, serial, crosstalk })
    }

    /// Seconds per request at size 1.
    fn first(self) -> f64 {
        self.parallel + self.serial
    }

    fn rate(self, size: f64) -> f64 {
        size / (self.parallel + self.serial * size + self.crosstalk * size * (size - 1.0))
    }

    /// The size from which the rate falls: `sqrt((1 - sigma) / kappa)`. Infinite if it rises forever, and 0 if it never rises.
    fn turn(self) -> f64 {
        if self.crosstalk > 0.0 {
            (self.parallel / self.crosstalk).sqrt()
        } else if self.parallel > 0.0 {
            f64::INFINITY
        } else {
            0.0
        }
    }

    /// Lambda, sigma, kappa, the size and the rate of the peak, and for each size the rate and the deviation of the measured one.
    fn numbers(self, sizes: &[f64], measured: &[f64], reach: Reach) -> Vec<f64> {
        let first = self.first();
        let peak = self.turn().clamp(reach.least, reach.most);
        let law = [1.0 / first, self.serial / first, self.crosstalk / first, peak, self.rate(peak)];
        let points = sizes.iter().zip(measured).flat_map(|(size, measured)| {
            let rate = self.rate(*size);
            [rate, measured / rate - 1.0]
        });
        law.into_iter().chain(points).collect()
    }
}

/// Solves the normal equations for the times in `support`; the others are zero. The diagonal of `products` is 1. None if two
/// columns cannot be told apart.
fn solve(products: &[[f64; 3]; 3], sums: &[f64; 3], support: [bool; 3]) -> Option<[f64; 3]> {
    let mut rows: [[f64; 4]; 3] = std::array::from_fn(|row| {
        std::array::from_fn(|column| match (support[row], column) {
            (_, column) if column == row => 1.0,
            (true, 3) => sums[row],
            (true, column) if support[column] => products[row][column],
            _ => 0.0,
        })
    });
    for index in 0..3 {
        let pivot = rows[index];
        if pivot[index] < 1e-12 {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != index) {
            let factor = row[index] / pivot[index];
            row.iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    Some(std::array::from_fn(|index| rows[index][3] / rows[index][index]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZES: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn law([lambda, sigma, kappa]: [f64; 3], size: f64) -> f64 {
        lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
    }

    /// Rounds in which all rates are `speeds` times those of the law.
    fn points(law_of: impl Fn(f64) -> f64, sizes: &[f64], speeds: &[f64]) -> Vec<SizedRates> {
        sizes
            .iter()
            .map(|size| (*size, speeds.iter().map(|speed| Some(speed * law_of(*size))).collect()))
            .collect()
    }

    const SPEEDS: [f64; 5] = [0.98, 0.99, 1.0, 1.01, 1.02];

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= 1e-6 * expected.abs().max(1e-3)
    }

    #[test]
    fn exact_rates_have_their_law_and_its_peak() {
        let found =
            scalability(&points(|size| law([1_000.0, 0.02, 0.005], size), &SIZES, &SPEEDS), 0.95).unwrap();
        let fit = &found.fit;
        for (interval, truth) in [(fit.lambda, 1_000.0), (fit.sigma, 0.02), (fit.kappa, 0.005)] {
            assert!(is_near(interval.estimate, truth), "{interval:?}");
        }
        // The speed of a round is a factor of all its rates, which only lambda contains.
        assert!(is_near(fit.sigma.low, 0.02) && is_near(fit.kappa.high, 0.005), "{fit:?}");
        assert!(fit.lambda.low < 990.0 && fit.lambda.high > 1_000.0, "{fit:?}");
        // sqrt(0.98 / 0.005) = 14.
        assert_eq!(fit.peak.place, PeakPlace::Within);
        assert!(is_near(fit.peak.size.estimate, 14.0), "{fit:?}");
        assert!(is_near(fit.peak.rate.estimate, law([1_000.0, 0.02, 0.005], 14.0)), "{fit:?}");
        assert_eq!((fit.rounds, found.points.len()), (5, SIZES.len()));
        for (size, point) in SIZES.iter().zip(&found.points) {
            assert!(is_near(point.rate.estimate, law([1_000.0, 0.02, 0.005], *size)), "{size}: {point:?}");
            assert!(point.deviation_share.estimate.abs() < 1e-9, "{size}: {point:?}");
        }
    }

    #[test]
    fn nothing_is_stated_beyond_twice_the_largest_size() {
        let of = |numbers: [f64; 3]| {
            scalability(&points(|size| law(numbers, size), &SIZES, &SPEEDS), 0.95).unwrap().fit
        };
        // The law peaks at 98.
        let far = of([100.0, 0.04, 0.0001]);
        assert_eq!(far.peak.place, PeakPlace::Beyond);
        assert!(far.peak.size == Interval { estimate: 64.0, low: 64.0, high: 64.0 }, "{far:?}");
        assert!(is_near(far.peak.rate.estimate, law([100.0, 0.04, 0.0001], 64.0)), "{far:?}");
        let linear = of([100.0, 0.0, 0.0]);
        assert_eq!((linear.peak.place, linear.peak.size.high), (PeakPlace::Beyond, 64.0));
        assert!(linear.sigma.low >= 0.0 && linear.kappa.low >= 0.0, "{linear:?}");
        let falling = of([100.0, 0.9, 0.4]);
        assert_eq!((falling.peak.place, falling.peak.size.estimate), (PeakPlace::Below, 1.0));
        let constant = of([100.0, 1.0, 0.0]);
        assert!(is_near(constant.sigma.estimate, 1.0) && is_near(constant.peak.rate.estimate, 100.0));
    }

    #[test]
    fn numbers_stay_in_their_range_where_rates_do_not_follow_the_law() {
        // Faster than linear: contention would be negative.
        let superlinear = points(|size| 100.0 * size.powf(1.2), &SIZES, &SPEEDS);
        let Scalability { fit, points: fitted } = scalability(&superlinear, 0.95).unwrap();
        assert!(fit.sigma.estimate.abs() < 1e-12 && fit.kappa.estimate.abs() < 1e-12, "{fit:?}");
        let ends = [fitted[0].deviation_share, fitted[5].deviation_share];
        assert!(ends[0].high < -0.1 && ends[1].low > 0.1, "{fitted:?}");
        // Steeper than any contention.
        let falling = points(|size| 100.0 / size.sqrt(), &SIZES, &SPEEDS);
        let fit = scalability(&falling, 0.95).unwrap().fit;
        assert!(fit.sigma.high <= 1.0 + 1e-12 && fit.kappa.low > 0.0, "{fit:?}");
    }

    #[test]
    fn too_little_data_is_named() {
        let of = |sizes: &[f64], speeds: &[f64]| scalability(&points(|size| size, sizes, speeds), 0.95).err();
        assert_eq!(of(&[1.0, 2.0, 4.0, 4.0], &SPEEDS), Some(NoScalability::TooFewSizes(3)));
        assert_eq!(of(&SIZES, &[1.0, 1.1, 1.2, 1.3]), Some(NoScalability::TooFewRounds(4)));
        assert_eq!(of(&[0.5, 1.0, 2.0, 3.0], &SPEEDS), Some(NoScalability::OutOfRange));
        assert_eq!(of(&SIZES, &[1.0, 1.0, 1.0, 1.0, 0.0]), Some(NoScalability::OutOfRange));
        let sound = points(|size| size, &SIZES, &SPEEDS);
        assert_eq!(scalability(&sound, 1.0).err(), Some(NoScalability::OutOfRange));
        assert_eq!(
            NoScalability::TooFewSizes(3).to_string(),
            "3 different sizes are too few for a law with three numbers: it needs 4"
        );
    }

    #[test]
    fn a_round_without_one_of_the_rates_is_left_out() {
        let mut points =
            points(|size| law([100.0, 0.1, 0.01], size), &SIZES, &[1.0, 1.0, 1.0, 1.0, 1.0, 5.0]);
        points[3].1[5] = None;
        let fit = scalability(&points, 0.95).unwrap().fit;
        assert!(is_near(fit.lambda.high, 100.0) && fit.rounds == 5, "{fit:?}");
    }

    /// The sum of squares that the fit minimises.
    fn squares(curve: Curve, rates: &[f64]) -> f64 {
        SIZES.iter().zip(rates).map(|(size, rate)| (rate / curve.rate(*size) - 1.0).powi(2)).sum()
    }

    proptest! {
        #[test]
        fn the_law_is_recovered(
            lambda in 1.0..1e6_f64, sigma in 0.0..0.9_f64, kappa in 1e-5..0.1_f64,
        ) {
            let rates = SIZES.map(|size| law([lambda, sigma, kappa], size));
            let numbers = Curve::fit(&SIZES, &rates).unwrap().numbers(&SIZES, &rates, Reach::of(&SIZES));
            prop_assert!((numbers[0] / lambda - 1.0).abs() < 1e-6, "{numbers:?}");
            prop_assert!((numbers[1] - sigma).abs() < 1e-6 && (numbers[2] - kappa).abs() < 1e-7, "{numbers:?}");
        }

        #[test]
        fn no_other_curve_is_nearer(
            sigma in 0.0..1.0_f64,
            kappa in 0.0..0.1_f64,
            noise in prop::array::uniform6(0.8..1.25_f64),
            moved in prop::array::uniform3(0.5..2.0_f64),
            added in prop::array::uniform3(0.0..0.01_f64),
        ) {
            let rates: Vec<f64> =
                SIZES.iter().zip(noise).map(|(size, noise)| noise * law([100.0, sigma, kappa], *size)).collect();
            let best = Curve::fit(&SIZES, &rates).unwrap();
            let other = Curve {
                parallel: best.parallel * moved[0] + added[0],
                serial: best.serial * moved[1] + added[1],
                crosstalk: best.crosstalk * moved[2] + added[2],
            };
            prop_assert!(squares(best, &rates) <= squares(other, &rates) + 1e-9);
            prop_assert!(best.parallel >= 0.0 && best.serial >= 0.0 && best.crosstalk >= 0.0);
        }

        #[test]
        fn another_unit_of_rates_changes_lambda_alone(rates in prop::collection::vec(1.0..100.0_f64, 6)) {
            // A power of two changes no digit.
            let of = |unit: f64| {
                let rates: Vec<f64> = rates.iter().map(|rate| unit * rate).collect();
                Curve::fit(&SIZES, &rates).unwrap().numbers(&SIZES, &rates, Reach::of(&SIZES))
            };
            let (one, other) = (of(1.0), of(1_024.0));
            prop_assert!((other[0] / one[0] / 1_024.0 - 1.0).abs() < 1e-12);
            prop_assert!((1..4).all(|number| (other[number] - one[number]).abs() <= 1e-12 * one[number].abs()));
        }
    }
}
