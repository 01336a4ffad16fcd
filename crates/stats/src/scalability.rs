//! Growth of a rate with a size, such as a number of connections: the Universal Scalability Law, fitted to measured rates.

mod curve;
mod spread;
#[cfg(test)]
mod tests;

use hoptax_result::{Interval, PeakPlace, ScaleFit, ScalePeak};
use thiserror::Error;

use crate::simultaneous::simultaneous;
use curve::{Curve, Support, per_request};
use spread::{FreeCurve, Rounds};

/// Different sizes that a fit needs: one more than the law has numbers.
pub const MIN_SIZES: usize = 4;
/// Rounds that the intervals need. The simulations of `tests/scalability_coverage.rs` begin at this number.
const MIN_ROUNDS: usize = 5;
/// Nothing is stated at larger sizes than this multiple of the largest one measured.
const REACH: f64 = 2.0;
/// Deviations up to this share are errors of rounding.
const ROUNDING: f64 = 1e-9;

/// The rates at a size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedRates {
    /// The size, such as a number of connections.
    pub size: f64,
    /// Requests per second in each round; None in a round without a rate.
    pub rates: Vec<Option<f64>>,
}

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

/// Reason why the law cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NoScalability {
    /// This number of different sizes is too small.
    #[error("{0} different sizes are too few for a law with three numbers: it needs {least}", least = MIN_SIZES)]
    TooFewSizes(usize),
    /// This number of rounds with a rate at every size is too small.
    #[error("{0} rounds with a rate at every size are too few for intervals: they need {least}", least = MIN_ROUNDS)]
    TooFewRounds(usize),
    /// The sizes are too close together to tell the three numbers of the law apart.
    #[error("the sizes are too close together to tell the three numbers of the law apart")]
    TooCloseSizes,
    /// The interval of the law has no upper end at this size.
    #[error("the rates do not limit the rate that the law has at size {0:.0}")]
    Unlimited(f64),
    /// A size is below 1, a rate is not positive, or the confidence is not between 0 and 1.
    #[error("a size, a rate or the confidence is out of range")]
    OutOfRange,
}

/// Fits the Universal Scalability Law to `points`, with `confidence` intervals:
/// `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`, with `lambda > 0`, `0 <= sigma <= 1` and `kappa >= 0`.
///
/// **Method.** The time per request and unit of size, `N / X(N) = parallel + serial N + crosstalk N (N - 1)`, is linear in three times that
/// are not negative: `lambda = 1 / (parallel + serial)`, and `sigma` and `kappa` are `serial` and `crosstalk` divided by
/// `parallel + serial`. The rate at a size is the mean over rounds. The fit minimises the sum of squares of its relative deviation,
/// `rate / X(N) - 1`, because the error of a rate is proportional to it. This is a convex problem with a single solution, which is found
/// exactly, as the best fit over all choices of nonzero times.
///
/// Intervals come from a second fit, whose times may be negative, and are cut at the limits of their numbers. Resampling the limited fit
/// cannot find the distribution of an estimate at the limit of its range, such as `kappa` 0, and its intervals of the other numbers are too
/// short. The second fit has no such limit, so its intervals are valid at and near the limit. Its covariances are those of the jackknife
/// over whole rounds, because the rates of a round share the level of its processes and the speed of the machine, and Student's critical
/// value allows for few rounds. The sums of times in `lambda` and in rates have the interval of a mean; the ratios `sigma` and `kappa` have
/// Fieller's. The peak may be at any size at which the interval of the slope includes 0. It is searched from the smallest size to twice the
/// largest one; beyond that, nothing is stated. An interval includes its estimate.
///
/// Deviations are measured from the limited fit, and their errors come from a fit with the same nonzero times. The law is refuted if one of
/// their intervals excludes 0 after they were widened to hold together ([`simultaneous()`]).
///
/// **Source.** N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6, for the law and for least
/// squares. D. W. K. Andrews, "Inconsistency of the Bootstrap when a Parameter Is on the Boundary of the Parameter Space",
/// *Econometrica* 68(2), 2000, 399-405, for the limits. B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993,
/// chapter 11, for the jackknife. E. C. Fieller, "Some Problems in Interval Estimation", *Journal of the Royal Statistical Society
/// B* 16(2), 1954, 175-185, for ratios. `tests/scalability_coverage.rs` simulates studies with levels that live as long as a round.
///
/// **Degenerate cases.** Rounds without a rate at one of the sizes are left out. Where rates contradict the limits, such as rates
/// that rise faster than the size, an interval may be its estimate alone. Rates that fall as fast as `1 / N` have no finite rate
/// at size 1, and no law is near them: the deviations show that. [`NoScalability`] lists when there is no fit.
///
/// # Errors
/// With fewer than [`MIN_SIZES`] different sizes or [`MIN_ROUNDS`] rounds, with sizes that are too close together or too far from
/// 1 for their rates, or with values out of range.
pub fn scalability(points: &[SizedRates], confidence: f64) -> Result<Scalability, NoScalability> {
    let sizes: Vec<f64> = points.iter().map(|point| point.size).collect();
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
    let count = rounds.len() as u32;
    let rounds = Rounds::new(&sizes, &rounds, confidence).ok_or(NoScalability::OutOfRange)?;
    let (curve, support) = Curve::fit(&sizes, &rounds.means).ok_or(NoScalability::OutOfRange)?;
    let free = FreeCurve::new(&rounds).ok_or(NoScalability::TooCloseSizes)?;
    let points = fitted_points(&rounds, &free, curve, support)?;
    let is_refuted = points.iter().any(|point| {
        let deviation = &point.deviation_share;
        let together = simultaneous(deviation, f64::from(count) - 1.0, confidence, points.len());
        deviation.estimate.abs() > ROUNDING && together.is_none_or(|together| !together.contains(0.0))
    });
    let no_first = NoScalability::Unlimited(1.0);
    let first = per_request(1.0);
    let share = |time: f64, shares: [f64; 3], most: f64| {
        let ends = free.ratio(shares, first).ok_or(no_first)?;
        Ok(around(time / curve.first(), ends.map(|end| end.clamp(0.0, most))))
    };
    let reach = Reach::new(&sizes);
    let fastest = free.fastest(reach);
    let peak = curve.turn().clamp(reach.least, reach.most);
    let peak_rate = free.rate(per_request(fastest)).ok_or(NoScalability::Unlimited(fastest))?;
    let fit = ScaleFit {
        lambda: around(1.0 / curve.first(), free.rate(first).ok_or(no_first)?),
        sigma: share(curve.serial, [0.0, 1.0, 0.0], 1.0)?,
        kappa: share(curve.crosstalk, [0.0, 0.0, 1.0], f64::INFINITY)?,
        peak: ScalePeak {
            place: reach.place(curve.turn()),
            size: around(peak, free.peak(reach)),
            rate: around(curve.rate(peak), peak_rate),
        },
        is_refuted,
        rounds: count,
    };
    Ok(Scalability { fit, points })
}

/// The law at each size, and the deviation of the measured rate from it.
fn fitted_points(
    rounds: &Rounds<'_>,
    free: &FreeCurve<'_>,
    curve: Curve,
    support: Support,
) -> Result<Vec<FittedPoint>, NoScalability> {
    let deviations = |curve: Curve, means: &[f64]| -> Vec<f64> {
        rounds.sizes.iter().zip(means).map(|(size, mean)| mean / curve.rate(*size) - 1.0).collect()
    };
    let deviations_of = |means: &[f64]| Some(deviations(Curve::free(rounds.sizes, means, support)?, means));
    let without_each = rounds.without_each(deviations_of).ok_or(NoScalability::TooCloseSizes)?;
    let point = |(index, (size, estimate)): (usize, (&f64, f64))| {
        let values: Vec<f64> =
            without_each.iter().filter_map(|deviations| deviations.get(index).copied()).collect();
        let half_width = rounds.half_width(&values);
        let ends = free.rate(per_request(*size)).ok_or(NoScalability::Unlimited(*size))?;
        Ok(FittedPoint {
            rate: around(curve.rate(*size), ends),
            deviation_share: around(estimate, [estimate - half_width, estimate + half_width]),
        })
    };
    rounds.sizes.iter().zip(deviations(curve, &rounds.means)).enumerate().map(point).collect()
}

/// The interval with these ends, widened to include its estimate.
fn around(estimate: f64, [low, high]: [f64; 2]) -> Interval {
    Interval::new(estimate, low.min(estimate), high.max(estimate))
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
    let rounds = points.iter().map(|point| point.rates.len()).max().unwrap_or(0);
    let of_round = |round: usize| -> Option<Vec<f64>> {
        points.iter().map(|point| point.rates.get(round).copied().flatten()).collect()
    };
    (0..rounds).filter_map(of_round).collect()
}

/// The sizes at which rates are stated.
#[derive(Clone, Copy, Debug)]
struct Reach {
    least: f64,
    most: f64,
}

impl Reach {
    fn new(sizes: &[f64]) -> Self {
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
