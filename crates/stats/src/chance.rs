//! The standard error behind an interval over rounds, and its p-value.

use hoptax_result::Interval;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::critical::two_sided_t;

/// The two-sided p-value of `cost`: the probability that a difference whose true value is zero is estimated at least as
/// far from zero, given that `cost` is a Student interval with `freedom` degrees of freedom at `confidence`.
///
/// **Method.** The standard error is the half-width divided by the critical value of Student's distribution with as
/// many degrees of freedom. The estimate divided by the standard error follows that distribution under the null
/// hypothesis. For intervals computed in another way the result is an approximation.
///
/// **Degenerate cases.** `None` without degrees of freedom, for an interval of zero width, and when a number is not
/// finite.
pub fn chance_of_difference(cost: &Interval, freedom: f64, confidence: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let t = cost.estimate.abs() / standard_error(cost, freedom, confidence)?;
    t.is_finite().then(|| 2.0 * student.cdf(-t))
}

/// The standard error of the estimate of `cost`, in its unit, given that `cost` is a Student interval with `freedom`
/// degrees of freedom at `confidence`.
///
/// Infinitely many degrees of freedom are those of the normal distribution, as in all functions that take them.
///
/// **Degenerate cases.** `None` without degrees of freedom, and for an interval of zero width.
pub fn standard_error(cost: &Interval, freedom: f64, confidence: f64) -> Option<f64> {
    let quantile = two_sided_t(freedom, confidence)?;
    // NaN is filtered out too.
    Some(cost.half_width() / quantile).filter(|error| *error > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_just_touches_zero_is_as_likely_as_its_confidence_leaves() {
        for freedom in [2.0, 9.0, 15.0] {
            let chance = chance_of_difference(&Interval::around(2.0, 2.0), freedom, 0.95).unwrap();
            assert!((chance - 0.05).abs() < 1e-9, "{freedom}: {chance}");
        }
    }

    #[test]
    fn further_from_zero_is_rarer() {
        // Twice the integral of Student's density with 9 degrees of freedom from 2 * 2.262157163 upwards, by the
        // midpoint rule.
        let chance = chance_of_difference(&Interval::around(-4.0, 2.0), 9.0, 0.95).unwrap();
        assert!((chance - 0.001_437_869).abs() < 1e-8, "{chance}");
    }

    #[test]
    fn infinitely_many_degrees_of_freedom_are_those_of_the_normal_distribution() {
        // R: qnorm(0.975) = 1.959964, 2 * pnorm(-2.5) = 0.01241933.
        let cost = Interval::around(2.5, 1.959_964);
        assert!((standard_error(&cost, f64::INFINITY, 0.95).unwrap() - 1.0).abs() < 1e-6);
        let chance = chance_of_difference(&cost, f64::INFINITY, 0.95).unwrap();
        assert!((chance - 0.012_419_33).abs() < 1e-7, "{chance}");
    }

    #[test]
    fn degenerate_intervals_have_no_p_value() {
        assert_eq!(chance_of_difference(&Interval::around(1.0, 1.0), 0.0, 0.95), None);
        assert_eq!(chance_of_difference(&Interval::around(1.0, 0.0), 9.0, 0.95), None);
        assert_eq!(chance_of_difference(&Interval::around(f64::NAN, 1.0), 9.0, 0.95), None);
    }
}
