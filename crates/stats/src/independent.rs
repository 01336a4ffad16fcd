//! Sums of independent numbers that are known only by their intervals: those of studies that share no rounds.

use hoptax_result::Interval;

/// The sum of independent numbers. Their intervals have the same confidence, and so has the interval of the sum. None without a number.
///
/// **Method.** The method of variance estimates recovery: the distance of an end of the sum from its estimate is the root of the sum of
/// squares of these distances of the numbers.
///
/// **Source.** G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach",
/// Statistics in Medicine 27, 2008, 1693-1702.
///
/// **Why not one standard error for all.** Intervals of few rounds have critical values of their own, which this keeps, and intervals need
/// not be symmetric. The resulting intervals are slightly wide: in `tests/independent_coverage.rs` they cover in 95 to 99 % for numbers
/// with 4 to 12 rounds each.
///
/// **Degenerate cases.** One number keeps its interval.
pub fn sum_of_independent(numbers: &[Interval]) -> Option<Interval> {
    if numbers.is_empty() {
        return None;
    }
    let distance =
        |of: fn(&Interval) -> f64| numbers.iter().map(|number| of(number) * of(number)).sum::<f64>().sqrt();
    let estimate = numbers.iter().map(|number| number.estimate).sum::<f64>();
    let below = distance(|number| number.estimate - number.low);
    let above = distance(|number| number.high - number.estimate);
    Some(Interval::new(estimate, estimate - below, estimate + above))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, below: f64, above: f64) -> Interval {
        Interval::new(estimate, estimate - below, estimate + above)
    }

    #[test]
    fn ends_of_independent_numbers_add_as_squares() {
        let numbers = [interval(10.0, 3.0, 1.0), interval(5.0, 4.0, 0.0)];
        assert_eq!(sum_of_independent(&numbers), Some(interval(15.0, 5.0, 1.0)));
    }

    #[test]
    fn one_number_keeps_its_interval_and_none_has_no_sum() {
        let one = interval(2.0, 0.5, 0.25);
        assert_eq!(sum_of_independent(&[one]), Some(one));
        assert_eq!(sum_of_independent(&[]), None);
    }
}
