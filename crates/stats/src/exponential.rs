//! Test if gaps between arrivals are exponential, as those of a Poisson process are.

/// The largest distance between the empirical distribution of `gaps` and the exponential distribution with mean
/// `1 / rate`, from 0 to 1.
///
/// **Method.** The Kolmogorov-Smirnov statistic against a fully specified distribution: the rate is the planned one,
/// not one fitted to the gaps. It measures effect size, not significance: for `n` exponential gaps it exceeds
/// `1.63 / sqrt(n)` once in a hundred times.
///
/// **Degenerate cases.** `None` without gaps, or when the rate is not positive and finite.
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
        // A share of 1 - 1/e of exponential gaps is shorter than their mean; none of the even gaps is.
        assert!((exponential_distance(&[0.02; 100], 50.0).unwrap() - (1.0 - (-1.0_f64).exp())).abs() < 1e-9);
        assert_eq!(exponential_distance(&[], 1.0), None);
        assert_eq!(exponential_distance(&[1.0], 0.0), None);
    }
}
