//! Dunnett's critical value: how many standard errors a cost must be from zero when several costs are judged together.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

/// Steps of each of the two integrals. More of them change no critical value by 0.001.
const STEPS: usize = 48;
/// The integral over the standard normal variable runs from minus to plus this value.
const RANGE: f64 = 6.5;
/// Halvings of the range of the critical value.
const HALVINGS: usize = 22;

/// Costs against one reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CostsAgainstReference {
    /// Number of processes of the reference, at least 1. A cost is the mean over them.
    pub copies_of_reference: u32,
    /// Number of processes of each arm that is compared with the reference.
    pub copies: Vec<u32>,
}

/// Costs against one reference whose arms have the same number of copies.
struct Alike {
    /// The square root of the share of a cost's variance that comes from the reference, if all processes vary alike.
    loading: f64,
    /// Number of these costs.
    costs: i32,
}

/// A value of the estimated standard error, as a multiple of the true one.
struct Scale {
    factor: f64,
    /// Its probability.
    weight: f64,
}

impl CostsAgainstReference {
    /// The costs by the number of copies of their arms.
    fn alike(&self) -> Vec<Alike> {
        let mut counts: BTreeMap<u32, i32> = BTreeMap::new();
        for copies in &self.copies {
            *counts.entry((*copies).max(1)).or_default() += 1;
        }
        let reference = 1.0 / f64::from(self.copies_of_reference.max(1));
        let loading = |copies: u32| (reference / (reference + 1.0 / f64::from(copies))).sqrt();
        counts.into_iter().map(|(copies, costs)| Alike { loading: loading(copies), costs }).collect()
    }
}

/// The two-sided critical value with which the intervals of all costs in `groups` simultaneously contain their true values, with
/// probability `confidence`. Each cost has `freedom` degrees of freedom.
///
/// **Method.** The costs against one reference share its error, so they are correlated: by one half if all have the same number of
/// processes. Given the error of the reference and the estimate of the variance, they are independent normal variables. Both are integrated
/// over. Costs against different references are independent given the variance.
///
/// **Source.** C. W. Dunnett, "A Multiple Comparison Procedure for Comparing Several Treatments with a Control", *Journal of the American
/// Statistical Association* 50(272), 1955; with unequal correlations, "New Tables for Multiple Comparisons with a Control", *Biometrics*
/// 20(3), 1964.
///
/// **Degenerate cases.** `None` without a cost, without degrees of freedom, and for a confidence that is not between zero and one.
pub fn dunnett(groups: &[CostsAgainstReference], freedom: f64, confidence: f64) -> Option<f64> {
    let groups: Vec<Vec<Alike>> = groups.iter().map(CostsAgainstReference::alike).collect();
    let is_sound = freedom > 0.0 && confidence > 0.0 && confidence < 1.0;
    if !is_sound || groups.iter().all(Vec::is_empty) {
        return None;
    }
    let normal = Normal::standard();
    let scales = scales(freedom);
    let within = |factor: f64| -> f64 {
        let at = |scale: f64| {
            groups.iter().map(|group| all_within(&normal, group, factor * scale)).product::<f64>()
        };
        scales.iter().map(|scale| scale.weight * at(scale.factor)).sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    while within(high) < confidence {
        (low, high) = (high, 2.0 * high);
        if high > 1e6 {
            return None;
        }
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if within(middle) < confidence { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

/// Chance that all costs against one reference are within `limit` of their true values, in standard errors.
fn all_within(normal: &Normal, group: &[Alike], limit: f64) -> f64 {
    let step = 2.0 * RANGE / STEPS as f64;
    (0..=STEPS)
        .map(|place| {
            let shared = step.mul_add(place as f64, -RANGE);
            let density = (-0.5 * shared * shared).exp() / std::f64::consts::TAU.sqrt();
            let chance = |Alike { loading, costs }: &Alike| {
                let own = loading.mul_add(-loading, 1.0).sqrt();
                let at = |end: f64| normal.cdf(loading.mul_add(shared, end) / own);
                (at(limit) - at(-limit)).powi(*costs)
            };
            density * step * group.iter().map(chance).product::<f64>()
        })
        .sum()
}

/// The distribution of the estimated standard error: the root of chi-squared by its degrees of freedom. The integral runs over its
/// logarithm, whose density has no tail that a sum of equal steps would miss. With infinitely many degrees of freedom the standard error is
/// the true one.
fn scales(freedom: f64) -> Vec<Scale> {
    if freedom.is_infinite() {
        return vec![Scale { factor: 1.0, weight: 1.0 }];
    }
    let spread = (0.5 / freedom).sqrt();
    let (low, high) = (spread.mul_add(-7.0, -3.0 / freedom), 5.0 * spread);
    let step = (high - low) / STEPS as f64;
    let constant = std::f64::consts::LN_2 + 0.5 * freedom * (0.5 * freedom).ln() - ln_gamma(0.5 * freedom);
    (0..=STEPS)
        .map(|place| {
            let logarithm = step.mul_add(place as f64, low);
            let factor = logarithm.exp();
            let weight = step * freedom.mul_add(logarithm - 0.5 * factor * factor, constant).exp();
            Scale { factor, weight }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::critical::two_sided_t;

    fn equal(comparisons: usize, copies_of_reference: u32) -> CostsAgainstReference {
        CostsAgainstReference { copies_of_reference, copies: vec![1; comparisons] }
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Dunnett 1964, table II, two-sided, 0.05, correlation one half.
        for (comparisons, freedom, expected) in [
            (2, 5.0, 3.03),
            (9, 5.0, 3.97),
            (2, 10.0, 2.57),
            (5, 10.0, 2.99),
            (9, 10.0, 3.24),
            (4, 20.0, 2.65),
            (9, 20.0, 2.95),
            (9, 1e6, 2.69),
            (9, f64::INFINITY, 2.69),
        ] {
            let found = dunnett(&[equal(comparisons, 1)], freedom, 0.95).unwrap();
            assert!((found - expected).abs() < 0.006, "{comparisons} {freedom}: {found}");
        }
    }

    #[test]
    fn one_cost_has_the_value_of_student() {
        for freedom in [1.0, 2.0, 3.7, 11.0, 200.0, f64::INFINITY] {
            let found = dunnett(&[equal(1, 1)], freedom, 0.95).unwrap();
            let expected = two_sided_t(freedom, 0.95).unwrap();
            assert!((found / expected - 1.0).abs() < 2e-3, "{freedom}: {found} {expected}");
        }
    }

    #[test]
    fn degenerate_input_has_no_critical_value() {
        assert_eq!(dunnett(&[], 5.0, 0.95), None);
        assert_eq!(dunnett(&[equal(0, 1)], 5.0, 0.95), None);
        for (freedom, confidence) in [(0.0, 0.95), (f64::NAN, 0.95), (5.0, 1.0), (5.0, f64::NAN)] {
            assert_eq!(dunnett(&[equal(3, 1)], freedom, confidence), None, "{freedom} {confidence}");
        }
    }
}
