//! A small logarithmic histogram, one per connection: four buckets per octave, 512 bytes.

/// Buckets per octave.
const BUCKETS_PER_OCTAVE: u32 = 4;
/// Buckets: 32 octaves of microseconds, which is more than an hour.
const BUCKETS: usize = 128;

/// Response times of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogHistogram([u32; BUCKETS]);

impl Default for LogHistogram {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl LogHistogram {
    /// Records a time, nanoseconds.
    pub(crate) fn record(&mut self, ns: u64) {
        if let Some(count) = self.0.get_mut(bucket(ns)) {
            *count = count.saturating_add(1);
        }
    }

    /// Records a time several times.
    pub(crate) fn record_many(&mut self, ns: u64, times: u64) {
        if let Some(count) = self.0.get_mut(bucket(ns)) {
            *count = count.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        }
    }

    /// Number of recorded times.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// Adds another histogram.
    pub(crate) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours = ours.saturating_add(*theirs);
        }
    }

    /// The quantile `p`, microseconds, interpolated linearly within its bucket; None if empty.
    pub(crate) fn quantile_us(&self, p: f64) -> Option<f64> {
        let rank = p.clamp(0.0, 1.0) * self.count() as f64;
        let mut below = 0.0;
        for (number, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(*count);
            if below + count >= rank {
                let share = ((rank - below) / count).clamp(0.0, 1.0);
                return Some(
                    lower_bound_us(number) + share * (lower_bound_us(number + 1) - lower_bound_us(number)),
                );
            }
            below += count;
        }
        None
    }
}

/// The bucket of a time: the leading bit gives its octave in microseconds, the next two bits the bucket within it.
fn bucket(ns: u64) -> usize {
    let quarters = ns / 250;
    if quarters < u64::from(BUCKETS_PER_OCTAVE) {
        return 0;
    }
    let octave = quarters.ilog2() - BUCKETS_PER_OCTAVE.ilog2();
    let step = (quarters >> octave) - u64::from(BUCKETS_PER_OCTAVE);
    ((octave * BUCKETS_PER_OCTAVE) as usize + step as usize).min(BUCKETS - 1)
}

/// The lower bound of a bucket, microseconds.
fn lower_bound_us(number: usize) -> f64 {
    let (octave, step) = (number as u32 / BUCKETS_PER_OCTAVE, number as u32 % BUCKETS_PER_OCTAVE);
    f64::from(BUCKETS_PER_OCTAVE + step) / f64::from(BUCKETS_PER_OCTAVE) * f64::from(octave).exp2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_between_the_bounds_of_its_bucket(us in 1_u64..3_000_000_000) {
            let number = bucket(us * 1_000);
            prop_assert!(lower_bound_us(number) <= us as f64 && (us as f64) < lower_bound_us(number + 1), "{us} in {number}");
        }
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut coarse = LogHistogram::default();
        (1..=1_000_u64).for_each(|us| coarse.record(us * 1_000));
        for p in [0.1, 0.5, 0.9] {
            let (read, truth) = (coarse.quantile_us(p).unwrap(), p * 1_000.0);
            assert!((read / truth - 1.0).abs() < 0.1, "{p}: {read}");
        }
        assert_eq!(LogHistogram::default().quantile_us(0.5), None);
    }
}
