//! The confidence interval of a quantile of a single run, from order statistics and the dependence between batches of the run.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// Error probability beyond each end: 95 % of the intervals contain the quantile.
const BEYOND_EACH_END: f64 = 0.025;
/// The fewest batches from which dependence is estimated.
const MIN_BATCHES: usize = 10;
/// The design effect of a quantile is at least that of the quantile with this many times as many values beyond it.
const LESS_RARE: f64 = 10.0;
/// Steps of the bisection for a rank. The range halves each time, so 60 exhaust the precision of any number of values.
const BISECTIONS: usize = 60;

/// The values of one part of a run. The parts have equal lengths and follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of values.
    pub values: u64,
    /// Number of these at or below the quantile of the whole run.
    pub at_or_below: u64,
}

/// The ranks, as shares from 0 to 1, whose quantiles enclose the true quantile. An end is None if no value of the run bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// The ranks between which the true `p` quantile lies with 95 % confidence. `at` counts, in each batch of the run, the values at or below
/// a quantile of the whole run.
///
/// **Method.** Of independent values, the number at or below the true quantile is binomial, which gives the ranks without an assumption on
/// the distribution (W. R. Thompson, "On confidence ranges for the median and other expectation distributions for populations of unknown
/// distribution form", *Annals of Mathematical Statistics* 7, 1936). Response times depend on each other, so the binomial distribution has
/// the effective number of values: their number, divided by the design effect, and by the square of Student's `t` over the normal quantile,
/// because few batches determine the variance (E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected
/// number of positive counts estimated from survey data", *Survey Methodology* 24, 1998). The design effect is how much more the shares of
/// the batches vary than those of independent values would. The shares have a ratio estimator's variance, so batches may have different
/// numbers of values. The few values beyond a rare quantile hardly show their dependence, so the design effect is at least that of the
/// quantile that is ten times less rare. A batch must be long compared with the range of the autocorrelation.
/// `tests/order_statistics_coverage.rs` has the coverage with and without dependence.
///
/// **Degenerate cases.** None with fewer than ten batches that have values, when a batch counts more values at or below the quantile than
/// it has, and unless `p` is between 0 and 1. Values that vary less than independent ones count as independent.
pub fn quantile_ranks(p: f64, at: impl Fn(f64) -> Vec<Batch>) -> Option<Ranks> {
    // NaN is rejected too.
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let design = Design::new(at(p))?;
    let beyond = p.min(1.0 - p) * LESS_RARE;
    let less_rare = (beyond < 0.5).then_some(if p < 0.5 { beyond } else { 1.0 - beyond });
    let effect =
        less_rare.and_then(|p| Design::new(at(p))).map_or(design.effect, |one| one.effect.max(design.effect));
    let t = StudentsT::new(0.0, 1.0, (design.batches - 1) as f64).ok()?.inverse_cdf(1.0 - BEYOND_EACH_END);
    let normal = Normal::standard().inverse_cdf(1.0 - BEYOND_EACH_END);
    let effective = design.values / effect * (normal / t).powi(2);
    Some(Ranks {
        low: low_rank(effective, p).map(|rank| rank / effective),
        high: high_rank(effective, p).map(|rank| rank / effective),
    })
}

/// The batches that have values, as a sample in clusters.
struct Design {
    batches: usize,
    values: f64,
    /// The variance of the share at or below the quantile, divided by that of the same number of independent values; at least 1.
    effect: f64,
}

impl Design {
    fn new(mut batches: Vec<Batch>) -> Option<Self> {
        batches.retain(|batch| batch.values > 0);
        let count = batches.len();
        if count < MIN_BATCHES || batches.iter().any(|batch| batch.at_or_below > batch.values) {
            return None;
        }
        let values = batches.iter().map(|batch| batch.values as f64).sum::<f64>();
        let share = batches.iter().map(|batch| batch.at_or_below as f64).sum::<f64>() / values;
        let deviation = |batch: &Batch| batch.at_or_below as f64 - share * batch.values as f64;
        let squares: f64 = batches.iter().map(|batch| deviation(batch).powi(2)).sum();
        let variance = squares * count as f64 / (count - 1) as f64 / values.powi(2);
        let independent = share * (1.0 - share) / values;
        let effect = if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 };
        Some(Self { batches: count, values, effect })
    }
}

/// The probability that at least `rank` of `values` independent values are at or below their true `p` quantile. The incomplete beta
/// function extends it to fractions.
fn at_least(rank: f64, values: f64, p: f64) -> f64 {
    beta_reg(rank, values - rank + 1.0, p)
}

/// The highest rank that is at or below the true quantile, except with the probability beyond an end.
fn low_rank(values: f64, p: f64) -> Option<f64> {
    let is_low = |rank: f64| 1.0 - at_least(rank, values, p) <= BEYOND_EACH_END;
    (values >= 1.0 && is_low(1.0)).then(|| last(1.0, values, is_low))
}

/// The lowest rank that is at or above the true quantile, except with the probability beyond an end.
fn high_rank(values: f64, p: f64) -> Option<f64> {
    let is_low = |rank: f64| at_least(rank, values, p) > BEYOND_EACH_END;
    (values >= 1.0 && !is_low(values)).then(|| if is_low(1.0) { last(1.0, values, is_low) } else { 1.0 })
}

/// Returns the largest value from `from` to `to` at which `holds` is true. It is true at `from`, and changes at most once.
fn last(mut from: f64, mut to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(to) {
        return to;
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(from, to);
        if holds(middle) {
            from = middle;
        } else {
            to = middle;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(number: usize, values: u64, at_or_below: impl Fn(usize) -> u64) -> Vec<Batch> {
        (0..number).map(|number| Batch { values, at_or_below: at_or_below(number) }).collect()
    }

    #[test]
    fn independent_values_have_the_ranks_of_the_binomial_distribution() {
        // R: qbinom(c(0.025, 0.975), 100, 0.5) is 40 and 60: the ranks 40 and 61 hold the median.
        let (low, high) = (low_rank(100.0, 0.5).unwrap(), high_rank(100.0, 0.5).unwrap());
        assert!((40.0..41.0).contains(&low) && (60.0..=61.0).contains(&high), "{low} {high}");
        // 6 values are the fewest whose extremes hold the median, and 368 those whose largest bounds the p99.
        assert_eq!((low_rank(5.0, 0.5), high_rank(5.0, 0.5)), (None, None));
        assert!(low_rank(6.0, 0.5).is_some() && high_rank(6.0, 0.5).is_some());
        assert_eq!(high_rank(366.0, 0.99), None);
        assert!(high_rank(368.0, 0.99).is_some() && low_rank(100.0, 0.99).is_some());
    }

    #[test]
    fn batches_that_differ_widen_the_interval() {
        let alike = quantile_ranks(0.99, |_| batches(20, 1_000, |_| 990)).unwrap();
        let unlike = |_| batches(20, 1_000, |number| if number % 2 == 0 { 980 } else { 1_000 });
        let unlike = quantile_ranks(0.99, unlike).unwrap();
        let width = |ranks: Ranks| ranks.high.unwrap() - ranks.low.unwrap();
        assert!((0.0027..0.0032).contains(&width(alike)), "{alike:?}");
        // The standard error of the shares is 0.0023, and t is 2.093.
        assert!((0.008..0.013).contains(&width(unlike)), "{unlike:?}");
        // Dependence that only a less rare quantile shows.
        let shown =
            |p: f64| batches(20, 1_000, |number| if p > 0.95 { 990 } else { 860 + 80 * (number as u64 % 2) });
        assert!(width(quantile_ranks(0.99, shown).unwrap()) > 2.0 * width(alike));
    }

    #[test]
    fn an_end_that_no_value_bounds_is_open() {
        let few = quantile_ranks(0.99, |_| batches(20, 10, |_| 10)).unwrap();
        assert!(few.low.is_some() && few.high.is_none(), "{few:?}");
        // All slow values in one batch: they are one event.
        let stalled = |_| batches(20, 250, |number| if number == 7 { 200 } else { 250 });
        let stalled = quantile_ranks(0.99, stalled).unwrap();
        assert!(stalled.low.is_some() && stalled.high.is_none(), "{stalled:?}");
    }

    #[test]
    fn without_batches_there_is_no_interval() {
        assert_eq!(quantile_ranks(0.5, |_| batches(9, 100, |_| 50)), None);
        let mostly_empty = |_| [batches(9, 100, |_| 50), batches(11, 0, |_| 0)].concat();
        assert_eq!(quantile_ranks(0.5, mostly_empty), None);
        assert_eq!(quantile_ranks(0.5, |_| batches(20, 100, |_| 101)), None);
        for p in [0.0, 1.0, f64::NAN] {
            assert_eq!(quantile_ranks(p, |_| batches(20, 100, |_| 50)), None, "{p}");
        }
    }
}
