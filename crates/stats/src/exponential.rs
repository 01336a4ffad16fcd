//! Whether gaps are those of Poisson arrivals.

/// Largest distance between the distribution of `gaps` and the exponential one of mean `1 / rate`, 0 to 1.
///
/// **Method.** The statistic of Kolmogorov and Smirnov against a distribution that is known in full: the rate is the
/// planned one, not one fitted to the gaps. It measures an effect and not its significance: of `n` gaps that are
/// exponential it exceeds `1.63 / sqrt(n)` once in a hundred times.
///
/// **Degenerate cases.** `None` without gaps, or with a rate that is not above zero and finite.
pub fn exponential_distance(gaps: &[f64], rate: f64) -> Option<f64> {
    if gaps.is_empty() || !(rate > 0.0 && rate.is_finite()) {
        return None;
    }
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let distance = |(index, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap * rate).exp();
        let below = index as f64 / count;
        (expected - below).abs().max((expected - below - 1.0 / count).abs())
    };
    Some(sorted.iter().enumerate().map(distance).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn exponential_gaps_are_near_and_even_ones_far() {
        let mut random = SmallRng::seed_from_u64(1);
        let gaps: Vec<f64> = (0..10_000).map(|_| -(1.0 - random.random::<f64>()).ln() / 50.0).collect();
        assert!(exponential_distance(&gaps, 50.0).unwrap() < 0.0163);
        // At their mean, 1 - 1/e of exponential gaps are shorter, and none of the even ones.
        assert!((exponential_distance(&[0.02; 100], 50.0).unwrap() - (1.0 - (-1.0_f64).exp())).abs() < 1e-9);
        assert_eq!(exponential_distance(&[], 1.0), None);
        assert_eq!(exponential_distance(&[1.0], 0.0), None);
    }
}
