//! Counts of times in the buckets of an HDR histogram. A load records several times for each response. `Histogram` also updates its
//! extremes and its range for each of them, which costs more than the count. This type only counts; [`Counts::histogram`] computes the
//! rest.

use std::ops::AddAssign;

use hdrhistogram::{Counter, Histogram};

/// Maximum recorded time, nanoseconds: one hour.
pub(crate) const MAX_NS: u64 = 3_600_000_000_000;

/// Counts of times in nanoseconds, to a number of decimal digits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts<C, const DIGITS: u8> {
    /// Number of recorded times.
    len: u64,
    /// Counts by bucket.
    counts: Vec<C>,
}

impl<C: Counter, const DIGITS: u8> Counts<C, DIGITS> {
    /// Binary logarithm of the number of buckets per octave: the smallest that resolves times to `DIGITS` decimal digits.
    const OCTAVE_BITS: u32 = (2 * 10_u64.pow(DIGITS as u32)).next_power_of_two().ilog2() - 1;

    /// No times.
    pub(crate) fn new() -> Self {
        Self { len: 0, counts: vec![C::zero(); Self::bucket(MAX_NS) + 1] }
    }

    /// Records a time. One above an hour counts as an hour.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.len += 1;
        let count = &mut self.counts[Self::bucket(ns)];
        *count = count.saturating_add(C::one());
    }

    /// Resets the counts, keeping their allocation.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.counts.fill(C::zero());
    }

    /// Number of recorded times.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// True if no time is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The histogram of the recorded times.
    pub(crate) fn histogram(&self) -> Histogram<C> {
        let mut histogram = histogram(DIGITS);
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| !count.is_zero()) {
            histogram.saturating_record_n(Self::lower_bound_ns(bucket), *count);
        }
        histogram
    }

    /// The bucket of a time. The buckets of the shortest times have a width of 1 ns. From twice the number of buckets per
    /// octave on, the width doubles with each octave.
    #[inline]
    fn bucket(ns: u64) -> usize {
        let ns = ns.min(MAX_NS);
        let width_bits = (ns >> Self::OCTAVE_BITS | 1).ilog2();
        ((width_bits as usize) << Self::OCTAVE_BITS) + (ns >> width_bits) as usize
    }

    /// The shortest time of a bucket.
    fn lower_bound_ns(bucket: usize) -> u64 {
        let width_bits = (bucket >> Self::OCTAVE_BITS).saturating_sub(1);
        ((bucket - (width_bits << Self::OCTAVE_BITS)) as u64) << width_bits
    }
}

impl<C: Counter, const DIGITS: u8> AddAssign<&Self> for Counts<C, DIGITS> {
    fn add_assign(&mut self, other: &Self) {
        self.len += other.len;
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours = ours.saturating_add(*theirs);
        }
    }
}

/// An empty histogram of times in nanoseconds.
#[expect(clippy::expect_used, reason = "its bounds are constants within what the histogram allows")]
pub(crate) fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, MAX_NS, digits).expect("constant bounds are valid")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of every magnitude.
    fn times() -> impl Strategy<Value = Vec<u64>> {
        let time = (0..64_u32, any::<u64>()).prop_map(|(bits, ns)| ns >> bits);
        prop::collection::vec(time, 0..200)
    }

    fn is_that_of_the_times<C: Counter, const DIGITS: u8>(times_ns: &[u64]) -> bool {
        let (mut counts, mut expected) = (Counts::<C, DIGITS>::new(), histogram::<C>(DIGITS));
        for ns in times_ns {
            counts.record(*ns);
            expected.saturating_record((*ns).min(MAX_NS));
        }
        counts.histogram() == expected && counts.len() == expected.len()
    }

    proptest! {
        // Each case has many times.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn the_histogram_is_that_of_the_recorded_times(times_ns in times()) {
            prop_assert!(is_that_of_the_times::<u64, 3>(&times_ns));
            prop_assert!(is_that_of_the_times::<u32, 2>(&times_ns));
        }

        #[test]
        fn added_counts_are_those_of_all_times(one in times(), two in times()) {
            let of = |times_ns: &[u64]| {
                let mut counts = Counts::<u64, 3>::new();
                for ns in times_ns {
                    counts.record(*ns);
                }
                counts
            };
            let mut sum = of(&one);
            sum += &of(&two);
            prop_assert_eq!(&sum, &of(&[one, two].concat()));
            sum.clear();
            prop_assert!(sum == of(&[]) && sum.is_empty());
        }
    }
}
