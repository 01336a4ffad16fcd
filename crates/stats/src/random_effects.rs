//! Combines the costs that several sittings measured on one machine, allowing for variance between sittings.

use hoptax_result::Interval;

use crate::critical::{two_sided_normal, two_sided_t};

/// A cost as measured by one sitting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sitting {
    /// The cost, in any unit.
    pub estimate: f64,
    /// Its standard error over the sitting's rounds, in that unit.
    pub standard_error: f64,
}

/// The combined cost of several sittings, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineCost {
    /// The cost on the machine: the mean over all possible sittings. Its interval has one degree of freedom less than there are sittings, or
    /// infinitely many if the guard sets its width.
    pub cost: Interval,
    /// Standard deviation of the true costs of sittings. Zero when the estimates differ by no more than their standard
    /// errors explain.
    pub between_sittings: f64,
    /// Prediction interval for the estimate of another sitting with the same precision.
    pub another_sitting: Interval,
}

/// Combines the estimates of one cost from several sittings on one machine. All intervals have the given `confidence`.
///
/// **Method.** A random-effects model: each sitting has a true cost of its own, drawn around that of the machine. All
/// sittings count alike. The cost is the mean of their estimates, its standard error follows from the sample variance
/// of the estimates, and the critical value is Student's with one degree of freedom less than there are sittings. The
/// sittings need not be equally precise: whatever the variances of independent normal estimates with one mean, this
/// interval covers at least as often as it states, if that is in 91.7 % or more (N. K. Bakirov and G. J. Székely,
/// "Student's T-test for Gaussian Scale Mixtures", *Zapiski Nauchnykh Seminarov POMI* 328, 2005; R. Ibragimov and U. K.
/// Müller, "t-Statistic Based Correlation and Heterogeneity Robust Inference", *Journal of Business & Economic
/// Statistics* 28(4), 2010).
///
/// **Why no weights.** A sitting of three rounds estimates its standard error from two degrees of freedom. With weights
/// by such standard errors, chance decides: a sitting whose rounds happen to agree gets nearly all of the weight.
///
/// **The guard.** Sittings that agree by chance would have an interval of almost zero width. The interval is therefore
/// never narrower than the one that assumes that sittings do not differ, which has the standard error that follows from
/// those of the sittings, and a normal critical value. It is the guard of D. Jackson, M. Law, G. Rücker and G.
/// Schwarzer, "The Hartung-Knapp Modification for Random-effects Meta-analysis: A Useful Refinement but Are There Any
/// Residual Concerns?", *Statistics in Medicine* 36(25), 2017, for a mean without weights. It holds for the given `confidence` alone: from
/// the standard error of the wider of the two intervals, the other one cannot be computed at another confidence.
///
/// **Another sitting.** Its estimate deviates by the error of the mean, by the deviation of its true cost from the
/// machine's, and by its own standard error. The three variances add up; the critical value and the guard are those of
/// the interval.
///
/// **Coverage.** `tests/sittings_coverage.rs` simulates two, three and five sittings of three and of ten rounds. The
/// nominal 95 % interval covers in 95 to 98 % where sittings differ by one to three standard errors of one, and in 98 to
/// 99 % where they do not differ. One with weights, which assumes that sittings do not differ, covers in 21 to 71 % of
/// the first.
///
/// **Two sittings.** Their interval is valid and of little use: `t` is 12.7. When sittings differ by as much as the
/// standard error of one, the median half-width is 8.1 standard errors with two sittings, 3.0 with three and 1.6 with
/// five; ten rounds of a single sitting claim 2.3. Plan at least three.
///
/// **Degenerate cases.** `None` with fewer than two sittings: the interval of a single one holds for that sitting only,
/// and contains no information on how much the next will differ. `None` when an estimate is not finite, when a standard
/// error is not finite or negative, when the intervals would not be finite, and when `confidence` is not strictly
/// between 0 and 1. A standard error of zero means that the sitting's own cost is known exactly; when all are zero and
/// all estimates agree, the intervals have zero width.
pub fn random_effects(sittings: &[Sitting], confidence: f64) -> Option<MachineCost> {
    let Combined { mean, mean_variance, between_variance, own_variance, reach, degrees_of_freedom } =
        combined(sittings, confidence)?;
    let around = |half_width: f64| Interval::around(mean, half_width);
    let found = MachineCost {
        cost: around(reach * mean_variance.sqrt()).with_freedom(degrees_of_freedom),
        between_sittings: between_variance.sqrt(),
        another_sitting: around(reach * (mean_variance + between_variance + own_variance).sqrt()),
    };
    (found.another_sitting.low.is_finite() && found.another_sitting.high.is_finite()).then_some(found)
}

/// Sittings combined, before any interval.
pub(crate) struct Combined {
    /// The mean of the estimates.
    pub(crate) mean: f64,
    /// Variance of the mean.
    pub(crate) mean_variance: f64,
    /// Variance of the true costs of sittings.
    pub(crate) between_variance: f64,
    /// Variance of the estimate of a sitting around its true cost: the mean of those that the sittings state.
    pub(crate) own_variance: f64,
    /// Half-width of intervals in standard deviations.
    pub(crate) reach: f64,
    /// Degrees of freedom of the distribution whose critical value sets `reach`.
    degrees_of_freedom: f64,
}

/// Combines the sittings by the method of [`random_effects`], in the same cases.
pub(crate) fn combined(sittings: &[Sitting], confidence: f64) -> Option<Combined> {
    let is_sound = |one: &Sitting| {
        one.estimate.is_finite() && one.standard_error.is_finite() && one.standard_error >= 0.0
    };
    if !sittings.iter().all(is_sound) {
        return None;
    }
    let count = sittings.len() as f64;
    let t = two_sided_t(count - 1.0, confidence)?;
    let mean = sittings.iter().map(|one| one.estimate).sum::<f64>() / count;
    let deviations = sittings.iter().map(|one| (one.estimate - mean).powi(2)).sum::<f64>();
    let observed = deviations / (count - 1.0);
    let own_variance = sittings.iter().map(|one| one.standard_error.powi(2)).sum::<f64>() / count;
    let variance = observed.max(own_variance);
    // Student's value, unless the estimates differ by less than their standard errors explain.
    let of_observed = if variance > 0.0 { t * (observed / variance).sqrt() } else { 0.0 };
    let guard = two_sided_normal(confidence)?;
    let (reach, degrees_of_freedom) =
        if of_observed > guard { (of_observed, count - 1.0) } else { (guard, f64::INFINITY) };
    Some(Combined {
        mean,
        mean_variance: variance / count,
        between_variance: variance - own_variance,
        own_variance,
        reach,
        degrees_of_freedom,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chance::standard_error;

    fn sitting(estimate: f64, standard_error: f64) -> Sitting {
        Sitting { estimate, standard_error }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn sittings_of_equal_precision_are_combined_as_worked_by_hand() {
        // Estimates 19.4, 20.2, 21.2: mean 20.266667, sample variance 0.813333. Standard errors of 0.2 account for 0.04
        // of it: between sittings 0.773333. Half-width 4.302653 * sqrt(0.813333 / 3); another sitting sqrt(0.813333 * 4
        // / 3).
        let found =
            random_effects(&[sitting(19.4, 0.2), sitting(20.2, 0.2), sitting(21.2, 0.2)], 0.95).unwrap();
        assert!(near(found.cost.estimate, 20.266_667), "{found:?}");
        assert!(near(found.between_sittings, 0.773_333_f64.sqrt()), "{found:?}");
        assert!(near(found.cost.half_width(), 2.240_32), "{found:?}");
        assert!(near(found.another_sitting.half_width(), 4.480_63), "{found:?}");
        assert_eq!(found.cost.degrees_of_freedom, Some(2.0), "{found:?}");
    }

    #[test]
    fn sittings_that_agree_by_luck_get_no_narrower_than_their_standard_errors() {
        let found = random_effects(&[sitting(5.0, 0.3), sitting(5.0, 0.3), sitting(5.0, 0.3)], 0.95).unwrap();
        assert!(near(found.between_sittings, 0.0));
        assert!(near(found.cost.half_width(), 1.959_964 * 0.3 / 3_f64.sqrt()), "{found:?}");
        assert_eq!(found.cost.degrees_of_freedom, Some(f64::INFINITY), "{found:?}");
    }

    proptest! {
        #[test]
        fn the_standard_error_that_sets_the_width_is_given_back(
            sittings in proptest::collection::vec((-3.0..3.0_f64, 0.05..3.0_f64), 2..6),
        ) {
            let all: Vec<Sitting> = sittings.into_iter().map(|(mean, error)| sitting(mean, error)).collect();
            let found = random_effects(&all, 0.95).unwrap();
            let count = all.len() as f64;
            let deviations: f64 = all.iter().map(|one| (one.estimate - found.cost.estimate).powi(2)).sum();
            let own: f64 = all.iter().map(|one| one.standard_error.powi(2)).sum();
            let freedom = found.cost.degrees_of_freedom.unwrap();
            let variance = if freedom.is_infinite() { own / count } else { deviations / (count - 1.0) };
            let error = standard_error(&found.cost, freedom, 0.95).unwrap();
            prop_assert!((error / (variance / count).sqrt() - 1.0).abs() < 1e-6, "{error} {found:?}");
            let guard = two_sided_normal(0.95).unwrap() * (own / count / count).sqrt();
            prop_assert!(found.cost.half_width() >= (1.0 - 1e-9) * guard, "{found:?}");
        }
    }

    #[test]
    fn a_sitting_whose_rounds_agree_by_chance_does_not_decide_the_cost() {
        let with = |standard_error: f64| {
            let sittings = [sitting(-5.647, standard_error), sitting(-2.781, 3.464), sitting(-1.462, 5.622)];
            random_effects(&sittings, 0.95).unwrap()
        };
        // Mean -3.296667, sample variance 4.577990; half-width 4.302653 * sqrt(4.577990 / 3). Weights would make it -5.64.
        for found in [with(0.113), with(1e-6)] {
            assert!(near(found.cost.estimate, -3.296_667), "{found:?}");
            assert!((found.cost.half_width() - 5.315_12).abs() < 1e-4, "{found:?}");
        }
    }

    #[test]
    fn one_sitting_says_nothing_of_the_machine() {
        assert_eq!(random_effects(&[], 0.95), None);
        assert_eq!(random_effects(&[sitting(3.0, 0.1)], 0.95), None);
    }

    #[test]
    fn sittings_without_errors_are_answered() {
        let agree = random_effects(&[sitting(2.0, 0.0), sitting(2.0, 0.0)], 0.95).unwrap();
        assert!(near(agree.cost.estimate, 2.0) && near(agree.cost.half_width(), 0.0), "{agree:?}");
        let differ = random_effects(&[sitting(2.0, 0.0), sitting(4.0, 0.0)], 0.95).unwrap();
        assert!(near(differ.cost.half_width(), 12.706_205) && near(differ.between_sittings, 2_f64.sqrt()));
    }

    #[test]
    fn degenerate_input_has_no_result() {
        let sound = sitting(1.0, 0.1);
        for spoilt in
            [sitting(f64::NAN, 0.1), sitting(f64::INFINITY, 0.1), sitting(1.0, -0.1), sitting(1.0, f64::NAN)]
        {
            assert_eq!(random_effects(&[sound, spoilt], 0.95), None, "{spoilt:?}");
        }
        assert_eq!(random_effects(&[sound, sound], 1.0), None);
        assert_eq!(random_effects(&[sitting(f64::MAX, 1.0), sitting(f64::MIN, 1.0)], 0.95), None);
    }
}
