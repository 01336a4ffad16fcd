//! A robust estimate of the centre of a few differences.

use crate::quantile::quantile_of;

/// The Hodges-Lehmann estimate of the centre of `differences`, in their unit: the median of all Walsh averages
/// `(d_i + d_j) / 2`, `i <= j`.
///
/// **Source.** J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank Tests", *Annals of
/// Mathematical Statistics* 34(2), 1963.
///
/// **Why not the mean or the median.** Slices have heavy tails: now and then the host takes a fifth of one. A
/// single such slice moves the mean without limit; this estimate tolerates up to about 29 % of outliers. The
/// median is more robust still, but less efficient: under a normal distribution its efficiency relative to the
/// mean is 0.64, that of this estimate is 0.955.
///
/// It estimates the centre of symmetry. For the difference of two arms whose noise has the same shape, that is
/// the difference of their levels, whatever the shape: the skews cancel.
///
/// Time and memory grow with the square of the number of differences: 12 blocks make 78 averages, 1,000 make
/// 500,500 (4 MB).
///
/// **Degenerate cases.** `None` when `differences` is empty or a difference is not finite. The caller leaves out
/// missing slices when it forms the pairs, so a non-finite value here is an error that a median must not hide.
/// The estimate of a single difference is that difference; of two it is their mean.
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    if !differences.iter().all(|difference| difference.is_finite()) {
        return None;
    }
    let mut averages: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, &a)| differences.iter().skip(i).map(move |&b| f64::midpoint(a, b)))
        .collect();
    quantile_of(&mut averages, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_median_of_walsh_averages() {
        // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6. The middle two are 2 and 3.5; the median of the
        // sample is 2 and its mean is 3.
        assert_eq!(hodges_lehmann(&[6.0, 1.0, 2.0]), Some(2.75));
    }

    #[test]
    fn one_wild_difference_among_four_stays_harmless() {
        assert_eq!(hodges_lehmann(&[1.0, 1.0, 1.0, 1e9]), Some(1.0));
    }

    #[test]
    fn few_differences_are_their_own_centre() {
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[3.0]), Some(3.0));
        assert_eq!(hodges_lehmann(&[3.0, 4.0]), Some(3.5));
    }

    #[test]
    fn a_difference_that_is_not_finite_has_no_centre() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(hodges_lehmann(&[1.0, value, 1.0, 1.0, 1.0]), None, "{value}");
        }
    }
}
