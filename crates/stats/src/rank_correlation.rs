//! Correlation between successive values.

/// Spearman's rank correlation of each value with the next one, -1 to 1.
///
/// **Method.** Pearson's correlation of the ranks of the pairs `(x[i], x[i + 1])`; equal values share their mean
/// rank (C. Spearman, "The Proof and Measurement of Association between Two Things", *American Journal of
/// Psychology* 15, 1904). For independent values it lies within `2 / sqrt(n)` of zero 19 times in 20.
///
/// **Degenerate cases.** `None` with fewer than ten values, when a value is not finite, and when all are equal.
pub fn serial_correlation(values: &[f64]) -> Option<f64> {
    if values.len() < 10 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let ranks = ranks(values);
    let (first, second) = (ranks.get(..ranks.len() - 1)?, ranks.get(1..)?);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_first, mean_second) = (mean(first), mean(second));
    let (mut both, mut squares_first, mut squares_second) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(second) {
        both += (a - mean_first) * (b - mean_second);
        squares_first += (a - mean_first).powi(2);
        squares_second += (b - mean_second).powi(2);
    }
    let scale = (squares_first * squares_second).sqrt();
    (scale > 0.0).then(|| (both / scale).clamp(-1.0, 1.0))
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |index: usize| values.get(index).copied().unwrap_or_default();
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    for group in order.chunk_by(|a, b| value(*a).total_cmp(&value(*b)).is_eq()) {
        let rank = begin as f64 + (group.len() - 1) as f64 / 2.0;
        for index in group {
            if let Some(place) = ranks.get_mut(*index) {
                *place = rank;
            }
        }
        begin += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_correlates_and_a_zigzag_does_the_other_way() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!((serial_correlation(&rising).unwrap() - 1.0).abs() < 1e-12);
        let zigzag: Vec<f64> = (0..100).map(|number| f64::from(number % 2)).collect();
        assert!(serial_correlation(&zigzag).unwrap() < -0.99);
    }

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
        assert_eq!(serial_correlation(&[1.0; 20]), None);
        assert_eq!(serial_correlation(&[1.0; 9]), None);
    }
}
