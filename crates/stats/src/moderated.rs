//! Empirical Bayes intervals for many costs over few replicates: the variances of the other costs help to estimate that of each.

use hoptax_result::Interval;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

use crate::Weighted;
use crate::critical::two_sided_t;
use crate::polygamma::{pentagamma, trigamma, trigamma_inverse};

/// Minimum number of costs for an estimate of the prior.
const MIN_COSTS: usize = 6;

/// Largest number of replicates that [`moderated`] accepts. With five, it would narrow intervals by 5 to 10 %, with twelve not at all.
pub const MOST_REPLICATES: usize = 4;

/// Standard errors that are added to the estimated spread of the true variances, which weakens the prior.
const CAUTION: f64 = 1.0;

/// Exponent of the probability of a variance this large. The weight of the prior is multiplied by this power.
const DOUBT: f64 = 3.5;

/// Upper limit of degrees of freedom. More of them change no interval.
const MAX_FREEDOM: f64 = 10_000.0;

/// One cost of several that are compared with one reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicates {
    /// The cost in each replicate, such as a round or a sitting, in any unit.
    pub values: Vec<f64>,
    /// Expected standard deviation of the arm's own part of the cost, in the unit of `values`. Only the ratios between arms and their
    /// reference matter, so a common factor may be left out.
    pub own: f64,
    /// Expected standard deviation of the part that all costs share, which comes from the reference, with the same unit and factor.
    pub shared: f64,
}

/// A variance, and how many degrees of freedom it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The variance, in the square of any unit; not negative.
    pub value: f64,
    /// Its degrees of freedom; positive.
    pub freedom: f64,
}

/// A cost with the moderated variances of its two parts in one replicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moderated {
    /// The mean over replicates.
    pub estimate: f64,
    /// Variance of the arm's own part.
    pub own: Variance,
    /// Variance of the part of the reference, which all costs share.
    pub shared: Variance,
    /// Number of replicates.
    pub replicates: usize,
}

impl Moderated {
    /// The variance of one replicate.
    ///
    /// **Source.** F. E. Satterthwaite, "An Approximate Distribution of Estimates of Variance Components", *Biometrics
    /// Bulletin* 2(6), 1946.
    pub fn variance(&self) -> Variance {
        let value = self.own.value + self.shared.value;
        let spread =
            self.own.value.powi(2) / self.own.freedom + self.shared.value.powi(2) / self.shared.freedom;
        let freedom = if spread > 0.0 { value.powi(2) / spread } else { self.own.freedom };
        Variance { value, freedom }
    }

    /// The estimate with its `confidence` interval and the degrees of freedom of its variance. None if `confidence` is not strictly between 0
    /// and 1.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let Variance { value, freedom } = self.variance();
        let half_width = two_sided_t(freedom, confidence)? * (value / self.replicates as f64).sqrt();
        let interval = Interval::around(self.estimate, half_width).with_freedom(freedom);
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }
}

/// The weighted sum of costs that [`moderated`] has returned together.
///
/// **Method.** Own parts are independent, so their variances add up; the part of the reference is the same in all costs, so its standard
/// deviations add up. The own variances rest on one prior, so their sum has the degrees of freedom of a single one: the harmonic mean,
/// weighted by their shares.
///
/// **Degenerate cases.** None without a term.
pub fn sum_of_moderated(terms: &[Weighted<Moderated>]) -> Option<Moderated> {
    let first = terms.first()?.value;
    let sum =
        |of: fn(f64, &Moderated) -> f64| terms.iter().map(|term| of(term.weight, &term.value)).sum::<f64>();
    let own = sum(|weight, one| weight.powi(2) * one.own.value);
    let spread = sum(|weight, one| weight.powi(2) * one.own.value / one.own.freedom);
    let shared = sum(|weight, one| weight * one.shared.value.sqrt());
    Some(Moderated {
        estimate: sum(|weight, one| weight * one.estimate),
        own: Variance { value: own, freedom: if spread > 0.0 { own / spread } else { first.own.freedom } },
        shared: Variance { value: shared.powi(2), freedom: first.shared.freedom },
        replicates: first.replicates,
    })
}

/// Costs against one reference, over the same two to four replicates, with moderated variances, in the order of `costs`.
///
/// **Why.** Student's `t` is 12.7 with two replicates, and 4.3 with three, because so few replicates hardly determine the variance of one
/// cost. All arms of a study share a machine, so their variances, each relative to the arm's own level, estimate nearly the same quantity.
///
/// **Method.** That of G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
/// Experiments", *Statistical Applications in Genetics and Molecular Biology* 3(1), 2004 (`limma`): the true variances follow a scaled
/// inverse chi-square distribution, whose scale and degrees of freedom are estimated from the mean and the variance of the logarithms of
/// the sample variances. Each moderated variance is the mean of the sample variance and the prior variance, weighted by their degrees of
/// freedom, which add up. This function differs from that method in three respects.
///
/// - *Costs share the error of their reference,* so their sample variances are alike even if nothing is known about the true ones, and the
///   plain method treats them as certain: where the reference varies ten times as much as the arms, its intervals cover in 84 % of studies
///   with two rounds. Each cost is therefore split into the part that all costs have in common in a replicate, and its own part. The own
///   parts are estimated as above. The common part is one more variance, with its own degrees of freedom and the same prior, and the sum
///   has those of [`Moderated::variance`].
/// - *The prior itself is an estimate.* The variance of the logarithms beyond sampling error is increased by its standard error. So six
///   costs have a weak prior, and seventy a stronger one.
/// - *An arm may vary more than the others.* The robust form of B. Phipson, S. Lee, I. J. Majewski, W. S. Alexander and G. K. Smyth,
///   "Robust Hyperparameter Estimation Protects against Hypervariable Genes and Improves Power to Detect Differential Expression", *Annals
///   of Applied Statistics* 10(2), 2016, gives such an arm fewer degrees of freedom of the prior. With so few replicates no test can
///   identify it, so the penalty is gradual: the degrees of freedom of each arm's prior are multiplied by a power of the probability of a
///   variance as large as its own. Large variances stay as they are, small ones are raised.
///
/// **Coverage.** `tests/moderated_coverage.rs` simulates 6 to 70 costs with 1 to 8 copies of their reference. In per cent of nominal
/// 95 % intervals, from the worst setting to the best; widths are medians, as a share of those of Student's intervals:
///
/// | true variances | arm | two replicates | three | four |
/// |---|---|---|---|---|
/// | equal | every | 98.1 to 99.3 | 97.5 to 98.3 | 97.2 to 97.7 |
/// | from one to four times | the most variable | 96.2 to 97.8 | 95.3 to 97.1 | 95.1 to 96.5 |
/// | one arm ten times the others | that arm | 93.2 to 94.0 | 93.3 to 94.7 | 94.0 to 94.9 |
/// | the reference ten times | every | 96.6 to 99.0 | 95.7 to 97.7 | 95.7 to 97.0 |
/// | equal | width | 0.47 to 0.59 | 0.75 to 0.85 | 0.85 to 0.94 |
///
/// In `tests/whole_study/few_rounds.rs`, with skewed slices and with processes that live at one of two levels, the intervals of
/// costs and of their sums cover in 95 to 99 % (sums in 98 to 100 %), where Student's covers costs in 90 to 97 %.
///
/// **Limits.** With two replicates, an arm with ten times the variance looks like the others in one study of four. An interval that still
/// covers it is wider than equal arms need, so these are covered in more than the nominal 95 %. The plain method of `limma` has intervals
/// of a quarter of Student's width there, and covers equal arms in 90 to 95 %, and that arm in 65 to 80 %. With fewer than six costs, one
/// such arm spoils the prior of the others.
///
/// **Degenerate cases.** `None` with fewer than six costs whose own parts vary, with fewer than two replicates or more than four (Student's
/// interval is then as narrow), when the costs have different numbers of them, and when a number is not finite or a scale is not positive.
/// A cost that does not vary gets the prior variance.
pub fn moderated(costs: &[Replicates]) -> Option<Vec<Moderated>> {
    let replicates = costs.first()?.values.len();
    let is_sound = |cost: &Replicates| {
        let is_scale = |scale: f64| scale > 0.0 && scale.is_finite();
        let is_finite = cost.values.iter().all(|value| value.is_finite());
        cost.values.len() == replicates && is_finite && is_scale(cost.own) && is_scale(cost.shared)
    };
    if costs.len() < MIN_COSTS || !(2..=MOST_REPLICATES).contains(&replicates) || !costs.iter().all(is_sound)
    {
        return None;
    }
    let freedom = replicates as f64 - 1.0;
    // Relative to the shared part, which has the variance 1 in all costs if the scales are right.
    let parts = parts(costs, replicates);
    let prior = Prior::fitted(&parts.own, freedom)?;
    let shared = prior.moderate(parts.shared / parts.shared_scale, freedom);
    let of_cost = |((cost, own), others): ((&Replicates, &f64), &f64)| {
        let estimate = cost.values.iter().sum::<f64>() / replicates as f64;
        // A deviation from the common part also contains the noise of the other costs, which does not grow with the arm's own noise.
        let beyond = (own - prior.usual).max(0.0) * others;
        let own = prior.moderate(own + beyond, freedom).times(cost.own.powi(2));
        Moderated {
            estimate,
            own,
            shared: shared.times(parts.shared_scale * cost.shared.powi(2)),
            replicates,
        }
    };
    let found: Vec<Moderated> = costs.iter().zip(&parts.own).zip(&parts.others).map(of_cost).collect();
    found.iter().all(|one| one.variance().value.is_finite()).then_some(found)
}

/// Sample variances, each relative to its scale.
struct Parts {
    own: Vec<f64>,
    /// The noise of the other costs in each of these, as a share of the own one.
    others: Vec<f64>,
    /// The variance of the common part, not divided by its scale yet.
    shared: f64,
    /// The variance that the common part is expected to have if all own parts have the variance 1.
    shared_scale: f64,
}

/// Splits the deviations of costs from their means into a common part for each replicate, which is their precision-weighted mean, and the
/// rest.
fn parts(costs: &[Replicates], replicates: usize) -> Parts {
    let freedom = replicates as f64 - 1.0;
    let scale = |cost: &Replicates| cost.own / cost.shared;
    let deviations = |cost: &Replicates| -> Vec<f64> {
        let mean = cost.values.iter().sum::<f64>() / replicates as f64;
        cost.values.iter().map(|value| (value - mean) / cost.shared).collect()
    };
    let all: Vec<(f64, Vec<f64>)> =
        costs.iter().map(|cost| (scale(cost).powi(2), deviations(cost))).collect();
    let weights: f64 = all.iter().map(|(scale, _)| 1.0 / scale).sum();
    let common = |replicate: usize| {
        let weighted = all.iter().filter_map(|(scale, values)| Some(values.get(replicate)? / scale));
        weighted.sum::<f64>() / weights
    };
    let common: Vec<f64> = (0..replicates).map(common).collect();
    let own = |(scale, values): &(f64, Vec<f64>)| {
        let squares = values.iter().zip(&common).map(|(value, common)| (value - common).powi(2));
        squares.sum::<f64>() / freedom / (scale - 1.0 / weights)
    };
    Parts {
        own: all.iter().map(own).collect(),
        others: all.iter().map(|(scale, _)| 1.0 / (weights * scale - 1.0)).collect(),
        shared: common.iter().map(|value| value.powi(2)).sum::<f64>() / freedom,
        shared_scale: 1.0 + 1.0 / weights,
    }
}

impl Variance {
    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, ..self }
    }
}

/// Prior of a variance from several variances: its usual value, and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Prior {
    usual: f64,
    freedom: f64,
}

impl Prior {
    /// The prior of sample variances with `freedom` degrees of freedom each. Variances of zero are ignored.
    fn fitted(variances: &[f64], freedom: f64) -> Option<Self> {
        let logarithms: Vec<f64> =
            variances.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
        if logarithms.len() < MIN_COSTS {
            return None;
        }
        let count = logarithms.len() as f64;
        let half = freedom / 2.0;
        let mean = logarithms.iter().sum::<f64>() / count;
        let spread = logarithms.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let sampling = trigamma(half);
        let error = (2.0 * sampling.powi(2) / (count - 1.0) + pentagamma(half) / count).sqrt();
        let excess = (spread - sampling).max(0.0);
        let likely = freedom_of(excess);
        let centre = mean - digamma(half) + half.ln();
        let usual = (centre + digamma(likely / 2.0) - (likely / 2.0).ln()).exp();
        let prior = Self { usual, freedom: freedom_of(excess + CAUTION * error) };
        (prior.usual > 0.0 && prior.usual.is_finite()).then_some(prior)
    }

    /// The moderated variance for a sample variance.
    fn moderate(&self, value: f64, freedom: f64) -> Variance {
        let chance =
            FisherSnedecor::new(freedom, self.freedom).map_or(0.0, |ratios| ratios.sf(value / self.usual));
        let borrowed = self.freedom * chance.powf(DOUBT);
        Variance {
            value: (borrowed * self.usual + freedom * value) / (borrowed + freedom),
            freedom: borrowed + freedom,
        }
    }
}

/// The degrees of freedom of a prior whose logarithms have this variance.
fn freedom_of(variance: f64) -> f64 {
    (2.0 * trigamma_inverse(variance)).min(MAX_FREEDOM)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::mean_over_rounds;

    fn costs(values: &[Vec<f64>]) -> Vec<Replicates> {
        values.iter().map(|values| Replicates { values: values.clone(), own: 1.0, shared: 0.5 }).collect()
    }

    fn half_width(one: &Moderated) -> f64 {
        one.interval(0.95).unwrap().half_width()
    }

    /// Ten costs over three replicates with own deviations of one size, and one whose deviations are `factor` times as large.
    fn study(factor: f64) -> Vec<Replicates> {
        let one = |number: i32| {
            let size = if number == 9 { factor } else { 1.0 } * (1.0 + 0.1 * f64::from(number % 3));
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            let turn = |place: i32| f64::from((place + number) % 3 - 1);
            (0..3).map(|place| 10.0 + sign * size * turn(place)).collect()
        };
        costs(&(0..10).map(one).collect::<Vec<Vec<f64>>>())
    }

    #[test]
    fn costs_that_vary_alike_have_narrower_intervals_around_the_same_estimates() {
        let study = study(1.0);
        let mut ratios = 0.0;
        for (cost, found) in study.iter().zip(moderated(&study).unwrap()) {
            let alone = mean_over_rounds(&cost.values, 0.95).unwrap();
            assert!((found.estimate - alone.estimate).abs() < 1e-12);
            assert!(half_width(&found) < alone.half_width() && found.variance().freedom > 2.0, "{found:?}");
            ratios += half_width(&found) / alone.half_width() / study.len() as f64;
        }
        assert!(ratios < 0.85, "{ratios}");
    }

    #[test]
    fn an_arm_that_varies_far_more_keeps_its_own_variance() {
        let study = study(50.0);
        let outlier = moderated(&study).unwrap()[9];
        let values = &study[9].values;
        let mean = values.iter().sum::<f64>() / 3.0;
        let own = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0;
        assert!((outlier.own.freedom - 2.0).abs() < 0.2, "{outlier:?}");
        assert!((outlier.variance().value / own - 1.0).abs() < 0.2, "{outlier:?} {own}");
    }

    #[test]
    fn a_reference_that_varies_far_more_leaves_costs_with_its_degrees_of_freedom() {
        let mut study = study(1.0);
        for cost in &mut study {
            cost.values.iter_mut().zip([60.0, -30.0, -30.0]).for_each(|(value, shared)| *value += shared);
        }
        for one in moderated(&study).unwrap() {
            let found = one.variance();
            assert!((2.0..2.2).contains(&found.freedom), "{found:?}");
            assert!((found.value / 2_700.0 - 1.0).abs() < 0.1, "{found:?}");
        }
    }

    #[test]
    fn a_prior_without_weight_leaves_a_variance_and_one_with_all_weight_replaces_it() {
        let none = Prior { usual: 4.0, freedom: 1e-9 }.moderate(2.0, 3.0);
        assert!((none.value - 2.0).abs() < 1e-6 && (none.freedom - 3.0).abs() < 1e-6, "{none:?}");
        let all = Prior { usual: 4.0, freedom: MAX_FREEDOM }.moderate(2.0, 3.0);
        assert!((all.value - 4.0).abs() < 1e-2 && all.freedom > 1_000.0, "{all:?}");
    }

    #[test]
    fn a_cost_that_does_not_vary_has_the_usual_variance() {
        let mut study = study(1.0);
        study[0].values = vec![3.0; 3];
        let found = moderated(&study).unwrap();
        assert!(half_width(&found[0]) > 0.3 * half_width(&found[3]), "{found:?}");
    }

    #[test]
    fn a_sum_of_one_is_its_cost_and_what_two_share_counts_twice_or_cancels() {
        let found = moderated(&study(1.0)).unwrap();
        let one = found[0];
        assert_eq!(sum_of_moderated(&[Weighted::new(1.0, one)]).unwrap().interval(0.95), one.interval(0.95));
        assert_eq!(sum_of_moderated(&[]), None);
        let exact = Moderated { own: Variance { value: 0.0, ..one.own }, ..one };
        let width = |second: f64| {
            let sum = sum_of_moderated(&[1.0, second].map(|weight| Weighted::new(weight, exact))).unwrap();
            half_width(&sum) / half_width(&exact)
        };
        assert!((width(1.0) - 2.0).abs() < 1e-9 && width(-1.0) < 1e-9);
    }

    #[test]
    fn too_little_has_no_prior() {
        let study = study(1.0);
        assert!(moderated(&[]).is_none() && moderated(&study[..3]).is_none());
        assert_eq!(moderated(&costs(&vec![vec![1.0, 1.0]; 9])), None, "nothing varies");
        assert_eq!(moderated(&costs(&vec![vec![1.0]; 9])), None, "one replicate");
        assert_eq!(moderated(&costs(&vec![vec![1.0, 2.0, 3.0, 5.0, 9.0]; 9])), None, "enough replicates");
        for spoil in [
            |cost: &mut Replicates| cost.values.push(1.0),
            |cost: &mut Replicates| cost.values[0] = f64::NAN,
            |cost: &mut Replicates| cost.values[0] = f64::MAX,
            |cost: &mut Replicates| cost.own = 0.0,
            |cost: &mut Replicates| cost.shared = f64::INFINITY,
        ] {
            let mut spoilt = study.clone();
            spoil(&mut spoilt[4]);
            assert_eq!(moderated(&spoilt), None);
        }
    }

    fn studies() -> impl Strategy<Value = Vec<Replicates>> {
        let scales = (0.1..10.0_f64, 0.1..10.0_f64);
        (2..=MOST_REPLICATES).prop_flat_map(move |replicates| {
            let one = (vec(-100.0..100.0_f64, replicates), scales.clone());
            vec(one.prop_map(|(values, (own, shared))| Replicates { values, own, shared }), MIN_COSTS..12)
        })
    }

    proptest! {
        #[test]
        fn neither_order_nor_unit_nor_level_matters(
            study in studies(), turn in 0..12_usize, unit in 0.01..100.0_f64, level in -1e3..1e3_f64,
        ) {
            let found = moderated(&study).unwrap();
            let mut other = study.clone();
            let turn = turn % study.len();
            other.rotate_left(turn);
            for cost in &mut other {
                cost.values.iter_mut().for_each(|value| *value = *value * unit + level);
                cost.values.reverse();
                (cost.own, cost.shared) = (cost.own * unit, cost.shared * unit);
            }
            let mut again = moderated(&other).unwrap();
            again.rotate_right(turn);
            for (one, again) in found.iter().zip(again) {
                prop_assert!((half_width(one) * unit / half_width(&again) - 1.0).abs() < 1e-4, "{one:?} {again:?}");
                prop_assert!((one.estimate * unit + level - again.estimate).abs() < 1e-6 * (1.0 + level.abs() + 100.0 * unit));
            }
        }

        #[test]
        fn degrees_of_freedom_are_at_least_those_of_a_part(study in studies()) {
            let freedom = study[0].values.len() as f64 - 1.0;
            for one in moderated(&study).unwrap() {
                prop_assert!(one.own.freedom >= freedom && one.shared.freedom >= freedom, "{one:?}");
                prop_assert!(one.variance().freedom >= freedom - 1e-9, "{one:?}");
            }
        }
    }
}
