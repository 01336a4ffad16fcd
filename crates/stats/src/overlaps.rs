//! Test if two measurements of the same quantity agree.

use hoptax_result::Interval;

/// Returns true if two intervals of the same quantity, in the same unit, overlap, ends included.
///
/// **Method.** Comparison of ends. Repeated studies are compared this way: two that measured the same thing should
/// overlap. The test is deliberately coarse. Two independent 95 % intervals of equal width around the same truth
/// fail to overlap in about 0.6 % of cases, so disjoint intervals are strong evidence of a difference, while
/// overlapping ones are no evidence that there is none (N. Schenker and J. F. Gentleman, "On Judging the
/// Significance of Differences by Examining the Overlap Between Confidence Intervals", *The American Statistician*
/// 55(3), 2001).
///
/// **Degenerate cases.** Intervals that share only an end overlap. An interval of zero width overlaps every
/// interval that contains it. An interval with a NaN end overlaps nothing, itself included.
pub fn overlaps(a: &Interval, b: &Interval) -> bool {
    a.low <= b.high && b.low <= a.high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval::new(f64::midpoint(low, high), low, high)
    }

    #[test]
    fn intervals_overlap_when_they_share_a_value() {
        let middle = interval(1.0, 2.0);
        for other in [interval(0.0, 1.0), interval(2.0, 3.0), interval(1.4, 1.6), interval(0.0, 3.0), middle]
        {
            assert!(overlaps(&middle, &other) && overlaps(&other, &middle), "{other:?}");
        }
        for other in [interval(0.0, 0.9), interval(2.1, 3.0), interval(f64::NAN, f64::NAN)] {
            assert!(!overlaps(&middle, &other) && !overlaps(&other, &middle), "{other:?}");
        }
    }

    #[test]
    fn two_starts_of_header_mutation_did_not_overlap() {
        // CPU time per request in us from two starts of 80 blocks each, measured on a 2-core virtual machine.
        assert!(!overlaps(&interval(-0.32, 1.00), &interval(1.48, 2.81)));
        // The same for the file access log.
        assert!(overlaps(&interval(0.76, 2.21), &interval(1.72, 2.98)));
    }
}
