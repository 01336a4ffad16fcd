//! Times in each twentieth of a record: batches for the intervals of quantiles, and for the course of a phase of requests.

use std::ops::AddAssign;

use hdrhistogram::Histogram;

use crate::counts::Counts;

/// Batches of a record: twenty, as in the method of batch means.
pub(crate) const BATCHES: usize = 20;

/// Times by batch, to two digits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batches(Vec<Counts<u32, 2>>);

impl Batches {
    /// Batches without times. All memory that recording needs is allocated.
    pub(crate) fn new() -> Self {
        // Not `vec![Counts::new(); BATCHES]`: a clone touches memory that most batches never use.
        Self((0..BATCHES).map(|_| Counts::new()).collect())
    }

    /// Records a time in a batch, counted from 0.
    #[inline]
    pub(crate) fn record(&mut self, batch: usize, ns: u64) {
        if let Some(times) = self.0.get_mut(batch) {
            times.record(ns);
        }
    }

    /// Histograms of the first `complete` batches of the record.
    pub(crate) fn histograms(&self, complete: usize) -> Vec<Histogram<u32>> {
        self.0.iter().take(complete).map(Counts::histogram).collect()
    }
}

impl AddAssign<&Self> for Batches {
    fn add_assign(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours += theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_their_batches_and_only_complete_ones_are_stated() {
        let (mut one, mut other) = (Batches::new(), Batches::new());
        one.record(0, 1_000);
        one.record(19, 2_000);
        one.record(BATCHES, 3_000);
        other.record(0, 5_000_000);
        one += &other;
        let counts: Vec<u64> = one.histograms(BATCHES).iter().map(Histogram::len).collect();
        assert_eq!((counts[0], counts[19], counts.iter().sum::<u64>()), (2, 1, 3));
        assert_eq!(one.histograms(19).len(), 19);
        assert!(one.histograms(0).is_empty());
    }
}
