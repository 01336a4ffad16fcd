//! Quantiles of a sample, and the sample size that a quantile needs.

/// Number of values that must lie beyond a quantile on its thinner side.
const VALUES_BEYOND: f64 = 100.0;

/// The `p` quantile of `values`, in their unit.
///
/// **Method.** Sample quantile of type 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages",
/// *The American Statistician* 50(4), 1996: with the values sorted and numbered from 0, the value at position
/// `p * (n - 1)`, interpolated linearly between its two neighbours. It is the default of R and `NumPy`. It is the
/// smallest value at `p = 0`, the largest at `p = 1` and the ordinary median at `p = 0.5`.
///
/// The number of values that a quantile needs is a separate question: see [`quantile_supported`].
///
/// **Degenerate cases.** `None` when `values` is empty, when a value is not finite, and when `p` is not between 0
/// and 1. Every quantile of a single value is that value.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    quantile_of(&mut values.to_vec(), p)
}

/// The median of `values`, in their unit: [`quantile()`] at one half.
///
/// With an even number of values it is the mean of the two middle ones.
///
/// **Degenerate cases.** `None` when `values` is empty or a value is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// As [`quantile()`], but reorders the values in place.
pub fn quantile_of(values: &mut [f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let position = p * values.len().checked_sub(1)? as f64;
    let below = position.floor();
    let weight = position - below;
    let (_, &mut lower, above) = values.select_nth_unstable_by(below as usize, f64::total_cmp);
    let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lower);
    // The weighted sum cannot overflow, unlike adding a share of the difference. The clamp undoes rounding past
    // either neighbour.
    Some((lower * (1.0 - weight) + upper * weight).clamp(lower, upper))
}

/// Returns the number of values that a sample needs before its `p` quantile is reported.
///
/// **Method.** `n * min(p, 1 - p) >= 100`. Check 10 of the validity checks requires 100 values beyond a tail
/// quantile. Here "beyond" means the thinner of the two sides, so low quantiles obey the same rule and the median
/// has a minimum too. The minimum is 200 values for p50, 1,000 for p90, 10,000 for p99 and 100,000 for p99.9.
///
/// The textbook minimum for a distribution-free 95 % interval is far lower (6 values for p50, 299 for p99), but it
/// assumes independent values. Requests that queue behind each other are not independent: the number of separate
/// busy periods counts, and 100 values beyond the quantile may come from a handful of them. The rule is thus
/// necessary, not sufficient; the spread over rounds covers the rest.
///
/// **Degenerate cases.** `None` unless `p` is strictly between 0 and 1: no sample size supports the minimum or the
/// maximum of a distribution.
pub fn samples_for_quantile(p: f64) -> Option<u64> {
    // NaN is rejected too.
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    // In binary, 1 - 0.9 is slightly less than a tenth, and p90 would need 1,001 values. Add the largest possible
    // rounding error.
    let share_beyond = p.min(1.0 - p) + f64::EPSILON / 4.0;
    Some((VALUES_BEYOND / share_beyond).ceil() as u64)
}

/// Returns true if `count` values support reporting their `p` quantile: at least [`samples_for_quantile`] of them.
///
/// **Degenerate cases.** `false` unless `p` is strictly between 0 and 1.
pub fn quantile_supported(count: u64, p: f64) -> bool {
    samples_for_quantile(p).is_some_and(|needed| count >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_type_7() {
        // R: quantile(c(1, 2, 4, 8, 16), c(0, 0.1, 0.25, 0.5, 0.9, 1)).
        let values = [8.0, 1.0, 16.0, 4.0, 2.0];
        for (p, expected) in [(0.0, 1.0), (0.1, 1.4), (0.25, 2.0), (0.5, 4.0), (0.9, 12.8), (1.0, 16.0)] {
            let estimate = quantile(&values, p).unwrap();
            assert!((estimate - expected).abs() < 1e-12, "{p}: {estimate}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn degenerate_input_has_no_quantile() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.0), None);
        for p in [-0.1, 1.1, f64::NAN] {
            assert_eq!(quantile(&[1.0, 2.0], p), None, "{p}");
        }
    }

    #[test]
    fn a_quantile_needs_a_hundred_values_beyond_it() {
        for (p, needed) in [
            (0.5, 200),
            (0.75, 400),
            (0.9, 1_000),
            (0.95, 2_000),
            (0.99, 10_000),
            (0.999, 100_000),
            (0.9999, 1_000_000),
            (0.1, 1_000),
            (0.01, 10_000),
        ] {
            assert_eq!(samples_for_quantile(p), Some(needed), "{p}");
            assert!(quantile_supported(needed, p), "{p}");
            assert!(!quantile_supported(needed - 1, p), "{p}");
        }
    }

    #[test]
    fn no_number_of_values_supports_an_extreme() {
        for p in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            assert_eq!(samples_for_quantile(p), None, "{p}");
            assert!(!quantile_supported(u64::MAX, p), "{p}");
        }
    }
}
