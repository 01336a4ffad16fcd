//! Response times over a whole study, decoded.

/// A time, and how often it was recorded: an entry of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedTime {
    /// The time, nanoseconds.
    pub ns: u64,
    /// Its number of occurrences.
    pub count: u64,
}

impl CountedTime {
    /// A time in nanoseconds with its count.
    pub const fn new(ns: u64, count: u64) -> Self {
        Self { ns, count }
    }
}

/// Response times of an arm under a load, over all slices that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHistogram {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Times with their counts, ascending.
    pub counts: Vec<CountedTime>,
}
