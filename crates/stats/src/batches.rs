//! The interval of a quantile of one run, from batches of it.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The shares between whose quantiles the `p` quantile lies with 95 % confidence, when `shares` are, for each batch of
/// the run, the share of its values at or below the quantile of the whole run.
///
/// **Method.** Batch means of the indicator: the shares are near to independent even where the values are not, as long as
/// a batch is long against what makes neighbours alike; their mean has the standard error `s / sqrt(k)`, and Student's
/// `t` with `k - 1` degrees of freedom turns it into an interval of ranks (A. F. Seila, "A Batching Approach to Quantile
/// Estimation in Regenerative Simulations", *Management Science* 28, 1982). In the simulation of `tests/coverage.rs` it
/// holds the true p99 of an M/M/1 queue at utilisation 0.7 about as often as it says, where the textbook interval does in
/// one run of six.
///
/// **Degenerate cases.** `None` with fewer than ten batches, or when a share is not a number from 0 to 1. An end beyond
/// 0 or 1 is that: there the run holds no value that bounds the quantile.
pub fn quantile_ranks(shares: &[f64], p: f64) -> Option<(f64, f64)> {
    let count = shares.len();
    if count < 10 || !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
        return None;
    }
    let mean = shares.iter().sum::<f64>() / count as f64;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    let t = StudentsT::new(0.0, 1.0, (count - 1) as f64).ok()?.inverse_cdf(0.975);
    let reach = t * (variance / count as f64).sqrt();
    Some(((p - reach).clamp(0.0, 1.0), (p + reach).clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_agree_give_a_narrow_interval() {
        assert_eq!(quantile_ranks(&[0.99; 20], 0.99), Some((0.99, 0.99)));
        let shares: Vec<f64> = (0..20).map(|number| if number % 2 == 0 { 0.98 } else { 1.0 }).collect();
        let (low, high) = quantile_ranks(&shares, 0.99).unwrap();
        // s = 0.01026, t = 2.093, k = 20.
        assert!(
            (low - (0.99 - 0.0048)).abs() < 1e-4 && (high - (0.99 + 0.0048)).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(quantile_ranks(&shares[..9], 0.99), None);
    }
}
