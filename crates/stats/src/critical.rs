//! Two-sided critical values.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The two-sided critical value of Student's distribution: a variable with `freedom` degrees of freedom lies
/// between `-t` and `t` with probability `confidence`. With infinitely many it is [`two_sided_normal`].
///
/// **Degenerate cases.** `None` when `confidence` is not strictly between 0 and 1, when `freedom` is not positive,
/// and when `t` is not finite.
pub(crate) fn two_sided_t(freedom: f64, confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    if freedom > f64::MAX {
        return two_sided_normal(confidence);
    }
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // The lower tail keeps digits that `1 - tail` would lose to rounding.
    Some(-student.inverse_cdf((1.0 - confidence) / 2.0)).filter(|t| t.is_finite())
}

/// The two-sided critical value of the standard normal distribution, the limit of Student's for many degrees of
/// freedom.
pub(crate) fn two_sided_normal(confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    Some(-Normal::standard().inverse_cdf((1.0 - confidence) / 2.0)).filter(|z| z.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_that_of_the_tables() {
        // Student's t at 0.975 with 1, 2 and 9 degrees of freedom, and at 0.98 with 9.
        for (freedom, confidence, expected) in
            [(1.0, 0.95, 12.706_205), (2.0, 0.95, 4.302_653), (9.0, 0.95, 2.262_157), (9.0, 0.96, 2.398_441)]
        {
            let t = two_sided_t(freedom, confidence).unwrap();
            assert!((t - expected).abs() < 1e-6, "{freedom} {confidence}: {t}");
        }
    }

    #[test]
    fn the_normal_value_is_that_of_the_tables() {
        assert!((two_sided_normal(0.95).unwrap() - 1.959_964).abs() < 1e-6);
        assert_eq!(two_sided_t(f64::INFINITY, 0.95), two_sided_normal(0.95));
        assert_eq!(two_sided_t(f64::NEG_INFINITY, 0.95), None);
        assert_eq!(two_sided_normal(1.0), None);
        assert_eq!(two_sided_normal(f64::NAN), None);
    }

    #[test]
    fn degenerate_input_has_no_critical_value() {
        for (freedom, confidence) in [(0.0, 0.95), (-1.0, 0.95), (3.0, 0.0), (3.0, 1.0), (3.0, f64::NAN)] {
            assert_eq!(two_sided_t(freedom, confidence), None, "{freedom} {confidence}");
        }
    }
}
