//! Derivatives of the logarithm of the gamma function, for the moments of the logarithm of a sample variance.

/// From this value on, the asymptotic series are exact to ten digits.
const LARGE: f64 = 12.0;

/// The second derivative of the logarithm of the gamma function, for positive `x`.
///
/// **Source.** M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*, 1964, 6.4.6 and 6.4.12.
pub(crate) fn trigamma(x: f64) -> f64 {
    let (shifted, large) = shift(x, |x| x.powi(-2));
    let square = large.powi(-2);
    shifted
        + 1.0 / large
        + square / 2.0
        + square / large * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))
}

/// The fourth derivative of the logarithm of the gamma function, for positive `x`. Source: as for [`trigamma`].
pub(crate) fn pentagamma(x: f64) -> f64 {
    let (shifted, large) = shift(x, |x| 6.0 * x.powi(-4));
    shifted + 2.0 * large.powi(-3) + 3.0 * large.powi(-4) + 2.0 * large.powi(-5) - large.powi(-7)
}

/// The value at which [`trigamma`] is `y`; infinite if `y` is not positive.
pub(crate) fn trigamma_inverse(y: f64) -> f64 {
    if y <= 0.0 {
        return f64::INFINITY;
    }
    // Between 1 / x and 1 / x + 1 / x^2.
    let (mut low, mut high) = (1.0 / y, 0.5 / y + (0.25 / (y * y) + 1.0 / y).sqrt());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if trigamma(middle) > y { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Adds `term` of `x`, `x + 1` and so on, up to [`LARGE`], and returns the sum with the first value that was not added.
fn shift(x: f64, term: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut sum, mut x) = (0.0, x);
    while x < LARGE {
        sum += term(x);
        x += 1.0;
    }
    (sum, x)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn values_at_one_and_one_half_are_those_of_the_zeta_function() {
        assert!((trigamma(1.0) - PI.powi(2) / 6.0).abs() < 1e-9);
        assert!((trigamma(0.5) - PI.powi(2) / 2.0).abs() < 1e-9);
        assert!((pentagamma(1.0) - PI.powi(4) / 15.0).abs() < 1e-8);
        assert!((pentagamma(0.5) - PI.powi(4)).abs() < 1e-7);
    }

    #[test]
    fn the_inverse_is_the_inverse() {
        for x in [0.01, 0.5, 1.0, 3.7, 50.0, 1e4] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
        assert!(trigamma_inverse(0.0).is_infinite());
    }
}
